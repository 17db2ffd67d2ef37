// The steps of host code generation.
#pragma once
#include "HostCpu/HostCpu.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tensorturbo::host {

/// Turns a function on tensors into `tt_<name>(ptr)`: arguments are read from and results are written to the
/// buffers that the pointer's array names.
void makeEntryPoint(mlir::func::FuncOp func);

/// A dense buffer at a pointer, as a memref; and the pointer of a memref.
mlir::Value denseBuffer(mlir::OpBuilder &b, mlir::Location loc, mlir::Value pointer, mlir::MemRefType type);
mlir::Value pointerOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value buffer);

/// Moves every loop nest of the entry points (linalg ops on buffers, scf loops) into a private function on
/// plain pointers. LLVM's time grows faster than a function does, and the pointers can be told not to alias.
void outlineLoops(mlir::ModuleOp module);

/// Tensors to buffers, buffers to the LLVM dialect. Failures are diagnostics of the context.
mlir::LogicalResult lowerToLLVMDialect(mlir::ModuleOp module);

/// LLVM dialect to a relocatable x86-64 object.
bool emitObject(mlir::ModuleOp module, const HostOptions &options, std::vector<char> &object,
                Diagnostics &diags);

/// A relocatable x86-64 object with the constants in a read-only section, each aligned to 64 bytes.
std::vector<char> makeDataObject(const std::vector<HostConstant> &constants);

} // namespace tensorturbo::host
