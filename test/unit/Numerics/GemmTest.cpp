#include "TestUtil.h"
#include <gtest/gtest.h>

using namespace tensorturbo::numerics;
using namespace tensorturbo::numerics::test;

namespace {

template <class Left, class Right> Half dot(size_t inner, Left left, Right right) {
  Half sum[2] = {0, 0};
  for (size_t k = 0; k < inner; ++k)
    sum[k % 2] = add(sum[k % 2], mul(left(k), right(k)));
  return add(sum[0], sum[1]);
}

struct Case {
  size_t rows, inner, cols;
};
const Case kCases[] = {{1, 1, 1},   {4, 2, 32},  {5, 3, 33},   {3, 64, 17},
                       {9, 65, 70}, {2, 301, 5}, {1, 1000, 64}};

TEST(Gemm, Halves) {
  Source source(1);
  for (const Case &c : kCases)
    for (Kind kind : {Kind::Ordinary, Kind::Small, Kind::Large, Kind::AnyBits, Kind::Special})
      for (bool transposed : {false, true}) {
        size_t pitchA = (transposed ? c.rows : c.inner) + 1, pitchB = c.cols + 2, pitchD = c.cols + 3;
        std::vector<Half> a = source.halves(pitchA * (transposed ? c.inner : c.rows), kind);
        std::vector<Half> b = source.halves(pitchB * c.inner, kind == Kind::AnyBits ? Kind::Ordinary : kind);
        std::vector<Half> expected(pitchD * c.rows, 0xA5A5);
        for (size_t m = 0; m < c.rows; ++m)
          for (size_t n = 0; n < c.cols; ++n)
            expected[m * pitchD + n] = dot(
                c.inner, [&](size_t k) { return transposed ? a[k * pitchA + m] : a[m * pitchA + k]; },
                [&](size_t k) { return b[k * pitchB + n]; });
        for (Path path : paths()) {
          Forced forced(path);
          std::vector<Half> d(pitchD * c.rows, 0xA5A5);
          matmul(c.rows, c.inner, c.cols, {bytes(d), 2 * pitchD}, {bytes(a), 2 * pitchA, transposed},
                 {bytes(b), 2 * pitchB});
          ASSERT_EQ(d, expected) << pathName(path) << ' ' << c.rows << 'x' << c.inner << 'x' << c.cols
                                 << " kind " << int(kind);
        }
      }
}

TEST(Gemm, OverflowOnTheWayIsKept) {
  // 40000 + 40000 is infinite even if -80000 follows: both in the same accumulator.
  std::vector<Half> a = {0x78E2, 0, 0x78E2, 0, 0xF8E2, 0, 0xF8E2}, b(7 * 40, 0x3C00);
  for (Path path : paths()) {
    Forced forced(path);
    std::vector<Half> d(40);
    matmul(1, 7, 40, {bytes(d), 80}, {bytes(a), 14}, {bytes(b), 80});
    EXPECT_EQ(d, std::vector<Half>(40, 0x7C00)) << pathName(path);
  }
}

template <class T> int32_t dot8(size_t inner, T product) {
  uint32_t sum = 0;
  for (size_t k = 0; k < inner; ++k)
    sum += uint32_t(product(k));
  return int32_t(sum);
}

TEST(Gemm, Int8) {
  Source source(2);
  for (const Case &c : kCases)
    for (bool extreme : {false, true}) {
      std::vector<int8_t> a(c.rows * c.inner), b(c.inner * c.cols);
      for (auto *v : {&a, &b})
        for (int8_t &x : *v)
          x = extreme ? int8_t(-128) : int8_t(source.bits());
      const uint8_t *pa = reinterpret_cast<const uint8_t *>(a.data()),
                    *pb = reinterpret_cast<const uint8_t *>(b.data());
      std::vector<int32_t> expected(c.rows * c.cols);
      for (size_t m = 0; m < c.rows; ++m)
        for (size_t n = 0; n < c.cols; ++n)
          expected[m * c.cols + n] =
              dot8(c.inner, [&](size_t k) { return a[m * c.inner + k] * b[k * c.cols + n]; });
      for (Path path : paths()) {
        Forced forced(path);
        std::vector<int32_t> d(c.rows * c.cols);
        matmulInt8(c.rows, c.inner, c.cols, {reinterpret_cast<uint8_t *>(d.data()), 4 * c.cols},
                   {pa, c.inner}, {pb, c.cols}, std::nullopt);
        ASSERT_EQ(d, expected) << pathName(path);
        std::vector<Half> h(c.rows * c.cols);
        matmulInt8(c.rows, c.inner, c.cols, {bytes(h), 2 * c.cols}, {pa, c.inner}, {pb, c.cols},
                   Half(0x1A3D));
        for (size_t i = 0; i < h.size(); ++i)
          ASSERT_EQ(h[i], imul(expected[i], 0x1A3D)) << pathName(path);
      }
    }
}

struct Geometry {
  uint32_t height, width, channels, kernelHeight, kernelWidth, dilation, stride;
  int32_t top, bottom, left, right;
  size_t gap; // extra channels between pixels
};
const Geometry kGeometries[] = {{1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0},  {5, 7, 3, 3, 3, 1, 1, 1, 1, 1, 1, 0},
                                {9, 8, 4, 3, 3, 1, 2, 0, 1, 0, 1, 0},  {8, 8, 5, 3, 2, 2, 1, 2, 1, 3, 0, 3},
                                {6, 6, 16, 1, 1, 1, 2, 0, 0, 0, 0, 0}, {3, 3, 2, 7, 7, 1, 1, 3, 3, 3, 3, 0},
                                {2, 3, 33, 2, 2, 3, 3, 4, 4, 4, 4, 1}};

TEST(Gemm, Convolution) {
  Source source(3);
  for (const Geometry &g : kGeometries)
    for (Kind kind : {Kind::Ordinary, Kind::Special})
      for (size_t cols : {1, 37}) {
        ConvolutionWindow w{};
        w.height = g.height, w.width = g.width, w.channels = g.channels;
        w.kernelHeight = g.kernelHeight, w.kernelWidth = g.kernelWidth;
        w.dilation = g.dilation, w.stride = g.stride, w.top = g.top, w.left = g.left;
        w.outHeight = (g.height + g.top + g.bottom - (g.dilation * (g.kernelHeight - 1) + 1)) / g.stride + 1;
        w.outWidth = (g.width + g.left + g.right - (g.dilation * (g.kernelWidth - 1) + 1)) / g.stride + 1;
        size_t pixel = g.channels + g.gap;
        std::vector<Half> image = source.halves(size_t(g.height) * g.width * pixel, kind);
        std::vector<Half> weights = source.halves(w.inner() * cols, kind);
        auto at = [&](size_t row, size_t k) -> ptrdiff_t {
          ptrdiff_t c = k % g.channels, tap = k / g.channels;
          ptrdiff_t y = ptrdiff_t(row / w.outWidth) * g.stride + tap / g.kernelWidth * g.dilation - g.top;
          ptrdiff_t x = ptrdiff_t(row % w.outWidth) * g.stride + tap % g.kernelWidth * g.dilation - g.left;
          if (y < 0 || x < 0 || y >= ptrdiff_t(g.height) || x >= ptrdiff_t(g.width))
            return -1;
          return (y * g.width + x) * ptrdiff_t(pixel) + c;
        };
        std::vector<Half> expected(w.rows() * cols);
        for (size_t m = 0; m < w.rows(); ++m)
          for (size_t n = 0; n < cols; ++n)
            expected[m * cols + n] = dot(
                w.inner(), [&](size_t k) { return at(m, k) < 0 ? Half(0) : image[at(m, k)]; },
                [&](size_t k) { return weights[k * cols + n]; });
        std::vector<int8_t> image8, weights8;
        for (Half h : image)
          image8.push_back(int8_t(h));
        for (Half h : weights)
          weights8.push_back(int8_t(h >> 3));
        std::vector<int32_t> expected8(w.rows() * cols);
        for (size_t m = 0; m < w.rows(); ++m)
          for (size_t n = 0; n < cols; ++n)
            expected8[m * cols + n] = dot8(w.inner(), [&](size_t k) {
              return at(m, k) < 0 ? 0 : image8[at(m, k)] * weights8[k * cols + n];
            });
        for (Path path : paths()) {
          Forced forced(path);
          std::vector<Half> d(w.rows() * cols);
          w.image = bytes(image), w.pixelStride = 2 * pixel;
          convolve(cols, {bytes(d), 2 * cols}, w, {bytes(weights), 2 * cols});
          ASSERT_EQ(d, expected) << pathName(path) << ' ' << &g - kGeometries << " kind " << int(kind);
          std::vector<int32_t> e(w.rows() * cols);
          w.image = reinterpret_cast<const uint8_t *>(image8.data()), w.pixelStride = pixel;
          convolveInt8(cols, {reinterpret_cast<uint8_t *>(e.data()), 4 * cols}, w,
                       {reinterpret_cast<const uint8_t *>(weights8.data()), cols}, std::nullopt);
          ASSERT_EQ(e, expected8) << pathName(path) << ' ' << &g - kGeometries;
        }
      }
}

} // namespace
