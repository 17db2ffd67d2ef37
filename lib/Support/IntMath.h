// Integer arithmetic on sizes.
#pragma once
#include <type_traits>

namespace tensorturbo {

/// The smallest number of pieces of `b` that hold `a`, which must not be negative.
template <typename T> constexpr T ceilDiv(T a, std::common_type_t<T> b) {
  return (a + b - 1) / b;
}

/// The next multiple of `to`.
template <typename T> constexpr T alignUp(T value, std::common_type_t<T> to) {
  return ceilDiv(value, to) * to;
}

} // namespace tensorturbo
