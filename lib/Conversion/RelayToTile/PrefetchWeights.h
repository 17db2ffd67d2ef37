// Weights ahead of time: the transfer of a kernel's constants runs while the kernel before it computes.
#pragma once
#include "Dialect/Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace tensorturbo::tile {

/// A kernel in the order of the run.
struct PrefetchStep {
  mlir::func::FuncOp kernel;
  /// The step in front of it always runs directly before it, so that it may start the transfer.
  bool follows = false;
};

/// A buffer in LLB that now lives from one step to the next.
struct PrefetchedBuffer {
  std::string global;
  int64_t bytes = 0;
  /// The step that uses it; it is filled from the step before on.
  size_t step = 0;
};

/// Replaces every tile.bring. Where a step follows another one (and `ahead`), the other one starts the
/// transfer into a tile.global of LLB and the step waits for it:
///
///   @k1: ...                           @k1: prefetch_start %w2, %ddr2 ; ...
///   @k2: bring %w2, %ddr2 ; ...   ->   @k2: prefetch_wait ; ...
///
/// Otherwise it becomes system DMA on the spot.
std::vector<PrefetchedBuffer> prefetchWeights(mlir::ModuleOp module, const std::vector<PrefetchStep> &steps,
                                              bool ahead);

} // namespace tensorturbo::tile
