#include "TestUtil.h"
#include <cfenv>
#include <cmath>
#include <gtest/gtest.h>

using namespace tensorturbo::numerics;
using namespace tensorturbo::numerics::test;

namespace {

/// RNA by search: of the two neighbouring halves the nearer one, of two equally near ones the larger
/// magnitude.
Half roundBySearch(double v) {
  Half sign = std::signbit(v) ? kSign : Half(0);
  double m = std::fabs(v);
  if (m >= 65520)
    return sign | kInfinity;
  Half low = 0, high = 0x7C00; // value(low) <= m < value(high), taking infinity as 65536
  while (high - low > 1) {
    Half middle = Half((low + high) / 2);
    (double(halfToFloat(middle)) <= m ? low : high) = middle;
  }
  double next = high == 0x7C00 ? 65536.0 : double(halfToFloat(high));
  return sign | (m - double(halfToFloat(low)) < next - m ? low : high);
}

TEST(Half, AddAndMulRoundTiesAway) {
  Source source(1);
  std::vector<Half> values = specialValues();
  for (int i = 0; i < 300; ++i)
    values.push_back(source.half(i % 2 ? Kind::AnyBits : Kind::Small));
  for (Half a : values)
    for (Half b : values) {
      double x = halfToFloat(a), y = halfToFloat(b), sum = x + y, product = x * y;
      ASSERT_EQ(add(a, b), std::isnan(sum) ? kNan : roundBySearch(sum)) << std::hex << a << ' ' << b;
      ASSERT_EQ(sub(a, b), add(a, b ^ kSign));
      ASSERT_EQ(mul(a, b), std::isnan(product) ? kNan : roundBySearch(product)) << std::hex << a << ' ' << b;
    }
}

TEST(Half, KnownValues) {
  EXPECT_EQ(add(0x6800, 0x3C00), 0x6801); // 2048 + 1: away from zero
  EXPECT_EQ(add(0x8000, 0x8000), 0x8000);
  EXPECT_EQ(add(0x0000, 0x8000), 0x0000);
  EXPECT_EQ(add(0x3C00, 0xBC00), 0x0000);
  EXPECT_EQ(add(0x7C00, 0xFC00), 0x7C01);
  EXPECT_EQ(mul(0x7C00, 0x0000), 0x7C01);
  EXPECT_EQ(mul(0x0001, 0x3800), 0x0001); // 2^-25 is a tie
  EXPECT_EQ(mul(0x8001, 0x3400), 0x8000);
  EXPECT_EQ(mul(0x7BFF, 0x4000), 0x7C00);
  EXPECT_EQ(imul(INT32_MIN, 0x0001), roundBySearch(-128.0));
  EXPECT_EQ(imul(0, 0x8000), 0x8000);
  EXPECT_EQ(imul(0, 0x7C00), 0x7C01);
  EXPECT_EQ(imul(-3, 0x7C00), 0xFC00);
  EXPECT_EQ(toInt8(0x57F8), 127);
  EXPECT_EQ(toInt8(0xD808), -128);
  EXPECT_EQ(toInt8(0xBFFF), -1);
  EXPECT_EQ(toInt8(0x7FFF), 0);
  EXPECT_EQ(truncateToHalf(0x3F800FFF), 0x3C00);
  EXPECT_EQ(truncateToHalf(0x477FFFFF), 0x7BFF);
  EXPECT_EQ(truncateToHalf(0x7F7FFFFF), 0x7BFF);
  EXPECT_EQ(truncateToHalf(0xFF800000), 0xFC00);
  EXPECT_EQ(truncateToHalf(0xFFC00000), 0x7E00);
  EXPECT_EQ(truncateToHalf(0xB3800000), 0x8001);
  EXPECT_EQ(truncateToHalf(0xB37FFFFF), 0x8000);
  EXPECT_EQ(maxElement(0x0000, 0x8000), 0x8000);
  EXPECT_EQ(maxFold(0x8000, 0x0000), 0x0000);
  EXPECT_EQ(minElement(0x8000, 0x0000), 0x0000);
  EXPECT_EQ(minFold(0x0000, 0x8000), 0x8000);
  EXPECT_EQ(leakyReluScalar(0x8000, 0xBC00), 0x0000);
  EXPECT_EQ(leakyReluVector(0x8000, 0xBC00), 0x8000);
  EXPECT_EQ(leakyReluScalar(0xFFFF, 0x3C00), 0xFFFF);
  EXPECT_EQ(exponential(0x0000), 0x3C00);
  EXPECT_EQ(squareRoot(0x8000), 0x7C01);
  EXPECT_EQ(reciprocal(0x0000), 0x7C01);
  EXPECT_EQ(reciprocal(0x83FF), 0xFC00);
}

TEST(Half, IntegerProduct) {
  Source source(2);
  for (int i = 0; i < 200000; ++i) {
    int32_t n = int32_t(source.bits()) >> (source.bits() % 32);
    Half w = source.half(i % 3 ? Kind::AnyBits : Kind::Special);
    double v = double(n) * double(halfToFloat(w));
    ASSERT_EQ(imul(n, w), std::isnan(v) ? kNan : roundBySearch(v)) << n << ' ' << std::hex << w;
  }
}

TEST(Half, Conversions) {
  for (uint32_t i = 0; i < 65536; ++i) {
    Half h = Half(i);
    if (isNan(h)) {
      EXPECT_EQ(halfToFloatBits(h), 0x7FC00000u);
      continue;
    }
    double v = std::ldexp(i & 0x3FF, -24);
    if (i >> 10 & 31)
      v = std::ldexp((i & 0x3FF) + 1024, int(i >> 10 & 31) - 25);
    if (isInf(h))
      v = INFINITY;
    ASSERT_EQ(double(halfToFloat(h)), i & 0x8000 ? -v : v);
    ASSERT_EQ(roundToHalf(halfToFloat(h)), h);
    ASSERT_EQ(truncateToHalf(halfToFloatBits(h)), h);
  }
  EXPECT_EQ(roundToHalf(65519.0f), 0x7BFF);
  EXPECT_EQ(roundToHalf(65520.0f), 0x7C00);
  EXPECT_EQ(roundToHalf(2049.0f), 0x6800); // ties to even
  EXPECT_EQ(roundToHalf(2051.0f), 0x6802);
  EXPECT_EQ(roundToHalf(0x1p-25f), 0x0000);
  EXPECT_EQ(roundToHalf(-0x1.000002p-25f), 0x8001);
  EXPECT_EQ(roundToHalf(0x3p-25f), 0x0002);
}

TEST(Half, IndependentOfTheRoundingMode) {
  Source source(3);
  std::vector<Half> values = source.halves(400, Kind::AnyBits);
  std::vector<Half> expected;
  for (Half a : values)
    expected.push_back(add(mul(a, values[0]), exponential(a)));
  for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(add(mul(values[i], values[0]), exponential(values[i])), expected[i]);
  }
  std::fesetround(FE_TONEAREST);
}

} // namespace
