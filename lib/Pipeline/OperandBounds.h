// What is known at compile time about the operands of the program's instructions, for the object file.
#pragma once
#include "Pipeline/OnChipPlan.h"

namespace tensorturbo {

/// Notes at each instruction and store of the npu kernels between which values its operands lie and how often
/// it is executed, for section .tt.operands. Attribute npu.bounds: for core 0, then core 1 ..., for each
/// operand the lowest value, the highest and the distance of possible values (1, 0, 1 if nothing is known),
/// then the least and the largest number of executions in one run of the kernel, and the number of the
/// instruction.
void noteOperandBounds(mlir::ModuleOp npuModule, const OnChipPlan &plan, int ncore);

} // namespace tensorturbo
