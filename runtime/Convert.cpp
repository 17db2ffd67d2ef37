#include "runtime/Convert.h"
#include <cmath>
#include <cstring>

using namespace tensorturbo;
using namespace tensorturbo::runtime;

static uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

static float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

uint16_t runtime::halfFromFloat(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t sign = bits >> 16 & 0x8000;
  uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000)
    return static_cast<uint16_t>(sign | 0x7E00);
  // 65520 is the smallest value that rounds to infinity.
  if (magnitude >= 0x477FF000)
    return static_cast<uint16_t>(sign | 0x7C00);
  if (magnitude < 0x38800000) {
    // Subnormal halves: adding 0.5 leaves the value's multiple of 2^-24 in the low mantissa bits, rounded by
    // the FPU to nearest even.
    uint32_t rounded = bitsOf(floatOf(magnitude) + 0.5f) - 0x3F000000;
    return static_cast<uint16_t>(sign | rounded);
  }
  uint32_t odd = magnitude >> 13 & 1;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000 + 0xFFF + odd) >> 13));
}

float runtime::floatFromHalf(uint16_t half) {
  uint32_t sign = uint32_t(half & 0x8000) << 16;
  uint32_t exponent = half >> 10 & 31;
  uint32_t mantissa = half & 0x3FF;
  if (exponent == 31)
    return floatOf(sign | 0x7F800000 | mantissa << 13);
  if (exponent == 0) {
    float value = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -value : value;
  }
  return floatOf(sign | ((exponent + 112) << 23 | mantissa << 13));
}

static uint16_t bfloatFromFloat(float value) {
  uint32_t bits = bitsOf(value);
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

bool runtime::canConvert(DType from, DType to) {
  return from == to || (isFloat(from) && isFloat(to));
}

static double readElement(const void *from, DType type, size_t i) {
  uint16_t half;
  float single;
  double value;
  switch (type) {
  case DType::Float16:
    std::memcpy(&half, static_cast<const char *>(from) + 2 * i, 2);
    return floatFromHalf(half);
  case DType::BFloat16:
    std::memcpy(&half, static_cast<const char *>(from) + 2 * i, 2);
    return floatOf(uint32_t(half) << 16);
  case DType::Float32:
    std::memcpy(&single, static_cast<const char *>(from) + 4 * i, 4);
    return single;
  default:
    std::memcpy(&value, static_cast<const char *>(from) + 8 * i, 8);
    return value;
  }
}

/// A double to a float that rounds once more to a 16-bit type without double rounding: inexact results get an
/// odd last bit.
static float roundToOdd(double value) {
  float nearest = static_cast<float>(value);
  if (std::isnan(value) || std::isinf(nearest) || static_cast<double>(nearest) == value)
    return nearest;
  uint32_t bits = bitsOf(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value))
    --bits;
  return floatOf(bits | 1);
}

static bool writeElement(void *to, DType type, size_t i, double value) {
  uint16_t half;
  float single;
  bool overflow = false;
  switch (type) {
  case DType::Float16:
    half = halfFromFloat(roundToOdd(value));
    overflow = (half & 0x7FFF) == 0x7C00;
    std::memcpy(static_cast<char *>(to) + 2 * i, &half, 2);
    break;
  case DType::BFloat16:
    half = bfloatFromFloat(roundToOdd(value));
    overflow = (half & 0x7FFF) == 0x7F80;
    std::memcpy(static_cast<char *>(to) + 2 * i, &half, 2);
    break;
  case DType::Float32:
    single = static_cast<float>(value);
    overflow = std::isinf(single);
    std::memcpy(static_cast<char *>(to) + 4 * i, &single, 4);
    break;
  default:
    std::memcpy(static_cast<char *>(to) + 8 * i, &value, 8);
  }
  return overflow && std::isfinite(value);
}

size_t runtime::convertElements(const void *from, DType fromType, void *to, DType toType, size_t count) {
  if (fromType == toType) {
    std::memcpy(to, from, count * dtypeSize(fromType));
    return 0;
  }
  size_t overflows = 0;
  for (size_t i = 0; i < count; ++i)
    overflows += writeElement(to, toType, i, readElement(from, fromType, i));
  return overflows;
}
