// All results of a model as outputs, for comparisons.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace tensorturbo {

/// Appends to main's results the result of every node that has a float tensor as its result: the last one
/// that its operators make. Their names are the nodes' with intermediatePrefix in front.
void exposeIntermediates(mlir::ModuleOp module);

} // namespace tensorturbo
