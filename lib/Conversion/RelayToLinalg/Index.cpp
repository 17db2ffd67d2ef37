// Gathering and scattering. Indices come from data: none may reach outside of a tensor.
#include "Conversion/RelayToLinalg/Emitter.h"
#include "Dialect/Relay/RelayIndex.h"

using namespace mlir;

namespace tensorturbo::host {
namespace {

RankedTensorType typeOf(Value result) {
  return cast<RankedTensorType>(result.getType());
}

/// A tensor without elements gives nothing to gather.
bool nothingToGather(Emitter &e, Operation *op, const Tensor &data) {
  RankedTensorType type = typeOf(op->getResult(0));
  if (data.count() > 0 && type.getNumElements() > 0)
    return false;
  if (type.getNumElements() > 0)
    e.unsupported(op, "data is empty");
  else
    e.set(op->getResult(0), {e.empty(storageType(data.element), type.getShape()), data.element});
  return true;
}

/// Negative indices count from the end.
Value fromEnd(Emitter &e, Value i, int64_t extent) {
  return e.select(e.less(i, e.index(0)), e.add(i, e.index(extent)), i);
}

void lowerTake(Emitter &e, relay::TakeOp op) {
  Tensor data = e.get(op.getData()), indices = e.get(op.getIndices());
  if (nothingToGather(e, op, data))
    return;
  if (!op.getAxis())
    data = e.reshape(data, {data.count()});
  int64_t axis = op.getAxis() ? relay::normalizeAxis(*op.getAxis(), data.rank()) : 0;
  int64_t batch = op.getBatchDims() < 0 ? op.getBatchDims() + indices.rank() : op.getBatchDims();
  int64_t extent = data.dim(axis);
  // Result: dimensions of data before the axis, of indices behind the batch, of data behind the axis.
  int64_t taken = indices.rank() - batch;
  e.set(op.getResult(), e.map(data.element, typeOf(op.getResult()).getShape(), [&](ValueRange i) {
    SmallVector<Value> at(i.take_front(batch)), source(i.take_front(axis));
    llvm::append_range(at, i.slice(axis, taken));
    Value x = e.toIndex(e.load(indices, at), indices.element);
    if (op.getMode() == "wrap") {
      Value remainder = e.make<arith::RemSIOp>(x, e.index(extent));
      x = fromEnd(e, remainder, extent);
    } else {
      x = e.clampIndex(op.getMode() == "fast" ? fromEnd(e, x, extent) : x, extent);
    }
    source.push_back(x);
    llvm::append_range(source, i.drop_front(axis + taken));
    return e.load(data, source);
  }));
}

void lowerGather(Emitter &e, relay::GatherOp op) {
  Tensor data = e.get(op.getData()), indices = e.get(op.getIndices());
  if (nothingToGather(e, op, data))
    return;
  int64_t axis = relay::normalizeAxis(op.getAxis(), data.rank());
  e.set(op.getResult(), e.map(data.element, indices.shape(), [&](ValueRange i) {
    SmallVector<Value> source(i);
    Value x = fromEnd(e, e.toIndex(e.load(indices, i), indices.element), data.dim(axis));
    source[axis] = e.clampIndex(x, data.dim(axis));
    return e.load(data, source);
  }));
}

void lowerGatherNd(Emitter &e, relay::GatherNdOp op) {
  Tensor data = e.get(op.getData()), indices = e.get(op.getIndices());
  if (nothingToGather(e, op, data))
    return;
  int64_t tuple = indices.dim(0), batch = op.getBatchDims(), positions = indices.rank() - 1;
  e.set(op.getResult(), e.map(data.element, typeOf(op.getResult()).getShape(), [&](ValueRange i) {
    SmallVector<Value> source(i.take_front(batch));
    for (int64_t t = 0; t < tuple; ++t) {
      SmallVector<Value> at = {e.index(t)};
      llvm::append_range(at, i.take_front(positions));
      int64_t extent = data.dim(batch + t);
      Value x = fromEnd(e, e.toIndex(e.load(indices, at), indices.element), extent);
      source.push_back(e.clampIndex(x, extent));
    }
    llvm::append_range(source, i.drop_front(positions));
    return e.load(data, source);
  }));
}

/// The element that a scatter leaves; null for an unknown reduction.
Value combine(Emitter &e, StringRef how, Value old, Value update, bool isUnsignedType) {
  if (how == "update")
    return update;
  if (how == "add")
    return e.add(old, update);
  if (how == "mul")
    return e.mul(old, update);
  if (how == "min")
    return e.minimum(old, update, isUnsignedType);
  if (how == "max")
    return e.maximum(old, update, isUnsignedType);
  return {};
}

/// Writes one update after the other, in their order; those outside of the data are left out. `place` gives
/// the target and collects conditions for it.
void scatter(Emitter &e, Operation *op, const Tensor &data, const Tensor &updates, StringRef how,
             llvm::function_ref<SmallVector<Value>(ValueRange, Value &good)> place) {
  if (!llvm::is_contained({"update", "add", "mul", "min", "max"}, how))
    return e.unsupported(op, "reduction '" + how.str() + "' is not supported");
  if (data.count() == 0)
    return e.set(op->getResult(0), data);
  Value buffer = e.copyToBuffer(data);
  if (updates.count() > 0)
    e.loops(updates.shape(), [&](ValueRange i) {
      Value good = e.integer(e.b.getI1Type(), 1);
      SmallVector<Value> target = place(i, good);
      Value old = e.loadBuffer(buffer, data.element, target);
      Value result = combine(e, how, old, e.load(updates, i), isUnsigned(data.element));
      e.storeBuffer(buffer, data.element, e.select(good, result, old), target);
    });
  e.set(op->getResult(0), e.finish(buffer, data.element));
}

void lowerScatterElements(Emitter &e, relay::ScatterElementsOp op) {
  Tensor data = e.get(op.getData()), indices = e.get(op.getIndices()), updates = e.get(op.getUpdates());
  int64_t axis = relay::normalizeAxis(op.getAxis(), data.rank()), extent = data.dim(axis);
  scatter(e, op, data, updates, op.getReduction(), [&](ValueRange i, Value &good) {
    SmallVector<Value> target(i);
    Value x = fromEnd(e, e.toIndex(e.load(indices, i), indices.element), extent);
    good = e.inRange(x, extent);
    target[axis] = e.clampIndex(x, extent);
    return target;
  });
}

void lowerScatterNd(Emitter &e, relay::ScatterNdOp op) {
  Tensor data = e.get(op.getData()), indices = e.get(op.getIndices()), updates = e.get(op.getUpdates());
  int64_t tuple = indices.dim(0), positions = indices.rank() - 1;
  scatter(e, op, data, updates, op.getMode(), [&](ValueRange i, Value &good) {
    SmallVector<Value> target;
    for (int64_t t = 0; t < tuple; ++t) {
      SmallVector<Value> at = {e.index(t)};
      llvm::append_range(at, i.take_front(positions));
      Value x = fromEnd(e, e.toIndex(e.load(indices, at), indices.element), data.dim(t));
      good = e.both(good, e.inRange(x, data.dim(t)));
      target.push_back(e.clampIndex(x, data.dim(t)));
    }
    llvm::append_range(target, i.drop_front(positions));
    return target;
  });
}

void lowerOneHot(Emitter &e, relay::OneHotOp op) {
  Tensor indices = e.get(op.getIndices()), on = e.get(op.getOnValue()), off = e.get(op.getOffValue());
  RankedTensorType type = typeOf(op.getResult());
  int64_t axis = relay::normalizeAxis(op.getAxis(), type.getRank());
  Type element = type.getElementType();
  Value onScalar = e.castScalar(e.loadScalar(on), on.element, element);
  Value offScalar = e.castScalar(e.loadScalar(off), off.element, element);
  e.set(op.getResult(), e.map(element, type.getShape(), [&](ValueRange i) {
    SmallVector<Value> at(i.take_front(axis));
    llvm::append_range(at, i.drop_front(axis + 1));
    Value x = e.toIndex(e.load(indices, at), indices.element);
    return e.select(e.equal(x, i[axis]), onScalar, offScalar);
  }));
}

void lowerTrilu(Emitter &e, relay::TriluOp op) {
  Tensor data = e.get(op.getData()), k = e.get(op.getK());
  Value diagonal = e.toIndex(e.loadScalar(k), k.element);
  int64_t rank = data.rank();
  e.set(op.getResult(), e.map(data.element, data.shape(), [&](ValueRange i) {
    Value edge = e.add(i[rank - 2], diagonal), column = i[rank - 1];
    Value keep = e.negated(op.getUpper() ? e.less(column, edge) : e.less(edge, column));
    return e.select(keep, e.load(data, i), e.number(computeType(data.element), 0));
  }));
}

} // namespace

void addIndexLowerings(LoweringTable &table) {
  addLowering(table, lowerTake);
  addLowering(table, lowerGather);
  addLowering(table, lowerGatherNd);
  addLowering(table, lowerScatterElements);
  addLowering(table, lowerScatterNd);
  addLowering(table, lowerOneHot);
  addLowering(table, lowerTrilu);
}

} // namespace tensorturbo::host
