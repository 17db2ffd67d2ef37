// Host threads that share out the turns of a round.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tensorturbo::sim {

class WorkerPool {
public:
  /// `threads` counts the calling thread; with 1 everything runs there.
  explicit WorkerPool(int threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  /// Host threads, the calling one included.
  size_t size() const { return workers.size() + 1; }
  /// Calls task(0) ... task(count - 1), each once, in no particular order, and waits for all.
  void run(size_t count, const std::function<void(size_t)> &task);

private:
  void work();
  void workerLoop();

  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable started, finished;
  const std::function<void(size_t)> *current = nullptr;
  size_t currentCount = 0, active = 0;
  uint64_t generation = 0;
  bool stopping = false;
  std::atomic<size_t> next{0};
};

} // namespace tensorturbo::sim
