// Reductions and scans.
#include "Conversion/RelayToLinalg/Emitter.h"
#include "Dialect/Relay/RelayReduce.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tensorturbo::host {

Tensor fold(Emitter &e, const Tensor &data, ArrayRef<bool> mask, Value init,
            llvm::function_ref<Value(Value element, Value sofar)> body) {
  SmallVector<int64_t> kept;
  for (int64_t i = 0; i < data.rank(); ++i)
    if (!mask[i])
      kept.push_back(i);
  AffineMap identity = e.b.getMultiDimIdentityMap(data.rank());
  return e.accumulate(data.element, data.shape(), kept, init, {data}, {identity},
                      [&](ValueRange, ValueRange v, Value sofar) { return body(v[0], sofar); });
}

int64_t foldedCount(const Tensor &data, ArrayRef<bool> mask) {
  int64_t count = 1;
  for (int64_t i = 0; i < data.rank(); ++i)
    count *= mask[i] ? data.dim(i) : 1;
  return count;
}

Tensor keepDims(Emitter &e, const Tensor &folded, const Tensor &data, ArrayRef<bool> mask) {
  Shape shape(data.shape());
  for (int64_t i = 0; i < data.rank(); ++i)
    if (mask[i])
      shape[i] = 1;
  return e.reshape(folded, shape);
}

namespace {

/// Reshapes to the result's type (keepdims or not) and rounds.
void setFolded(Emitter &e, Value result, const Tensor &folded) {
  e.set(result, e.reshape(folded, cast<RankedTensorType>(result.getType()).getShape()));
}

template <typename Op> SmallVector<bool> maskOf(Op op, const Tensor &data) {
  return relay::reducedAxes(data.rank(), op.getAxis(), op.getExclude());
}

Tensor divideBy(Emitter &e, const Tensor &x, double divisor) {
  return e.mapElements(x.element, x.shape(), {x}, [&](ValueRange v) {
    return e.div(v[0], e.number(v[0].getType(), divisor), isUnsigned(x.element));
  });
}

void lowerSum(Emitter &e, relay::SumOp op) {
  Tensor data = e.get(op.getData());
  Value zero = e.number(computeType(data.element), 0);
  setFolded(e, op.getResult(),
            fold(e, data, maskOf(op, data), zero, [&](Value x, Value sum) { return e.sumAdd(x, sum); }));
}

void lowerMean(Emitter &e, relay::MeanOp op) {
  Tensor data = e.get(op.getData());
  SmallVector<bool> mask = maskOf(op, data);
  Value zero = e.number(computeType(data.element), 0);
  Tensor sum = fold(e, data, mask, zero, [&](Value x, Value sofar) { return e.sumAdd(x, sofar); });
  setFolded(e, op.getResult(), divideBy(e, sum, double(foldedCount(data, mask))));
}

void lowerMax(Emitter &e, relay::MaxOp op) {
  Tensor data = e.get(op.getData());
  setFolded(e, op.getResult(),
            fold(e, data, maskOf(op, data), e.lowest(data.element),
                 [&](Value x, Value sofar) { return e.maximum(x, sofar, isUnsigned(data.element)); }));
}

void lowerMin(Emitter &e, relay::MinOp op) {
  Tensor data = e.get(op.getData());
  setFolded(e, op.getResult(),
            fold(e, data, maskOf(op, data), e.highest(data.element),
                 [&](Value x, Value sofar) { return e.minimum(x, sofar, isUnsigned(data.element)); }));
}

void lowerProd(Emitter &e, relay::ProdOp op) {
  Tensor data = e.get(op.getData());
  Value one = e.number(computeType(data.element), 1);
  setFolded(e, op.getResult(),
            fold(e, data, maskOf(op, data), one, [&](Value x, Value sofar) { return e.mul(x, sofar); }));
}

void lowerAll(Emitter &e, relay::AllOp op) {
  Tensor data = e.get(op.getData());
  setFolded(e, op.getResult(),
            fold(e, data, maskOf(op, data), e.integer(e.b.getI1Type(), 1),
                 [&](Value x, Value sofar) { return e.both(x, sofar); }));
}

void lowerAny(Emitter &e, relay::AnyOp op) {
  Tensor data = e.get(op.getData());
  setFolded(e, op.getResult(),
            fold(e, data, maskOf(op, data), e.integer(e.b.getI1Type(), 0),
                 [&](Value x, Value sofar) { return e.make<arith::OrIOp>(x, sofar); }));
}

void lowerLogSumExp(Emitter &e, relay::LogSumExpOp op) {
  Tensor data = e.get(op.getData());
  SmallVector<bool> mask = maskOf(op, data);
  Tensor top =
      fold(e, data, mask, e.lowest(data.element), [&](Value x, Value sofar) { return e.maximum(x, sofar); });
  Type compute = computeType(data.element);
  // An infinite maximum would make infinity minus infinity.
  top = e.mapElements(compute, top.shape(), {top}, [&](ValueRange v) {
    Value finite = e.less(e.make<math::AbsFOp>(v[0]), e.highest(data.element));
    return e.select(finite, v[0], e.number(compute, 0));
  });
  Tensor powers = e.mapElements(compute, data.shape(), {data, keepDims(e, top, data, mask)},
                                [&](ValueRange v) { return e.make<math::ExpOp>(e.sub(v[0], v[1])); });
  Tensor sum =
      fold(e, powers, mask, e.number(compute, 0), [&](Value x, Value sofar) { return e.sumAdd(x, sofar); });
  setFolded(e, op.getResult(), e.mapElements(compute, sum.shape(), {sum, top}, [&](ValueRange v) {
    return e.add(e.make<math::LogOp>(v[0]), v[1]);
  }));
}

void lowerVariance(Emitter &e, relay::VarianceOp op) {
  Tensor data = e.get(op.getData()), mean = e.get(op.getMean());
  SmallVector<bool> mask = maskOf(op, data);
  Type compute = computeType(data.element);
  if (mean.rank() != data.rank())
    mean = keepDims(e, mean, data, mask);
  Tensor squares = e.mapElements(compute, data.shape(), {data, mean}, [&](ValueRange v) {
    Value difference = e.sub(v[0], v[1]);
    return e.mul(difference, difference);
  });
  Tensor sum =
      fold(e, squares, mask, e.number(compute, 0), [&](Value x, Value sofar) { return e.sumAdd(x, sofar); });
  int64_t count = foldedCount(data, mask);
  setFolded(e, op.getResult(), divideBy(e, sum, double(op.getUnbiased() ? count - 1 : count)));
}

/// Index of the extreme element; over several axes, of the flattened rest. The first of equals, or the last.
/// NaN counts as extreme (the first one wins), as in NumPy.
template <typename Op> void lowerArg(Emitter &e, Op op) {
  constexpr bool isMax = std::is_same_v<Op, relay::ArgmaxOp>;
  Tensor data = e.get(op.getData());
  SmallVector<bool> mask = maskOf(op, data);
  // Kept dimensions first, folded ones flattened at the end.
  SmallVector<int64_t> order, folded;
  Shape shape;
  for (int64_t i = 0; i < data.rank(); ++i)
    if (mask[i]) {
      folded.push_back(i);
    } else {
      order.push_back(i);
      shape.push_back(data.dim(i));
    }
  order.append(folded.begin(), folded.end());
  int64_t count = foldedCount(data, mask);
  Shape rows(shape);
  rows.push_back(count);
  bool inOrder = llvm::is_sorted(order);
  Tensor flat = e.reshape(inOrder ? data : e.transpose(data, order), rows);
  Type element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  bool isUnsignedType = isUnsigned(data.element), last = op.getSelectLastIndex();
  SmallVector<int64_t> loops(rows), kept = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  Value best = e.integer(e.b.getI64Type(), 0);
  if (count == 0)
    return e.unsupported(op, "the reduced axes are empty");
  Tensor indices =
      e.accumulate(e.b.getI64Type(), loops, kept, best, {}, {}, [&](ValueRange i, ValueRange, Value sofar) {
        SmallVector<Value> at(i), champion(i);
        champion.back() = e.make<arith::IndexCastOp>(e.b.getIndexType(), sofar);
        Value x = e.load(flat, at), top = e.load(flat, champion);
        Value wins = isMax ? e.less(top, x, isUnsignedType) : e.less(x, top, isUnsignedType);
        if (last)
          wins = e.make<arith::OrIOp>(wins, e.equal(x, top));
        if (isFloat(data.element)) {
          Value isNan = e.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x);
          Value topIsNan = e.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, top, top);
          wins = e.both(e.make<arith::OrIOp>(wins, isNan), e.negated(topIsNan));
        }
        return e.select(wins, e.make<arith::IndexCastOp>(e.b.getI64Type(), i.back()), sofar);
      });
  setFolded(e, op.getResult(), e.castTensor(indices, element));
}

