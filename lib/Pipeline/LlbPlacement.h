// LLB of a whole program: weights that come ahead, tensors that stay, and the kernels' own buffers.
#pragma once
#include "Conversion/RelayToTile/Transfers.h"
#include "Pipeline/KernelLoops.h"
#include "Pipeline/OnChipPlan.h"
#include "Schedule/MemoryPlan.h"

namespace tensorturbo {

/// A buffer that the kernels of one step share.
struct SharedBuffer {
  std::string global;
  int64_t bytes = 0;
  size_t step = 0;
};

class LlbPlacement {
public:
  LlbPlacement(mlir::ModuleOp tileModule, BufferAssignment &assignment, const StageDecisions &decisions,
               const KernelLoops &loops, const std::vector<SharedBuffer> &shared);

  /// Chooses which transfers run beside the program (none, if `ahead` is false) and where everything lies.
  /// Leaves more and more of LLB free for holes between buffers until a placement is found. False after a
  /// resource error.
  bool plan(bool ahead, Diagnostics &diags);

  /// Replaces what the kernels ask for by transfers as planned.
  void scheduleTransfers();

  /// Sets all addresses: those of the kernels' own buffers are added to their planned offsets within the
  /// kernel.
  void setAddresses();

  /// Buffers of transfers are in use in kernels that do not name them: those that run meanwhile.
  void recordUses(OnChipPlan &plan) const;

private:
  mlir::ModuleOp tileModule;
  BufferAssignment &assignment;
  const StageDecisions &decisions;
  const KernelLoops &loops;
  const std::vector<SharedBuffer> &shared;
  std::vector<mlir::func::FuncOp> kernels;
  std::vector<tile::WantedTransfers> wanted;

  std::vector<tile::Transfer> transfers;
  schedule::MemoryProblem problem;
  schedule::MemoryPlan found;

  bool place(const schedule::PrefetchProblem &prefetch,
             const std::vector<const tile::WantedTransfer *> &items, Diagnostics &diags);
  schedule::MemoryProblem memoryProblem() const;
  schedule::PrefetchProblem prefetchProblem(std::vector<const tile::WantedTransfer *> &items) const;
  std::vector<bool> crowdedKernels(int64_t step) const;
  std::vector<int> partnersOf(const tile::WantedTransfer &wanted) const;
  /// Buffers that stay, without those that take the place of another one.
  std::vector<size_t> roots() const;
};

} // namespace tensorturbo
