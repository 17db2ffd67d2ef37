// From fused relay functions to tile kernels: level 0, every result in DDR, staged through LLB into L1.
#pragma once
#include "Conversion/RelayToTile/ConstantPool.h"
#include "Support/Diagnostics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>
#include <vector>

namespace tensorturbo::tile {

/// Where a kernel finds a tensor: a tile.global in DDR, or resident in LLB.
struct TensorRef {
  std::string global;
  bool inLlb = false;
  /// A kernel that runs once for each part of the batch adds this many bytes for each part before its own.
  int64_t iterationBytes = 0;
  /// It holds this many parts at a time, one behind the other: part n lies where part n % parts does. 0: all.
  int64_t parts = 0;
};

/// One call of a primitive function: which tensors it reads and writes.
struct KernelSpec {
  mlir::func::FuncOp primitive;
  /// Name of the kernel function to create.
  std::string name;
  /// One for each argument and each result.
  std::vector<TensorRef> inputs, outputs;
  /// The kernel runs in a loop over parts of the batch and takes the number of the part as argument.
  bool iterated = false;
  /// Bytes of LLB that the kernel may use for itself.
  int64_t llbRoom = int64_t(8) << 20;
  /// Weights larger than this are brought in groups, each by a kernel of its own so that all of them can come
  /// ahead. 0: one kernel does it all.
  int64_t weightGroupBytes = 0;
};

/// What lowerKernel made of a spec.
struct LoweredKernels {
  /// Functions to call one after the other, with a barrier in between.
  std::vector<std::string> names;
  /// Buffers in LLB (tile.global, bytes) that all of them share.
  std::vector<std::pair<std::string, int64_t>> shared;
};

struct LoweringContext {
  mlir::ModuleOp module;
  ConstantPool &pool;
  int ncore;
  Diagnostics &diags;
  /// Of the last call of lowerKernel.
  LoweredKernels made = {};
};

/// Appends the kernel to the module. False after errors (resource class: no tile fits ...).
bool lowerKernel(const KernelSpec &spec, LoweringContext &context);

/// Why an operator of main cannot run on the NPU, as a sentence with the actual values; empty if it can. The
/// op has float operands (FP16, or FP32 that will become FP16) in NHWC layout.
std::string whyNotNpu(mlir::Operation *op, int ncore);

/// Number of an argument of the primitive that its kernel reads only where the same core writes the result,
/// so that the result may take its place; -1 if there is none.
int inPlaceArgument(mlir::func::FuncOp primitive);

/// Whether an operator only changes the shape: it needs no kernel, its result is its operand's memory.
bool isAlias(mlir::Operation *op);

/// Registers relay-to-tile with tt-opt: lowerKernel for every function with `relay.primitive`.
void registerRelayToTilePass();

} // namespace tensorturbo::tile
