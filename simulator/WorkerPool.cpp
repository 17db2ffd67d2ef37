#include "simulator/WorkerPool.h"

namespace tensorturbo::sim {

WorkerPool::WorkerPool(int threads) {
  for (int i = 1; i < threads; i++)
    workers.emplace_back([this] { workerLoop(); });
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  started.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void WorkerPool::work() {
  for (size_t i; (i = next.fetch_add(1)) < currentCount;)
    (*current)(i);
}

void WorkerPool::workerLoop() {
  uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex);
      started.wait(lock, [&] { return stopping || generation != seen; });
      if (stopping)
        return;
      seen = generation;
    }
    work();
    std::lock_guard lock(mutex);
    if (--active == 0)
      finished.notify_one();
  }
}

void WorkerPool::run(size_t count, const std::function<void(size_t)> &task) {
  if (workers.empty() || count < 2) {
    for (size_t i = 0; i < count; i++)
      task(i);
    return;
  }
  {
    std::lock_guard lock(mutex);
    current = &task;
    currentCount = count;
    next = 0;
    active = workers.size();
    generation++;
  }
  started.notify_all();
  work();
  std::unique_lock lock(mutex);
  finished.wait(lock, [&] { return active == 0; });
}

} // namespace tensorturbo::sim
