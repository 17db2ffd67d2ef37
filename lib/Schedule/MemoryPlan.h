// Addresses inside one memory level for buffers with lifetimes.
#pragma once
#include "Support/Diagnostics.h"
#include "Support/IntMath.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorturbo::schedule {

/// Buffers begin at multiples of this many bytes.
constexpr int64_t bufferAlignment = 64;
/// What a buffer takes beside others.
constexpr int64_t paddedBytes(int64_t bytes) {
  return alignUp(bytes, bufferAlignment);
}

/// One buffer. Two buffers may share bytes if their lifetimes do not meet.
struct MemoryBuffer {
  std::string name;
  uint64_t bytes = 0;
  /// Power of two.
  uint64_t alignment = bufferAlignment;
  /// First and last step at which the buffer holds data, both included.
  int64_t firstUse = 0, lastUse = 0;
  /// Further times at which it does, behind the first one and one another: loops lead back to earlier steps.
  std::vector<std::pair<int64_t, int64_t>> moreUses = {};
};

struct MemoryProblem {
  /// Name of the level for messages, "L1".
  std::string level;
  uint64_t capacity = 0;
  std::vector<MemoryBuffer> buffers;

  /// Largest sum of sizes alive at one step: no plan needs less. Sizes count in whole multiples of the
  /// smallest alignment, except that the last buffer may end anywhere.
  uint64_t lowerBound() const;
  std::string toJson() const;
  /// Nothing after user errors: not JSON, a missing field, a value out of range.
  static std::optional<MemoryProblem> fromJson(std::string_view text, Diagnostics &diags);
  /// From MiniMalloc's format: a line "id,lower,upper,size" for each buffer, below a line with these words.
  /// `upper` is the first step after the life. Nothing after user errors.
  static std::optional<MemoryProblem> fromCsv(std::string_view text, uint64_t capacity, Diagnostics &diags);
};

struct MemoryPlan {
  /// Offset from the start of the level, by position in MemoryProblem::buffers.
  std::vector<uint64_t> offsets;
  /// One past the last byte used.
  uint64_t peak = 0;
};

struct MemoryPlanOptions {
  /// Elementary placements (a buffer against a placed one) that the search may spend after the first plan.
  uint64_t maxSteps = 2'000'000;
  /// Steps of the exact search (PlanSearch.h) for a plan within the capacity, if the first plan is above it:
  /// up to a second and a half.
  uint64_t exactSteps = 100'000'000;
  /// Do not search below the capacity.
  bool stopWhenFits = false;
};

/// Places the largest buffers first. If that is above the capacity, searches exactly for a plan that fits; if
/// that finds none, or the plan is to be better, for a better order while it is above the lower bound.
/// Depends on nothing but its arguments. The plan may need more than the capacity: checkMemoryPlan tells.
MemoryPlan planMemory(const MemoryProblem &problem, const MemoryPlanOptions &options = {});

/// Checks a plan independently of how it was made. Reports every buffer that does not fit (resource error
/// with sizes and capacity), and every overlap or misalignment (internal error). Every user of planMemory
/// calls it.
bool checkMemoryPlan(const MemoryProblem &problem, const MemoryPlan &plan, Diagnostics &diags);

} // namespace tensorturbo::schedule
