#include "Transforms/Elements.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <cstring>
#include <limits>

namespace tensorturbo::relay {

namespace {

/// Half and bfloat16 by bits; value and rounding through APFloat would be slow for weights.
double halfToDouble(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 0x3FF;
  double magnitude = exponent == 31 ? (fraction ? std::numeric_limits<double>::quiet_NaN()
                                                : std::numeric_limits<double>::infinity())
                     : exponent     ? std::ldexp(1024 + fraction, exponent - 25)
                                    : std::ldexp(fraction, -24);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/// Rounds |value| to a multiple of 2^-shift, ties to even: the default rounding of the environment.
uint16_t doubleToHalf(double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | 0x7E00;
  if (magnitude >= 65520)
    return sign | 0x7C00;
  if (magnitude == 0)
    return sign; // frexp gives zero the exponent of one half
  int exponent;
  std::frexp(magnitude, &exponent);
  // The value is m * 2^(exponent - 1) with 1 <= m < 2; subnormals share the smallest exponent.
  int scale = std::max(exponent - 1, -14);
  auto fraction = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - scale)));
  // A carry out of the fraction moves into the exponent by itself.
  return sign | static_cast<uint16_t>(((scale + 14) << 10) + fraction);
}

float bfloatToFloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float out;
  std::memcpy(&out, &wide, 4);
  return out;
}

uint16_t doubleToBfloat(double value) {
  llvm::APFloat f(value);
  bool lost;
  f.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return static_cast<uint16_t>(f.bitcastToAPInt().getZExtValue());
}

template <typename T, typename Out> void loadAs(const Constant &c, std::vector<Out> &out) {
  for (size_t i = 0; i < out.size(); ++i) {
    T v;
    std::memcpy(&v, c.data + i * sizeof(T), sizeof(T));
    out[i] = static_cast<Out>(v);
  }
}

template <typename Out> std::vector<Out> load(const Constant &c) {
  std::vector<Out> out(c.elements());
  switch (c.dtype) {
  case DType::Bool:
  case DType::UInt8:
    loadAs<uint8_t>(c, out);
    break;
  case DType::Int8:
    loadAs<int8_t>(c, out);
    break;
  case DType::Int16:
    loadAs<int16_t>(c, out);
    break;
  case DType::Int32:
    loadAs<int32_t>(c, out);
    break;
  case DType::Int64:
    loadAs<int64_t>(c, out);
    break;
  case DType::UInt16:
    loadAs<uint16_t>(c, out);
    break;
  case DType::UInt32:
    loadAs<uint32_t>(c, out);
    break;
  case DType::UInt64:
    loadAs<uint64_t>(c, out);
    break;
  case DType::Float32:
    loadAs<float>(c, out);
    break;
  case DType::Float64:
    loadAs<double>(c, out);
    break;
  case DType::Float16:
  case DType::BFloat16:
    for (size_t i = 0; i < out.size(); ++i) {
      uint16_t bits;
      std::memcpy(&bits, c.data + 2 * i, 2);
      out[i] = static_cast<Out>(c.dtype == DType::Float16 ? halfToDouble(bits) : bfloatToFloat(bits));
    }
    break;
  }
  return out;
}

