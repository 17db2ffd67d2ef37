// Shared by the tests of Numerics: operand values and the list of code paths.
#pragma once
#include "Numerics/Kernels.h"
#include <random>
#include <vector>

namespace tensorturbo::numerics::test {

inline std::vector<Path> paths() {
  std::vector<Path> list;
  for (Path p : {Path::Portable, Path::Avx2, Path::Avx512})
    if (pathSupported(p))
      list.push_back(p);
  return list;
}

/// Forces a path for the life of the object.
struct Forced {
  explicit Forced(Path p) { forcePath(p); }
  ~Forced() { forcePath(std::nullopt); }
};

/// Zeros, subnormals, the ends of the normal range, ties' neighbours, infinities, NaN with payloads.
inline const std::vector<Half> &specialValues() {
  static const std::vector<Half> values = [] {
    std::vector<Half> v;
    for (Half h : {0x0000, 0x0001, 0x0002, 0x0003, 0x01FF, 0x0200, 0x03FF, 0x0400, 0x0401, 0x07FF,
                   0x0800, 0x1400, 0x2FFF, 0x3555, 0x37FF, 0x3800, 0x3BFF, 0x3C00, 0x3C01, 0x3FFF,
                   0x4000, 0x4248, 0x4900, 0x57F0, 0x5801, 0x63FF, 0x6400, 0x6401, 0x6800, 0x6801,
                   0x77FF, 0x7800, 0x7BFE, 0x7BFF, 0x7C00, 0x7C01, 0x7DFF, 0x7E00, 0x7FFF}) {
      v.push_back(h);
      v.push_back(h | 0x8000);
    }
    return v;
  }();
  return values;
}

enum class Kind { AnyBits, Ordinary, Small, Large, Special };

class Source {
public:
  explicit Source(unsigned seed) : random(seed) {}
  uint32_t bits() { return uint32_t(random()); }
  Half half(Kind kind) {
    uint32_t r = bits();
    Half fraction = r & 0x83FF;
    switch (kind) {
    case Kind::AnyBits:
      return Half(r);
    case Kind::Ordinary: // 2^-8 .. 4
      return Half(fraction | (7 + (r >> 16) % 10) << 10);
    case Kind::Small: // 0 .. 2^-6, so that products are subnormal
      return Half(fraction | (r >> 16) % 9 << 10);
    case Kind::Large: // 2^6 .. 65504, so that sums overflow
      return Half(fraction | (21 + (r >> 16) % 10) << 10);
    case Kind::Special:
      break;
    }
    return specialValues()[r % specialValues().size()];
  }
  std::vector<Half> halves(size_t count, Kind kind) {
    std::vector<Half> v(count);
    for (Half &h : v)
      h = half(kind);
    return v;
  }

private:
  std::mt19937 random;
};

inline const uint8_t *bytes(const std::vector<Half> &v) {
  return reinterpret_cast<const uint8_t *>(v.data());
}
inline uint8_t *bytes(std::vector<Half> &v) {
  return reinterpret_cast<uint8_t *>(v.data());
}

} // namespace tensorturbo::numerics::test
