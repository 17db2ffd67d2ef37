// Pooling: windows of any layout, global and adaptive ones, ceil_mode, dilation.
#include "Conversion/RelayToLinalg/Emitter.h"
#include "Dialect/Relay/RelayPool.h"

using namespace mlir;

namespace tensorturbo::host {
namespace {

/// The window of one spatial axis at one output position, as functions of that position.
struct Window {
  /// Most taps a window has.
  int64_t taps = 1;
  /// Source position of a tap (may lie outside of the data).
  std::function<Value(Value position, Value tap)> source;
  /// Whether the tap belongs to the window at all; null if always.
  std::function<Value(Value position, Value tap)> belongs;
  /// Elements that the mean is taken over.
  std::function<Value(Value position)> count;
};

/// Pools over the axes named in `axes` (one window each); other dimensions are kept.
Tensor pool(Emitter &e, const Tensor &data, ArrayRef<int64_t> outShape, ArrayRef<int64_t> axes,
            ArrayRef<Window> windows, bool isMax) {
  int64_t rank = data.rank();
  SmallVector<int64_t> loops(outShape), out = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  for (const Window &w : windows)
    loops.push_back(w.taps);
  bool isUnsignedType = isUnsigned(data.element);
  Type compute = computeType(data.element);
  Value init = isMax ? e.lowest(data.element) : e.number(compute, 0);
  Tensor sum =
      e.accumulate(data.element, loops, out, init, {}, {}, [&](ValueRange i, ValueRange, Value sofar) {
        SmallVector<Value> source(i.take_front(rank));
        Value good = e.integer(e.b.getI1Type(), 1);
        for (auto [w, axis] : llvm::enumerate(axes)) {
          Value tap = i[rank + w], at = windows[w].source(i[axis], tap);
          good = e.both(good, e.inRange(at, data.dim(axis)));
          if (windows[w].belongs)
            good = e.both(good, windows[w].belongs(i[axis], tap));
          source[axis] = e.clampIndex(at, data.dim(axis));
        }
        Value element = e.load(data, source);
        return e.select(good, isMax ? e.maximum(element, sofar, isUnsignedType) : e.add(element, sofar),
                        sofar);
      });
  if (isMax)
    return e.castTensor(sum, data.element);
  Tensor mean = e.map(data.element, outShape, [&](ValueRange i) {
    Value elements = e.index(1);
    for (auto [w, axis] : llvm::enumerate(axes))
      elements = e.mul(elements, windows[w].count(i[axis]));
    Value whole = e.make<arith::IndexCastOp>(e.b.getI64Type(), elements);
    Value divisor = e.castScalar(whole, e.b.getI64Type(), compute);
    return e.div(e.load(sum, i), divisor, isUnsignedType);
  });
  return mean;
}

SmallVector<int64_t> spatialAxes(StringRef layout) {
  SmallVector<int64_t> axes;
  for (char letter : {'D', 'H', 'W'})
    if (int axis = relay::axisOf(layout, letter); axis >= 0)
      axes.push_back(axis);
  return axes;
}

/// Taps t of [0, taps) with low <= start + t * dilation < high.
Value tapsBetween(Emitter &e, Value start, int64_t taps, int64_t dilation, Value low, Value high) {
  // ceil((x - start) / dilation), limited to [0, taps]: the number of taps before x.
  auto before = [&](Value x) {
    Value distance = e.make<arith::MaxSIOp>(e.sub(x, start), e.index(0));
    Value steps = e.make<arith::DivSIOp>(e.add(distance, e.index(dilation - 1)), e.index(dilation));
    return e.make<arith::MinSIOp>(steps, e.index(taps));
  };
  return e.sub(before(high), before(low));
}

template <typename Op> bool countsPadding(Op op) {
  if constexpr (std::is_same_v<Op, relay::AvgPool1DOp> || std::is_same_v<Op, relay::AvgPool2DOp> ||
                std::is_same_v<Op, relay::AvgPool3DOp>)
    return op.getCountIncludePad();
  return false;
}

template <typename Op, bool isMax> void lowerPool(Emitter &e, Op op) {
  Tensor data = e.get(op.getData());
  SmallVector<int64_t> axes = spatialAxes(op.getLayout());
  int64_t n = axes.size();
  bool includePad = countsPadding(op);
  SmallVector<Window> windows;
  for (int64_t i = 0; i < n; ++i) {
    int64_t stride = op.getStrides()[i], dilation = op.getDilation()[i], taps = op.getPoolSize()[i];
    int64_t before = op.getPadding()[i], after = op.getPadding()[i + n], extent = data.dim(axes[i]);
    auto start = [&e, stride, before](Value o) { return e.sub(e.mul(o, e.index(stride)), e.index(before)); };
    Window w;
    w.taps = taps;
    w.source = [&e, start, dilation](Value o, Value t) {
      return e.add(start(o), e.mul(t, e.index(dilation)));
    };
    // With ceil_mode a window may go past the padding; what lies there never counts.
    w.count = [&e, start, taps, dilation, before, after, extent, includePad](Value o) {
      Value low = e.index(includePad ? -before : 0), high = e.index(includePad ? extent + after : extent);
      // A window in the padding alone: its sum is 0, whatever it is divided by.
      return e.make<arith::MaxSIOp>(tapsBetween(e, start(o), taps, dilation, low, high), e.index(1));
    };
    windows.push_back(std::move(w));
  }
  auto type = cast<RankedTensorType>(op.getResult().getType());
  e.set(op.getResult(), pool(e, data, type.getShape(), axes, windows, isMax));
}

/// Output position o covers [floor(o * in / out), ceil((o + 1) * in / out)).
template <typename Op, bool isMax> void lowerAdaptive(Emitter &e, Op op) {
  Tensor data = e.get(op.getData());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  SmallVector<int64_t> axes = spatialAxes(op.getLayout());
  SmallVector<Window> windows;
  for (int64_t axis : axes) {
    int64_t in = data.dim(axis), out = type.getDimSize(axis);
    auto begin = [&e, in, out](Value o) {
      return e.make<arith::DivSIOp>(e.mul(o, e.index(in)), e.index(out));
    };
    auto size = [&e, in, out, begin](Value o) {
      Value end = e.make<arith::DivSIOp>(e.add(e.mul(e.add(o, e.index(1)), e.index(in)), e.index(out - 1)),
                                         e.index(out));
      return e.sub(end, begin(o));
    };
    Window w;
    for (int64_t o = 0; o < out; ++o)
      w.taps = std::max(w.taps, ((o + 1) * in + out - 1) / out - o * in / out);
    w.source = [&e, begin](Value o, Value t) { return e.add(begin(o), t); };
    w.belongs = [&e, size](Value o, Value t) { return e.less(t, size(o)); };
    w.count = size;
    windows.push_back(std::move(w));
  }
  e.set(op.getResult(), pool(e, data, type.getShape(), axes, windows, isMax));
}

} // namespace

void addPoolLowerings(LoweringTable &table) {
  addLowering(table, lowerPool<relay::MaxPool1DOp, true>);
  addLowering(table, lowerPool<relay::MaxPool2DOp, true>);
  addLowering(table, lowerPool<relay::MaxPool3DOp, true>);
  addLowering(table, lowerPool<relay::AvgPool1DOp, false>);
  addLowering(table, lowerPool<relay::AvgPool2DOp, false>);
  addLowering(table, lowerPool<relay::AvgPool3DOp, false>);
  // A global window is the adaptive one of size 1.
  addLowering(table, lowerAdaptive<relay::GlobalMaxPool2DOp, true>);
  addLowering(table, lowerAdaptive<relay::GlobalAvgPool2DOp, false>);
  addLowering(table, lowerAdaptive<relay::AdaptiveMaxPool1DOp, true>);
  addLowering(table, lowerAdaptive<relay::AdaptiveMaxPool2DOp, true>);
  addLowering(table, lowerAdaptive<relay::AdaptiveMaxPool3DOp, true>);
  addLowering(table, lowerAdaptive<relay::AdaptiveAvgPool1DOp, false>);
  addLowering(table, lowerAdaptive<relay::AdaptiveAvgPool2DOp, false>);
  addLowering(table, lowerAdaptive<relay::AdaptiveAvgPool3DOp, false>);
}

} // namespace tensorturbo::host
