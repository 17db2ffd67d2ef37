// Choice of the code path, the rounding mode around it, and the kernels that move bits only.
#include "Numerics/Kernels.h"
#include "Numerics/KernelTable.h"
#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tensorturbo::numerics {

namespace {

/// Makes the host round toward zero, with subnormals and without traps, for the life of the object.
class TowardZero {
public:
#if defined(__x86_64__)
  TowardZero() : saved(_mm_getcsr()) {
    _mm_setcsr(0x1F80 | 0x6000); // all exceptions masked, rounding control 3
  }
  ~TowardZero() { _mm_setcsr(saved); }

private:
  unsigned saved;
#else
  TowardZero() {
    std::feholdexcept(&saved);
    std::fesetround(FE_TOWARDZERO);
  }
  ~TowardZero() { std::fesetenv(&saved); }

private:
  std::fenv_t saved;
#endif
};

const KernelTable *tableOf(Path path) {
#if defined(__x86_64__)
  if (path == Path::Avx512)
    return &kAvx512Kernels;
  if (path == Path::Avx2)
    return &kAvx2Kernels;
#endif
  return &kPortableKernels;
}

Path bestPath() {
  if (pathSupported(Path::Avx512))
    return Path::Avx512;
  return pathSupported(Path::Avx2) ? Path::Avx2 : Path::Portable;
}

std::atomic<Path> &current() {
  static std::atomic<Path> path{bestPath()};
  return path;
}

/// The kernels are reached through pointers only, so that no arithmetic moves across the change of mode.
const KernelTable &kernels() {
  return *tableOf(current().load(std::memory_order_relaxed));
}

/// Rows without gaps are one long row; that saves the partial vectors at the row ends.
bool dense(const Shape &s, size_t stride, size_t elementBytes) {
  return stride == s.cols * elementBytes;
}
Shape flat(const Shape &s) {
  return {1, s.rows * s.cols};
}

using Table = std::vector<Half>;
const Table &tableFor(Unary op) {
  auto build = [](Half (*f)(Half)) {
    Table t(65536);
    for (uint32_t i = 0; i < 65536; ++i)
      t[i] = f(Half(i));
    return t;
  };
  switch (op) {
  case Unary::Exp: {
    static const Table table = build(exponential);
    return table;
  }
  case Unary::Sqrt: {
    static const Table table = build(squareRoot);
    return table;
  }
  case Unary::Reciprocal:
    break;
  }
  static const Table table = build(reciprocal);
  return table;
}

Half loadHalf(const uint8_t *p) {
  Half h;
  std::memcpy(&h, p, 2);
  return h;
}
void storeHalf(uint8_t *p, Half h) {
  std::memcpy(p, &h, 2);
}

} // namespace

const char *pathName(Path path) {
  return path == Path::Avx512 ? "avx512" : path == Path::Avx2 ? "avx2" : "portable";
}

