// When data move between DDR and LLB beside the program: weights and tensors that kernels want are brought
// some kernels ahead, results that leave LLB go while the next kernels run.
#pragma once
#include <cstdint>
#include <vector>

namespace tensorturbo::schedule {

struct PrefetchKernel {
  /// LLB that is taken while the kernel runs, without the bytes of the items.
  int64_t liveBytes = 0;
  /// The kernel is run this many times. More than 1 only in loops.
  int64_t parts = 1;
  /// First and last kernel of the innermost loop around it, and in how many rounds of that loop.
  int loopFirst = 0, loopLast = 0;
  int64_t rounds = 1;
};

/// A buffer in LLB that a kernel wants filled from DDR before it runs, or emptied into DDR behind it.
struct PrefetchItem {
  int kernel = 0;
  int64_t bytes = 0;
  bool outgoing = false;
  /// Every part of the kernel has bytes of its own; else they are the same each time: constants.
  bool perPart = false;
  /// The other kernels that touch these bytes in DDR: those that write them, or for outgoing ones those that
  /// read.
  std::vector<int> partners;
};

/// One run of a kernel.
struct KernelRun {
  int kernel = 0;
  /// 0 .. parts - 1 in order.
  int64_t part = 0;
};

struct PrefetchProblem {
  std::vector<PrefetchKernel> kernels;
  std::vector<PrefetchItem> items;
  /// All runs in order; and where a transfer must not be under way: numbers of runs before which the program
  /// returns to its caller.
  std::vector<KernelRun> runs;
  std::vector<int> breaks;
  int64_t llbBytes = int64_t(8) << 20;
  /// Channels that can run at once, and kernels that a transfer may run beside, at most.
  int channels = 3, distance = 4;
  /// Largest transfer.
  int64_t largest = int64_t(6) << 20;
};

/// A set of parts of a kernel as bits; kernels with more than 32 parts only have all or none of them.
using PartMask = uint32_t;
constexpr PartMask allParts = ~PartMask(0);

struct PrefetchTransfer {
  int item = 0;
  int channel = 0;
  /// A kernel that acts at its beginning in these parts.
  struct Point {
    int kernel = 0;
    PartMask parts = 0;
    /// For starts: the item's part that belongs to part n of the kernel is n * times / over + plus.
    int64_t times = 1, over = 1, plus = 0;
  };
  /// Within a kernel starts come behind waits.
  std::vector<Point> starts, waits;
  /// Parts in which the item's kernel moves the bytes itself. In parts in which it neither waits nor moves
  /// them the bytes of an earlier round are still there.
  PartMask onTheSpot = 0;
  /// Kernels during which the bytes in LLB are taken, in ascending order: those that run between start and
  /// use, which need not follow one another where a loop leads back.
  std::vector<int> kernels;
};

/// Transfers of those items that move beside the program, in order of the items. What is not listed is moved
/// by its kernel on the spot.
std::vector<PrefetchTransfer> planPrefetch(const PrefetchProblem &problem);

} // namespace tensorturbo::schedule
