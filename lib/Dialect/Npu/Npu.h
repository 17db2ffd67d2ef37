// The npu dialect: one op per instruction of the chip. See NpuOps.td and the README.
#pragma once
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tensorturbo::npu::detail {
/// Checks what can be known without running: destination and sources with constant addresses lie in memories
/// the engine reaches and are aligned to their elements.
llvm::LogicalResult verifyInstruction(mlir::Operation *op);
} // namespace tensorturbo::npu::detail

#include "Dialect/Npu/NpuDialect.h.inc"
#include "Dialect/Npu/NpuInterfaces.h.inc"
#define GET_OP_CLASSES
#include "Dialect/Npu/NpuOps.h.inc"
