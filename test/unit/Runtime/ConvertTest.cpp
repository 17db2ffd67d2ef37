#include "runtime/Convert.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace tensorturbo;
using namespace tensorturbo::runtime;

static uint16_t reference(float value) {
  llvm::APFloat f(value);
  bool loses;
  f.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return static_cast<uint16_t>(f.bitcastToAPInt().getZExtValue());
}

TEST(Convert, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    float value = floatFromHalf(static_cast<uint16_t>(h));
    if (std::isnan(value))
      EXPECT_EQ(halfFromFloat(value) & 0x7E00, 0x7E00);
    else
      EXPECT_EQ(halfFromFloat(value), h);
  }
}

TEST(Convert, HalfRoundsLikeIeee) {
  std::mt19937 random(1);
  for (int i = 0; i < 300000; ++i) {
    // Exponents around and beyond the range of halves, subnormals included.
    uint32_t bits = (random() & 0x807FFFFF) | (100 + random() % 46) << 23;
    float value;
    std::memcpy(&value, &bits, 4);
    ASSERT_EQ(halfFromFloat(value), reference(value)) << value;
  }
  for (float value :
       {65504.0f, 65519.996f, 65520.0f, 5.9604645e-8f, 2.9802322e-8f, 2.9802326e-8f, 0.0f, -0.0f})
    EXPECT_EQ(halfFromFloat(value), reference(value)) << value;
}

TEST(Convert, DoubleRoundsOnce) {
  // 1 + 2^-11 is a tie of halves; the tail decides it, but a float would lose the tail.
  double above = 1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  uint16_t half;
  convertElements(&above, DType::Float64, &half, DType::Float16, 1);
  EXPECT_EQ(half, 0x3C01);
}

TEST(Convert, CountsOverflows) {
  float values[] = {1e6f, -1e6f, INFINITY, 1.0f};
  uint16_t halves[4];
  EXPECT_EQ(convertElements(values, DType::Float32, halves, DType::Float16, 4), 2u);
  EXPECT_EQ(halves[0], 0x7C00);
  EXPECT_EQ(halves[1], 0xFC00);
}

TEST(Convert, KnowsItsPairs) {
  EXPECT_TRUE(canConvert(DType::Float32, DType::Float16));
  EXPECT_TRUE(canConvert(DType::Int64, DType::Int64));
  EXPECT_FALSE(canConvert(DType::Int64, DType::Int32));
  EXPECT_FALSE(canConvert(DType::Int32, DType::Float32));
}
