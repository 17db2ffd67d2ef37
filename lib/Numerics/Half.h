// The chip's arithmetic on halves, one operation at a time, by definition: the reference of the vector
// kernels.
//
// A half travels as its bit pattern. The tensor engines know one rounding, RNA: to nearest, ties away from
// zero, subnormals supported, |v| >= 65520 becomes infinity. NaN results of arithmetic are 7C01. Nothing here
// depends on or changes the host's floating-point environment.
#pragma once
#include <cstdint>
#include <cstring>

namespace tensorturbo::numerics {

using Half = uint16_t;

constexpr Half kNan = 0x7C01;      ///< NaN result of arithmetic
constexpr Half kInfinity = 0x7C00; ///< positive
constexpr Half kSign = 0x8000;

inline bool isNan(Half h) {
  return (h & 0x7FFF) > 0x7C00;
}
inline bool isInf(Half h) {
  return (h & 0x7FFF) == 0x7C00;
}
inline bool isZero(Half h) {
  return (h & 0x7FFF) == 0;
}

inline float floatFromBits(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
inline uint32_t bitsFromFloat(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return bits;
}

/// h2f: FP32 bits of a half; any NaN becomes 7FC00000.
inline uint32_t halfToFloatBits(Half h) {
  uint32_t sign = uint32_t(h & kSign) << 16, exponent = h >> 10 & 31, fraction = h & 0x3FF;
  if (exponent == 31)
    return fraction ? 0x7FC00000u : sign | 0x7F800000u;
  if (exponent)
    return sign | (exponent + 112) << 23 | fraction << 13;
  // Subnormal: fraction * 2^-24 is exact.
  return sign | bitsFromFloat(float(fraction) * 0x1p-24f);
}
inline float halfToFloat(Half h) {
  return floatFromBits(halfToFloatBits(h));
}

/// f2h of scalar operands and dequantisation coefficients: truncates toward zero and saturates at 65504;
/// NaN becomes 7E00, infinities stay.
inline Half truncateToHalf(uint32_t floatBits) {
  Half sign = Half(floatBits >> 16 & kSign);
  uint32_t magnitude = floatBits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000)
    return 0x7E00;
  if (magnitude == 0x7F800000)
    return sign | kInfinity;
  if (magnitude >= 0x47800000) // 65536
    return sign | 0x7BFF;
  if (magnitude >= 0x38800000) // 2^-14
    return sign | Half((magnitude >> 13) - (112u << 10));
  uint32_t exponent = magnitude >> 23;
  if (exponent < 103) // below 2^-24
    return sign;
  uint32_t significand = (magnitude & 0x7FFFFF) | 0x800000;
  return sign | Half(significand >> (126 - exponent));
}

/// IEEE 754 conversion, to nearest even: for data that enters or leaves the chip. NaN becomes 7E00.
inline Half roundToHalf(float value) {
  uint32_t bits = bitsFromFloat(value);
  Half sign = Half(bits >> 16 & kSign);
  uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000)
    return sign | 0x7E00;
  if (magnitude >= 0x477FF000) // 65520
    return sign | kInfinity;
  if (magnitude >= 0x38800000)
    return sign | Half((magnitude - (112u << 23) + 0xFFF + (magnitude >> 13 & 1)) >> 13);
  uint32_t exponent = magnitude >> 23;
  if (exponent < 102) // below 2^-25
    return sign;
  uint32_t significand = (magnitude & 0x7FFFFF) | 0x800000, shift = 126 - exponent;
  uint32_t half = significand >> shift, rest = significand & ((1u << shift) - 1), tie = 1u << (shift - 1);
  return sign | Half(half + (rest > tie || (rest == tie && (half & 1))));
}

