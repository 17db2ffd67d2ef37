#include "Support/DType.h"

using namespace tensorturbo;

namespace {
struct Row {
  DType type;
  const char *name;
  size_t size;
};
} // namespace

static const Row rows[] = {
    {DType::Bool, "bool", 1},       {DType::Int8, "int8", 1},         {DType::Int16, "int16", 2},
    {DType::Int32, "int32", 4},     {DType::Int64, "int64", 8},       {DType::UInt8, "uint8", 1},
    {DType::UInt16, "uint16", 2},   {DType::UInt32, "uint32", 4},     {DType::UInt64, "uint64", 8},
    {DType::Float16, "float16", 2}, {DType::BFloat16, "bfloat16", 2}, {DType::Float32, "float32", 4},
    {DType::Float64, "float64", 8},
};

const char *tensorturbo::dtypeName(DType type) {
  return rows[static_cast<size_t>(type)].name;
}
size_t tensorturbo::dtypeSize(DType type) {
  return rows[static_cast<size_t>(type)].size;
}

std::optional<DType> tensorturbo::dtypeFromName(std::string_view name) {
  for (const Row &row : rows)
    if (name == row.name)
      return row.type;
  return std::nullopt;
}
