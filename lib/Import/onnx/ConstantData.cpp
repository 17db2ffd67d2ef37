// Reading and making small constants.
#include "Import/onnx/Converter.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace tensorturbo;
using namespace tensorturbo::onnx;

namespace {

template <typename T> T load(const uint8_t *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

const llvm::fltSemantics &semantics(DType dtype) {
  return dtype == DType::Float16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat();
}

/// Calls `f` with a pointer of the element type (half types excepted).
template <typename F> void withType(DType dtype, F f) {
  switch (dtype) {
  case DType::Bool:
  case DType::UInt8:
    return f(static_cast<uint8_t *>(nullptr));
  case DType::Int8:
    return f(static_cast<int8_t *>(nullptr));
  case DType::Int16:
    return f(static_cast<int16_t *>(nullptr));
  case DType::Int32:
    return f(static_cast<int32_t *>(nullptr));
  case DType::Int64:
    return f(static_cast<int64_t *>(nullptr));
  case DType::UInt16:
    return f(static_cast<uint16_t *>(nullptr));
  case DType::UInt32:
    return f(static_cast<uint32_t *>(nullptr));
  case DType::UInt64:
    return f(static_cast<uint64_t *>(nullptr));
  case DType::Float32:
    return f(static_cast<float *>(nullptr));
  case DType::Float64:
    return f(static_cast<double *>(nullptr));
  case DType::Float16:
  case DType::BFloat16:
    return;
  }
}

/// A float to an integer type as C does it, but without undefined behaviour outside the range.
template <typename T> T convert(double v) {
  if constexpr (std::is_integral_v<T>) {
    if (std::isnan(v))
      return 0;
    if (v <= static_cast<double>(std::numeric_limits<T>::min()))
      return std::numeric_limits<T>::min();
    if (v >= static_cast<double>(std::numeric_limits<T>::max()))
      return std::numeric_limits<T>::max();
  }
  return static_cast<T>(v);
}

Constant fromBytes(DType dtype, Shape shape, std::vector<uint8_t> bytes) {
  Constant c;
  c.dtype = dtype;
  c.shape = std::move(shape);
  auto owner = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
  c.data = owner->data();
  c.bytes = owner->size();
  c.owner = std::move(owner);
  return c;
}

} // namespace

std::vector<int64_t> onnx::readInts(const Constant &c) {
  size_t size = dtypeSize(c.dtype), n = c.bytes / size;
  std::vector<int64_t> out(n);
  if (isFloat(c.dtype)) {
    std::vector<double> values = readFloats(c);
    for (size_t i = 0; i < n; ++i)
      out[i] = convert<int64_t>(values[i]);
    return out;
  }
  withType(c.dtype, [&](auto *type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (size_t i = 0; i < n; ++i)
      out[i] = static_cast<int64_t>(load<T>(c.data + i * size));
  });
  return out;
}

std::vector<double> onnx::readFloats(const Constant &c) {
  size_t size = dtypeSize(c.dtype), n = c.bytes / size;
  std::vector<double> out(n);
  if (c.dtype == DType::Float16 || c.dtype == DType::BFloat16) {
    for (size_t i = 0; i < n; ++i) {
      llvm::APFloat value(semantics(c.dtype), llvm::APInt(16, load<uint16_t>(c.data + 2 * i)));
      bool exact;
      value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &exact);
      out[i] = value.convertToDouble();
    }
    return out;
  }
  withType(c.dtype, [&](auto *type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (size_t i = 0; i < n; ++i)
      out[i] = static_cast<double>(load<T>(c.data + i * size));
  });
  return out;
}

Constant onnx::makeConstant(DType dtype, Shape shape, const std::vector<double> &values) {
  size_t size = dtypeSize(dtype);
  std::vector<uint8_t> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    uint8_t *at = bytes.data() + i * size;
    if (dtype == DType::Float16 || dtype == DType::BFloat16) {
      llvm::APFloat value(values[i]);
      bool exact;
      value.convert(semantics(dtype), llvm::APFloat::rmNearestTiesToEven, &exact);
      auto bits = static_cast<uint16_t>(value.bitcastToAPInt().getZExtValue());
      std::memcpy(at, &bits, 2);
    } else if (dtype == DType::Bool) {
      *at = values[i] != 0;
    } else {
      withType(dtype, [&](auto *type) {
        auto value = convert<std::remove_pointer_t<decltype(type)>>(values[i]);
        std::memcpy(at, &value, sizeof(value));
      });
    }
  }
  return fromBytes(dtype, std::move(shape), std::move(bytes));
}

Constant onnx::makeIntConstant(DType dtype, Shape shape, const std::vector<int64_t> &values) {
  if (isFloat(dtype))
    return makeConstant(dtype, std::move(shape), std::vector<double>(values.begin(), values.end()));
  size_t size = dtypeSize(dtype);
  std::vector<uint8_t> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::Bool)
      bytes[i] = values[i] != 0;
    else
      // Little-endian: the low bytes are the value in the narrower type.
      std::memcpy(bytes.data() + i * size, &values[i], size);
  }
  return fromBytes(dtype, std::move(shape), std::move(bytes));
}