template <typename T> T toInteger(double v) {
  if (std::isnan(v))
    return 0;
  // The upper limit as a double may be one too large, hence >=.
  if (v >= static_cast<double>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  if (v <= static_cast<double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  return static_cast<T>(v);
}

template <typename T, typename In, typename F>
void storeAs(llvm::ArrayRef<In> values, std::vector<uint8_t> &out, F convert) {
  for (size_t i = 0; i < values.size(); ++i) {
    T v = convert(values[i]);
    std::memcpy(out.data() + i * sizeof(T), &v, sizeof(T));
  }
}

} // namespace

std::vector<double> loadDoubles(const Constant &constant) {
  return load<double>(constant);
}
std::vector<int64_t> loadInts(const Constant &constant) {
  return load<int64_t>(constant);
}

std::vector<uint8_t> storeDoubles(DType type, llvm::ArrayRef<double> values) {
  std::vector<uint8_t> out(values.size() * dtypeSize(type));
  switch (type) {
  case DType::Bool:
    storeAs<uint8_t>(values, out, [](double v) { return v != 0; });
    break;
  case DType::Int8:
    storeAs<int8_t>(values, out, toInteger<int8_t>);
    break;
  case DType::Int16:
    storeAs<int16_t>(values, out, toInteger<int16_t>);
    break;
  case DType::Int32:
    storeAs<int32_t>(values, out, toInteger<int32_t>);
    break;
  case DType::Int64:
    storeAs<int64_t>(values, out, toInteger<int64_t>);
    break;
  case DType::UInt8:
    storeAs<uint8_t>(values, out, toInteger<uint8_t>);
    break;
  case DType::UInt16:
    storeAs<uint16_t>(values, out, toInteger<uint16_t>);
    break;
  case DType::UInt32:
    storeAs<uint32_t>(values, out, toInteger<uint32_t>);
    break;
  case DType::UInt64:
    storeAs<uint64_t>(values, out, toInteger<uint64_t>);
    break;
  case DType::Float16:
    storeAs<uint16_t>(values, out, doubleToHalf);
    break;
  case DType::BFloat16:
    storeAs<uint16_t>(values, out, doubleToBfloat);
    break;
  case DType::Float32:
    storeAs<float>(values, out, [](double v) { return static_cast<float>(v); });
    break;
  case DType::Float64:
    storeAs<double>(values, out, [](double v) { return v; });
    break;
  }
  return out;
}

std::vector<uint8_t> storeInts(DType type, llvm::ArrayRef<int64_t> values) {
  if (isFloat(type)) {
    std::vector<double> doubles(values.begin(), values.end());
    return storeDoubles(type, doubles);
  }
  std::vector<uint8_t> out(values.size() * dtypeSize(type));
  for (size_t i = 0; i < values.size(); ++i) {
    // Little-endian: the low bytes are the wrapped value.
    int64_t v = type == DType::Bool ? values[i] != 0 : values[i];
    std::memcpy(out.data() + i * dtypeSize(type), &v, dtypeSize(type));
  }
  return out;
}

/// float32 to float16, to nearest even: weights by the hundred million.
static uint16_t floatToHalf(uint32_t bits) {
  uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000)
    return sign | 0x7E00;
  if (magnitude >= 0x477FF000) // 65520
    return sign | 0x7C00;
  if (magnitude < 0x38800000) { // 2^-14: the addition aligns and rounds at the last bit of a subnormal
    float value, half = 0.5f;
    std::memcpy(&value, &magnitude, 4);
    value += half;
    uint32_t sum, base;
    std::memcpy(&sum, &value, 4);
    std::memcpy(&base, &half, 4);
    return sign | (sum - base);
  }
  uint32_t odd = magnitude >> 13 & 1;
  return sign | ((magnitude - 0x38000000 + 0xFFF + odd) >> 13);
}

std::vector<uint8_t> castElements(const Constant &constant, DType to) {
  size_t n = constant.elements(), from = dtypeSize(constant.dtype), size = dtypeSize(to);
  if (constant.dtype == DType::Float32 && to == DType::Float16) {
    std::vector<uint8_t> out(n * size);
    for (size_t i = 0; i < n; ++i) {
      uint32_t bits;
      std::memcpy(&bits, constant.data + 4 * i, 4);
      uint16_t half = floatToHalf(bits);
      std::memcpy(out.data() + 2 * i, &half, 2);
    }
    return out;
  }
  std::vector<uint8_t> out;
  out.reserve(n * size);
  constexpr size_t piece = 1 << 16;
  for (size_t at = 0; at < n; at += piece) {
    Constant part = constant;
    part.shape = {static_cast<int64_t>(std::min(piece, n - at))};
    part.data += at * from;
    std::vector<uint8_t> bytes =
        isFloat(constant.dtype) ? storeDoubles(to, loadDoubles(part)) : storeInts(to, loadInts(part));
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  return out;
}

} // namespace tensorturbo::relay
