// Native evaluation of operators on constants. Private to this folder.
#pragma once
#include "Constants/ConstantStore.h"
#include "Dialect/Relay/Relay.h"
#include <optional>
#include <vector>

namespace tensorturbo::relay {

/// The results of `op` for these operands (one per operand of the op); nullopt if there is no evaluator.
/// Floats are computed in double and rounded once, integers wrap as on the target.
std::optional<std::vector<Constant>> evaluate(mlir::Operation *op, llvm::ArrayRef<Constant> operands);

/// A constant with a buffer of its own.
Constant makeConstant(DType type, llvm::ArrayRef<int64_t> shape, std::vector<uint8_t> bytes);

// The families, each nullopt for operators of the others.

/// Operators that only move elements: transpose, concatenate, strided_slice, take, nn.pad ...
std::optional<std::vector<Constant>> evaluateMove(mlir::Operation *op, llvm::ArrayRef<Constant> operands);
/// Element-wise arithmetic, comparisons, where, cast, reductions, creation.
std::optional<std::vector<Constant>> evaluateArithmetic(mlir::Operation *op,
                                                        llvm::ArrayRef<Constant> operands);

} // namespace tensorturbo::relay
