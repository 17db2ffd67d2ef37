// Scalar arithmetic of the emitter: what the languages of the source models mean by it.
#include "Conversion/RelayToLinalg/Emitter.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tensorturbo::host {
namespace {

bool isFloatValue(Value x) {
  return isa<FloatType>(x.getType());
}

} // namespace

Value Emitter::number(Type type, double value) {
  if (isa<FloatType>(type))
    return make<arith::ConstantOp>(b.getFloatAttr(type, value));
  return integer(type, int64_t(value));
}

Value Emitter::integer(Type type, int64_t value) {
  if (isa<FloatType>(type))
    return number(type, double(value));
  if (type.isInteger(1))
    return make<arith::ConstantOp>(b.getBoolAttr(value != 0));
  // Cut to the width, so that the bits of unsigned values can be given.
  if (auto integerType = dyn_cast<IntegerType>(type))
    return make<arith::ConstantOp>(
        IntegerAttr::get(type, llvm::APInt(64, uint64_t(value), true).sextOrTrunc(integerType.getWidth())));
  return make<arith::ConstantOp>(b.getIntegerAttr(type, value));
}

Value Emitter::lowest(Type element) {
  Type type = computeType(element);
  if (auto floating = dyn_cast<FloatType>(type))
    return make<arith::ConstantOp>(
        FloatAttr::get(type, llvm::APFloat::getInf(floating.getFloatSemantics(), /*Negative=*/true)));
  if (isUnsigned(element))
    return integer(type, 0);
  return make<arith::ConstantOp>(
      IntegerAttr::get(type, llvm::APInt::getSignedMinValue(type.getIntOrFloatBitWidth())));
}

Value Emitter::highest(Type element) {
  Type type = computeType(element);
  if (auto floating = dyn_cast<FloatType>(type))
    return make<arith::ConstantOp>(FloatAttr::get(type, llvm::APFloat::getInf(floating.getFloatSemantics())));
  unsigned width = type.getIntOrFloatBitWidth();
  return make<arith::ConstantOp>(IntegerAttr::get(
      type, isUnsigned(element) ? llvm::APInt::getMaxValue(width) : llvm::APInt::getSignedMaxValue(width)));
}

Value Emitter::add(Value x, Value y) {
  return isFloatValue(x) ? make<arith::AddFOp>(x, y) : make<arith::AddIOp>(x, y);
}
Value Emitter::sub(Value x, Value y) {
  return isFloatValue(x) ? make<arith::SubFOp>(x, y) : make<arith::SubIOp>(x, y);
}
Value Emitter::mul(Value x, Value y) {
  return isFloatValue(x) ? make<arith::MulFOp>(x, y) : make<arith::MulIOp>(x, y);
}

Value Emitter::div(Value x, Value y, bool isUnsigned) {
  if (isFloatValue(x))
    return make<arith::DivFOp>(x, y);
  Type type = x.getType();
  Value zero = integer(type, 0), one = integer(type, 1), isZero = equal(y, zero);
  if (isUnsigned)
    return select(isZero, zero, make<arith::DivUIOp>(x, select(isZero, one, y)));
  // The processor traps on division by zero and on the lowest value by -1.
  Value isMinusOne = equal(y, integer(type, -1));
  Value safe = select(make<arith::OrIOp>(isZero, isMinusOne), one, y);
  Value quotient = make<arith::DivSIOp>(x, safe);
  return select(isZero, zero, select(isMinusOne, sub(zero, x), quotient));
}

Value Emitter::rem(Value x, Value y, bool isUnsigned) {
  if (isFloatValue(x))
    return make<arith::RemFOp>(x, y);
  Type type = x.getType();
  Value zero = integer(type, 0), one = integer(type, 1), isZero = equal(y, zero);
  if (isUnsigned)
    return select(isZero, zero, make<arith::RemUIOp>(x, select(isZero, one, y)));
  Value isMinusOne = equal(y, integer(type, -1));
  // The remainder of a division by 1 is 0, as it is by -1 and, here, by 0.
  return make<arith::RemSIOp>(x, select(make<arith::OrIOp>(isZero, isMinusOne), one, y));
}

