// Constraints and shape rules of gathering and scattering.
#include "Dialect/Relay/RelayIndex.h"
#include "Dialect/Relay/RelayInfer.h"

namespace tensorturbo::relay::infer {

static bool batchDimsOk(Value data, Value indices, int64_t batch, std::optional<int64_t> axis) {
  if (batch == 0)
    return true;
  if (batch < 0 || !axis || batch > rank(indices) || batch > normalizeAxis(*axis, rank(data)))
    return false;
  return shapeOf(data).take_front(batch) == shapeOf(indices).take_front(batch);
}

static LogicalResult inferTake(InferContext &c, Value data, Value indices, int64_t batch,
                               std::optional<int64_t> axis) {
  if (!axis)
    return c.add(shapeOf(indices), elementType(data));
  int64_t at = normalizeAxis(*axis, rank(data));
  llvm::SmallVector<int64_t> shape(shapeOf(data).take_front(at));
  llvm::append_range(shape, shapeOf(indices).drop_front(batch));
  llvm::append_range(shape, shapeOf(data).drop_front(at + 1));
  return c.add(shape, elementType(data));
}

static bool withinExceptAxis(Value indices, Value data, int64_t axis) {
  if (rank(indices) != rank(data))
    return false;
  for (int64_t i = 0; i < rank(data); ++i)
    if (i != normalizeAxis(axis, rank(data)) && dim(indices, i) > dim(data, i))
      return false;
  return true;
}

static llvm::SmallVector<int64_t> gatherNdShape(Value data, Value indices, int64_t batch) {
  llvm::SmallVector<int64_t> shape(shapeOf(indices).drop_front());
  llvm::append_range(shape, shapeOf(data).drop_front(dim(indices, 0) + batch));
  return shape;
}

static LogicalResult inferGatherNd(InferContext &c, Value data, Value indices, int64_t batch) {
  return c.add(gatherNdShape(data, indices, batch), elementType(data));
}

static bool scatterNdOk(Value data, Value indices, Value updates) {
  if (rank(indices) < 1 || dim(indices, 0) > rank(data))
    return true;
  return shapeOf(updates) == ArrayRef<int64_t>(gatherNdShape(data, indices, 0));
}

static LogicalResult inferOneHot(InferContext &c, Value indices, int64_t depth, int64_t axis, StringRef dtype,
                                 Value onValue) {
  llvm::SmallVector<int64_t> shape(shapeOf(indices));
  shape.insert(shape.begin() + normalizeAxis(axis, shape.size() + 1), depth);
  return c.add(shape, c.dtype(dtype, onValue));
}

} // namespace tensorturbo::relay::infer

#include "Dialect/Relay/RelayIndex.infer.inc"
