// Which operator runs where, and why.
#pragma once
#include "Pipeline/Compiler.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace tensorturbo {

/// Marks every operator of main with `tt.where` ("npu" or "host") and, on the host, `tt.reason`. `hostOnly`
/// puts everything on the host.
void placeOperators(mlir::ModuleOp module, int ncore, bool hostOnly);

/// The source model's nodes in order, with their operator, as imported; `where` is still open.
std::vector<NodePlacement> sourceNodes(mlir::ModuleOp module);

/// Fills in where each node's operators ended up, from the marks left by placeOperators: nodes none of whose
/// operators remain were folded.
void resolvePlacement(mlir::ModuleOp placed, std::vector<NodePlacement> &nodes);

} // namespace tensorturbo
