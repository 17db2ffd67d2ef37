// When the weights of a program's kernels are brought from DDR into LLB: some kernels ahead of their use, on
// channels of the system DMA that run beside the program.
#pragma once
#include <cstdint>
#include <vector>

namespace tensorturbo::schedule {

struct PrefetchKernel {
  /// 0: nothing to bring.
  int64_t weightBytes = 0;
  /// LLB that is taken while the kernel runs, its weights not counted.
  int64_t liveBytes = 0;
  /// The kernel is run this many times. More than 1 only in loops.
  int64_t parts = 1;
  /// First kernel of the innermost loop around it, last kernel, and in how many rounds of that loop.
  int loopFirst = 0, loopLast = 0;
  int64_t rounds = 1;
};

/// One run of a kernel.
struct KernelRun {
  int kernel = 0;
  /// 0 .. parts - 1 in order.
  int64_t part = 0;
};

struct PrefetchProblem {
  std::vector<PrefetchKernel> kernels;
  /// All runs in order; and where a transfer must not be under way: numbers of runs before which the program
  /// returns to its caller.
  std::vector<KernelRun> runs;
  std::vector<int> breaks;
  int64_t llbBytes = int64_t(8) << 20;
  /// Channels that can run at once, and kernels that a transfer may be started ahead, at most.
  int channels = 3, distance = 3;
  /// Largest transfer.
  int64_t largest = int64_t(6) << 20;
};

/// A set of parts of a kernel as bits; kernels with more than 32 parts keep their own transfers.
using PartMask = uint32_t;
constexpr PartMask allParts = ~PartMask(0);

struct PrefetchTransfer {
  int kernel = 0;
  int channel = 0;
  /// Kernels that start it at their beginning, behind what they wait for, and in which of their parts.
  struct Start {
    int kernel;
    PartMask parts;
  };
  std::vector<Start> starts;
  /// Parts in which the kernel waits for a transfer that was started; and in which it has to bring the
  /// weights itself. In others the weights are still there.
  PartMask waits = 0, brings = 0;
  /// Kernels during which the bytes in LLB are taken, as numbers of a range.
  int first = 0, last = 0;
};

/// Transfers of those kernels whose weights come ahead, in order of the kernels. Of two plans with the same
/// number of exposed transfers the one that starts earlier. What is not listed is brought by its kernel.
std::vector<PrefetchTransfer> planPrefetch(const PrefetchProblem &problem);

} // namespace tensorturbo::schedule