bool pathSupported(Path path) {
#if defined(__x86_64__)
  if (path == Path::Avx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           pathSupported(Path::Avx2);
  if (path == Path::Avx2) // every processor with AVX2 has F16C
    return __builtin_cpu_supports("avx2");
#endif
  return path == Path::Portable;
}

Path activePath() {
  return current().load();
}

void forcePath(std::optional<Path> path) {
  if (!path)
    current().store(bestPath());
  else if (pathSupported(*path))
    current().store(*path);
}

void *scratch(int slot, size_t bytes) {
  struct Buffer {
    std::unique_ptr<void, void (*)(void *)> memory{nullptr, std::free};
    size_t size = 0;
  };
  constexpr size_t kKeep = 16 << 20;
  static thread_local Buffer buffers[2];
  Buffer &b = buffers[slot];
  // Absurd shapes may need much more than real ones; that is not kept.
  if (bytes > b.size || (b.size > kKeep && bytes <= kKeep)) {
    size_t size = std::max<size_t>((bytes + 63) / 64 * 64, 1 << 16);
    b.memory.reset();
    b.memory.reset(std::aligned_alloc(64, size));
    if (!b.memory)
      std::abort(); // as a failed operator new would without exceptions
    b.size = size;
  }
  return b.memory.get();
}

float growthBound(size_t steps) {
  return float(std::exp(double(steps) / 2048));
}

void binary(Binary op, Shape shape, Matrix d, ConstMatrix a, const Operand &b) {
  bool flatOperand = b.kind == Operand::Scalar || (b.kind == Operand::Full && dense(shape, b.stride, 2));
  if (flatOperand && dense(shape, d.stride, 2) && dense(shape, a.stride, 2))
    shape = flat(shape);
  TowardZero mode;
  kernels().binary(op, shape, d, a, b);
}

void copy(size_t rows, size_t rowBytes, Matrix d, ConstMatrix a) {
  for (size_t r = 0; r < rows; ++r)
    std::memmove(d.data + r * d.stride, a.data + r * a.stride, rowBytes);
}

void broadcast(Shape shape, Matrix d, const Operand &b) {
  for (size_t r = 0; r < shape.rows; ++r) {
    uint8_t *to = d.data + r * d.stride;
    if (b.kind == Operand::Row) {
      std::memmove(to, b.data, shape.cols * 2);
      continue;
    }
    Half h = b.kind == Operand::Column ? loadHalf(b.data + 2 * r) : b.scalar;
    for (size_t c = 0; c < shape.cols; ++c)
      storeHalf(to + 2 * c, h);
  }
}

void transpose(Shape s, Matrix d, ConstMatrix a) {
  // In blocks, so that both sides stay within a few cache lines.
  constexpr size_t kBlock = 32;
  for (size_t r0 = 0; r0 < s.rows; r0 += kBlock)
    for (size_t c0 = 0; c0 < s.cols; c0 += kBlock)
      for (size_t c = c0; c < std::min(c0 + kBlock, s.cols); ++c)
        for (size_t r = r0; r < std::min(r0 + kBlock, s.rows); ++r)
          std::memcpy(d.data + c * d.stride + 2 * r, a.data + r * a.stride + 2 * c, 2);
}

void lookUp(Shape shape, Matrix d, ConstMatrix a, const uint8_t *table) {
  for (size_t r = 0; r < shape.rows; ++r)
    for (size_t c = 0; c < shape.cols; ++c)
      storeHalf(d.data + r * d.stride + 2 * c,
                loadHalf(table + 2 * size_t(loadHalf(a.data + r * a.stride + 2 * c))));
}

uint16_t largestIndex(Shape shape, ConstMatrix a) {
  uint16_t most = 0;
  for (size_t r = 0; r < shape.rows; ++r)
    for (size_t c = 0; c < shape.cols; ++c)
      most = std::max(most, loadHalf(a.data + r * a.stride + 2 * c));
  return most;
}

void unary(Unary op, Shape shape, Matrix d, ConstMatrix a) {
  lookUp(shape, d, a, reinterpret_cast<const uint8_t *>(tableFor(op).data()));
}

void int8ToHalf(Shape shape, Matrix d, ConstMatrix a) {
  TowardZero mode;
  kernels().int8ToHalf(shape, d, a);
}

void uint8ToHalf(Shape shape, Matrix d, ConstMatrix a) {
  TowardZero mode;
  kernels().uint8ToHalf(shape, d, a);
}

void halfToInt8(Shape shape, Matrix d, ConstMatrix a, std::optional<Half> scale) {
  TowardZero mode;
  kernels().halfToInt8(shape, d, a, scale ? &*scale : nullptr);
}

void mulInt32(Shape shape, Matrix d, ConstMatrix a, const Operand &b) {
  TowardZero mode;
  kernels().mulInt32(shape, d, a, b);
}

void reduceColumns(Reduction op, Shape shape, uint8_t *d, ConstMatrix a, const Operand &b) {
  if (shape.rows == 1 && op != Reduction::SumOfProducts) {
    std::memmove(d, a.data, shape.cols * 2); // a single term keeps its bits
    return;
  }
  TowardZero mode;
  kernels().reduceColumns(op, shape, d, a, b);
}

void reduceRows(Reduction op, Shape shape, Matrix d, ConstMatrix a, const Operand &b) {
  if (shape.cols == 1 && op != Reduction::SumOfProducts)
    return copy(shape.rows, 2, d, a);
  TowardZero mode;
  kernels().reduceRows(op, shape, d, a, b);
}

Half reduceAll(Reduction op, Shape shape, ConstMatrix a, const Operand &b) {
  std::vector<Half> columns(shape.cols);
  uint8_t *data = reinterpret_cast<uint8_t *>(columns.data());
  reduceColumns(op, shape, data, a, b);
  Half result = 0;
  // The products are formed; what is left of a sum of products is a sum.
  reduceRows(op == Reduction::SumOfProducts ? Reduction::Sum : op, {1, shape.cols},
             {reinterpret_cast<uint8_t *>(&result), 2}, {data, shape.cols * 2}, Operand::value(0));
  return result;
}

void matmul(size_t rows, size_t inner, size_t cols, Matrix d, const LeftMatrix &a, ConstMatrix b) {
  TowardZero mode;
  kernels().matmul(rows, inner, cols, d, a, b);
}

void convolve(size_t cols, Matrix d, const ConvolutionWindow &a, ConstMatrix b) {
  TowardZero mode;
  kernels().convolve(cols, d, a, b);
}

void matmulInt8(size_t rows, size_t inner, size_t cols, Matrix d, const LeftMatrix &a, ConstMatrix b,
                std::optional<Half> scale) {
  TowardZero mode;
  kernels().matmulInt8(rows, inner, cols, d, a, b, scale ? &*scale : nullptr);
}

void convolveInt8(size_t cols, Matrix d, const ConvolutionWindow &a, ConstMatrix b,
                  std::optional<Half> scale) {
  TowardZero mode;
  kernels().convolveInt8(cols, d, a, b, scale ? &*scale : nullptr);
}

void floatToHalf(const float *from, Half *to, size_t count) {
  TowardZero mode;
  kernels().floatToHalf(from, to, count);
}

void halfToFloat(const Half *from, float *to, size_t count) {
  TowardZero mode;
  kernels().halfToFloat(from, to, count);
}

} // namespace tensorturbo::numerics
