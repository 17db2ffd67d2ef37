// Constraints and shape rules of matrix products, normalisation, activation and padding.
#include "Dialect/Relay/RelayInfer.h"
#include "Dialect/Relay/RelayNn.h"

namespace tensorturbo::relay::infer {

static LogicalResult inferDense(InferContext &c, Value data, Value weight, StringRef outDtype) {
  llvm::SmallVector<int64_t> shape(shapeOf(data));
  shape.back() = dim(weight, 0);
  return c.add(shape, c.dtype(outDtype, data));
}

/// Rows, inner lengths and columns of a product, read through the transposition flags.
struct MatmulInfo {
  template <typename Adaptor>
  explicit MatmulInfo(Adaptor op)
      : m(dim(op.getTensorA(), op.getTransposeA() ? -1 : -2)),
        ka(dim(op.getTensorA(), op.getTransposeA() ? -2 : -1)),
        kb(dim(op.getTensorB(), op.getTransposeB() ? -1 : -2)),
        n(dim(op.getTensorB(), op.getTransposeB() ? -2 : -1)) {}

  template <typename Adaptor> LogicalResult inferMatmul(InferContext &c, Adaptor op) const {
    llvm::SmallVector<int64_t> shape(shapeOf(op.getTensorA()));
    if (shape.size() > 1)
      shape[shape.size() - 2] = m;
    shape.back() = n;
    return c.add(shape, c.dtype(op.getOutDtype(), op.getTensorA()));
  }
  template <typename Adaptor> LogicalResult inferBatch(InferContext &c, Adaptor op) const {
    int64_t a = dim(op.getTensorA(), 0), b = dim(op.getTensorB(), 0);
    return c.add({a == 1 ? b : a, m, n}, c.dtype(op.getOutDtype(), op.getTensorA()));
  }

  int64_t m, ka, kb, n;
};

static LogicalResult inferBatchFlatten(InferContext &c, Value data) {
  int64_t rest = 1;
  for (int64_t d : shapeOf(data).drop_front())
    rest = mulSat(rest, d);
  return c.add({dim(data, 0), rest}, elementType(data));
}

static LogicalResult inferPad(InferContext &c, Value data, ArrayRef<int64_t> pads) {
  llvm::SmallVector<int64_t> shape(shapeOf(data));
  for (size_t i = 0; i < shape.size(); ++i)
    shape[i] += pads[2 * i] + pads[2 * i + 1];
  return c.add(shape, elementType(data));
}

static bool depthToSpaceOk(Value data, int64_t block, StringRef layout) {
  int axis = axisOf(layout, 'C');
  return block < 1 || axis < 0 || dim(data, axis) % mulSat(block, block) == 0;
}

static bool spaceToDepthOk(Value data, int64_t block, StringRef layout) {
  int h = axisOf(layout, 'H'), w = axisOf(layout, 'W');
  return block < 1 || h < 0 || w < 0 || (dim(data, h) % block == 0 && dim(data, w) % block == 0);
}

static LogicalResult depthToSpace(InferContext &c, Value data, int64_t block, StringRef layout) {
  llvm::SmallVector<int64_t> shape(shapeOf(data));
  shape[axisOf(layout, 'C')] /= block * block;
  for (char letter : StringRef("HW"))
    shape[axisOf(layout, letter)] = mulSat(shape[axisOf(layout, letter)], block);
  return c.add(shape, elementType(data));
}

static LogicalResult spaceToDepth(InferContext &c, Value data, int64_t block, StringRef layout) {
  llvm::SmallVector<int64_t> shape(shapeOf(data));
  shape[axisOf(layout, 'C')] = mulSat(shape[axisOf(layout, 'C')], block * block);
  for (char letter : StringRef("HW"))
    shape[axisOf(layout, letter)] /= block;
  return c.add(shape, elementType(data));
}

} // namespace tensorturbo::relay::infer

#include "Dialect/Relay/RelayNn.infer.inc"
