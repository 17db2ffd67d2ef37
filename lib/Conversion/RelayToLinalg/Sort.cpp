// Sorting: a stable merge sort of indices along one axis.
#include "Conversion/RelayToLinalg/Emitter.h"
#include "Dialect/Relay/RelayReduce.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tensorturbo::host {
namespace {

/// Whether x must come before y. NaN is larger than every number, as in NumPy.
Value comesBefore(Emitter &e, Value x, Value y, Type element, bool ascending) {
  Value low = ascending ? x : y, high = ascending ? y : x;
  Value result = e.less(low, high, isUnsigned(element));
  if (!isFloat(element))
    return result;
  auto isNan = [&](Value v) { return e.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, v, v); };
  return e.make<arith::OrIOp>(result, e.both(isNan(high), e.negated(isNan(low))));
}

/// One pass: runs of `width` sorted indices in `from` become runs of twice the width in `to`.
void mergePass(Emitter &e, Value from, Value to, int64_t n, int64_t width,
               llvm::function_ref<Value(Value x, Value y)> before) {
  Type i64 = e.b.getI64Type();
  e.loop(e.index((n + 2 * width - 1) / (2 * width)), [&](Value run) {
    auto limited = [&](Value x) { return e.make<arith::MinSIOp>(x, e.index(n)); };
    Value begin = e.mul(run, e.index(2 * width));
    Value middle = limited(e.add(begin, e.index(width))), end = limited(e.add(begin, e.index(2 * width)));
    scf::ForOp::create(e.b, e.location(), begin, end, e.index(1), ValueRange{begin, middle},
                       [&](OpBuilder &inner, Location loc, Value k, ValueRange heads) {
                         OpBuilder::InsertionGuard guard(e.b);
                         e.b.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
                         Value left = heads[0], right = heads[1], one = e.index(1);
                         Value x = e.loadBuffer(from, i64, {e.clampIndex(left, n)});
                         Value y = e.loadBuffer(from, i64, {e.clampIndex(right, n)});
                         Value leftIsOver = e.negated(e.less(left, middle));
                         Value rightIsThere = e.less(right, end);
                         // Of equals the left one comes first: stable.
                         Value takeRight =
                             e.both(rightIsThere, e.make<arith::OrIOp>(leftIsOver, before(y, x)));
                         e.storeBuffer(to, i64, e.select(takeRight, y, x), {k});
                         Value nextLeft = e.select(takeRight, left, e.add(left, one));
                         Value nextRight = e.select(takeRight, e.add(right, one), right);
                         scf::YieldOp::create(e.b, loc, ValueRange{nextLeft, nextRight});
                       });
  });
}

/// Sorts every line along the axis; `use` gets the other coordinates and the buffer (i64) of sorted
/// positions.
void sortLines(Emitter &e, const Tensor &data, int64_t axis, bool ascending,
               llvm::function_ref<void(ValueRange others, Value order)> use) {
  int64_t n = data.dim(axis);
  Type i64 = e.b.getI64Type();
  Value from = e.allocate(i64, {n}), to = e.allocate(i64, {n});
  Shape others(data.shape());
  others[axis] = 1;
  e.loops(others, [&](ValueRange line) {
    auto element = [&](Value position) {
      SmallVector<Value> at(line);
      at[axis] = e.make<arith::IndexCastOp>(e.b.getIndexType(), position);
      return e.load(data, at);
    };
    e.loop(e.index(n), [&](Value i) { e.storeBuffer(from, i64, e.make<arith::IndexCastOp>(i64, i), {i}); });
    Value source = from, target = to;
    for (int64_t width = 1; width < n; width *= 2) {
      mergePass(e, source, target, n, width, [&](Value x, Value y) {
        return comesBefore(e, element(x), element(y), data.element, ascending);
      });
      std::swap(source, target);
    }
    use(line, source);
  });
}

/// The first `count` sorted values and positions of every line; either result may be null.
void setSorted(Emitter &e, const Tensor &data, int64_t axis, bool ascending, Value values, Value positions) {
  auto typeOf = [](Value v) { return cast<RankedTensorType>(v.getType()); };
  RankedTensorType any = typeOf(values ? values : positions);
  int64_t count = any.getDimSize(axis);
  Type i64 = e.b.getI64Type();
  Value valueBuffer = values ? e.allocate(data.element, any.getShape()) : Value();
  Type positionElement = positions ? typeOf(positions).getElementType() : Type();
  Value positionBuffer = positions ? e.allocate(positionElement, any.getShape()) : Value();
  if (any.getNumElements() > 0)
    sortLines(e, data, axis, ascending, [&](ValueRange line, Value order) {
      e.loop(e.index(count), [&](Value i) {
        SmallVector<Value> target(line), source(line);
        target[axis] = i;
        Value position = e.loadBuffer(order, i64, {i});
        source[axis] = e.make<arith::IndexCastOp>(e.b.getIndexType(), position);
        if (values)
          e.storeBuffer(valueBuffer, data.element, e.load(data, source), target);
        if (positions)
          e.storeBuffer(positionBuffer, positionElement, e.castScalar(position, i64, positionElement),
                        target);
      });
    });
  if (values)
    e.set(values, e.finish(valueBuffer, data.element));
  if (positions)
    e.set(positions, e.finish(positionBuffer, positionElement));
}

void lowerSort(Emitter &e, relay::SortOp op) {
  Tensor data = e.get(op.getData());
  setSorted(e, data, relay::normalizeAxis(op.getAxis(), data.rank()), op.getIsAscend(), op.getResult(),
            Value());
}

void lowerArgsort(Emitter &e, relay::ArgsortOp op) {
  Tensor data = e.get(op.getData());
  setSorted(e, data, relay::normalizeAxis(op.getAxis(), data.rank()), op.getIsAscend(), Value(),
            op.getResult());
}

void lowerTopk(Emitter &e, relay::TopkOp op) {
  Tensor data = e.get(op.getData());
  bool both = op.getRetType() == "both";
  Value values = both || op.getRetType() == "values" ? Value(op.getResults().front()) : Value();
  Value positions = both || op.getRetType() == "indices" ? Value(op.getResults().back()) : Value();
  setSorted(e, data, relay::normalizeAxis(op.getAxis(), data.rank()), op.getIsAscend(), values, positions);
}

} // namespace

void addSortLowerings(LoweringTable &table) {
  addLowering(table, lowerSort);
  addLowering(table, lowerArgsort);
  addLowering(table, lowerTopk);
}

} // namespace tensorturbo::host
