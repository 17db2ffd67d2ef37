#include "Dialect/Relay/RelayMetadata.h"
#include "Dialect/Relay/RelayDialect.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/Endian.h"

namespace tensorturbo::relay {

void RelayMetadata::add(mlir::RankedTensorType type, std::optional<Constant> constant) {
  entries.push_back({type, std::move(constant)});
}

static size_t dataBytes(mlir::RankedTensorType type) {
  return type.getNumElements() * dtypeSize(*dtypeOf(type.getElementType()));
}

size_t RelayMetadata::bytes() const {
  size_t sum = 0;
  for (const Entry &e : entries)
    sum += dataBytes(e.type);
  return sum;
}

/// TVM's NDArray blob: magic, reserved, device, rank, dtype, shape, size, data; little-endian.
static std::string blob(mlir::RankedTensorType type, const std::optional<Constant> &constant) {
  std::string out;
  auto put = [&](uint64_t v, int n) {
    for (int i = 0; i < n; ++i)
      out += static_cast<char>(v >> (8 * i));
  };
  DType dtype = *dtypeOf(type.getElementType());
  int code = dtype == DType::Bool                              ? 1
             : dtype == DType::BFloat16                        ? 4
             : isFloat(dtype)                                  ? 2
             : dtype >= DType::UInt8 && dtype <= DType::UInt64 ? 1
                                                               : 0;
  put(0xDD5E40F096B4A13Full, 8);
  put(0, 8);
  put(1, 4);
  put(0, 4);
  put(type.getRank(), 4);
  put(code, 1);
  put(dtype == DType::Bool ? 1 : 8 * dtypeSize(dtype), 1);
  put(1, 2);
  for (int64_t d : type.getShape())
    put(d, 8);
  put(dataBytes(type), 8);
  if (constant)
    out.append(reinterpret_cast<const char *>(constant->data), constant->bytes);
  else
    out.append(dataBytes(type), '\0');
  return out;
}

void RelayMetadata::print(llvm::raw_ostream &os) const {
  // Node 0 is null, 1 the table, 2 its array; then for every constant: itself, its type, its shape, the
  // extents.
  std::vector<std::string> nodes = {R"({"type_key": ""})",
                                    R"({"type_key": "Map", "keys": ["relay.Constant"], "data": [2]})", ""};
  std::string members;
  for (size_t i = 0; i < entries.size(); ++i) {
    mlir::RankedTensorType type = entries[i].type;
    size_t self = nodes.size();
    auto number = [](size_t n) { return "\"" + std::to_string(n) + "\""; };
    members += (i ? ", " : "") + std::to_string(self);
    nodes.push_back(R"({"type_key": "relay.Constant", "attrs": {"_checked_type_": )" + number(self + 1) +
                    R"(, "data": )" + number(i) + R"(, "span": "0", "virtual_device_": "0"}})");
    nodes.push_back(R"({"type_key": "relay.TensorType", "attrs": {"dtype": ")" +
                    std::string(dtypeName(*dtypeOf(type.getElementType()))) + R"(", "shape": )" +
                    number(self + 2) + R"(, "span": "0"}})");
    std::string extents;
    for (int64_t d = 0; d < type.getRank(); ++d)
      extents += (d ? ", " : "") + std::to_string(self + 3 + d);
    nodes.push_back(R"({"type_key": "Array", "data": [)" + extents + "]}");
    for (int64_t d : type.getShape())
      nodes.push_back(R"({"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": )" +
                      number(d) + "}}");
  }
  nodes[2] = R"({"type_key": "Array", "data": [)" + members + "]}";
  os << "\n#[metadata]\n{\n  \"root\": 1, \n  \"nodes\": [\n";
  for (size_t i = 0; i < nodes.size(); ++i)
    os << "    " << nodes[i] << (i + 1 < nodes.size() ? ", \n" : "\n");
  os << "  ], \n  \"b64ndarrays\": [\n";
  for (size_t i = 0; i < entries.size(); ++i)
    os << "    \"" << llvm::encodeBase64(blob(entries[i].type, entries[i].constant))
       << (i + 1 < entries.size() ? "\", \n" : "\"\n");
  os << "  ], \n  \"attrs\": {\"tvm_version\": \"0.14.0\"}\n}\n";
}

} // namespace tensorturbo::relay
