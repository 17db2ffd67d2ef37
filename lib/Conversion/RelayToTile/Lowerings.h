// The lowering of each operator family, for RelayToTile.cpp's table.
#pragma once
#include "Conversion/RelayToTile/ElementwiseChain.h"
#include "Conversion/RelayToTile/KernelBuilder.h"
#include "Conversion/RelayToTile/RelayToTile.h"
#include "Schedule/ConvTiling.h"
#include "Schedule/MemoryPlan.h"

namespace tensorturbo::tile {

using schedule::paddedBytes;

/// A family: which leading operators it handles, when, and how.
struct Family {
  bool (*handles)(mlir::Operation *op);
  /// Empty if it can run; else the rule and the values.
  std::string (*whyNot)(mlir::Operation *op, int ncore);
  /// Emits the kernel of a primitive that begins with `op`; false after an error in `why`.
  bool (*lower)(mlir::Operation *op, const KernelSpec &spec, LoweringContext &context, std::string &why);
};

extern const Family convFamily, depthwiseFamily, elementwiseFamily, gatherFamily, matmulFamily, moveFamily,
    normFamily, poolFamily, reduceFamily, transposeFamily;

// Shared small helpers.

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value v) {
  return mlir::cast<mlir::RankedTensorType>(v.getType()).getShape();
}
int64_t product(llvm::ArrayRef<int64_t> extents);
/// "[1, 3, 224, 224]".
std::string shapeText(llvm::ArrayRef<int64_t> shape);
/// Number of a function argument; the value must be one.
unsigned argumentNumber(mlir::Value argument);
/// Where a kernel finds a tensor.
Place placeOf(KernelBuilder &kb, const TensorRef &tensor);
/// The tensor of a function argument or of result `i`.
Place inputPlace(KernelBuilder &kb, mlir::Value argument, const KernelSpec &spec);
/// The tensor of an operand: a function argument, or a constant, which is stored in DDR.
Place operandPlace(KernelBuilder &kb, mlir::Value operand, const KernelSpec &spec, ConstantPool &pool);
Place outputPlace(KernelBuilder &kb, const KernelSpec &spec, size_t i = 0);
/// A kernel builder for the spec's function, or for the next one of several.
KernelBuilder builderFor(const KernelSpec &spec, LoweringContext &context);
/// What of a window operator's tensors must be staged: input `argument`, the output, and `inDdr` further
/// tensors.
schedule::Staging stagingOf(const KernelSpec &spec, mlir::Value argument, int64_t inDdr = 0);
/// Bytes of L1 that a kernel may still allocate.
int64_t freeL1(const KernelBuilder &kb);

} // namespace tensorturbo::tile
