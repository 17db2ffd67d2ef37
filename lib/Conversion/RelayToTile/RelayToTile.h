// From fused relay functions to tile kernels: level 0, every result in DDR, staged through LLB into L1.
#pragma once
#include "Conversion/RelayToTile/ConstantPool.h"
#include "Support/Diagnostics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>
#include <vector>

namespace tensorturbo::tile {

/// One call of a primitive function: which DDR tensors (tile.global) it reads and writes.
struct KernelSpec {
  mlir::func::FuncOp primitive;
  /// Name of the kernel function to create.
  std::string name;
  /// One global per argument and per result.
  std::vector<std::string> inputs, outputs;
};

struct LoweringContext {
  mlir::ModuleOp module;
  ConstantPool &pool;
  int ncore;
  Diagnostics &diags;
};

/// Appends the kernel to the module. False after errors (resource class: no tile fits ...).
bool lowerKernel(const KernelSpec &spec, LoweringContext &context);

/// Why an operator of main cannot run on the NPU, as a sentence with the actual values; empty if it can. The
/// op has float operands (FP16, or FP32 that will become FP16) in NHWC layout.
std::string whyNotNpu(mlir::Operation *op, int ncore);

/// Whether an operator only changes the shape: it needs no kernel, its result is its operand's memory.
bool isAlias(mlir::Operation *op);

} // namespace tensorturbo::tile
