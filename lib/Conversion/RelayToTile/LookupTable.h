// Functions of one half as tables of 65,536 halves: every unary operator, correctly rounded, in one
// instruction.
#pragma once
#include "mlir/IR/Operation.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tensorturbo::tile {

struct UnaryFunction {
  /// Names the function and its parameters: equal names are equal functions.
  std::string name;
  std::function<double(double)> evaluate;
};

/// The function of a unary relay op on floats; nothing for other ops.
std::optional<UnaryFunction> unaryFunctionOf(mlir::Operation *op);

/// Operators that are a function of the element `x` together (relay::unaryRegionBehind) as one function.
std::optional<UnaryFunction> unaryFunctionOf(mlir::ArrayRef<mlir::Operation *> region, mlir::Value x);

/// The table as bytes, indexed by the bit pattern of the half.
std::vector<uint8_t> lookupTable(const UnaryFunction &function);

} // namespace tensorturbo::tile
