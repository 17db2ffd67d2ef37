// Resampling of images: nearest, linear, cubic, in one to three dimensions.
#include "Conversion/RelayToLinalg/Emitter.h"
#include "Dialect/Relay/RelayPool.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tensorturbo::host {
namespace {

struct Sampling {
  StringRef method;
  StringRef mode;
  StringRef rounding;
  double cubicAlpha = -0.5;
  bool cubicExclude = false;
  double extrapolation = 0;
};

/// One axis to resample.
struct Axis {
  int64_t dimension = 0, in = 0, out = 0;
  /// Part of the axis for tf_crop_and_resize.
  double begin = 0, end = 1;
};

/// A source element and its weight.
struct Tap {
  Value position, weight;
};

/// Source coordinate (float64) of an output position. Products come before quotients, so that coordinates
/// that are whole numbers or halves are exact.
Value coordinate(Emitter &e, const Axis &axis, StringRef mode, Value position) {
  Type f64 = e.b.getF64Type();
  auto f = [&](double value) { return e.number(f64, value); };
  Value x = e.make<arith::SIToFPOp>(f64, e.make<arith::IndexCastOp>(e.b.getI64Type(), position));
  double in = double(axis.in), out = double(axis.out);
  if (mode == "align_corners")
    return axis.out == 1 ? f(0) : e.div(e.mul(x, f(in - 1)), f(out - 1));
  if (mode == "asymmetric")
    return e.div(e.mul(x, f(in)), f(out));
  if (mode == "tf_crop_and_resize") {
    if (axis.out == 1)
      return f(0.5 * (axis.begin + axis.end) * (in - 1));
    return e.add(f(axis.begin * (in - 1)),
                 e.div(e.mul(x, f((axis.end - axis.begin) * (in - 1))), f(out - 1)));
  }
  if (mode == "pytorch_half_pixel" && axis.out == 1)
    return f(0);
  Value centre = e.div(e.mul(e.add(x, f(0.5)), f(in)), f(out));
  return mode == "tf_half_pixel_for_nn" ? centre : e.sub(centre, f(0.5));
}

Value nearest(Emitter &e, const Sampling &s, Value x) {
  Value half = e.number(x.getType(), 0.5);
  if (s.rounding == "floor" || (s.rounding.empty() && s.mode != "align_corners"))
    return e.make<math::FloorOp>(x);
  if (s.rounding == "ceil")
    return e.make<math::CeilOp>(x);
  if (s.rounding == "round_prefer_floor")
    return e.make<math::CeilOp>(e.sub(x, half));
  if (s.rounding == "round_prefer_ceil")
    return e.make<math::FloorOp>(e.add(x, half));
  return e.make<math::RoundOp>(x);
}

/// Weight of a tap at a distance from the coordinate (cubic convolution).
Value cubicWeight(Emitter &e, Value distance, double alpha) {
  Type type = distance.getType();
  auto f = [&](double value) { return e.number(type, value); };
  Value d = e.make<math::AbsFOp>(distance);
  // ((a + 2) d - (a + 3)) d^2 + 1 up to 1, a (((d - 5) d + 8) d - 4) up to 2, 0 beyond.
  Value near = e.add(e.mul(e.mul(e.sub(e.mul(f(alpha + 2), d), f(alpha + 3)), d), d), f(1));
  Value far = e.mul(f(alpha), e.sub(e.mul(e.add(e.mul(e.sub(d, f(5)), d), f(8)), d), f(4)));
  Value isNear = e.make<arith::CmpFOp>(arith::CmpFPredicate::OLE, d, f(1));
  return e.select(isNear, near, e.select(e.less(d, f(2)), far, f(0)));
}

SmallVector<Tap> taps(Emitter &e, const Sampling &s, const Axis &axis, Value x) {
  Type f64 = e.b.getF64Type();
  auto toPosition = [&](Value whole) {
    Value integer = e.make<arith::FPToSIOp>(e.b.getI64Type(), whole);
    return e.make<arith::IndexCastOp>(e.b.getIndexType(), integer);
  };
  auto clamped = [&](Value position) { return e.clampIndex(position, axis.in); };
  if (s.method == "nearest_neighbor")
    return {{clamped(toPosition(nearest(e, s, x))), e.number(f64, 1)}};
  Value whole = e.make<math::FloorOp>(x), fraction = e.sub(x, whole), first = toPosition(whole);
  Value one = e.number(f64, 1);
  if (s.method == "linear")
    return {{clamped(first), e.sub(one, fraction)}, {clamped(e.add(first, e.index(1))), fraction}};
  SmallVector<Tap> result;
  Value sum = e.number(f64, 0);
  for (int64_t i = -1; i <= 2; ++i) {
    Value position = e.add(first, e.index(i));
    Value weight = cubicWeight(e, e.sub(fraction, e.number(f64, double(i))), s.cubicAlpha);
    if (s.cubicExclude)
      weight = e.select(e.inRange(position, axis.in), weight, e.number(f64, 0));
    sum = e.add(sum, weight);
    result.push_back({clamped(position), weight});
  }
  if (s.cubicExclude)
    for (Tap &tap : result)
      tap.weight = e.div(tap.weight, sum);
  return result;
}

/// The result's element type is that of the data, or a compute type for interpolated ones.
Tensor resample(Emitter &e, const Tensor &data, ArrayRef<int64_t> shape, ArrayRef<Axis> axes,
                const Sampling &s) {
  bool interpolates = s.method != "nearest_neighbor";
  Type f64 = e.b.getF64Type();
  Type element = interpolates && !isFloat(data.element) ? Type(e.b.getF32Type()) : data.element;
  Type compute = computeType(element);
  return e.map(element, shape, [&](ValueRange i) {
    SmallVector<SmallVector<Tap>> all;
    Value outside = e.integer(e.b.getI1Type(), 0);
    for (const Axis &axis : axes) {
      Value x = coordinate(e, axis, s.mode, i[axis.dimension]);
      all.push_back(taps(e, s, axis, x));
      if (s.mode == "tf_crop_and_resize") {
        Value beyond =
            e.make<arith::OrIOp>(e.less(x, e.number(f64, 0)), e.less(e.number(f64, double(axis.in - 1)), x));
        outside = e.make<arith::OrIOp>(outside, beyond);
      }
    }
    SmallVector<Value> source(i);
    Value sum;
    std::function<void(size_t, Value)> visit = [&](size_t a, Value weight) {
      if (a == axes.size()) {
        Value x = e.load(data, source);
        if (interpolates) {
          if (!isFloat(data.element))
            x = e.castScalar(x, data.element, compute);
          x = e.mul(x, e.castScalar(weight, f64, compute));
        }
        sum = sum ? e.add(sum, x) : x;
        return;
      }
      for (const Tap &tap : all[a]) {
        source[axes[a].dimension] = tap.position;
        visit(a + 1, weight ? e.mul(weight, tap.weight) : tap.weight);
      }
    };
    visit(0, Value());
    if (s.mode == "tf_crop_and_resize")
      sum = e.select(outside, e.number(compute, s.extrapolation), sum);
    return sum;
  });
}

template <typename Op> void lowerResize(Emitter &e, Op op) {
  Tensor data = e.get(op.getData());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  std::string spatial;
  for (char letter : {'D', 'H', 'W'})
    if (op.getLayout().contains(letter))
      spatial += letter;
  SmallVector<Axis> axes;
  auto roi = op.getRoi();
  size_t n = spatial.size();
  for (auto [i, letter] : llvm::enumerate(spatial)) {
    Axis axis;
    axis.dimension = relay::axisOf(op.getLayout(), letter);
    axis.in = data.dim(axis.dimension);
    axis.out = type.getDimSize(axis.dimension);
    // Begins of all axes, then their ends.
    if (roi && roi->size() == 2 * n) {
      axis.begin = (*roi)[i];
      axis.end = (*roi)[i + n];
    }
    axes.push_back(axis);
  }
  Sampling s;
  s.method = op.getMethod();
  s.mode = op.getCoordinateTransformationMode();
  s.rounding = op.getRoundingMethod();
  s.cubicAlpha = op.getCubicAlpha();
  s.cubicExclude = op.getCubicExclude() != 0;
  s.extrapolation = op.getExtrapolationValue();
  e.set(op.getResult(), resample(e, data, type.getShape(), axes, s));
}

void lowerUpsampling(Emitter &e, relay::UpsamplingOp op) {
  Tensor data = e.get(op.getData());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  if (data.count() == 0)
    return e.unsupported(op, "data is empty");
  SmallVector<Axis> axes;
  for (char letter : {'H', 'W'}) {
    Axis axis;
    axis.dimension = relay::axisOf(op.getLayout(), letter);
    axis.in = data.dim(axis.dimension);
    axis.out = type.getDimSize(axis.dimension);
    axes.push_back(axis);
  }
  Sampling s;
  s.method = op.getMethod() == "bilinear"  ? "linear"
             : op.getMethod() == "bicubic" ? "cubic"
                                           : "nearest_neighbor";
  s.mode = op.getAlignCorners() ? "align_corners" : "asymmetric";
  e.set(op.getResult(), resample(e, data, type.getShape(), axes, s));
}

} // namespace

void addResizeLowerings(LoweringTable &table) {
  addLowering(table, lowerResize<relay::Resize1DOp>);
  addLowering(table, lowerResize<relay::Resize2DOp>);
  addLowering(table, lowerResize<relay::Resize3DOp>);
  addLowering(table, lowerUpsampling);
}

} // namespace tensorturbo::host
