#include "TestUtil.h"
#include <cfenv>
#include <gtest/gtest.h>

using namespace tensorturbo::numerics;
using namespace tensorturbo::numerics::test;

namespace {

Half scalarBinary(Binary op, Half a, Half b) {
  switch (op) {
  case Binary::Add:
    return add(a, b);
  case Binary::Sub:
    return sub(a, b);
  case Binary::Mul:
    return mul(a, b);
  case Binary::Max:
    return maxElement(a, b);
  case Binary::Min:
    return minElement(a, b);
  case Binary::LeakyReluVector:
    return leakyReluVector(a, b);
  case Binary::LeakyReluScalar:
    return leakyReluScalar(a, b);
  }
  return 0;
}
const Binary kBinaries[] = {Binary::Add,
                            Binary::Sub,
                            Binary::Mul,
                            Binary::Max,
                            Binary::Min,
                            Binary::LeakyReluVector,
                            Binary::LeakyReluScalar};
const Kind kKinds[] = {Kind::AnyBits, Kind::Ordinary, Kind::Small, Kind::Large, Kind::Special};

Half operandAt(const Operand &b, size_t r, size_t c) {
  if (b.kind == Operand::Scalar)
    return b.scalar;
  const uint8_t *p =
      b.data + (b.kind == Operand::Full ? r * b.stride + 2 * c : 2 * (b.kind == Operand::Row ? c : r));
  Half h;
  std::memcpy(&h, p, 2);
  return h;
}

/// A matrix of halves inside a larger array, so that stray writes are seen.
struct Grid {
  Shape shape;
  size_t pitch; // elements
  std::vector<Half> data;
  Grid(Source &source, Shape s, size_t gap, Kind kind)
      : shape(s), pitch(s.cols + gap), data(source.halves(s.rows * pitch + 8, kind)) {}
  ConstMatrix view() const { return {bytes(data), 2 * pitch}; }
  Matrix out() { return {bytes(data), 2 * pitch}; }
  Half &at(size_t r, size_t c) { return data[r * pitch + c]; }
};

TEST(Kernels, BinaryOnAllPairsOfSpecialValues) {
  const std::vector<Half> &v = specialValues();
  size_t n = v.size();
  std::vector<Half> a, b, d(n * n);
  for (Half x : v)
    for (Half y : v)
      a.push_back(x), b.push_back(y);
  for (Path path : paths()) {
    Forced forced(path);
    for (Binary op : kBinaries) {
      binary(op, {n, n}, {bytes(d), 2 * n}, {bytes(a), 2 * n}, Operand::full(bytes(b), 2 * n));
      for (size_t i = 0; i < n * n; ++i)
        ASSERT_EQ(d[i], scalarBinary(op, a[i], b[i]))
            << pathName(path) << " op " << int(op) << std::hex << ' ' << a[i] << ' ' << b[i];
    }
  }
}

TEST(Kernels, BinaryMulExhaustiveNearTheSubnormals) {
  // All products of 64 x 65536: every significand against roundings at every subnormal position.
  Source source(4);
  std::vector<Half> a(65536), d(65536);
  for (uint32_t i = 0; i < 65536; ++i)
    a[i] = Half(i);
  for (int i = 0; i < 64; ++i) {
    Half b = source.half(i % 2 ? Kind::Small : Kind::AnyBits);
    for (Path path : paths()) {
      Forced forced(path);
      for (Binary op : {Binary::Mul, Binary::Add}) {
        binary(op, {1, 65536}, {bytes(d), 131072}, {bytes(a), 131072}, Operand::value(b));
        for (uint32_t k = 0; k < 65536; ++k)
          ASSERT_EQ(d[k], scalarBinary(op, a[k], b)) << pathName(path) << std::hex << ' ' << a[k] << ' ' << b;
      }
    }
  }
}

TEST(Kernels, BinaryShapesAndOperands) {
  Source source(5);
  const Shape shapes[] = {{1, 1}, {1, 17}, {3, 5}, {5, 16}, {7, 33}, {65, 1}, {2, 129}};
  for (Shape shape : shapes)
    for (size_t gap : {0, 3})
      for (Binary op : kBinaries)
        for (Kind kind : kKinds) {
          Grid a(source, shape, gap, kind), b(source, shape, gap * 2, kind);
          std::vector<Half> row = source.halves(shape.cols, kind), column = source.halves(shape.rows, kind);
          for (const Operand &operand :
               {Operand::full(b.view().data, b.view().stride), Operand::row(bytes(row)),
                Operand::column(bytes(column)), Operand::value(source.half(kind))})
            for (bool inPlace : {false, true})
              for (Path path : paths()) {
                Forced forced(path);
                Grid source1 = a, before = inPlace ? a : b;
                Grid d = before;
                if (inPlace)
                  binary(op, shape, d.out(), d.view(), operand);
                else
                  binary(op, shape, d.out(), source1.view(), operand);
                Grid expected = before;
                for (size_t r = 0; r < shape.rows; ++r)
                  for (size_t c = 0; c < shape.cols; ++c)
                    expected.at(r, c) = scalarBinary(op, a.at(r, c), operandAt(operand, r, c));
                ASSERT_EQ(d.data, expected.data)
                    << pathName(path) << " op " << int(op) << ' ' << shape.rows << 'x' << shape.cols;
              }
        }
}

TEST(Kernels, Conversions) {
  std::vector<Half> all(65536);
  for (uint32_t i = 0; i < 65536; ++i)
    all[i] = Half(i);
  std::vector<uint8_t> narrow(65536);
  std::vector<Half> wide(256);
  std::vector<uint8_t> small(256);
  for (int i = 0; i < 256; ++i)
    small[i] = uint8_t(i);
  for (Path path : paths()) {
    Forced forced(path);
    halfToInt8({1, 65536}, {narrow.data(), 65536}, {bytes(all), 131072}, std::nullopt);
    for (uint32_t i = 0; i < 65536; ++i)
      ASSERT_EQ(int8_t(narrow[i]), toInt8(Half(i))) << pathName(path) << std::hex << ' ' << i;
    for (Half scale : {0x3C00, 0x2C01, 0xB801, 0x0001, 0x7BFF, 0x7C00, 0x7E00, 0x8000}) {
      halfToInt8({1, 65536}, {narrow.data(), 65536}, {bytes(all), 131072}, scale);
      for (uint32_t i = 0; i < 65536; ++i)
        ASSERT_EQ(int8_t(narrow[i]), toInt8(mul(Half(i), scale))) << pathName(path) << std::hex << ' ' << i;
    }
    // Narrowing in place, with a ragged end.
    std::vector<Half> inPlace(all.begin() + 0x4000, all.begin() + 0x4000 + 1003);
    halfToInt8({17, 59}, {bytes(inPlace), 59}, {bytes(inPlace), 118}, std::nullopt);
    for (int i = 0; i < 1003; ++i)
      ASSERT_EQ(int8_t(bytes(inPlace)[i]), toInt8(Half(0x4000 + i))) << pathName(path);
    int8ToHalf({16, 16}, {bytes(wide), 32}, {small.data(), 16});
    for (int i = 0; i < 256; ++i)
      ASSERT_EQ(wide[i], fromSmallInteger(int8_t(i)));
    uint8ToHalf({1, 256}, {bytes(wide), 512}, {small.data(), 256});
    for (int i = 0; i < 256; ++i)
      ASSERT_EQ(wide[i], fromSmallInteger(i));
  }
}

TEST(Kernels, IntegerTimesHalf) {
  Source source(6);
  const size_t rows = 40, cols = 37;
  std::vector<int32_t> a(rows * cols);
  for (int32_t &i : a)
    i = int32_t(source.bits()) >> (source.bits() % 32);
  for (size_t i = 0; i < 8; ++i)
    a[i] = (const int32_t[]){0, INT32_MIN, INT32_MAX, -1, 1, 65520, -65536, 2049}[i];
  const uint8_t *data = reinterpret_cast<const uint8_t *>(a.data());
  std::vector<Half> d(rows * cols);
  for (Kind kind : kKinds) {
    std::vector<Half> row = source.halves(cols, kind);
    for (const Operand &b : {Operand::row(bytes(row)), Operand::value(source.half(kind))})
      for (Path path : paths()) {
        Forced forced(path);
        mulInt32({rows, cols}, {bytes(d), 2 * cols}, {data, 4 * cols}, b);
        for (size_t r = 0; r < rows; ++r)
          for (size_t c = 0; c < cols; ++c)
            ASSERT_EQ(d[r * cols + c], imul(a[r * cols + c], operandAt(b, r, c)))
                << pathName(path) << ' ' << a[r * cols + c] << std::hex << ' ' << operandAt(b, r, c);
      }
  }
}

Half fold(Reduction op, Half a, Half b) {
  if (op == Reduction::Max)
    return maxFold(a, b);
  return op == Reduction::Min ? minFold(a, b) : add(a, b);
}
Half term(Reduction op, Grid &a, const Operand &b, size_t r, size_t c) {
  return op == Reduction::SumOfProducts ? mul(a.at(r, c), operandAt(b, r, c)) : a.at(r, c);
}

TEST(Kernels, Reductions) {
  Source source(7);
  const Shape shapes[] = {{1, 1}, {1, 40}, {40, 1}, {2, 2}, {17, 33}, {3, 200}, {130, 20}};
  for (Shape shape : shapes)
    for (Kind kind : kKinds)
      for (Reduction op : {Reduction::Sum, Reduction::Max, Reduction::Min, Reduction::SumOfProducts}) {
        Grid a(source, shape, 2, kind), full(source, shape, 1, kind);
        std::vector<Half> row = source.halves(shape.cols, kind), column = source.halves(shape.rows, kind);
        for (const Operand &b :
             {Operand::full(full.view().data, full.view().stride), Operand::row(bytes(row)),
              Operand::column(bytes(column)), Operand::value(source.half(kind))}) {
          std::vector<Half> columns(shape.cols), rows(shape.rows);
          for (size_t c = 0; c < shape.cols; ++c) {
            columns[c] = term(op, a, b, 0, c);
            for (size_t r = 1; r < shape.rows; ++r)
              columns[c] = fold(op, columns[c], term(op, a, b, r, c));
          }
          for (size_t r = 0; r < shape.rows; ++r) {
            rows[r] = term(op, a, b, r, 0);
            for (size_t c = 1; c < shape.cols; ++c)
              rows[r] = fold(op, rows[r], term(op, a, b, r, c));
          }
          Half all = columns[0];
          for (size_t c = 1; c < shape.cols; ++c)
            all = fold(op, all, columns[c]);
          for (Path path : paths()) {
            Forced forced(path);
            std::vector<Half> d(shape.cols), e(shape.rows * 3, 0xA5A5);
            reduceColumns(op, shape, bytes(d), a.view(), b);
            reduceRows(op, shape, {bytes(e), 6}, a.view(), b);
            ASSERT_EQ(d, columns) << pathName(path) << " op " << int(op);
            for (size_t r = 0; r < shape.rows; ++r) {
              ASSERT_EQ(e[3 * r], rows[r]) << pathName(path) << " op " << int(op) << " row " << r;
              ASSERT_EQ(e[3 * r + 1], 0xA5A5);
            }
            ASSERT_EQ(reduceAll(op, shape, a.view(), b), all) << pathName(path) << " op " << int(op);
          }
        }
      }
}

TEST(Kernels, LongSumDoesNotStagnate) {
  std::vector<Half> ones(5000, 0x3C00);
  for (Path path : paths()) {
    Forced forced(path);
    // Ties go away from zero: beyond 2048 each 1 adds 2.
    EXPECT_EQ(reduceAll(Reduction::Sum, {2049, 1}, {bytes(ones), 2}, Operand::value(0)), 0x6801)
        << pathName(path);
    EXPECT_EQ(reduceAll(Reduction::Sum, {1, 2050}, {bytes(ones), 4100}, Operand::value(0)), 0x6802);
  }
}

TEST(Kernels, MovesAndTables) {
  Source source(8);
  Grid a(source, {9, 70}, 3, Kind::AnyBits);
  std::vector<Half> d(9 * 70);
  copy(9, 140, {bytes(d), 140}, a.view());
  for (size_t r = 0; r < 9; ++r)
    for (size_t c = 0; c < 70; ++c)
      ASSERT_EQ(d[r * 70 + c], a.at(r, c));
  transpose({9, 70}, {bytes(d), 18}, a.view());
  for (size_t r = 0; r < 9; ++r)
    for (size_t c = 0; c < 70; ++c)
      ASSERT_EQ(d[c * 9 + r], a.at(r, c));
  unary(Unary::Exp, {9, 70}, {bytes(d), 140}, a.view());
  for (size_t r = 0; r < 9; ++r)
    for (size_t c = 0; c < 70; ++c)
      ASSERT_EQ(d[r * 70 + c], exponential(a.at(r, c)));
  unary(Unary::Sqrt, {9, 70}, {bytes(d), 140}, a.view());
  EXPECT_EQ(d[0], squareRoot(a.at(0, 0)));
  unary(Unary::Reciprocal, {9, 70}, {bytes(d), 140}, a.view());
  EXPECT_EQ(d[0], reciprocal(a.at(0, 0)));
  std::vector<Half> v = source.halves(70, Kind::AnyBits);
  broadcast({9, 70}, {bytes(d), 140}, Operand::column(bytes(v)));
  EXPECT_EQ(d[8 * 70 + 69], v[8]);
  broadcast({9, 70}, {bytes(d), 140}, Operand::row(bytes(v)));
  EXPECT_EQ(d[8 * 70 + 69], v[69]);
  broadcast({9, 70}, {bytes(d), 140}, Operand::value(0x1234));
  EXPECT_EQ(d[8 * 70 + 69], 0x1234);
  std::vector<Half> indices = {3, 0, 69}, picked(3);
  lookUp({1, 3}, {bytes(picked), 6}, {bytes(indices), 6}, bytes(v));
  EXPECT_EQ(picked, (std::vector<Half>{v[3], v[0], v[69]}));
  EXPECT_EQ(largestIndex({1, 3}, {bytes(indices), 6}), 69);
}

TEST(Kernels, FloatConversions) {
  Source source(9);
  std::vector<float> from;
  for (int i = 0; i < 200000; ++i) {
    uint32_t bits = source.bits();
    if (i % 2) // around the halves' range, with many ties
      bits = (bits & 0x80000000u) | (95 + (bits >> 8) % 52) << 23 |
             (source.bits() & (i % 4 == 1 ? 0x7FF000u : 0x7FFFFFu));
    from.push_back(floatFromBits(bits));
  }
  for (Path path : paths()) {
    Forced forced(path);
    std::vector<Half> halves(from.size());
    floatToHalf(from.data(), halves.data(), from.size());
    for (size_t i = 0; i < from.size(); ++i)
      ASSERT_EQ(halves[i], roundToHalf(from[i])) << pathName(path) << std::hexfloat << ' ' << from[i];
    std::vector<Half> all(65536);
    for (uint32_t i = 0; i < 65536; ++i)
      all[i] = Half(i);
    std::vector<float> back(65536);
    halfToFloat(all.data(), back.data(), 65536);
    for (uint32_t i = 0; i < 65536; ++i)
      ASSERT_EQ(bitsFromFloat(back[i]), halfToFloatBits(Half(i))) << pathName(path) << std::hex << ' ' << i;
  }
}

TEST(Kernels, LeaveTheFloatingPointEnvironmentAlone) {
  Source source(10);
  std::vector<Half> a = source.halves(64, Kind::AnyBits), d(64), e(64);
  binary(Binary::Add, {1, 64}, {bytes(d), 128}, {bytes(a), 128}, Operand::value(0x2E66));
  std::feclearexcept(FE_ALL_EXCEPT);
  std::fesetround(FE_UPWARD);
  binary(Binary::Add, {1, 64}, {bytes(e), 128}, {bytes(a), 128}, Operand::value(0x2E66));
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(d, e);
}

} // namespace
