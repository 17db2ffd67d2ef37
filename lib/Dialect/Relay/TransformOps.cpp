// Constraints and shape rules of shape and layout changes.
#include "Dialect/Relay/RelayInfer.h"
#include "Dialect/Relay/RelayTransform.h"
#include <cmath>

namespace tensorturbo::relay::infer {

static LogicalResult inferTranspose(InferContext &c, Value data, OptInts axes) {
  llvm::SmallVector<int64_t> shape;
  int64_t n = rank(data);
  for (int64_t i = 0; i < n; ++i)
    shape.push_back(dim(data, axes ? (*axes)[i] : n - 1 - i));
  return c.add(shape, elementType(data));
}

static LogicalResult inferConcatenate(InferContext &c, Values data, int64_t axis) {
  llvm::SmallVector<int64_t> shape(shapeOf(data.front()));
  axis = normalizeAxis(axis, shape.size());
  for (Value v : data.drop_front())
    shape[axis] = addSat(shape[axis], dim(v, axis));
  return c.add(shape, elementType(data.front()));
}

static LogicalResult inferStack(InferContext &c, Values data, int64_t axis) {
  llvm::SmallVector<int64_t> shape(shapeOf(data.front()));
  shape.insert(shape.begin() + normalizeAxis(axis, shape.size() + 1), data.size());
  return c.add(shape, elementType(data.front()));
}

static LogicalResult inferSplit(InferContext &c, Value data, ArrayRef<int64_t> sizes, int64_t axis) {
  llvm::SmallVector<int64_t> shape(shapeOf(data));
  for (int64_t size : sizes) {
    shape[normalizeAxis(axis, shape.size())] = size;
    if (mlir::failed(c.add(shape, elementType(data))))
      return mlir::failure();
  }
  return mlir::success();
}

static bool squeezable(Value data, OptInts axes) {
  return !axes || !axesOk(*axes, rank(data)) ||
         llvm::all_of(*axes, [&](int64_t a) { return dim(data, a) == 1; });
}

static LogicalResult inferSqueeze(InferContext &c, Value data, OptInts axes) {
  llvm::SmallVector<int64_t> shape;
  for (auto [i, extent] : llvm::enumerate(shapeOf(data))) {
    bool removed =
        axes ? llvm::any_of(*axes,
                            [&, at = i](int64_t a) { return normalizeAxis(a, rank(data)) == (int64_t)at; })
             : extent == 1;
    if (!removed)
      shape.push_back(extent);
  }
  return c.add(shape, elementType(data));
}

static LogicalResult inferExpandDims(InferContext &c, Value data, int64_t axis, int64_t count) {
  llvm::SmallVector<int64_t> shape(shapeOf(data));
  shape.insert(shape.begin() + normalizeAxis(axis, shape.size() + 1), count, 1);
  return c.add(shape, elementType(data));
}

static LogicalResult inferTile(InferContext &c, Value data, ArrayRef<int64_t> reps) {
  llvm::SmallVector<int64_t> shape(shapeOf(data)), factors(reps);
  while (shape.size() < factors.size())
    shape.insert(shape.begin(), 1);
  while (factors.size() < shape.size())
    factors.insert(factors.begin(), 1);
  for (size_t i = 0; i < shape.size(); ++i)
    shape[i] = mulSat(shape[i], factors[i]);
  return c.add(shape, elementType(data));
}

static LogicalResult inferRepeat(InferContext &c, Value data, int64_t repeats, std::optional<int64_t> axis) {
  if (!axis)
    return c.add({mulSat(count(data), repeats)}, elementType(data));
  llvm::SmallVector<int64_t> shape(shapeOf(data));
  int64_t &extent = shape[normalizeAxis(*axis, shape.size())];
  extent = mulSat(extent, repeats);
  return c.add(shape, elementType(data));
}

static std::optional<int64_t> arangeLength(Value start, Value stop, Value step) {
  auto a = scalarOf(start), b = scalarOf(stop), s = scalarOf(step);
  if (!a || !b || !s || *s == 0)
    return std::nullopt;
  double length = std::ceil((*b - *a) / *s);
  if (!(length < 1e12))
    return std::nullopt;
  return static_cast<int64_t>(std::max(length, 0.0));
}

} // namespace tensorturbo::relay::infer

#include "Dialect/Relay/RelayTransform.infer.inc"
