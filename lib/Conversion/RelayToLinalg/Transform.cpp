// Changes of shape and layout, creation.
#include "Conversion/RelayToLinalg/Emitter.h"
#include "Dialect/Relay/RelayTransform.h"

using namespace mlir;

namespace tensorturbo::host {
namespace {

RankedTensorType typeOf(Value result) {
  return cast<RankedTensorType>(result.getType());
}

/// Same elements, the result's shape.
template <typename Op> void lowerReshape(Emitter &e, Op op) {
  e.set(op.getResult(), e.reshape(e.get(op.getData()), typeOf(op.getResult()).getShape()));
}

void lowerTranspose(Emitter &e, relay::TransposeOp op) {
  Tensor data = e.get(op.getData());
  SmallVector<int64_t> permutation;
  for (int64_t i = 0; i < data.rank(); ++i)
    permutation.push_back(op.getAxes() ? relay::normalizeAxis((*op.getAxes())[i], data.rank())
                                       : data.rank() - 1 - i);
  e.set(op.getResult(), e.transpose(data, permutation));
}

void lowerLayoutTransform(Emitter &e, relay::LayoutTransformOp op) {
  e.set(op.getResult(),
        e.transpose(e.get(op.getData()), relay::layoutPermutation(op.getSrcLayout(), op.getDstLayout())));
}

/// Parts copied one after the other into a buffer, each at its offset along the axis.
Tensor concatenate(Emitter &e, ArrayRef<Tensor> parts, int64_t axis, RankedTensorType type) {
  Type element = type.getElementType();
  Value buffer = e.allocate(element, type.getShape());
  int64_t offset = 0;
  for (const Tensor &part : parts) {
    if (part.count() > 0)
      e.loops(part.shape(), [&](ValueRange i) {
        SmallVector<Value> target(i);
        target[axis] = e.add(i[axis], e.index(offset));
        e.storeBuffer(buffer, element, e.load(part, i), target);
      });
    offset += part.dim(axis);
  }
  return e.finish(buffer, element);
}

void lowerConcatenate(Emitter &e, relay::ConcatenateOp op) {
  RankedTensorType type = typeOf(op.getResult());
  SmallVector<Tensor> parts;
  for (Value operand : op.getData())
    parts.push_back(e.get(operand));
  e.set(op.getResult(), concatenate(e, parts, relay::normalizeAxis(op.getAxis(), type.getRank()), type));
}

void lowerStack(Emitter &e, relay::StackOp op) {
  RankedTensorType type = typeOf(op.getResult());
  int64_t axis = relay::normalizeAxis(op.getAxis(), type.getRank());
  Shape shape(type.getShape());
  shape[axis] = 1;
  SmallVector<Tensor> parts;
  for (Value operand : op.getData())
    parts.push_back(e.reshape(e.get(operand), shape));
  e.set(op.getResult(), concatenate(e, parts, axis, type));
}

void lowerSplit(Emitter &e, relay::SplitOp op) {
  Tensor data = e.get(op.getData());
  int64_t axis = relay::normalizeAxis(op.getAxis(), data.rank()), begin = 0;
  for (Value result : op.getResults()) {
    SmallVector<relay::Slice> slices;
    for (int64_t extent : typeOf(result).getShape())
      slices.push_back({0, extent, 1});
    slices[axis].begin = begin;
    begin += slices[axis].size;
    e.set(result, e.slice(data, slices));
  }
}

void lowerStridedSlice(Emitter &e, relay::StridedSliceOp op) {
  Tensor data = e.get(op.getData());
  auto slices = relay::resolveSlices(data.shape(), op.getBegin(), op.getEnd(), op.getStrides(),
                                     op.getSliceMode(), op.getAxes());
  if (!slices)
    return e.unsupported(op, "its slices are inconsistent");
  e.set(op.getResult(), e.slice(data, *slices));
}

void lowerReverse(Emitter &e, relay::ReverseOp op) {
  Tensor data = e.get(op.getData());
  SmallVector<relay::Slice> slices;
  for (int64_t extent : data.shape())
    slices.push_back({0, extent, 1});
  relay::Slice &reversed = slices[relay::normalizeAxis(op.getAxis(), data.rank())];
  reversed.begin = reversed.size - 1;
  reversed.stride = -1;
  e.set(op.getResult(), e.slice(data, slices));
}

void lowerBroadcastTo(Emitter &e, relay::BroadcastToOp op) {
  Tensor data = e.get(op.getData());
  e.set(op.getResult(), e.mapElements(data.element, typeOf(op.getResult()).getShape(), {data},
                                      [](ValueRange v) { return v[0]; }));
}

void lowerTile(Emitter &e, relay::TileOp op) {
  Tensor data = e.get(op.getData());
  ArrayRef<int64_t> shape = typeOf(op.getResult()).getShape();
  if (typeOf(op.getResult()).getNumElements() == 0)
    return e.set(op.getResult(), {e.empty(storageType(data.element), shape), data.element});
  e.set(op.getResult(), e.map(data.element, shape, [&](ValueRange i) {
    SmallVector<Value> source;
    for (int64_t d = 0; d < data.rank(); ++d)
      source.push_back(e.make<arith::RemUIOp>(i[i.size() - data.rank() + d], e.index(data.dim(d))));
    return e.load(data, source);
  }));
}

void lowerRepeat(Emitter &e, relay::RepeatOp op) {
  Tensor data = e.get(op.getData());
  if (!op.getAxis())
    data = e.reshape(data, {data.count()});
  int64_t axis = op.getAxis() ? relay::normalizeAxis(*op.getAxis(), data.rank()) : 0;
  e.set(op.getResult(), e.map(data.element, typeOf(op.getResult()).getShape(), [&](ValueRange i) {
    SmallVector<Value> source(i);
    source[axis] = e.make<arith::DivUIOp>(i[axis], e.index(op.getRepeats()));
    return e.load(data, source);
  }));
}

void lowerFull(Emitter &e, relay::FullOp op) {
  Tensor value = e.get(op.getFillValue());
  RankedTensorType type = typeOf(op.getResult());
  Value scalar = e.castScalar(e.loadScalar(value), value.element, type.getElementType());
  e.set(op.getResult(),
        {e.filled(e.toStorage(scalar, type.getElementType()), type.getShape()), type.getElementType()});
}

template <typename Op> void lowerFilled(Emitter &e, Op op) {
  RankedTensorType type = typeOf(op.getResult());
  Type element = type.getElementType();
  Value scalar = e.number(computeType(element), std::is_same_v<Op, relay::OnesOp> ? 1 : 0);
  e.set(op.getResult(), {e.filled(e.toStorage(scalar, element), type.getShape()), element});
}

void lowerArange(Emitter &e, relay::ArangeOp op) {
  Tensor start = e.get(op.getStart()), step = e.get(op.getStep());
  RankedTensorType type = typeOf(op.getResult());
  Type element = type.getElementType(), compute = computeType(element);
  e.set(op.getResult(), e.map(element, type.getShape(), [&](ValueRange i) {
    Value position =
        e.castScalar(e.make<arith::IndexCastOp>(e.b.getI64Type(), i[0]), e.b.getI64Type(), compute);
    Value first = e.castScalar(e.loadScalar(start), start.element, element);
    Value by = e.castScalar(e.loadScalar(step), step.element, element);
    return e.add(first, e.mul(position, by));
  }));
}

/// Values known from the type alone.
Tensor integers(Emitter &e, RankedTensorType type, ArrayRef<int64_t> values) {
  Type compute = computeType(type.getElementType());
  SmallVector<Value> scalars;
  for (int64_t value : values)
    scalars.push_back(e.integer(compute, value));
  Value buffer = e.allocate(type.getElementType(), type.getShape());
  for (auto [i, scalar] : llvm::enumerate(scalars)) {
    SmallVector<Value> at;
    if (type.getRank() == 1)
      at.push_back(e.index(i));
    e.storeBuffer(buffer, type.getElementType(), scalar, at);
  }
  return e.finish(buffer, type.getElementType());
}

void lowerShapeOf(Emitter &e, relay::ShapeOfOp op) {
  e.set(op.getResult(), integers(e, typeOf(op.getResult()), typeOf(op.getData()).getShape()));
}
void lowerNdarraySize(Emitter &e, relay::NdarraySizeOp op) {
  e.set(op.getResult(), integers(e, typeOf(op.getResult()), {typeOf(op.getData()).getNumElements()}));
}

} // namespace

void addTransformLowerings(LoweringTable &table) {
  addLowering(table, lowerReshape<relay::ReshapeOp>);
  addLowering(table, lowerReshape<relay::SqueezeOp>);
  addLowering(table, lowerReshape<relay::ExpandDimsOp>);
  addLowering(table, lowerTranspose);
  addLowering(table, lowerLayoutTransform);
  addLowering(table, lowerConcatenate);
  addLowering(table, lowerStack);
  addLowering(table, lowerSplit);
  addLowering(table, lowerStridedSlice);
  addLowering(table, lowerReverse);
  addLowering(table, lowerBroadcastTo);
  addLowering(table, lowerTile);
  addLowering(table, lowerRepeat);
  addLowering(table, lowerFull);
  addLowering(table, lowerFilled<relay::ZerosOp>);
  addLowering(table, lowerFilled<relay::OnesOp>);
  addLowering(table, lowerArange);
  addLowering(table, lowerShapeOf);
  addLowering(table, lowerNdarraySize);
}

} // namespace tensorturbo::host
