// Element-wise operators.
#include "Conversion/RelayToLinalg/Emitter.h"
#include "Dialect/Relay/RelayElemwise.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;

namespace tensorturbo::host {
namespace {

ArrayRef<int64_t> resultShape(Operation *op) {
  return cast<RankedTensorType>(op->getResult(0).getType()).getShape();
}
Type resultElement(Operation *op) {
  return cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
}

/// `body` gets the operand's element and its relay type.
template <typename Op> void addUnary(LoweringTable &table, Value (*body)(Emitter &, Value, Type)) {
  table[Op::getOperationName()] = [body](Emitter &e, Operation *op) {
    Tensor x = e.get(op->getOperand(0));
    e.set(op->getResult(0), e.mapElements(resultElement(op), x.shape(), {x},
                                          [&](ValueRange v) { return body(e, v[0], x.element); }));
  };
}

template <typename Op> void addBinary(LoweringTable &table, Value (*body)(Emitter &, Value, Value, Type)) {
  table[Op::getOperationName()] = [body](Emitter &e, Operation *op) {
    Tensor x = e.get(op->getOperand(0)), y = e.get(op->getOperand(1));
    e.set(op->getResult(0), e.mapElements(resultElement(op), resultShape(op), {x, y},
                                          [&](ValueRange v) { return body(e, v[0], v[1], x.element); }));
  };
}

/// An operator of the math dialect on floating-point data.
template <typename Op, typename MathOp> void addMath(LoweringTable &table) {
  addUnary<Op>(table, [](Emitter &e, Value x, Type) { return e.make<MathOp>(x); });
}

/// Rounding: nothing to do for integers.
template <typename Op, typename MathOp> void addRounding(LoweringTable &table) {
  addUnary<Op>(table, [](Emitter &e, Value x, Type type) { return isFloat(type) ? e.make<MathOp>(x) : x; });
}

template <typename Op, typename ArithOp> void addBitwise(LoweringTable &table) {
  addBinary<Op>(table, [](Emitter &e, Value x, Value y, Type) { return e.make<ArithOp>(x, y); });
}

template <typename Op> void addCompare(LoweringTable &table, Value (*body)(Emitter &, Value, Value, bool)) {
  table[Op::getOperationName()] = [body](Emitter &e, Operation *op) {
    Tensor x = e.get(op->getOperand(0)), y = e.get(op->getOperand(1));
    bool isUnsignedType = isUnsigned(x.element);
    e.set(op->getResult(0), e.mapElements(resultElement(op), resultShape(op), {x, y},
                                          [&](ValueRange v) { return body(e, v[0], v[1], isUnsignedType); }));
  };
}

Value compareFloat(Emitter &e, arith::CmpFPredicate predicate, Value x, Value y) {
  return e.make<arith::CmpFOp>(predicate, x, y);
}
Value lessEqual(Emitter &e, Value x, Value y, bool isUnsignedType) {
  if (isa<FloatType>(x.getType()))
    return compareFloat(e, arith::CmpFPredicate::OLE, x, y);
  return e.negated(e.less(y, x, isUnsignedType));
}

Value absolute(Emitter &e, Value x, Type type) {
  if (isFloat(type))
    return e.make<math::AbsFOp>(x);
  if (isUnsigned(type))
    return x;
  Value zero = e.integer(x.getType(), 0);
  return e.select(e.less(x, zero), e.sub(zero, x), x);
}

Value sign(Emitter &e, Value x, Type type) {
  Type compute = x.getType();
  Value zero = e.number(compute, 0), one = e.number(compute, 1);
  if (isUnsigned(type))
    return e.select(e.equal(x, zero), zero, one);
  // What is neither above nor below zero stays: a zero, or NaN.
  return e.select(e.less(zero, x), one, e.select(e.less(x, zero), e.number(compute, -1), x));
}

Value sigmoid(Emitter &e, Value x, Type) {
  Value one = e.number(x.getType(), 1);
  return e.div(one, e.add(one, e.make<math::ExpOp>(e.make<arith::NegFOp>(x))));
}

Value power(Emitter &e, Value x, Value y, Type type) {
  if (isFloat(type))
    return e.make<math::PowFOp>(x, y);
  Type f64 = e.b.getF64Type();
  Value result = e.make<math::PowFOp>(e.castScalar(x, type, f64), e.castScalar(y, type, f64));
  return e.castScalar(result, f64, type);
}

/// Quotient rounded down.
Value floorDivide(Emitter &e, Value x, Value y, Type type) {
  if (isFloat(type))
    return e.make<math::FloorOp>(e.div(x, y));
  bool isUnsignedType = isUnsigned(type);
  Value quotient = e.div(x, y, isUnsignedType);
  if (isUnsignedType)
    return quotient;
  Value zero = e.integer(x.getType(), 0), remainder = e.rem(x, y);
  Value inexact = e.negated(e.equal(remainder, zero));
  Value signsDiffer = e.make<arith::XOrIOp>(e.less(remainder, zero), e.less(y, zero));
  return e.select(e.both(inexact, signsDiffer), e.sub(quotient, e.integer(x.getType(), 1)), quotient);
}

/// Remainder with the sign of the divisor.
Value floorMod(Emitter &e, Value x, Value y, Type type) {
  Value remainder = e.rem(x, y, isUnsigned(type));
  if (isUnsigned(type))
    return remainder;
  Value zero = e.number(x.getType(), 0);
  Value inexact = e.negated(e.equal(remainder, zero));
  Value signsDiffer = e.make<arith::XOrIOp>(e.less(remainder, zero), e.less(y, zero));
  return e.select(e.both(inexact, signsDiffer), e.add(remainder, y), remainder);
}

/// Shifts by the width or more give what is left of the value then: nothing, or copies of the sign.
Value shift(Emitter &e, Value x, Value y, Type type, bool left) {
  unsigned width = x.getType().getIntOrFloatBitWidth();
  Value last = e.integer(x.getType(), width - 1), zero = e.integer(x.getType(), 0);
  Value tooFar = e.less(last, y, /*isUnsigned=*/true);
  Value amount = e.select(tooFar, last, y);
  if (left)
    return e.select(tooFar, zero, e.make<arith::ShLIOp>(x, amount));
  if (isUnsigned(type))
    return e.select(tooFar, zero, e.make<arith::ShRUIOp>(x, amount));
  return e.make<arith::ShRSIOp>(x, amount);
}

void lowerClip(Emitter &e, relay::ClipOp op) {
  Tensor x = e.get(op.getData());
  Type compute = computeType(x.element);
  double low = op.getAMin(), high = op.getAMax();
  bool isUnsignedType = isUnsigned(x.element);
  e.set(op.getResult(), e.mapElements(x.element, x.shape(), {x}, [&](ValueRange v) {
    if (isFloat(x.element))
      return e.minimum(e.maximum(v[0], e.number(compute, low)), e.number(compute, high));
    // Integer limits may lie outside of the type: then they do not limit.
    auto limit = [&](double value, bool isLow) {
      unsigned width = compute.getIntOrFloatBitWidth();
      double least = isUnsignedType ? 0 : -std::ldexp(1.0, width - 1);
      double most = std::ldexp(1.0, isUnsignedType ? width : width - 1);
      if (value <= least || std::isnan(value))
        return isLow || !std::isnan(value) ? e.lowest(x.element) : e.highest(x.element);
      if (value >= most)
        return e.highest(x.element);
      double whole = isLow ? std::ceil(value) : std::floor(value);
      return e.integer(compute, whole >= 9223372036854775808.0 ? int64_t(uint64_t(whole)) : int64_t(whole));
    };
    return e.minimum(e.maximum(v[0], limit(low, true), isUnsignedType), limit(high, false), isUnsignedType);
  }));
}

void lowerCast(Emitter &e, relay::CastOp op) {
  e.set(op.getResult(), e.castTensor(e.get(op.getData()), resultElement(op)));
}

void lowerWhere(Emitter &e, relay::WhereOp op) {
  Tensor condition = e.get(op.getCondition()), x = e.get(op.getX()), y = e.get(op.getY());
  Type boolean = e.b.getI1Type();
  e.set(op.getResult(), e.mapElements(x.element, resultShape(op), {condition, x, y}, [&](ValueRange v) {
    return e.select(e.castScalar(v[0], condition.element, boolean), v[1], v[2]);
  }));
}

void addUnaries(LoweringTable &table) {
  addUnary<relay::AbsOp>(table, absolute);
  addUnary<relay::NegativeOp>(table, [](Emitter &e, Value x, Type type) {
    return isFloat(type) ? e.make<arith::NegFOp>(x) : e.sub(e.integer(x.getType(), 0), x);
  });
  addUnary<relay::SignOp>(table, sign);
  addRounding<relay::FloorOp, math::FloorOp>(table);
  addRounding<relay::CeilOp, math::CeilOp>(table);
  addRounding<relay::RoundOp, math::RoundEvenOp>(table);
  addRounding<relay::TruncOp, math::TruncOp>(table);
  table[relay::CopyOp::getOperationName()] = [](Emitter &e, Operation *op) {
    e.set(op->getResult(0), e.get(op->getOperand(0)));
  };
  addUnary<relay::ZerosLikeOp>(table, [](Emitter &e, Value x, Type) { return e.number(x.getType(), 0); });
  addUnary<relay::OnesLikeOp>(table, [](Emitter &e, Value x, Type) { return e.number(x.getType(), 1); });
  addUnary<relay::BitwiseNotOp>(
      table, [](Emitter &e, Value x, Type) { return e.make<arith::XOrIOp>(x, e.integer(x.getType(), -1)); });
  addUnary<relay::LogicalNotOp>(table, [](Emitter &e, Value x, Type) { return e.negated(x); });
  addMath<relay::ExpOp, math::ExpOp>(table);
  addMath<relay::LogOp, math::LogOp>(table);
  addMath<relay::Log2Op, math::Log2Op>(table);
  addMath<relay::Log10Op, math::Log10Op>(table);
  addMath<relay::SqrtOp, math::SqrtOp>(table);
  addUnary<relay::RsqrtOp>(table, [](Emitter &e, Value x, Type) {
    return e.div(e.number(x.getType(), 1), e.make<math::SqrtOp>(x));
  });
  addUnary<relay::SigmoidOp>(table, sigmoid);
  addMath<relay::TanhOp, math::TanhOp>(table);
  addMath<relay::SinOp, math::SinOp>(table);
  addMath<relay::CosOp, math::CosOp>(table);
  addMath<relay::TanOp, math::TanOp>(table);
  addMath<relay::AsinOp, math::AsinOp>(table);
  addMath<relay::AcosOp, math::AcosOp>(table);
  addMath<relay::AtanOp, math::AtanOp>(table);
  addMath<relay::SinhOp, math::SinhOp>(table);
  addMath<relay::CoshOp, math::CoshOp>(table);
  addMath<relay::AsinhOp, math::AsinhOp>(table);
  addMath<relay::AcoshOp, math::AcoshOp>(table);
  addMath<relay::AtanhOp, math::AtanhOp>(table);
  addMath<relay::ErfOp, math::ErfOp>(table);
  addUnary<relay::IsnanOp>(table, [](Emitter &e, Value x, Type type) {
    return isFloat(type) ? compareFloat(e, arith::CmpFPredicate::UNO, x, x) : e.integer(e.b.getI1Type(), 0);
  });
  addUnary<relay::IsinfOp>(table, [](Emitter &e, Value x, Type type) {
    return isFloat(type) ? e.equal(e.make<math::AbsFOp>(x), e.highest(type)) : e.integer(e.b.getI1Type(), 0);
  });
  addUnary<relay::IsfiniteOp>(table, [](Emitter &e, Value x, Type type) {
    return isFloat(type) ? e.less(e.make<math::AbsFOp>(x), e.highest(type)) : e.integer(e.b.getI1Type(), 1);
  });
}

void addBinaries(LoweringTable &table) {
  addBinary<relay::AddOp>(table, [](Emitter &e, Value x, Value y, Type) { return e.add(x, y); });
  addBinary<relay::SubtractOp>(table, [](Emitter &e, Value x, Value y, Type) { return e.sub(x, y); });
  addBinary<relay::MultiplyOp>(table, [](Emitter &e, Value x, Value y, Type) { return e.mul(x, y); });
  addBinary<relay::DivideOp>(table,
                             [](Emitter &e, Value x, Value y, Type t) { return e.div(x, y, isUnsigned(t)); });
  addBinary<relay::PowerOp>(table, power);
  addBinary<relay::MaximumOp>(
      table, [](Emitter &e, Value x, Value y, Type t) { return e.maximum(x, y, isUnsigned(t)); });
  addBinary<relay::MinimumOp>(
      table, [](Emitter &e, Value x, Value y, Type t) { return e.minimum(x, y, isUnsigned(t)); });
  addBinary<relay::ModOp>(table,
                          [](Emitter &e, Value x, Value y, Type t) { return e.rem(x, y, isUnsigned(t)); });
  addBinary<relay::TruncModOp>(
      table, [](Emitter &e, Value x, Value y, Type t) { return e.rem(x, y, isUnsigned(t)); });
  addBinary<relay::FloorModOp>(table, floorMod);
  addBinary<relay::FloorDivideOp>(table, floorDivide);
  addBinary<relay::TruncDivideOp>(table, [](Emitter &e, Value x, Value y, Type t) {
    Value quotient = e.div(x, y, isUnsigned(t));
    return isFloat(t) ? e.make<math::TruncOp>(quotient) : quotient;
  });
  addBitwise<relay::BitwiseAndOp, arith::AndIOp>(table);
  addBitwise<relay::BitwiseOrOp, arith::OrIOp>(table);
  addBitwise<relay::BitwiseXorOp, arith::XOrIOp>(table);
  addBitwise<relay::LogicalAndOp, arith::AndIOp>(table);
  addBitwise<relay::LogicalOrOp, arith::OrIOp>(table);
  addBitwise<relay::LogicalXorOp, arith::XOrIOp>(table);
  addBinary<relay::LeftShiftOp>(table,
                                [](Emitter &e, Value x, Value y, Type t) { return shift(e, x, y, t, true); });
  addBinary<relay::RightShiftOp>(
      table, [](Emitter &e, Value x, Value y, Type t) { return shift(e, x, y, t, false); });
  addCompare<relay::EqualOp>(table, [](Emitter &e, Value x, Value y, bool) { return e.equal(x, y); });
  addCompare<relay::NotEqualOp>(table,
                                [](Emitter &e, Value x, Value y, bool) { return e.negated(e.equal(x, y)); });
  addCompare<relay::LessOp>(table, [](Emitter &e, Value x, Value y, bool u) { return e.less(x, y, u); });
  addCompare<relay::GreaterOp>(table, [](Emitter &e, Value x, Value y, bool u) { return e.less(y, x, u); });
  addCompare<relay::LessEqualOp>(table, lessEqual);
  addCompare<relay::GreaterEqualOp>(
      table, [](Emitter &e, Value x, Value y, bool u) { return lessEqual(e, y, x, u); });
}

} // namespace

void addElemwiseLowerings(LoweringTable &table) {
  addUnaries(table);
  addBinaries(table);
  addLowering(table, lowerClip);
  addLowering(table, lowerCast);
  addLowering(table, lowerWhere);
}

} // namespace tensorturbo::host
