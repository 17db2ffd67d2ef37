// The phases of a compilation on the relay level, and the check of the options.
#pragma once
#include "Pipeline/Compiler.h"
#include "mlir/IR/BuiltinOps.h"

namespace tensorturbo {

/// Names of the passes of the phase `optimise`, and of those that follow the placement, in order.
extern const std::vector<const char *> optimisePasses, lowerPrecisionPasses;

/// Runs passes by name, less the disabled ones.
bool runPasses(mlir::ModuleOp module, const std::vector<const char *> &names, const CompileOptions &options,
               const std::string &phase, Diagnostics &diags);

/// Values out of range, unknown passes, what is still to come: all findings at once.
bool checkOptions(const CompileOptions &options, Diagnostics &diags);

} // namespace tensorturbo
