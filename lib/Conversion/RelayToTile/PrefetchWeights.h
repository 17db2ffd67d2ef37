// Weights ahead of time: the transfer of a kernel's constants runs while kernels before it compute.
#pragma once
#include "Dialect/Tile/Tile.h"
#include "Schedule/Prefetch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace tensorturbo::tile {

/// The weights that a kernel asks for with a tile.bring and that may come ahead.
struct WantedWeights {
  int64_t bytes = 0;
  /// LLB of the kernel's other buffers.
  int64_t otherLlbBytes = 0;
};

/// `bytes` is 0 if the kernel has none, or more than one piece.
WantedWeights wantedWeights(mlir::func::FuncOp kernel);

/// The buffer in LLB of a transfer, in the order of the plan.
struct PrefetchedBuffer {
  std::string global;
  int64_t bytes = 0;
};

/// Replaces every tile.bring of the kernels, which are listed in the order of the program. The planned
/// transfers are started by other kernels into a tile.global of LLB, and the kernel waits for them:
///
///   @k1: ...                           @k1: prefetch_start %w2, %ddr2 ; ...
///   @k2: bring %w2, %ddr2 ; ...   ->   @k2: prefetch_wait ; ...
///
/// Others become system DMA on the spot. A kernel in a loop does either only in those rounds that the plan
/// says.
std::vector<PrefetchedBuffer> prefetchWeights(mlir::ModuleOp module,
                                              const std::vector<mlir::func::FuncOp> &kernels,
                                              const std::vector<schedule::PrefetchTransfer> &plan);

} // namespace tensorturbo::tile
