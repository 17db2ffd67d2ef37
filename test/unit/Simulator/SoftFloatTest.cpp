// The integer implementation of IEEE arithmetic against the host's unit, in its four rounding modes, with
// flags.
#include "simulator/SoftFloat.h"
#include <cfenv>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace tensorturbo::sim::soft;

namespace {

template <class F> struct Host;
template <> struct Host<Single> {
  using type = float;
};
template <> struct Host<Double> {
  using type = double;
};

template <class To, class From> To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

uint32_t hostFlags() {
  int raised = std::fetestexcept(FE_ALL_EXCEPT);
  return (raised & FE_INEXACT ? Inexact : 0u) | (raised & FE_UNDERFLOW ? Underflow : 0u) |
         (raised & FE_OVERFLOW ? Overflow : 0u) | (raised & FE_DIVBYZERO ? DivideByZero : 0u) |
         (raised & FE_INVALID ? Invalid : 0u);
}

constexpr struct {
  uint32_t ours;
  int host;
} modes[] = {{NearestEven, FE_TONEAREST}, {TowardZero, FE_TOWARDZERO}, {Down, FE_DOWNWARD}, {Up, FE_UPWARD}};

/// Bit patterns that hit special values, neighbours of powers of two and anything else.
template <class F> typename F::bits pattern(std::mt19937_64 &random) {
  using Bits = typename F::bits;
  Bits raw = static_cast<Bits>(random());
  Bits sign = raw & F::signBit;
  switch (random() % 8) {
  case 0: {
    const Bits special[] = {0,
                            1,
                            F::fractionMask,
                            F::fractionMask + 1,
                            F::infinity,
                            F::nan,
                            F::infinity + 1,
                            F::largest,
                            Bits(F::bias) << F::fractionBits};
    return sign | special[random() % 9];
  }
  case 1: // subnormal or tiny
    return sign | (raw & (F::fractionMask << 1 | 1));
  case 2: // few significant bits
    return raw & ~(F::fractionMask >> 3);
  case 3: // all-ones fractions
    return raw | F::fractionMask >> 2;
  case 4: // near 1
    return sign | (static_cast<Bits>(F::bias - 2 + random() % 5) << F::fractionBits) |
           (raw & F::fractionMask);
  default:
    return raw;
  }
}

template <class F> typename F::bits canonical(typename F::bits a) {
  return isNan<F>(a) ? F::nan : a;
}

template <class F> class SoftFloat : public testing::Test {
protected:
  using Bits = typename F::bits;
  using T = typename Host<F>::type;
  std::mt19937_64 random{12345};

  /// Runs `operation` on the host in a mode and compares value and flags with ours.
  template <class Operation>
  void compare(const char *name, size_t mode, Bits ours, uint32_t ourFlags, Operation operation) {
    std::feclearexcept(FE_ALL_EXCEPT);
    std::fesetround(modes[mode].host);
    volatile T result = operation();
    uint32_t flags = hostFlags();
    std::fesetround(FE_TONEAREST);
    ASSERT_EQ(ours, canonical<F>(bitCast<Bits>(T(result)))) << name << " in mode " << mode;
#if defined(__x86_64__) // other hosts may detect tininess before rounding
    ASSERT_EQ(ourFlags, flags) << name << " in mode " << mode;
#endif
  }
};
using Formats = testing::Types<Single, Double>;
TYPED_TEST_SUITE(SoftFloat, Formats);

TYPED_TEST(SoftFloat, ArithmeticAgreesWithTheHost) {
  using F = TypeParam;
  using T = typename Host<F>::type;
  for (int i = 0; i < 150000; i++) {
    auto a = pattern<F>(this->random), b = pattern<F>(this->random), c = pattern<F>(this->random);
    if (this->random() % 4 == 0) // cancellation
      b = a ^ F::signBit ^ (this->random() % 4);
    volatile T x = bitCast<T>(a), y = bitCast<T>(b), z = bitCast<T>(c);
    size_t mode = i % 4;
    SCOPED_TRACE(testing::Message() << std::hex << a << " " << b << " " << c);
    Context sum{modes[mode].ours}, product = sum, quotient = sum, root = sum, fused = sum;
    auto ours = add<F>(a, b, sum);
    this->compare("add", mode, ours, sum.flags, [&] { return x + y; });
    ours = multiply<F>(a, b, product);
    this->compare("multiply", mode, ours, product.flags, [&] { return x * y; });
    ours = divide<F>(a, b, quotient);
    this->compare("divide", mode, ours, quotient.flags, [&] { return x / y; });
    ours = squareRoot<F>(a, root);
    this->compare("root", mode, ours, root.flags, [&] { return std::sqrt(T(x)); });
    // RISC-V calls inf * 0 + NaN invalid; hosts may not.
    ours = fusedMultiplyAdd<F>(a, b, c, fused);
    if (!isNan<F>(c))
      this->compare("fused", mode, ours, fused.flags, [&] { return std::fma(T(x), T(y), T(z)); });
    if (this->HasFatalFailure())
      return;
  }
}

TYPED_TEST(SoftFloat, ComparisonsAgreeWithTheHost) {
  using F = TypeParam;
  using T = typename Host<F>::type;
  for (int i = 0; i < 50000; i++) {
    auto a = pattern<F>(this->random), b = this->random() % 4 ? pattern<F>(this->random) : a;
    T x = bitCast<T>(a), y = bitCast<T>(b);
    Context context;
    ASSERT_EQ(equal<F>(a, b, context), x == y) << std::hex << a << " " << b;
    ASSERT_EQ(less<F>(a, b, context), x < y) << std::hex << a << " " << b;
    ASSERT_EQ(lessOrEqual<F>(a, b, context), x <= y) << std::hex << a << " " << b;
  }
}

TYPED_TEST(SoftFloat, ConversionsFromIntegersAgreeWithTheHost) {
  using F = TypeParam;
  using T = typename Host<F>::type;
  for (int i = 0; i < 20000; i++) {
    volatile uint32_t value = static_cast<uint32_t>(this->random() >> this->random() % 33);
    size_t mode = i % 4;
    Context fromSigned{modes[mode].ours}, fromUnsigned = fromSigned;
    auto ours = fromInt32<F>(static_cast<int32_t>(value), fromSigned);
    this->compare("int", mode, ours, fromSigned.flags,
                  [&] { return static_cast<T>(static_cast<int32_t>(value)); });
    ours = fromUint32<F>(value, fromUnsigned);
    // Through 64 bits, where the host's conversion is one instruction.
    this->compare("unsigned", mode, ours, fromUnsigned.flags, [&] { return static_cast<T>(int64_t(value)); });
    if (this->HasFatalFailure())
      return;
  }
}

TYPED_TEST(SoftFloat, ConversionsToIntegers) {
  using F = TypeParam;
  using T = typename Host<F>::type;
  for (int i = 0; i < 40000; i++) {
    // Values around the 32-bit range, with fractions.
    T value =
        std::ldexp(static_cast<T>(static_cast<int64_t>(this->random()) >> 10), int(this->random() % 40) - 55);
    auto bits = bitCast<typename F::bits>(value);
    size_t mode = i % 4;
    std::fesetround(modes[mode].host);
    double rounded = std::nearbyint(static_cast<double>(value));
    std::fesetround(FE_TONEAREST);
    Context context{modes[mode].ours};
    int32_t ours = toInt32<F>(bits, context);
    bool fits = rounded >= -2147483648.0 && rounded <= 2147483647.0;
    ASSERT_EQ(ours, fits ? int32_t(rounded) : value < 0 ? INT32_MIN : INT32_MAX) << value;
    ASSERT_EQ(context.flags, !fits ? Invalid : rounded != value ? Inexact : 0u) << value;
    Context unsignedContext{modes[mode].ours};
    uint32_t oursUnsigned = toUint32<F>(bits, unsignedContext);
    fits = rounded >= 0 && rounded <= 4294967295.0;
    ASSERT_EQ(oursUnsigned, fits ? uint32_t(rounded) : value < 0 ? 0u : UINT32_MAX) << value;
    ASSERT_EQ(unsignedContext.flags, !fits ? Invalid : rounded != value ? Inexact : 0u) << value;
  }
  Context context;
  EXPECT_EQ(toInt32<F>(F::nan, context), INT32_MAX);
  EXPECT_EQ(toUint32<F>(F::nan | F::signBit, context), UINT32_MAX);
  EXPECT_EQ(toInt32<F>(F::infinity | F::signBit, context), INT32_MIN);
  EXPECT_EQ(context.flags, uint32_t(Invalid));
}

TEST(SoftFloatFormats, ConversionsBetweenFormatsAgreeWithTheHost) {
  std::mt19937_64 random{99};
  for (int i = 0; i < 50000; i++) {
    uint64_t wide = pattern<Double>(random);
    if (random() % 2) // in the range of the narrow format
      wide = (wide & ~Double::infinity) | uint64_t(1023 - 160 + random() % 300) << 52;
    volatile double x = bitCast<double>(wide);
    size_t mode = i % 4;
    Context context{modes[mode].ours};
    uint32_t ours = doubleToSingle(wide, context);
    std::feclearexcept(FE_ALL_EXCEPT);
    std::fesetround(modes[mode].host);
    volatile float narrow = static_cast<float>(x);
    uint32_t flags = hostFlags();
    std::fesetround(FE_TONEAREST);
    ASSERT_EQ(ours, canonical<Single>(bitCast<uint32_t>(float(narrow)))) << std::hex << wide;
#if defined(__x86_64__)
    ASSERT_EQ(context.flags, flags) << std::hex << wide;
#endif
    (void)flags;
    uint32_t single = pattern<Single>(random);
    Context widening;
    volatile float f = bitCast<float>(single);
    ASSERT_EQ(singleToDouble(single, widening), canonical<Double>(bitCast<uint64_t>(static_cast<double>(f))));
  }
}

TEST(SoftFloatFormats, TiesAwayFromZero) {
  Context context{NearestAway};
  // 1 + 2^-24 lies half way between two neighbours; so does its negative.
  EXPECT_EQ(add<Single>(0x3F800000, 0x33800000, context), 0x3F800001u);
  EXPECT_EQ(add<Single>(0xBF800000, 0xB3800000, context), 0xBF800001u);
  EXPECT_EQ(context.flags, uint32_t(Inexact));
  EXPECT_EQ(toInt32<Single>(0x40200000, context), 3);  // 2.5
  EXPECT_EQ(toInt32<Single>(0xC0200000, context), -3); // -2.5
  Context even;
  EXPECT_EQ(add<Single>(0x3F800000, 0x33800000, even), 0x3F800000u);
  EXPECT_EQ(toInt32<Single>(0x40200000, even), 2);
}

TEST(SoftFloatFormats, SpecialRulesOfRiscv) {
  Context context;
  // The operand that is not a NaN wins; -0 is below +0.
  EXPECT_EQ(minimum<Single>(0x7FC00000, 0x3F800000, context), 0x3F800000u);
  EXPECT_EQ(minimum<Single>(0x00000000, 0x80000000, context), 0x80000000u);
  EXPECT_EQ(maximum<Single>(0x80000000, 0x00000000, context), 0x00000000u);
  EXPECT_EQ(context.flags, 0u);
  EXPECT_EQ(maximum<Single>(0x7F800001, 0x7FC00000, context), 0x7FC00000u);
  EXPECT_EQ(context.flags, uint32_t(Invalid));
  // inf * 0 is invalid even with a quiet NaN as addend.
  Context fused;
  EXPECT_EQ(fusedMultiplyAdd<Single>(0x7F800000, 0, 0x7FC00000, fused), 0x7FC00000u);
  EXPECT_EQ(fused.flags, uint32_t(Invalid));
  const uint32_t classes[] = {0xFF800000, 0xBF800000, 0x80000001, 0x80000000, 0x00000000,
                              0x00000001, 0x3F800000, 0x7F800000, 0x7F800001, 0x7FC00000};
  for (uint32_t i = 0; i < 10; i++)
    EXPECT_EQ(classify<Single>(classes[i]), 1u << i);
}

} // namespace