Value Emitter::maximum(Value x, Value y, bool isUnsigned) {
  if (isFloatValue(x))
    return make<arith::MaximumFOp>(x, y);
  return isUnsigned ? make<arith::MaxUIOp>(x, y) : make<arith::MaxSIOp>(x, y);
}
Value Emitter::minimum(Value x, Value y, bool isUnsigned) {
  if (isFloatValue(x))
    return make<arith::MinimumFOp>(x, y);
  return isUnsigned ? make<arith::MinUIOp>(x, y) : make<arith::MinSIOp>(x, y);
}
Value Emitter::less(Value x, Value y, bool isUnsigned) {
  if (isFloatValue(x))
    return make<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, y);
  return make<arith::CmpIOp>(isUnsigned ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt, x, y);
}
Value Emitter::equal(Value x, Value y) {
  if (isFloatValue(x))
    return make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x, y);
  return make<arith::CmpIOp>(arith::CmpIPredicate::eq, x, y);
}
Value Emitter::negated(Value condition) {
  return make<arith::XOrIOp>(condition, integer(condition.getType(), 1));
}

Value Emitter::multiplyAdd(Value x, Value y, Value sum) {
  if (!isFloatValue(x))
    return add(mul(x, y), sum);
  auto flags = arith::FastMathFlags::contract | arith::FastMathFlags::reassoc;
  return make<arith::AddFOp>(make<arith::MulFOp>(x, y, flags), sum, flags);
}
Value Emitter::sumAdd(Value x, Value sum) {
  if (!isFloatValue(x))
    return add(x, sum);
  return make<arith::AddFOp>(x, sum, arith::FastMathFlags::reassoc);
}

Value Emitter::castScalar(Value x, Type from, Type to) {
  Type target = computeType(to);
  if (to.isInteger(1)) {
    if (from.isInteger(1))
      return x;
    if (isFloatValue(x)) // NaN is true, as in C
      return make<arith::CmpFOp>(arith::CmpFPredicate::UNE, x, number(x.getType(), 0));
    return make<arith::CmpIOp>(arith::CmpIPredicate::ne, x, integer(x.getType(), 0));
  }
  if (isFloatValue(x)) {
    if (auto floating = dyn_cast<FloatType>(target)) {
      unsigned have = x.getType().getIntOrFloatBitWidth(), want = floating.getWidth();
      return have == want  ? x
             : have < want ? make<arith::ExtFOp>(target, x)
                           : make<arith::TruncFOp>(target, x);
    }
    // Through a wider integer, so that values that do not fit wrap as in C on this processor.
    unsigned width = target.getIntOrFloatBitWidth();
    if (isUnsigned(to) && width == 64)
      return make<arith::FPToUIOp>(target, x);
    Type wide = b.getIntegerType(width < 32 || (width == 32 && !isUnsigned(to)) ? 32 : 64);
    Value value = make<arith::FPToSIOp>(wide, x);
    return wide == target ? value : make<arith::TruncIOp>(target, value);
  }
  bool sourceUnsigned = isUnsigned(from);
  if (isa<FloatType>(target))
    return sourceUnsigned ? make<arith::UIToFPOp>(target, x) : make<arith::SIToFPOp>(target, x);
  unsigned have = x.getType().getIntOrFloatBitWidth(), want = target.getIntOrFloatBitWidth();
  if (have == want)
    return x;
  if (have > want)
    return make<arith::TruncIOp>(target, x);
  return sourceUnsigned ? make<arith::ExtUIOp>(target, x) : make<arith::ExtSIOp>(target, x);
}

Value Emitter::toIndex(Value x, Type from) {
  if (isFloat(from))
    return make<arith::IndexCastOp>(b.getIndexType(), make<arith::FPToSIOp>(b.getI64Type(), x));
  return isUnsigned(from) ? make<arith::IndexCastUIOp>(b.getIndexType(), x)
                          : make<arith::IndexCastOp>(b.getIndexType(), x);
}

Value Emitter::inRange(Value i, int64_t extent) {
  // One unsigned comparison: a negative index is a huge one.
  return make<arith::CmpIOp>(arith::CmpIPredicate::ult, i, index(extent));
}

Value Emitter::clampIndex(Value i, int64_t extent) {
  return make<arith::MaxSIOp>(make<arith::MinSIOp>(i, index(extent - 1)), index(0));
}

} // namespace tensorturbo::host
