// The kernels of a program in order, and the loops around them.
#pragma once
#include "CodeGen/CodeGen.h"
#include "Pipeline/Buffers.h"
#include "Pipeline/StagePlanning.h"
#include "Schedule/Prefetch.h"
#include <functional>

namespace tensorturbo {

/// A kernel function and the step of the assignment that it belongs to. One step may have several.
struct ProgramKernel {
  std::string name;
  size_t step = 0;
};

class KernelLoops {
public:
  KernelLoops(const BufferAssignment &assignment, const StageDecisions &decisions,
              std::vector<ProgramKernel> kernels);

  const std::vector<ProgramKernel> &kernels() const { return list; }
  int64_t partsOf(size_t kernel) const { return decisions.steps[list[kernel].step].parts; }
  int segmentOf(size_t kernel) const { return assignment.steps()[list[kernel].step].segment; }
  /// The kernels that run between two steps, both included; first > last if there are none.
  std::pair<int, int> between(int64_t firstStep, int64_t lastStep) const;

  /// Loops and runs, without what a kernel holds.
  schedule::PrefetchProblem prefetchProblem() const;

  /// The functions to call, by segment. Nests with loops become functions of their own in `tileModule`.
  std::vector<codegen::KernelList> callLists(mlir::ModuleOp tileModule) const;

private:
  const BufferAssignment &assignment;
  const StageDecisions &decisions;
  std::vector<ProgramKernel> list;

  int nestOf(size_t kernel) const { return decisions.steps[list[kernel].step].nest; }
  /// End of the run of kernels from `first` on that share a nest and a segment.
  size_t endOfNest(size_t first) const;

  /// What a walk over the loops of a nest does.
  struct Visitor {
    /// A loop of `rounds` around kernels first .. end - 1: calls the body for the rounds that it wants to
    /// see.
    std::function<void(int64_t rounds, std::function<void()> body)> loop;
    std::function<void(size_t kernel)> kernel;
  };
  void walk(size_t first, size_t end, int64_t outerParts, const Visitor &visitor) const;
};

} // namespace tensorturbo