/// RNA of a value that is exact in double precision with at most 43 significant bits; NaN becomes 7C01.
inline Half roundAway(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  Half sign = Half(bits >> 48 & kSign);
  uint64_t magnitude = bits & 0x7FFFFFFFFFFFFFFFull;
  if (magnitude > 0x7FF0000000000000ull)
    return kNan;
  if (magnitude >= 0x40EFFE0000000000ull) // 65520
    return sign | kInfinity;
  if (magnitude == 0)
    return sign;
  int exponent = int(magnitude >> 52) - 1023; // a double subnormal rounds to zero like any tiny value
  uint64_t significand = (magnitude & 0xFFFFFFFFFFFFFull) | 0x10000000000000ull;
  int quantum = exponent > -14 ? exponent : -14; // the result is a multiple of 2^(quantum - 10)
  int shift = 42 + quantum - exponent;
  if (shift > 53)
    return sign;
  uint64_t rounded = (significand + (uint64_t(1) << (shift - 1))) >> shift;
  // The leading bit of a normal significand adds the 1 that is missing in the exponent field.
  return sign | Half((uint32_t(quantum + 14) << 10) + uint32_t(rounded));
}

inline Half add(Half a, Half b) {
  if (isNan(a) || isNan(b))
    return kNan;
  if (isInf(a) || isInf(b)) {
    if (isInf(a) && isInf(b) && a != b)
      return kNan;
    return isInf(a) ? a : b;
  }
  if (isZero(a) && isZero(b))
    return a & b;
  double sum = double(halfToFloat(a)) + double(halfToFloat(b));
  return sum == 0 ? Half(0) : roundAway(sum);
}

inline Half sub(Half a, Half b) {
  return add(a, b ^ kSign);
}

inline Half mul(Half a, Half b) {
  Half sign = (a ^ b) & kSign;
  if (isNan(a) || isNan(b))
    return kNan;
  if (isInf(a) || isInf(b))
    return isZero(a) || isZero(b) ? kNan : Half(sign | kInfinity);
  if (isZero(a) || isZero(b))
    return sign;
  return roundAway(double(halfToFloat(a)) * double(halfToFloat(b)));
}

/// Integer times half, rounded once.
inline Half imul(int32_t i, Half w) {
  Half sign = Half(w & kSign) ^ (i < 0 ? kSign : Half(0));
  if (isNan(w) || (isInf(w) && i == 0))
    return kNan;
  if (isInf(w))
    return sign | kInfinity;
  if (i == 0 || isZero(w))
    return sign;
  return roundAway(double(i) * double(halfToFloat(w)));
}

/// Truncates and saturates; NaN becomes 0.
inline int8_t toInt8(Half h) {
  if (isNan(h))
    return 0;
  float f = halfToFloat(h);
  return f > 127 ? int8_t(127) : f < -128 ? int8_t(-128) : int8_t(f);
}

/// Exact for every int8 and uint8.
inline Half fromSmallInteger(int value) {
  return roundAway(value);
}

/// Element-wise maximum and minimum: of two equal values (also of two zeros) the second operand.
inline Half maxElement(Half a, Half b) {
  if (isNan(a) || isNan(b))
    return kNan;
  return halfToFloat(a) > halfToFloat(b) ? a : b;
}
inline Half minElement(Half a, Half b) {
  if (isNan(a) || isNan(b))
    return kNan;
  return halfToFloat(a) < halfToFloat(b) ? a : b;
}

/// The fold step of reductions: -0 lies below +0.
inline Half maxFold(Half a, Half b) {
  if (isZero(a) && isZero(b))
    return a & b;
  return maxElement(a, b);
}
inline Half minFold(Half a, Half b) {
  if (isZero(a) && isZero(b))
    return a | b;
  return minElement(a, b);
}

/// velkrelu.mf: zeros are multiplied. velkrelu.mv: zeros are copied. NaN is copied by both.
inline Half leakyReluScalar(Half a, Half s) {
  return !isNan(a) && (isZero(a) || (a & kSign)) ? mul(a, s) : a;
}
inline Half leakyReluVector(Half a, Half s) {
  return !isNan(a) && !isZero(a) && (a & kSign) ? mul(a, s) : a;
}

/// veexp, vesqrt, verecip as the chip approximates them.
Half exponential(Half x);
Half squareRoot(Half x);
Half reciprocal(Half x);

} // namespace tensorturbo::numerics
