// How much arithmetic the source model asks of the NPU, whatever the schedule: the basis of lower bounds.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "runtime/Metadata.h"

namespace tensorturbo {

/// Counts the operators in the primitives of a partitioned module.
runtime::Workload measureWorkload(mlir::ModuleOp module);

} // namespace tensorturbo
