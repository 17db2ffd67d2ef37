// What the memory plan of a program says about L1, IM and LLB, for the object file.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "runtime/Metadata.h"

namespace tensorturbo {

/// The on-chip part of a planned tile module: every tile.alloc has its offset, every tile.global its address.
struct OnChipPlan {
  /// By kernel.
  std::map<std::string, std::vector<runtime::PlannedBuffer>> kernels;
  /// Tensors and weights that stay in LLB across kernels.
  std::vector<runtime::PlannedBuffer> residents;
};

OnChipPlan onChipPlan(mlir::ModuleOp tileModule);

} // namespace tensorturbo
