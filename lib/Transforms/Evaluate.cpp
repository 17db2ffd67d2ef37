// Evaluation of element-wise operators, casts, reductions and creation.
#include "Transforms/Evaluate.h"
#include "Transforms/Elements.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

namespace tensorturbo::relay {

using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

using Result = std::optional<std::vector<Constant>>;
using Doubles = std::vector<double>;
using Integers = std::vector<int64_t>;

Result one(Constant c) {
  return std::vector<Constant>{std::move(c)};
}

/// For every element of `shape` its element in a tensor that broadcasts to it.
Integers broadcastIndex(ArrayRef<int64_t> from, ArrayRef<int64_t> shape, int64_t count) {
  Integers out(count);
  SmallVector<int64_t> strides(shape.size(), 0), index(shape.size(), 0);
  size_t shift = shape.size() - from.size();
  int64_t stride = 1;
  for (size_t i = from.size(); i-- > 0;) {
    strides[i + shift] = from[i] == 1 ? 0 : stride;
    stride *= from[i];
  }
  int64_t at = 0;
  for (int64_t k = 0; k < count; ++k) {
    out[k] = at;
    for (size_t axis = shape.size(); axis-- > 0;) {
      at += strides[axis];
      if (++index[axis] < shape[axis])
        break;
      at -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return out;
}

double (*floatUnary(mlir::Operation *op))(double) {
  using F = double (*)(double);
  return llvm::TypeSwitch<mlir::Operation *, F>(op)
      .Case([](AbsOp) -> F { return [](double x) { return std::fabs(x); }; })
      .Case([](NegativeOp) -> F { return [](double x) { return -x; }; })
      .Case([](SignOp) -> F { return [](double x) {
                                return x > 0 ? 1.0 : x < 0 ? -1.0 : x;
                              }; })
      .Case([](FloorOp) -> F { return [](double x) { return std::floor(x); }; })
      .Case([](CeilOp) -> F { return [](double x) { return std::ceil(x); }; })
      .Case([](RoundOp) -> F { return [](double x) { return std::nearbyint(x); }; })
      .Case([](TruncOp) -> F { return [](double x) { return std::trunc(x); }; })
      .Case([](ExpOp) -> F { return [](double x) { return std::exp(x); }; })
      .Case([](LogOp) -> F { return [](double x) { return std::log(x); }; })
      .Case([](Log2Op) -> F { return [](double x) { return std::log2(x); }; })
      .Case([](Log10Op) -> F { return [](double x) { return std::log10(x); }; })
      .Case([](SqrtOp) -> F { return [](double x) { return std::sqrt(x); }; })
      .Case([](RsqrtOp) -> F { return [](double x) { return 1 / std::sqrt(x); }; })
      .Case([](SigmoidOp) -> F { return [](double x) { return 1 / (1 + std::exp(-x)); }; })
      .Case([](TanhOp) -> F { return [](double x) { return std::tanh(x); }; })
      .Case([](SinOp) -> F { return [](double x) { return std::sin(x); }; })
      .Case([](CosOp) -> F { return [](double x) { return std::cos(x); }; })
      .Case([](TanOp) -> F { return [](double x) { return std::tan(x); }; })
      .Case([](AtanOp) -> F { return [](double x) { return std::atan(x); }; })
      .Case([](ErfOp) -> F { return [](double x) { return std::erf(x); }; })
      .Case([](ReluOp) -> F { return [](double x) { return x > 0 || std::isnan(x) ? x : 0.0; }; })
      .Default([](mlir::Operation *) -> F { return nullptr; });
}

std::optional<double> floatBinary(mlir::Operation *op, double a, double b) {
  return llvm::TypeSwitch<mlir::Operation *, std::optional<double>>(op)
      .Case([&](AddOp) { return a + b; })
      .Case([&](SubtractOp) { return a - b; })
      .Case([&](MultiplyOp) { return a * b; })
      .Case([&](DivideOp) { return a / b; })
      .Case([&](PowerOp) { return std::pow(a, b); })
      .Case([&](MaximumOp) { return std::isnan(a) || a > b ? a : b; })
      .Case([&](MinimumOp) { return std::isnan(a) || a < b ? a : b; })
      .Case([&](ModOp) { return std::fmod(a, b); })
      .Case([&](FloorModOp) { return a - std::floor(a / b) * b; })
      .Case([&](FloorDivideOp) { return std::floor(a / b); })
      .Default([](mlir::Operation *) { return std::nullopt; });
}

/// Wrapping arithmetic; nullopt where the result is undefined (division by zero) or there is no evaluator.
std::optional<int64_t> integerBinary(mlir::Operation *op, int64_t a, int64_t b) {
  using R = std::optional<int64_t>;
  auto wrap = [](uint64_t v) { return R(static_cast<int64_t>(v)); };
  bool undefined = b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min());
  return llvm::TypeSwitch<mlir::Operation *, R>(op)
      .Case([&](AddOp) { return wrap(uint64_t(a) + uint64_t(b)); })
      .Case([&](SubtractOp) { return wrap(uint64_t(a) - uint64_t(b)); })
      .Case([&](MultiplyOp) { return wrap(uint64_t(a) * uint64_t(b)); })
      .Case<DivideOp, TruncDivideOp>([&](auto) { return undefined ? R() : R(a / b); })
      .Case<ModOp, TruncModOp>([&](auto) { return undefined ? R() : R(a % b); })
      .Case(
          [&](FloorDivideOp) { return undefined ? R() : R(a / b - ((a % b != 0) && ((a < 0) != (b < 0)))); })
      .Case([&](FloorModOp) { return undefined ? R() : R(((a % b) + b) % b); })
      .Case([&](MaximumOp) { return R(std::max(a, b)); })
      .Case([&](MinimumOp) { return R(std::min(a, b)); })
      .Case<BitwiseAndOp, LogicalAndOp>([&](auto) { return R(a & b); })
      .Case<BitwiseOrOp, LogicalOrOp>([&](auto) { return R(a | b); })
      .Case<BitwiseXorOp, LogicalXorOp>([&](auto) { return R(a ^ b); })
      .Default([](mlir::Operation *) { return R(); });
}

template <typename T> std::optional<bool> compare(mlir::Operation *op, T a, T b) {
  return llvm::TypeSwitch<mlir::Operation *, std::optional<bool>>(op)
      .Case([&](EqualOp) { return a == b; })
      .Case([&](NotEqualOp) { return a != b; })
      .Case([&](LessOp) { return a < b; })
      .Case([&](LessEqualOp) { return a <= b; })
      .Case([&](GreaterOp) { return a > b; })
      .Case([&](GreaterEqualOp) { return a >= b; })
      .Default([](mlir::Operation *) { return std::nullopt; });
}

Result binary(mlir::Operation *op, ArrayRef<Constant> in, DType out, ArrayRef<int64_t> shape, int64_t count) {
  // Order and quotients of uint64 beyond 2^63 are not those of int64.
  if (in[0].dtype == DType::UInt64)
    return std::nullopt;
  Integers a = broadcastIndex(in[0].shape, shape, count), b = broadcastIndex(in[1].shape, shape, count);
  bool isCompare = out == DType::Bool && in[0].dtype != DType::Bool;
  auto comparison = llvm::isa<EqualOp, NotEqualOp, LessOp, LessEqualOp, GreaterOp, GreaterEqualOp>(op);
  isCompare |= comparison;
  std::vector<uint8_t> flags(isCompare ? count : 0);
  if (isFloat(in[0].dtype)) {
    Doubles x = loadDoubles(in[0]), y = loadDoubles(in[1]), z(isCompare ? 0 : count);
    for (int64_t i = 0; i < count; ++i) {
      if (isCompare) {
        auto v = compare(op, x[a[i]], y[b[i]]);
        if (!v)
          return std::nullopt;
        flags[i] = *v;
      } else {
        auto v = floatBinary(op, x[a[i]], y[b[i]]);
        if (!v)
          return std::nullopt;
        z[i] = *v;
      }
    }
    return one(makeConstant(out, shape, isCompare ? std::move(flags) : storeDoubles(out, z)));
  }
  Integers x = loadInts(in[0]), y = loadInts(in[1]), z(isCompare ? 0 : count);
  for (int64_t i = 0; i < count; ++i) {
    if (isCompare) {
      auto v = compare(op, x[a[i]], y[b[i]]);
      if (!v)
        return std::nullopt;
      flags[i] = *v;
    } else {
      auto v = integerBinary(op, x[a[i]], y[b[i]]);
      if (!v)
        return std::nullopt;
      z[i] = *v;
    }
  }
  return one(makeConstant(out, shape, isCompare ? std::move(flags) : storeInts(out, z)));
}

Result unary(mlir::Operation *op, const Constant &in, DType out, int64_t count) {
  if (auto cast = llvm::dyn_cast<CastOp>(op)) {
    // uint64 beyond 2^63 would turn negative.
    if (in.dtype == DType::UInt64 && isFloat(out))
      return std::nullopt;
    return one(makeConstant(out, in.shape, castElements(in, out)));
  }
  if (llvm::isa<ZerosLikeOp, OnesLikeOp>(op)) {
    Integers values(count, llvm::isa<OnesLikeOp>(op));
    return one(makeConstant(out, in.shape, storeInts(out, values)));
  }
  if (isFloat(in.dtype)) {
    Doubles values = loadDoubles(in);
    if (auto clip = llvm::dyn_cast<ClipOp>(op)) {
      for (double &v : values)
        v = v < clip.getAMin() ? clip.getAMin() : v > clip.getAMax() ? clip.getAMax() : v;
    } else if (auto leaky = llvm::dyn_cast<LeakyReluOp>(op)) {
      for (double &v : values)
        v = v > 0 ? v : v * leaky.getAlpha();
    } else if (llvm::isa<IsnanOp, IsinfOp, IsfiniteOp>(op)) {
      std::vector<uint8_t> flags;
      for (double v : values)
        flags.push_back(llvm::isa<IsnanOp>(op)   ? std::isnan(v)
                        : llvm::isa<IsinfOp>(op) ? std::isinf(v)
                                                 : std::isfinite(v));
      return one(makeConstant(out, in.shape, std::move(flags)));
    } else if (auto f = floatUnary(op)) {
      for (double &v : values)
        v = f(v);
    } else {
      return std::nullopt;
    }
    return one(makeConstant(out, in.shape, storeDoubles(out, values)));
  }
  Integers values = loadInts(in);
  for (int64_t &v : values) {
    if (llvm::isa<NegativeOp>(op))
      v = static_cast<int64_t>(0 - static_cast<uint64_t>(v));
    else if (llvm::isa<AbsOp>(op) && in.dtype != DType::UInt64)
      v = v < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(v)) : v;
    else if (llvm::isa<LogicalNotOp>(op))
      v = v == 0;
    else if (llvm::isa<BitwiseNotOp>(op))
      v = ~v;
    else if (!llvm::isa<FloorOp, CeilOp, RoundOp, TruncOp>(op))
      return std::nullopt;
  }
  return one(makeConstant(out, in.shape, storeInts(out, values)));
}

/// sum, mean, max, min, prod, all, any over axes.
template <typename Op>
Result reduce(Op op, const Constant &in, DType out, ArrayRef<int64_t> shape, int64_t count) {
  if (in.dtype == DType::UInt64)
    return std::nullopt;
  SmallVector<bool> mask = reducedAxes(in.shape.size(), op.getAxis(), op.getExclude());
  SmallVector<int64_t> kept;
  for (size_t i = 0; i < mask.size(); ++i)
    kept.push_back(mask[i] ? 1 : in.shape[i]);
  // Each source element's result: where the kept shape broadcasts to it.
  int64_t n = in.elements();
  Integers target = broadcastIndex(kept, in.shape, n);
  bool isMax = std::is_same_v<Op, MaxOp> || std::is_same_v<Op, AnyOp>;
  bool isMin = std::is_same_v<Op, MinOp> || std::is_same_v<Op, AllOp>;
  bool isProd = std::is_same_v<Op, ProdOp>, isMean = std::is_same_v<Op, MeanOp>;
  if (n == 0 && (isMax || isMin || isMean))
    return std::nullopt;
  auto run = [&](auto values) {
    using T = typename decltype(values)::value_type;
    std::vector<T> acc(count, isProd ? T(1) : T(0));
    std::vector<bool> seen(count, false);
    for (int64_t i = 0; i < n; ++i) {
      T &a = acc[target[i]];
      T v = values[i];
      if (isMax || isMin) {
        bool better = !seen[target[i]] || (isMax ? v > a : v < a) || v != v;
        if (better)
          a = v;
        seen[target[i]] = true;
      } else if constexpr (std::is_same_v<T, int64_t>) {
        a = isProd ? T(uint64_t(a) * uint64_t(v)) : T(uint64_t(a) + uint64_t(v));
      } else {
        a = isProd ? a * v : a + v;
      }
    }
    if (isMean)
      for (T &a : acc)
        a /= T(n / std::max<int64_t>(count, 1));
    return acc;
  };
  if (isFloat(in.dtype))
    return one(makeConstant(out, shape, storeDoubles(out, run(loadDoubles(in)))));
  return one(makeConstant(out, shape, storeInts(out, run(loadInts(in)))));
}

Result where(ArrayRef<Constant> in, DType out, ArrayRef<int64_t> shape, int64_t count) {
  Integers condition = loadInts(in[0]);
  Integers c = broadcastIndex(in[0].shape, shape, count), x = broadcastIndex(in[1].shape, shape, count),
           y = broadcastIndex(in[2].shape, shape, count);
  size_t size = dtypeSize(out);
  std::vector<uint8_t> bytes(count * size);
  for (int64_t i = 0; i < count; ++i) {
    bool take = condition[c[i]] != 0;
    std::copy_n(in[take ? 1 : 2].data + (take ? x[i] : y[i]) * size, size, bytes.data() + i * size);
  }
  return one(makeConstant(out, shape, std::move(bytes)));
}

/// Arithmetic on more elements would take too much memory on the way; casts work in pieces.
constexpr int64_t maxElements = int64_t(1) << 24;

} // namespace

