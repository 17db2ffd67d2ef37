// The lowering of each operator family, for RelayToTile.cpp's table.
#pragma once
#include "Conversion/RelayToTile/ElementwiseChain.h"
#include "Conversion/RelayToTile/KernelBuilder.h"
#include "Conversion/RelayToTile/RelayToTile.h"
#include "Schedule/ConvTiling.h"

namespace tensorturbo::tile {

/// A family: which leading operators it handles, when, and how.
struct Family {
  bool (*handles)(mlir::Operation *op);
  /// Empty if it can run; else the rule and the values.
  std::string (*whyNot)(mlir::Operation *op, int ncore);
  /// Emits the kernel of a primitive that begins with `op`; false after an error in `why`.
  bool (*lower)(mlir::Operation *op, const KernelSpec &spec, LoweringContext &context, std::string &why);
};

extern const Family convFamily, elementwiseFamily, matmulFamily, moveFamily, poolFamily, reduceFamily,
    transposeFamily;

// Shared small helpers.

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value v) {
  return mlir::cast<mlir::RankedTensorType>(v.getType()).getShape();
}
inline int64_t ceilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
int64_t product(llvm::ArrayRef<int64_t> extents);
/// "[1, 3, 224, 224]".
std::string shapeText(llvm::ArrayRef<int64_t> shape);
/// Position of a function argument's global among the spec's inputs; the value must be an argument.
std::string globalOf(mlir::Value argument, const KernelSpec &spec);
/// Bytes of L1 that a kernel may still allocate.
int64_t freeL1(const KernelBuilder &kb);

} // namespace tensorturbo::tile
