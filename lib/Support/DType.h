// Element types of tensors, with Relay's names.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tensorturbo {

enum class DType : uint8_t {
  Bool,
  Int8,
  Int16,
  Int32,
  Int64,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Float16,
  BFloat16,
  Float32,
  Float64
};

/// "float32", "int64", "bool" ...
const char *dtypeName(DType type);
std::optional<DType> dtypeFromName(std::string_view name);
/// Bytes of one element (bool: 1).
size_t dtypeSize(DType type);
inline bool isFloat(DType t) {
  return t >= DType::Float16;
}

} // namespace tensorturbo
