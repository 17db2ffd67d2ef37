// Several element-wise operators that together are a function of one element: gelu, swish and their kind.
#pragma once
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace tensorturbo::relay {

struct UnaryRegion {
  /// In program order.
  llvm::SmallVector<mlir::Operation *> ops;
  mlir::Value result;
};

/// The operators behind `x` of which each has only `x`, results of others of them and constants of one
/// element as operands, so that nothing but the last result is used elsewhere. Nothing if `x` has only one
/// user: then it is a plain chain.
std::optional<UnaryRegion> unaryRegionBehind(mlir::Value x);

} // namespace tensorturbo::relay
