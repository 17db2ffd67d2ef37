// Constraints and shape rules of reductions, scans and sorting.
#include "Dialect/Relay/RelayInfer.h"
#include "Dialect/Relay/RelayReduce.h"

namespace tensorturbo::relay::infer {

template <typename Adaptor> static LogicalResult inferReduce(InferContext &c, Adaptor op, Type type) {
  llvm::SmallVector<bool> mask = reducedAxes(rank(op.getData()), op.getAxis(), op.getExclude());
  llvm::SmallVector<int64_t> shape;
  for (auto [reduced, extent] : llvm::zip_equal(mask, shapeOf(op.getData())))
    if (!reduced)
      shape.push_back(extent);
    else if (op.getKeepdims())
      shape.push_back(1);
  return c.add(shape, type);
}

static LogicalResult inferScan(InferContext &c, Value data, bool hasAxis, StringRef dtype) {
  Type type = c.dtype(dtype, data);
  return hasAxis ? c.add(shapeOf(data), type) : c.add({count(data)}, type);
}

static LogicalResult inferTopk(InferContext &c, Value data, int64_t k, int64_t axis, StringRef kind,
                               StringRef dtype) {
  llvm::SmallVector<int64_t> shape(shapeOf(data));
  if (k >= 1)
    shape[normalizeAxis(axis, shape.size())] = k;
  if (kind != "indices" && mlir::failed(c.add(shape, elementType(data))))
    return mlir::failure();
  if (kind == "values")
    return mlir::success();
  return c.add(shape, dtype.empty() ? c.intType(32) : c.dtype(dtype, data));
}

} // namespace tensorturbo::relay::infer

#include "Dialect/Relay/RelayReduce.infer.inc"
