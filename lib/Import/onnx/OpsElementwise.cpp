// Arithmetic, comparisons, logic and casts, element by element.
#include "Import/onnx/Converter.h"
#include <limits>

using namespace tensorturbo;
using namespace tensorturbo::onnx;

namespace {

void refuseBool(OpContext &c, size_t i) {
  if (c.dtype(i) == DType::Bool)
    c.fail("input " + std::to_string(i) + " must be numeric, but is bool");
}

template <const char *const &name> void unary(OpContext &c) {
  refuseBool(c, 0);
  c.setOutput(0, c.emit(name, {c.value(0)}));
}
template <const char *const &name> void floatUnary(OpContext &c) {
  c.requireFloat(0);
  c.setOutput(0, c.emit(name, {c.value(0)}));
}
template <const char *const &name> void binary(OpContext &c) {
  refuseBool(c, 0);
  c.setOutput(0, c.emit(name, {c.value(0), c.value(1)}));
}
/// Comparisons of equality and logic take bool too; relay checks what logic takes.
template <const char *const &name> void anyBinary(OpContext &c) {
  c.setOutput(0, c.emit(name, {c.value(0), c.value(1)}));
}
template <const char *const &name> void variadic(OpContext &c) {
  mlir::Value result = c.value(0);
  refuseBool(c, 0);
  for (size_t i = 1; i < c.inputCount(); ++i)
    result = c.emit(name, {result, c.value(i)});
  c.setOutput(0, result);
}

#define NAME(id, text) constexpr const char *id = text
NAME(nameAbs, "abs");
NAME(nameAcos, "acos");
NAME(nameAcosh, "acosh");
NAME(nameAdd, "add");
NAME(nameAnd, "logical_and");
NAME(nameAsin, "asin");
NAME(nameAsinh, "asinh");
NAME(nameAtan, "atan");
NAME(nameAtanh, "atanh");
NAME(nameBitAnd, "bitwise_and");
NAME(nameBitNot, "bitwise_not");
NAME(nameBitOr, "bitwise_or");
NAME(nameBitXor, "bitwise_xor");
NAME(nameCeil, "ceil");
NAME(nameCos, "cos");
NAME(nameCosh, "cosh");
NAME(nameDiv, "divide");
NAME(nameEqual, "equal");
NAME(nameErf, "erf");
NAME(nameExp, "exp");
NAME(nameFloor, "floor");
NAME(nameGreater, "greater");
NAME(nameGreaterEqual, "greater_equal");
NAME(nameIsNaN, "isnan");
NAME(nameLess, "less");
NAME(nameLessEqual, "less_equal");
NAME(nameLog, "log");
NAME(nameMax, "maximum");
NAME(nameMin, "minimum");
NAME(nameMul, "multiply");
NAME(nameNeg, "negative");
NAME(nameOr, "logical_or");
NAME(nameRound, "round");
NAME(nameSign, "sign");
NAME(nameSin, "sin");
NAME(nameSinh, "sinh");
NAME(nameSqrt, "sqrt");
NAME(nameSub, "subtract");
NAME(nameTan, "tan");
NAME(nameXor, "logical_xor");
#undef NAME

void convertNot(OpContext &c) {
  c.setOutput(0, c.emit("logical_not", {c.value(0)}));
}

void convertReciprocal(OpContext &c) {
  c.requireFloat(0);
  c.setOutput(0, c.divide(c.scalar(1, c.dtype(0)), c.value(0)));
}

void convertPow(OpContext &c) {
  refuseBool(c, 0);
  refuseBool(c, 1);
  if (!isFloat(c.dtype(0)) && isFloat(c.dtype(1)))
    c.fail(std::string("an integer base (") + dtypeName(c.dtype(0)) +
           ") with a floating-point exponent is not supported");
  c.setOutput(0, c.emit("power", {c.value(0), c.cast(c.value(1), c.dtype(0))}));
}

void convertMod(OpContext &c) {
  refuseBool(c, 0);
  bool fmod = c.attrBool("fmod", false);
  if (!fmod && isFloat(c.dtype(0)))
    c.fail("Mod of floating-point inputs needs fmod=1");
  c.setOutput(0, c.emit(fmod ? "mod" : "floor_mod", {c.value(0), c.value(1)}));
}

void convertMean(OpContext &c) {
  c.requireFloat(0);
  mlir::Value sum = c.value(0);
  for (size_t i = 1; i < c.inputCount(); ++i)
    sum = c.add(sum, c.value(i));
  if (c.inputCount() > 1)
    sum = c.divide(sum, c.scalar(static_cast<double>(c.inputCount()), c.dtype(0)));
  c.setOutput(0, sum);
}

void convertBitShift(OpContext &c) {
  std::string direction = c.attrString("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    c.fail("direction must be LEFT or RIGHT, but is " + quoteForMessage(direction));
  c.setOutput(0, c.emit(direction == "LEFT" ? "left_shift" : "right_shift", {c.value(0), c.value(1)}));
}

void convertIsInf(OpContext &c) {
  c.requireFloat(0);
  bool negative = c.attrBool("detect_negative", true), positive = c.attrBool("detect_positive", true);
  mlir::Value inf = c.emit("isinf", {c.value(0)}), zero = c.scalar(0, c.dtype(0));
  if (!negative && !positive)
    inf = c.emit("logical_and", {inf, c.emit("isnan", {c.value(0)})});
  else if (!negative)
    inf = c.emit("logical_and", {inf, c.emit("greater", {c.value(0), zero})});
  else if (!positive)
    inf = c.emit("logical_and", {inf, c.emit("less", {c.value(0), zero})});
  c.setOutput(0, inf);
}

void convertWhere(OpContext &c) {
  if (c.dtype(0) != DType::Bool)
    c.fail(std::string("the condition must be bool, but is ") + dtypeName(c.dtype(0)));
  c.setOutput(0, c.emit("where", {c.value(0), c.value(1), c.value(2)}));
}

void castTo(OpContext &c, DType to) {
  if (c.dtype(0) == to)
    return c.setOutput(0, c.input(0));
  // A cast to bool asks whether the value is not 0.
  if (to == DType::Bool)
    return c.setOutput(0, c.emit("not_equal", {c.value(0), c.scalar(0, c.dtype(0))}));
  c.setOutput(0, c.cast(c.value(0), to));
}

void convertCast(OpContext &c) {
  c.ignoreAttrs({"saturate"});
  int64_t to = c.attrInt("to");
  std::optional<DType> dtype = toDType(to);
  if (!dtype)
    c.fail("a cast to " + elementTypeName(to) + " is not supported");
  castTo(c, *dtype);
}

void convertCastLike(OpContext &c) {
  c.ignoreAttrs({"saturate"});
  castTo(c, c.dtype(1));
}

/// min(max(x, low), high), either of which may be null.
mlir::Value limit(OpContext &c, mlir::Value x, mlir::Value low, mlir::Value high) {
  if (low)
    x = c.emit("maximum", {x, low});
  if (high)
    x = c.emit("minimum", {x, high});
  return x;
}

void convertClip(OpContext &c) {
  refuseBool(c, 0);
  std::optional<double> low, high;
  bool isConstant = true;
  if (c.opset() < 11) {
    if (c.hasAttr("min"))
      low = c.attrFloat("min", 0);
    if (c.hasAttr("max"))
      high = c.attrFloat("max", 0);
  } else {
    for (size_t i = 1; i <= 2; ++i) {
      if (!c.has(i))
        continue;
      if (product(c.shape(i)) != 1)
        c.fail("limits must be scalars, but input " + std::to_string(i) + " has shape " +
               shapeText(c.shape(i)));
      if (c.dtype(i) != c.dtype(0))
        c.fail(std::string("limits must have the input's type ") + dtypeName(c.dtype(0)) + ", but input " +
               std::to_string(i) + " is " + dtypeName(c.dtype(i)));
      if (c.constant(i))
        (i == 1 ? low : high) = c.constScalar(i, "the limit");
      else
        isConstant = false;
    }
  }
  if (!isConstant || !isFloat(c.dtype(0))) {
    auto bound = [&](size_t i, std::optional<double> value) -> mlir::Value {
      if (c.opset() >= 11)
        return c.has(i) ? c.reshape(c.value(i), {}) : mlir::Value();
      return value ? c.scalar(*value, c.dtype(0)) : mlir::Value();
    };
    return c.setOutput(0, limit(c, c.value(0), bound(1, low), bound(2, high)));
  }
  if (low && *low == -std::numeric_limits<double>::infinity())
    low.reset();
  if (high && *high == std::numeric_limits<double>::infinity())
    high.reset();
  if (low && high && *low <= *high)
    return c.setOutput(0, c.emit("clip", {c.value(0)}, {c.real("a_min", *low), c.real("a_max", *high)}));
  if (low && *low == 0 && !high)
    return c.setOutput(0, c.relu(c.value(0)));
  if (!low && !high)
    return c.setOutput(0, c.input(0));
  c.setOutput(0, limit(c, c.value(0), low ? c.scalar(*low, c.dtype(0)) : mlir::Value(),
                       high ? c.scalar(*high, c.dtype(0)) : mlir::Value()));
}

} // namespace

void onnx::addElementwiseOps(OpTable &table) {
  table.insert(table.end(), {{"Abs", 1, 1, unary<nameAbs>},
                             {"Acos", 1, 1, floatUnary<nameAcos>},
                             {"Acosh", 1, 1, floatUnary<nameAcosh>, 9},
                             {"Add", 2, 2, binary<nameAdd>},
                             {"And", 2, 2, anyBinary<nameAnd>},
                             {"Asin", 1, 1, floatUnary<nameAsin>},
                             {"Asinh", 1, 1, floatUnary<nameAsinh>, 9},
                             {"Atan", 1, 1, floatUnary<nameAtan>},
                             {"Atanh", 1, 1, floatUnary<nameAtanh>, 9},
                             {"BitShift", 2, 2, convertBitShift, 11},
                             {"BitwiseAnd", 2, 2, anyBinary<nameBitAnd>, 18},
                             {"BitwiseNot", 1, 1, unary<nameBitNot>, 18},
                             {"BitwiseOr", 2, 2, anyBinary<nameBitOr>, 18},
                             {"BitwiseXor", 2, 2, anyBinary<nameBitXor>, 18},
                             {"Cast", 1, 1, convertCast},
                             {"CastLike", 2, 2, convertCastLike, 15},
                             {"Ceil", 1, 1, floatUnary<nameCeil>},
                             {"Clip", 1, 3, convertClip},
                             {"Cos", 1, 1, floatUnary<nameCos>},
                             {"Cosh", 1, 1, floatUnary<nameCosh>, 9},
                             {"Div", 2, 2, binary<nameDiv>},
                             {"Equal", 2, 2, anyBinary<nameEqual>},
                             {"Erf", 1, 1, floatUnary<nameErf>, 9},
                             {"Exp", 1, 1, floatUnary<nameExp>},
                             {"Floor", 1, 1, floatUnary<nameFloor>},
                             {"Greater", 2, 2, binary<nameGreater>},
                             {"GreaterOrEqual", 2, 2, binary<nameGreaterEqual>, 12},
                             {"IsInf", 1, 1, convertIsInf, 10},
                             {"IsNaN", 1, 1, floatUnary<nameIsNaN>, 9},
                             {"Less", 2, 2, binary<nameLess>},
                             {"LessOrEqual", 2, 2, binary<nameLessEqual>, 12},
                             {"Log", 1, 1, floatUnary<nameLog>},
                             {"Max", 1, -1, variadic<nameMax>},
                             {"Mean", 1, -1, convertMean},
                             {"Min", 1, -1, variadic<nameMin>},
                             {"Mod", 2, 2, convertMod, 10},
                             {"Mul", 2, 2, binary<nameMul>},
                             {"Neg", 1, 1, unary<nameNeg>},
                             {"Not", 1, 1, convertNot},
                             {"Or", 2, 2, anyBinary<nameOr>},
                             {"Pow", 2, 2, convertPow},
                             {"Reciprocal", 1, 1, convertReciprocal},
                             {"Round", 1, 1, floatUnary<nameRound>, 11},
                             {"Sign", 1, 1, unary<nameSign>, 9},
                             {"Sin", 1, 1, floatUnary<nameSin>},
                             {"Sinh", 1, 1, floatUnary<nameSinh>, 9},
                             {"Sqrt", 1, 1, floatUnary<nameSqrt>},
                             {"Sub", 2, 2, binary<nameSub>},
                             {"Sum", 1, -1, variadic<nameAdd>},
                             {"Tan", 1, 1, floatUnary<nameTan>},
                             {"Where", 3, 3, convertWhere, 9},
                             {"Xor", 2, 2, anyBinary<nameXor>}});
}
