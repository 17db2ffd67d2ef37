#include "Numerics/Half.h"
#include <cmath>

namespace tensorturbo::numerics {

namespace {

/// One step of the exponential's range reduction: x - centre is small, the result is scaled by 2^scale and
/// corrected in its last place.
struct ExpRange {
  int8_t scale;
  Half centre;
  int8_t correction;
};

// Indexed by floor(x) + 12.
constexpr ExpRange kExpRanges[24] = {
    {-17, 0xC9E5, 0},  {-16, 0xC98C, 10}, {-14, 0xC8DA, 2}, {-12, 0xC829, -4}, {-11, 0xC7A0, -1},
    {-10, 0xC6EF, -3}, {-8, 0xC58C, -3},  {-7, 0xC4DA, 1},  {-5, 0xC2EF, -2},  {-4, 0xC18C, -1},
    {-2, 0xBD8C, 0},   {-1, 0xB98C, 0},   {1, 0x398C, 0},   {2, 0x3D8C, 1},    {3, 0x4029, 1},
    {5, 0x42EF, 2},    {6, 0x4429, 2},    {8, 0x458C, 2},   {9, 0x463E, 6},    {11, 0x47A0, 1},
    {12, 0x4829, 4},   {14, 0x48DA, -1},  {15, 0x4933, 2},  {17, 0x49E5, 7}};

/// 1/sqrt(x) for x > 0: magic constant and one Newton step.
Half inverseSqrt(Half x) {
  Half h = mul(x, 0x3800);
  Half y = Half(0x59BA - (x >> 1));
  return mul(y, sub(0x3E00, mul(mul(h, y), y)));
}

} // namespace

Half exponential(Half x) {
  if (isNan(x))
    return kNan;
  if (isInf(x))
    return x & kSign ? Half(0) : kInfinity;
  if (isZero(x))
    return 0x3C00;
  int i = int(std::floor(halfToFloat(x))) + 12;
  if (i < 0)
    return 0;
  if (i > 23)
    return kInfinity;
  const ExpRange &range = kExpRanges[i];
  Half y = sub(x, range.centre);
  // 1 + y (1 + y (1/2 + y (1/6 + y/24)))
  Half r = add(mul(y, 0x2955), 0x3166);
  r = add(mul(r, y), 0x3800);
  r = add(mul(r, y), 0x3C00);
  r = add(mul(r, y), 0x3C00);
  r = Half(r + range.correction);
  int exponent = (r >> 10 & 31) + range.scale;
  if (exponent < 0)
    return 0;
  if (exponent > 30)
    return kInfinity;
  return Half((r & 0x83FF) | exponent << 10);
}

Half squareRoot(Half x) {
  if (isNan(x) || (x & kSign))
    return kNan;
  if (isInf(x) || isZero(x))
    return x;
  return mul(x, inverseSqrt(x));
}

Half reciprocal(Half x) {
  Half sign = x & kSign, magnitude = x & 0x7FFF;
  if (isNan(x) || isZero(x))
    return kNan;
  if (isInf(x))
    return sign;
  if (magnitude < 0x400)
    return sign | kInfinity;
  Half v = inverseSqrt(magnitude);
  return sign | mul(v, v);
}

} // namespace tensorturbo::numerics
