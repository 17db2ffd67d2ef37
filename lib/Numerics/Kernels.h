// The chip's tensor arithmetic on whole matrices, bit-exact with Half.h on every code path.
//
// Matrices are rows of contiguous elements, `stride` bytes apart; any alignment. A destination may be the
// very same matrix as a source (same address, stride and element size); any other overlap gives unspecified
// values. Nothing outside the described elements is read or written. The host's floating-point environment is
// as before after every call. All functions may be called from several threads at once.
#pragma once
#include "Numerics/Half.h"
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tensorturbo::numerics {

/// Instruction sets that the kernels are compiled for.
enum class Path { Portable, Avx2, Avx512 };
const char *pathName(Path path);
/// The host can run it.
bool pathSupported(Path path);
/// The path in use: the best supported one, or the forced one.
Path activePath();
/// For tests and measurements; ignored if unsupported. Nothing: automatic choice.
void forcePath(std::optional<Path> path);

struct Shape {
  size_t rows, cols;
};
struct ConstMatrix {
  const uint8_t *data;
  size_t stride;
};
struct Matrix {
  uint8_t *data;
  size_t stride;
};

/// The second operand of an element-wise operation or a sum of products, as halves.
struct Operand {
  enum Kind { Full, Row, Column, Scalar } kind;
  /// Full: a matrix. Row: `cols` elements, repeated in every row. Column: `rows` elements.
  const uint8_t *data = nullptr;
  size_t stride = 0;
  Half scalar = 0;

  static Operand full(const uint8_t *data, size_t stride) { return {Full, data, stride, 0}; }
  static Operand row(const uint8_t *data) { return {Row, data, 0, 0}; }
  static Operand column(const uint8_t *data) { return {Column, data, 0, 0}; }
  static Operand value(Half h) { return {Scalar, nullptr, 0, h}; }
};

enum class Binary { Add, Sub, Mul, Max, Min, LeakyReluVector, LeakyReluScalar };
/// d = op(a, b), element by element.
void binary(Binary op, Shape shape, Matrix d, ConstMatrix a, const Operand &b);

/// Copies `rowBytes` bytes of each row.
void copy(size_t rows, size_t rowBytes, Matrix d, ConstMatrix a);
/// Row, Column or Scalar repeated over a matrix of halves.
void broadcast(Shape shape, Matrix d, const Operand &b);
/// d[c][r] = a[r][c] for halves.
void transpose(Shape shapeOfA, Matrix d, ConstMatrix a);
/// d = table[a], a as unsigned 16-bit indices. `table` has a half per index that occurs.
void lookUp(Shape shape, Matrix d, ConstMatrix a, const uint8_t *table);
/// The largest index in a matrix for lookUp.
uint16_t largestIndex(Shape shape, ConstMatrix a);

enum class Unary { Exp, Sqrt, Reciprocal };
void unary(Unary op, Shape shape, Matrix d, ConstMatrix a);

/// int8 or uint8 to half, exact.
void int8ToHalf(Shape shape, Matrix d, ConstMatrix a);
void uint8ToHalf(Shape shape, Matrix d, ConstMatrix a);
/// toInt8(mul(a, scale)); without scale toInt8(a).
void halfToInt8(Shape shape, Matrix d, ConstMatrix a, std::optional<Half> scale);
/// imul(a, b), a of int32, b a Row or Scalar.
void mulInt32(Shape shape, Matrix d, ConstMatrix a, const Operand &b);

enum class Reduction { Sum, Max, Min, SumOfProducts };
/// Fold of each column from top to bottom into cols contiguous halves. `b` is used by SumOfProducts only.
void reduceColumns(Reduction op, Shape shape, uint8_t *d, ConstMatrix a, const Operand &b);
/// Fold of each row from left to right; results are `stride` bytes apart.
void reduceRows(Reduction op, Shape shape, Matrix d, ConstMatrix a, const Operand &b);
/// Columns first, then their results from left to right.
Half reduceAll(Reduction op, Shape shape, ConstMatrix a, const Operand &b);

/// The left operand of a matrix product: `rows` x `inner`.
struct LeftMatrix {
  const uint8_t *data;
  size_t stride;
  /// Stored inner x rows (halves only).
  bool transposed = false;
};

/// One NHWC image as left operand: row = output pixel, column k = (ky * kw + kx) * channels + c. Taps outside
/// the image are +0.
struct ConvolutionWindow {
  const uint8_t *image;
  size_t pixelStride; ///< bytes
  uint32_t height, width, channels;
  uint32_t outHeight, outWidth;
  uint32_t kernelHeight, kernelWidth, dilation, stride;
  int32_t top, left; ///< padding

  size_t rows() const { return size_t(outHeight) * outWidth; }
  size_t inner() const { return size_t(kernelHeight) * kernelWidth * channels; }
};

/// d[rows x cols] = a * b in the MME's order: products rounded, two accumulators for even and odd inner
/// index, added at the end.
void matmul(size_t rows, size_t inner, size_t cols, Matrix d, const LeftMatrix &a, ConstMatrix b);
void convolve(size_t cols, Matrix d, const ConvolutionWindow &a, ConstMatrix b);
/// int8 operands; the sums modulo 2^32 as int32, or times `scale` (imul) as halves.
void matmulInt8(size_t rows, size_t inner, size_t cols, Matrix d, const LeftMatrix &a, ConstMatrix b,
                std::optional<Half> scale);
void convolveInt8(size_t cols, Matrix d, const ConvolutionWindow &a, ConstMatrix b,
                  std::optional<Half> scale);

/// IEEE conversions at the border of the chip, to nearest even.
void floatToHalf(const float *from, Half *to, size_t count);
void halfToFloat(const Half *from, float *to, size_t count);

} // namespace tensorturbo::numerics
