// IEEE 754 single and double precision by integer arithmetic: all five RISC-V rounding modes, exact flags,
// canonical NaNs. Independent of the host's floating-point environment.
#pragma once
#include <cstdint>

namespace tensorturbo::sim::soft {

enum Rounding : uint32_t { NearestEven = 0, TowardZero = 1, Down = 2, Up = 3, NearestAway = 4 };
/// Accrued exception flags with the bit positions of fflags.
enum Flags : uint32_t { Inexact = 1, Underflow = 2, Overflow = 4, DivideByZero = 8, Invalid = 16 };

/// Rounding mode in, flags out (accumulated).
struct Context {
  uint32_t rounding = NearestEven;
  uint32_t flags = 0;
};

/// A format with 1 sign bit, `Exponent` exponent bits and `Fraction` fraction bits in a `Bits`.
template <class Bits, int Exponent, int Fraction> struct Format {
  using bits = Bits;
  static constexpr int fractionBits = Fraction;
  static constexpr int bias = (1 << (Exponent - 1)) - 1;
  static constexpr int maxExponent = (1 << Exponent) - 1; ///< of infinities and NaNs
  static constexpr Bits signBit = Bits(1) << (Exponent + Fraction);
  static constexpr Bits fractionMask = (Bits(1) << Fraction) - 1;
  static constexpr Bits infinity = Bits(maxExponent) << Fraction;
  static constexpr Bits nan = infinity | Bits(1) << (Fraction - 1);
  static constexpr Bits largest = infinity - 1;
};
using Single = Format<uint32_t, 8, 23>;
using Double = Format<uint64_t, 11, 52>;

template <class F> bool isNan(typename F::bits a) {
  return (a & ~F::signBit) > F::infinity;
}
template <class F> bool isSignaling(typename F::bits a) {
  return isNan<F>(a) && !(a & (typename F::bits(1) << (F::fractionBits - 1)));
}
template <class F> bool isInfinite(typename F::bits a) {
  return (a & ~F::signBit) == F::infinity;
}
template <class F> bool isZero(typename F::bits a) {
  return (a & ~F::signBit) == 0;
}

template <class F> typename F::bits add(typename F::bits a, typename F::bits b, Context &context);
template <class F> typename F::bits multiply(typename F::bits a, typename F::bits b, Context &context);
/// a * b + c, rounded once.
template <class F>
typename F::bits fusedMultiplyAdd(typename F::bits a, typename F::bits b, typename F::bits c,
                                  Context &context);
template <class F> typename F::bits divide(typename F::bits a, typename F::bits b, Context &context);
template <class F> typename F::bits squareRoot(typename F::bits a, Context &context);

/// Quiet comparison: only a signaling NaN is invalid.
template <class F> bool equal(typename F::bits a, typename F::bits b, Context &context);
/// Signaling comparisons: every NaN is invalid.
template <class F> bool less(typename F::bits a, typename F::bits b, Context &context);
template <class F> bool lessOrEqual(typename F::bits a, typename F::bits b, Context &context);
/// The operand that is not a NaN; -0 is less than +0.
template <class F> typename F::bits minimum(typename F::bits a, typename F::bits b, Context &context);
template <class F> typename F::bits maximum(typename F::bits a, typename F::bits b, Context &context);
/// The ten-bit class mask of fclass.
template <class F> uint32_t classify(typename F::bits a);

/// Out-of-range values and NaNs saturate and are invalid.
template <class F> int32_t toInt32(typename F::bits a, Context &context);
template <class F> uint32_t toUint32(typename F::bits a, Context &context);
template <class F> typename F::bits fromInt32(int32_t a, Context &context);
template <class F> typename F::bits fromUint32(uint32_t a, Context &context);
uint64_t singleToDouble(uint32_t a, Context &context);
uint32_t doubleToSingle(uint64_t a, Context &context);

} // namespace tensorturbo::sim::soft