template <typename Op> void lowerScan(Emitter &e, Op op) {
  constexpr bool isSum = std::is_same_v<Op, relay::CumsumOp>;
  Tensor data = e.get(op.getData());
  if (!op.getAxis())
    data = e.reshape(data, {data.count()});
  int64_t axis = op.getAxis() ? relay::normalizeAxis(*op.getAxis(), data.rank()) : 0;
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Type element = type.getElementType(), compute = computeType(element);
  if (element.isInteger(1))
    return e.unsupported(op, "running sums of bool are not defined");
  // Running values keep the compute type, so that they are rounded once.
  Type kept = isFloat(element) ? compute : element;
  Value buffer = e.allocate(kept, type.getShape());
  Value start = e.number(compute, isSum ? 0 : 1);
  e.loops(type.getShape(), [&](ValueRange i) {
    // The axis may have loops inside of it; earlier positions are done nevertheless.
    SmallVector<Value> previous(i);
    Value isFirst = e.equal(i[axis], e.index(0));
    previous[axis] = e.select(isFirst, e.index(0), e.sub(i[axis], e.index(1)));
    Value before = e.select(isFirst, start, e.loadBuffer(buffer, kept, previous));
    Value addend =
        e.castScalar(e.load(data, op.getExclusive() ? ValueRange(previous) : i), data.element, element);
    if (op.getExclusive())
      addend = e.select(isFirst, start, addend);
    e.storeBuffer(buffer, kept, isSum ? e.add(before, addend) : e.mul(before, addend), i);
  });
  e.set(op.getResult(), e.finish(buffer, kept));
}

} // namespace

void addReduceLowerings(LoweringTable &table) {
  addLowering(table, lowerSum);
  addLowering(table, lowerMean);
  addLowering(table, lowerMax);
  addLowering(table, lowerMin);
  addLowering(table, lowerProd);
  addLowering(table, lowerAll);
  addLowering(table, lowerAny);
  addLowering(table, lowerLogSumExp);
  addLowering(table, lowerVariance);
  addLowering(table, lowerArg<relay::ArgmaxOp>);
  addLowering(table, lowerArg<relay::ArgminOp>);
  addLowering(table, lowerScan<relay::CumsumOp>);
  addLowering(table, lowerScan<relay::CumprodOp>);
}

} // namespace tensorturbo::host
