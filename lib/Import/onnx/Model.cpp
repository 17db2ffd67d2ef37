#include "Import/onnx/Model.h"

using namespace tensorturbo;
using namespace tensorturbo::onnx;

namespace {
struct TypeRow {
  const char *name;
  unsigned bits;
  std::optional<DType> dtype;
};
const TypeRow typeTable[] = {
    {"undefined", 0, {}},
    {"float", 32, DType::Float32},
    {"uint8", 8, DType::UInt8},
    {"int8", 8, DType::Int8},
    {"uint16", 16, DType::UInt16},
    {"int16", 16, DType::Int16},
    {"int32", 32, DType::Int32},
    {"int64", 64, DType::Int64},
    {"string", 0, {}},
    {"bool", 8, DType::Bool},
    {"float16", 16, DType::Float16},
    {"double", 64, DType::Float64},
    {"uint32", 32, DType::UInt32},
    {"uint64", 64, DType::UInt64},
    {"complex64", 64, {}},
    {"complex128", 128, {}},
    {"bfloat16", 16, DType::BFloat16},
    {"float8e4m3fn", 8, {}},
    {"float8e4m3fnuz", 8, {}},
    {"float8e5m2", 8, {}},
    {"float8e5m2fnuz", 8, {}},
    {"uint4", 4, {}},
    {"int4", 4, {}},
    {"float4e2m1", 4, {}},
    {"float8e8m0", 8, {}},
    {"uint2", 2, {}},
    {"int2", 2, {}},
};
const TypeRow *rowOf(int64_t type) {
  return type >= 0 && type < static_cast<int64_t>(std::size(typeTable)) ? &typeTable[type] : nullptr;
}
} // namespace

std::string onnx::elementTypeName(int64_t type) {
  const TypeRow *row = rowOf(type);
  return row ? row->name : "type " + std::to_string(type);
}

unsigned onnx::elementTypeBits(int64_t type) {
  const TypeRow *row = rowOf(type);
  return row ? row->bits : 0;
}

std::optional<DType> onnx::toDType(int64_t type) {
  const TypeRow *row = rowOf(type);
  return row ? row->dtype : std::nullopt;
}

const char *onnx::attributeTypeName(AttributeType type) {
  static const char *const names[] = {"undefined", "float",         "integer",        "string",  "tensor",
                                      "graph",     "floats",        "integers",       "strings", "tensors",
                                      "graphs",    "sparse tensor", "sparse tensors", "type",    "types"};
  size_t index = static_cast<size_t>(type);
  return index < std::size(names) ? names[index] : "unknown type";
}

int64_t Tensor::elements() const {
  int64_t n = 1;
  for (int64_t d : dims)
    n *= d;
  return n;
}

const Attribute *Node::attribute(std::string_view wanted) const {
  for (const Attribute &a : attributes)
    if (a.name == wanted)
      return &a;
  return nullptr;
}

std::string Node::label() const {
  if (!name.empty())
    return std::string(name);
  for (std::string_view output : outputs)
    if (!output.empty())
      return std::string(output);
  return std::string(opType);
}

void LimitedReport::error(std::string message, std::string node, std::string hint) {
  if (++found <= 20)
    diags.userError(std::move(message), std::move(node), std::move(hint));
}

LimitedReport::~LimitedReport() {
  if (found > 20)
    diags.userError("... and " + std::to_string(found - 20) + " more: " + what);
}

std::unique_ptr<Model> onnx::loadModel(const std::string &path, Diagnostics &diags) {
  std::unique_ptr<Model> model = readModel(path, diags);
  if (!model || !validateModel(*model, diags) || !inlineFunctions(*model, diags))
    return nullptr;
  return model;
}
