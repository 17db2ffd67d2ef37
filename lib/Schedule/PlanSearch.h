// Exact search for a memory plan that fits a capacity.
#pragma once
#include "Schedule/MemoryPlan.h"

namespace tensorturbo::schedule {

struct PlanSearchResult {
  enum Outcome {
    Found,
    /// No plan fits.
    Impossible,
    /// The steps were used up.
    GaveUp
  } outcome = GaveUp;
  MemoryPlan plan;
  /// Elementary steps spent: buffers and sections looked at.
  uint64_t steps = 0;
};

/// Looks for a plan whose peak is at most `capacity`, depth first: buffers are placed bottom-up, each as low
/// as those below it allow, so that every plan that is tried rests on the bottom without gaps that an open
/// buffer would fill (the canonical plans of MiniMalloc, Moffitt, ASPLOS 2023). A branch ends where, at some
/// time, what is placed and what is still to come exceed the capacity. Several orders of the candidates take
/// turns with growing budgets. Depends on nothing but its arguments. Spends at most about `maxSteps`.
PlanSearchResult searchPlan(const MemoryProblem &problem, uint64_t capacity, uint64_t maxSteps);

} // namespace tensorturbo::schedule
