// The NPU part of a compilation: kernels, addresses, instructions, linked program.
#pragma once
#include "Pipeline/Buffers.h"
#include "Pipeline/Compiler.h"
#include "Pipeline/OnChipPlan.h"
#include "runtime/ObjectFile.h"
#include <optional>

namespace tensorturbo {

/// How a program is laid out; simpler plans need less of LLB.
struct ProgramPlan {
  /// Level 1: tensors stay in LLB where they can.
  bool stay = false;
  /// Weights are brought while kernels before compute.
  bool ahead = false;
};

struct NpuProgram {
  /// Symbols of the kernels of each step, in order; none for steps on the host.
  std::vector<std::vector<std::string>> kernelsOfStep;
  runtime::ObjectFile object;
  /// Section .tt.schedule: the stages with their kernels, parts of the batch and bytes held in LLB.
  std::string schedule;
  /// First DDR address that nothing uses.
  uint32_t ddrEnd = 0;
  OnChipPlan onChip;
};

/// Lowers every NPU step of the partitioned module and plans DDR for all steps
/// (`assignment` gets its addresses). `tileModule` and `store` are the pool's. Nothing after errors.
std::optional<NpuProgram> buildNpuProgram(mlir::ModuleOp module, mlir::ModuleOp tileModule,
                                          tile::ConstantPool &pool, ConstantStore &store,
                                          BufferAssignment &assignment, const ProgramPlan &programPlan,
                                          const CompileOptions &options, const ProgressFunction &progress,
                                          Diagnostics &diags);

} // namespace tensorturbo
