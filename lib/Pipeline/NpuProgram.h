// The NPU part of a compilation: kernels, addresses, instructions, linked program.
#pragma once
#include "Pipeline/Buffers.h"
#include "Pipeline/Compiler.h"
#include "Pipeline/OnChipPlan.h"
#include "runtime/ObjectFile.h"
#include <optional>

namespace tensorturbo {

/// Symbol of the kernel of an NPU step, the `index`-th of its segment.
std::string kernelName(const Step &step, int index);

struct NpuProgram {
  runtime::ObjectFile object;
  /// Section .tt.schedule: the stages with their kernels, parts of the batch and bytes held in LLB.
  std::string schedule;
  /// First DDR address that nothing uses.
  uint32_t ddrEnd = 0;
  OnChipPlan onChip;
};

/// With `stay`, level 1: tensors stay in LLB where they can. With `ahead`, weights are brought while the
/// kernel before computes. Lowers every NPU step of the partitioned module and plans DDR for all steps
/// (`assignment` gets its addresses). `tileModule` and `store` are the pool's. Nothing after errors.
std::optional<NpuProgram> buildNpuProgram(mlir::ModuleOp module, mlir::ModuleOp tileModule,
                                          tile::ConstantPool &pool, ConstantStore &store,
                                          BufferAssignment &assignment, bool stay, bool ahead,
                                          const CompileOptions &options, const ProgressFunction &progress,
                                          Diagnostics &diags);

} // namespace tensorturbo
