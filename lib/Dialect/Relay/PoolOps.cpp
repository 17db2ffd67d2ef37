// Constraints and shape rules of pooling and resizing.
#include "Dialect/Relay/RelayInfer.h"
#include "Dialect/Relay/RelayPool.h"
#include <cmath>

namespace tensorturbo::relay::infer {

/// The numbers of a pooling window, read through its layout.
struct PoolInfo {
  template <typename Adaptor> PoolInfo(Adaptor op, StringRef spatial) : spatial(spatial) {
    int64_t n = spatial.size();
    rankOk = rank(op.getData()) == n + 2;
    layoutOk = isLayout(op.getLayout(), ("NC" + spatial).str());
    numbersOk = positive(op.getPoolSize(), n) && positive(op.getStrides(), n) &&
                positive(op.getDilation(), n) && nonNegative(op.getPadding(), 2 * n);
    if (!complete())
      return;
    for (int64_t i = 0; i < n; ++i) {
      int64_t input = dim(op.getData(), axisOf(op.getLayout(), spatial[i])), stride = op.getStrides()[i];
      int64_t extent = addSat(mulSat(op.getPoolSize()[i] - 1, op.getDilation()[i]), 1);
      int64_t before = op.getPadding()[i];
      int64_t room = addSat(input + before + op.getPadding()[i + n], -extent);
      int64_t out = room < 0 ? 0 : (op.getCeilMode() ? (room + stride - 1) / stride : room / stride) + 1;
      outputSpatial.push_back(input < 1 ? 0 : out);
    }
  }

  bool complete() const { return rankOk && layoutOk && numbersOk; }
  bool outputsPositive() const {
    return llvm::all_of(outputSpatial, [](int64_t d) { return d > 0; });
  }

  template <typename Adaptor> LogicalResult infer(InferContext &c, Adaptor op) const {
    llvm::SmallVector<int64_t> shape(shapeOf(op.getData()));
    for (auto [letter, extent] : llvm::zip_equal(spatial, outputSpatial))
      shape[axisOf(op.getLayout(), letter)] = extent;
    return c.add(shape, elementType(op.getData()));
  }

  StringRef spatial;
  bool rankOk = false, layoutOk = false, numbersOk = false;
  llvm::SmallVector<int64_t> outputSpatial;
};

static LogicalResult inferGlobalPool(InferContext &c, Value data, StringRef layout) {
  llvm::SmallVector<int64_t> shape(shapeOf(data));
  shape[axisOf(layout, 'H')] = shape[axisOf(layout, 'W')] = 1;
  return c.add(shape, elementType(data));
}

static LogicalResult inferAdaptivePool(InferContext &c, Value data, ArrayRef<int64_t> size, StringRef layout,
                                       StringRef spatial) {
  llvm::SmallVector<int64_t> shape(shapeOf(data));
  if (!size.empty())
    for (auto [i, letter] : llvm::enumerate(spatial))
      shape[axisOf(layout, letter)] = size.size() == 1 ? size[0] : size[i];
  return c.add(shape, elementType(data));
}

static LogicalResult inferUpsampling(InferContext &c, Value data, double h, double w, StringRef layout) {
  llvm::SmallVector<int64_t> shape(shapeOf(data));
  int64_t &height = shape[axisOf(layout, 'H')], &width = shape[axisOf(layout, 'W')];
  height = std::llround(static_cast<double>(height) * h);
  width = std::llround(static_cast<double>(width) * w);
  return c.add(shape, elementType(data));
}

static LogicalResult inferResize(InferContext &c, Value data, ArrayRef<int64_t> size, StringRef layout,
                                 StringRef spatial, StringRef outDtype) {
  llvm::SmallVector<int64_t> shape(shapeOf(data));
  for (auto [i, letter] : llvm::enumerate(spatial))
    shape[axisOf(layout, letter)] = size[i];
  return c.add(shape, c.dtype(outDtype, data));
}

} // namespace tensorturbo::relay::infer

#include "Dialect/Relay/RelayPool.infer.inc"
