// The steps of host code generation.
#pragma once
#include "HostCpu/HostCpu.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tensorturbo::host {

/// Turns a function on tensors into `tt_<name>(ptr)`: arguments are read from and results are written to the
/// buffers that the pointer's array names.
void makeEntryPoint(mlir::func::FuncOp func);

/// Tensors to buffers, buffers to the LLVM dialect. Failures are diagnostics of the context.
mlir::LogicalResult lowerToLLVMDialect(mlir::ModuleOp module);

/// LLVM dialect to a relocatable x86-64 object.
bool emitObject(mlir::ModuleOp module, const HostOptions &options, std::vector<char> &object,
                Diagnostics &diags);

/// A relocatable x86-64 object with the constants in a read-only section, each aligned to 64 bytes.
std::vector<char> makeDataObject(const std::vector<HostConstant> &constants);

} // namespace tensorturbo::host