Result evaluateArithmetic(mlir::Operation *op, ArrayRef<Constant> in) {
  if (op->getNumResults() != 1)
    return std::nullopt;
  mlir::Value result = op->getResult(0);
  ArrayRef<int64_t> shape = shapeOf(result);
  int64_t count = elementCount(shape.vec());
  DType out = *dtypeOf(elementType(result));
  bool large =
      count > maxElements || llvm::any_of(in, [](const Constant &c) { return c.elements() > maxElements; });
  if (large && !llvm::isa<CastOp, ShapeOfOp, NdarraySizeOp>(op))
    return std::nullopt;
  if (op->hasTrait<ElementwiseBinary>())
    return binary(op, in, out, shape, count);
  if (op->hasTrait<ElementwiseUnary>())
    return unary(op, in[0], out, count);
  return llvm::TypeSwitch<mlir::Operation *, Result>(op)
      .Case<SumOp, MeanOp, MaxOp, MinOp, ProdOp, AllOp, AnyOp>(
          [&](auto r) { return reduce(r, in[0], out, shape, count); })
      .Case([&](WhereOp) { return where(in, out, shape, count); })
      .Case<ZerosOp, OnesOp>([&](auto) {
        return one(makeConstant(out, shape, storeInts(out, Integers(count, llvm::isa<OnesOp>(op)))));
      })
      .Case([&](ShapeOfOp s) { return one(makeConstant(out, shape, storeInts(out, shapeOf(s.getData())))); })
      .Case([&](NdarraySizeOp s) {
        return one(makeConstant(out, shape, storeInts(out, {elementCount(shapeOf(s.getData()).vec())})));
      })
      .Case([&](ArangeOp r) -> Result {
        auto start = scalarOf(r.getStart()), step = scalarOf(r.getStep());
        if (!start || !step)
          return std::nullopt;
        Doubles values(count);
        for (int64_t i = 0; i < count; ++i)
          values[i] = *start + static_cast<double>(i) * *step;
        return one(makeConstant(out, shape, storeDoubles(out, values)));
      })
      .Default([](mlir::Operation *) { return std::nullopt; });
}

Result evaluate(mlir::Operation *op, ArrayRef<Constant> operands) {
  if (auto moved = evaluateMove(op, operands))
    return moved;
  return evaluateArithmetic(op, operands);
}

} // namespace tensorturbo::relay
