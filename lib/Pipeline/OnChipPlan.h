// What the memory plan of a program allows each kernel to touch, for the object file.
#pragma once
#include "Pipeline/Buffers.h"
#include "runtime/Metadata.h"

namespace tensorturbo {

/// Taken from a planned tile module: every tile.alloc has its offset, every tile.global its address.
struct OnChipPlan {
  /// By kernel: its own buffers on chip, and the tensors and constants in DDR and LLB that it uses.
  std::map<std::string, std::vector<runtime::PlannedBuffer>> kernels;
  /// By kernel: how many times it runs, each time for a part of the batch.
  std::map<std::string, int> parts;
  /// Tensors and weights that stay in LLB across kernels.
  std::vector<runtime::PlannedBuffer> residents;
};

OnChipPlan onChipPlan(mlir::ModuleOp tileModule, const std::vector<DdrBuffer> &tensors);

} // namespace tensorturbo
