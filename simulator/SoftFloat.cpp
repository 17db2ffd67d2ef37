#include "simulator/SoftFloat.h"
#include <utility>

namespace tensorturbo::sim::soft {

namespace {

using Wide = unsigned __int128;

/// (-1)^sign * significand * 2^exponent. Bit 0 of the significand may stand for "something below", if enough
/// bits lie above it.
struct Number {
  bool sign;
  int exponent;
  Wide significand;
};

int topBit(Wide value) {
  uint64_t high = static_cast<uint64_t>(value >> 64);
  return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll(static_cast<uint64_t>(value));
}

/// Right shift that keeps lost bits in bit 0.
Wide shiftRightSticky(Wide value, int count) {
  if (count == 0)
    return value;
  if (count > 127)
    return value != 0;
  return value >> count | ((value << (128 - count)) != 0);
}

/// A finite value; significand 0 for zeros.
template <class F> Number unpack(typename F::bits a) {
  int exponent = static_cast<int>(a >> F::fractionBits & F::maxExponent);
  Wide significand = a & F::fractionMask;
  if (exponent)
    significand |= Wide(1) << F::fractionBits;
  else
    exponent = 1;
  return {(a & F::signBit) != 0, exponent - F::bias - F::fractionBits, significand};
}

/// Whether a magnitude with last kept bit `odd` and the discarded part `rest` (of `unit`) is rounded up.
bool roundsUp(bool sign, bool odd, Wide rest, Wide half, uint32_t rounding) {
  switch (rounding) {
  case NearestEven:
    return rest > half || (rest == half && odd);
  case NearestAway:
    return rest >= half;
  case Down:
    return sign && rest;
  case Up:
    return !sign && rest;
  default:
    return false;
  }
}

/// significand / 2^shift as an integer in the given mode; `inexact` tells whether anything was lost.
Wide roundedShift(const Number &n, int shift, uint32_t rounding, bool &inexact) {
  inexact = false;
  if (shift <= 0)
    return n.significand << -shift;
  // Beyond 127 all is below half a unit: shorten to that.
  Wide significand = shift > 126 ? shiftRightSticky(n.significand, shift - 126) : n.significand;
  shift = shift > 126 ? 126 : shift;
  Wide kept = significand >> shift, rest = significand & ((Wide(1) << shift) - 1),
       half = Wide(1) << (shift - 1);
  inexact = rest != 0;
  return kept + roundsUp(n.sign, kept & 1, rest, half, rounding);
}

template <class F> typename F::bits overflow(bool sign, Context &context) {
  context.flags |= Overflow | Inexact;
  bool toLargest = context.rounding == TowardZero || (context.rounding == Down && !sign) ||
                   (context.rounding == Up && sign);
  return (toLargest ? F::largest : F::infinity) | (sign ? F::signBit : 0);
}

/// The nearest value of the format to a non-zero number.
template <class F> typename F::bits pack(const Number &n, Context &context) {
  constexpr int fraction = F::fractionBits, smallest = 1 - F::bias;
  using Bits = typename F::bits;
  Bits sign = n.sign ? F::signBit : 0;
  int exponent = n.exponent + topBit(n.significand);
  int quantum = (exponent < smallest ? smallest : exponent) - fraction;
  bool inexact;
  Wide rounded = roundedShift(n, quantum - n.exponent, context.rounding, inexact);
  if (rounded >> (fraction + 1)) { // carried into the next binade
    rounded >>= 1;
    quantum++;
  }
  if (inexact) {
    context.flags |= Inexact;
    // Tiny: below the smallest normal number even when rounded with an unbounded exponent.
    if (exponent < smallest) {
      bool ignored;
      Wide unbounded = roundedShift(n, exponent - fraction - n.exponent, context.rounding, ignored);
      if (exponent < smallest - 1 || !(unbounded >> (fraction + 1)))
        context.flags |= Underflow;
    }
  }
  if (!(rounded >> fraction)) // subnormal or zero
    return sign | static_cast<Bits>(rounded);
  int biased = quantum + fraction + F::bias;
  if (biased >= F::maxExponent)
    return overflow<F>(n.sign, context);
  return sign | static_cast<Bits>(biased) << fraction | (static_cast<Bits>(rounded) & F::fractionMask);
}

template <class F> typename F::bits invalid(Context &context) {
  context.flags |= Invalid;
  return F::nan;
}

/// The result for NaN operands: canonical; a signaling one is invalid.
template <class F, class... Operands> typename F::bits nanResult(Context &context, Operands... operands) {
  if ((isSignaling<F>(operands) || ...))
    context.flags |= Invalid;
  return F::nan;
}

/// Leading bit to bit 125, so that a sum cannot overflow.
void normalise(Number &n) {
  int shift = 125 - topBit(n.significand);
  n.significand <<= shift;
  n.exponent -= shift;
}

/// The sum of two finite numbers, either may be zero. Bits are lost (into bit 0) only where the exponents are
/// so far apart that no cancellation can bring them up.
template <class F> typename F::bits addNumbers(Number a, Number b, Context &context) {
  auto zero = [](bool sign) { return static_cast<typename F::bits>(sign ? F::signBit : 0); };
  if (!a.significand && !b.significand)
    return zero(a.sign == b.sign ? a.sign : context.rounding == Down);
  if (!a.significand)
    return pack<F>(b, context);
  if (!b.significand)
    return pack<F>(a, context);
  normalise(a);
  normalise(b);
  if (a.exponent < b.exponent)
    std::swap(a, b);
  b.significand = shiftRightSticky(b.significand, a.exponent - b.exponent);
  if (a.sign == b.sign)
    return pack<F>({a.sign, a.exponent, a.significand + b.significand}, context);
  if (a.significand == b.significand)
    return zero(context.rounding == Down);
  if (a.significand < b.significand)
    return pack<F>({b.sign, a.exponent, b.significand - a.significand}, context);
  return pack<F>({a.sign, a.exponent, a.significand - b.significand}, context);
}

template <class F> typename F::bits signOf(typename F::bits a, typename F::bits b) {
  return (a ^ b) & F::signBit;
}

/// -1, 0, 1 for values that are no NaNs; +0 equals -0.
template <class F> int order(typename F::bits a, typename F::bits b) {
  if (isZero<F>(a) && isZero<F>(b))
    return 0;
  bool negativeA = a & F::signBit, negativeB = b & F::signBit;
  if (negativeA != negativeB)
    return negativeA ? -1 : 1;
  int magnitude = a == b ? 0 : a < b ? -1 : 1;
  return negativeA ? -magnitude : magnitude;
}

/// The value rounded to an integer of at most 63 bits in magnitude; anything larger comes back as 2^63.
template <class F> Wide integerMagnitude(typename F::bits a, Context &context, bool &inexact) {
  Number n = unpack<F>(a);
  inexact = false;
  if (!n.significand)
    return 0;
  if (n.exponent + topBit(n.significand) > 62)
    return Wide(1) << 63;
  return roundedShift(n, -n.exponent, context.rounding, inexact);
}

template <class F> typename F::bits fromMagnitude(bool sign, uint32_t magnitude, Context &context) {
  return magnitude ? pack<F>({sign, 0, magnitude}, context) : 0;
}

} // namespace

template <class F> typename F::bits add(typename F::bits a, typename F::bits b, Context &context) {
  if (isNan<F>(a) || isNan<F>(b))
    return nanResult<F>(context, a, b);
  if (isInfinite<F>(a))
    return isInfinite<F>(b) && a != b ? invalid<F>(context) : a;
  if (isInfinite<F>(b))
    return b;
  return addNumbers<F>(unpack<F>(a), unpack<F>(b), context);
}

template <class F> typename F::bits multiply(typename F::bits a, typename F::bits b, Context &context) {
  if (isNan<F>(a) || isNan<F>(b))
    return nanResult<F>(context, a, b);
  if (isInfinite<F>(a) || isInfinite<F>(b))
    return isZero<F>(a) || isZero<F>(b) ? invalid<F>(context) : signOf<F>(a, b) | F::infinity;
  Number x = unpack<F>(a), y = unpack<F>(b);
  if (!x.significand || !y.significand)
    return signOf<F>(a, b);
  return pack<F>({x.sign != y.sign, x.exponent + y.exponent, x.significand * y.significand}, context);
}

template <class F>
typename F::bits fusedMultiplyAdd(typename F::bits a, typename F::bits b, typename F::bits c,
                                  Context &context) {
  bool undefined = (isInfinite<F>(a) && isZero<F>(b)) || (isZero<F>(a) && isInfinite<F>(b));
  if (undefined) // also with a quiet NaN as addend
    context.flags |= Invalid;
  if (undefined || isNan<F>(a) || isNan<F>(b) || isNan<F>(c))
    return nanResult<F>(context, a, b, c);
  typename F::bits productSign = signOf<F>(a, b);
  if (isInfinite<F>(a) || isInfinite<F>(b))
    return isInfinite<F>(c) && (c & F::signBit) != productSign ? invalid<F>(context)
                                                               : productSign | F::infinity;
  if (isInfinite<F>(c))
    return c;
  Number x = unpack<F>(a), y = unpack<F>(b);
  Number product{x.sign != y.sign, x.exponent + y.exponent, x.significand * y.significand};
  return addNumbers<F>(product, unpack<F>(c), context);
}

template <class F> typename F::bits divide(typename F::bits a, typename F::bits b, Context &context) {
  if (isNan<F>(a) || isNan<F>(b))
    return nanResult<F>(context, a, b);
  typename F::bits sign = signOf<F>(a, b);
  if (isInfinite<F>(a))
    return isInfinite<F>(b) ? invalid<F>(context) : sign | F::infinity;
  if (isInfinite<F>(b))
    return sign;
  if (isZero<F>(b)) {
    if (isZero<F>(a))
      return invalid<F>(context);
    context.flags |= DivideByZero;
    return sign | F::infinity;
  }
  if (isZero<F>(a))
    return sign;
  Number x = unpack<F>(a), y = unpack<F>(b);
  normalise(x);
  // 126 bits by at most 53: at least 72 bits of quotient.
  Wide quotient = x.significand / y.significand;
  bool rest = quotient * y.significand != x.significand;
  return pack<F>({x.sign != y.sign, x.exponent - y.exponent, quotient | rest}, context);
}

template <class F> typename F::bits squareRoot(typename F::bits a, Context &context) {
  if (isNan<F>(a))
    return nanResult<F>(context, a);
  if (isZero<F>(a))
    return a;
  if (a & F::signBit)
    return invalid<F>(context);
  if (isInfinite<F>(a))
    return a;
  Number n = unpack<F>(a);
  normalise(n);
  if (n.exponent & 1) {
    n.significand >>= 1; // its low bits are zero
    n.exponent++;
  }
  Wide root = 0, rest = n.significand;
  for (Wide bit = Wide(1) << 124; bit; bit >>= 2) {
    if (rest >= root + bit) {
      rest -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  // One more bit below the root, for what is left over.
  return pack<F>({false, n.exponent / 2 - 1, root << 1 | (rest != 0)}, context);
}

template <class F> bool equal(typename F::bits a, typename F::bits b, Context &context) {
  if (isNan<F>(a) || isNan<F>(b)) {
    nanResult<F>(context, a, b);
    return false;
  }
  return order<F>(a, b) == 0;
}

template <class F> bool less(typename F::bits a, typename F::bits b, Context &context) {
  if (isNan<F>(a) || isNan<F>(b)) {
    context.flags |= Invalid;
    return false;
  }
  return order<F>(a, b) < 0;
}

template <class F> bool lessOrEqual(typename F::bits a, typename F::bits b, Context &context) {
  if (isNan<F>(a) || isNan<F>(b)) {
    context.flags |= Invalid;
    return false;
  }
  return order<F>(a, b) <= 0;
}

template <class F> typename F::bits minimum(typename F::bits a, typename F::bits b, Context &context) {
  nanResult<F>(context, a, b);
  if (isNan<F>(a))
    return isNan<F>(b) ? F::nan : b;
  if (isNan<F>(b))
    return a;
  if (isZero<F>(a) && isZero<F>(b))
    return a | b;
  return order<F>(a, b) <= 0 ? a : b;
}

template <class F> typename F::bits maximum(typename F::bits a, typename F::bits b, Context &context) {
  nanResult<F>(context, a, b);
  if (isNan<F>(a))
    return isNan<F>(b) ? F::nan : b;
  if (isNan<F>(b))
    return a;
  if (isZero<F>(a) && isZero<F>(b))
    return a & b;
  return order<F>(a, b) >= 0 ? a : b;
}

template <class F> uint32_t classify(typename F::bits a) {
  bool negative = a & F::signBit;
  if (isNan<F>(a))
    return isSignaling<F>(a) ? 1u << 8 : 1u << 9;
  if (isInfinite<F>(a))
    return negative ? 1u << 0 : 1u << 7;
  if (isZero<F>(a))
    return negative ? 1u << 3 : 1u << 4;
  bool subnormal = !(a & F::infinity);
  return subnormal ? (negative ? 1u << 2 : 1u << 5) : (negative ? 1u << 1 : 1u << 6);
}

template <class F> int32_t toInt32(typename F::bits a, Context &context) {
  bool negative = (a & F::signBit) && !isNan<F>(a), inexact = false;
  Wide limit = Wide(0x7FFFFFFF) + negative;
  Wide magnitude = isNan<F>(a) || isInfinite<F>(a) ? limit + 1 : integerMagnitude<F>(a, context, inexact);
  if (magnitude > limit) {
    context.flags |= Invalid;
    return negative ? INT32_MIN : INT32_MAX;
  }
  context.flags |= inexact ? Inexact : 0;
  return static_cast<int32_t>(negative ? -static_cast<int64_t>(magnitude) : static_cast<int64_t>(magnitude));
}

template <class F> uint32_t toUint32(typename F::bits a, Context &context) {
  bool negative = (a & F::signBit) && !isNan<F>(a), inexact = false;
  Wide limit = negative ? 0 : Wide(0xFFFFFFFF);
  Wide magnitude = isNan<F>(a) || isInfinite<F>(a) ? limit + 1 : integerMagnitude<F>(a, context, inexact);
  if (magnitude > limit) {
    context.flags |= Invalid;
    return negative ? 0 : UINT32_MAX;
  }
  context.flags |= inexact ? Inexact : 0;
  return static_cast<uint32_t>(magnitude);
}

template <class F> typename F::bits fromInt32(int32_t a, Context &context) {
  return fromMagnitude<F>(a < 0, a < 0 ? 0u - static_cast<uint32_t>(a) : static_cast<uint32_t>(a), context);
}
template <class F> typename F::bits fromUint32(uint32_t a, Context &context) {
  return fromMagnitude<F>(false, a, context);
}

uint64_t singleToDouble(uint32_t a, Context &context) {
  uint64_t sign = a & Single::signBit ? Double::signBit : 0;
  if (isNan<Single>(a))
    return nanResult<Single>(context, a), Double::nan;
  if (isInfinite<Single>(a))
    return sign | Double::infinity;
  return isZero<Single>(a) ? sign : pack<Double>(unpack<Single>(a), context);
}

uint32_t doubleToSingle(uint64_t a, Context &context) {
  uint32_t sign = a & Double::signBit ? Single::signBit : 0;
  if (isNan<Double>(a))
    return nanResult<Double>(context, a), Single::nan;
  if (isInfinite<Double>(a))
    return sign | Single::infinity;
  return isZero<Double>(a) ? sign : pack<Single>(unpack<Double>(a), context);
}

#define TT_INSTANTIATE(F)                                                                                    \
  template F::bits add<F>(F::bits, F::bits, Context &);                                                      \
  template F::bits multiply<F>(F::bits, F::bits, Context &);                                                 \
  template F::bits fusedMultiplyAdd<F>(F::bits, F::bits, F::bits, Context &);                                \
  template F::bits divide<F>(F::bits, F::bits, Context &);                                                   \
  template F::bits squareRoot<F>(F::bits, Context &);                                                        \
  template bool equal<F>(F::bits, F::bits, Context &);                                                       \
  template bool less<F>(F::bits, F::bits, Context &);                                                        \
  template bool lessOrEqual<F>(F::bits, F::bits, Context &);                                                 \
  template F::bits minimum<F>(F::bits, F::bits, Context &);                                                  \
  template F::bits maximum<F>(F::bits, F::bits, Context &);                                                  \
  template uint32_t classify<F>(F::bits);                                                                    \
  template int32_t toInt32<F>(F::bits, Context &);                                                           \
  template uint32_t toUint32<F>(F::bits, Context &);                                                         \
  template F::bits fromInt32<F>(int32_t, Context &);                                                         \
  template F::bits fromUint32<F>(uint32_t, Context &);
TT_INSTANTIATE(Single)
TT_INSTANTIATE(Double)
#undef TT_INSTANTIATE

} // namespace tensorturbo::sim::soft
