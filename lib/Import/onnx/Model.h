// An ONNX model as plain structs. All text and most tensor data are views of the mapped file, which the Model
// keeps alive. No MLIR here.
#pragma once
#include "Support/DType.h"
#include "Support/Diagnostics.h"
#include "Support/File.h"
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorturbo::onnx {

/// TensorProto.DataType, with ONNX's numbers.
enum class ElementType : int32_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  UInt4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  UInt2 = 25,
  Int2 = 26,
};

/// "float", "int4" ...; "type 77" for a number that ONNX does not define.
std::string elementTypeName(int64_t type);
/// Bits of one element; 0 for strings and undefined types.
unsigned elementTypeBits(int64_t type);
/// The compiler's element type; nothing for strings, complex, 4- and 8-bit floats and sub-byte integers.
std::optional<DType> toDType(int64_t type);

struct Tensor {
  std::string_view name;
  int64_t dataType = 0;
  std::vector<int64_t> dims;
  /// Dense, row-major, little-endian; sub-byte elements packed, low bits first. `data` may be unaligned.
  /// Null for strings and for empty tensors.
  const uint8_t *data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const void> owner;
  /// The messages this tensor was merged from; only the reader needs them.
  std::vector<std::string_view> messages;

  /// Product of dims; checked by the reader to fit and to match the data.
  int64_t elements() const;
};

struct Dim {
  /// -1: not known.
  int64_t value = -1;
  /// The name of a symbolic extent, or empty.
  std::string_view symbol;
};

struct ValueInfo {
  enum class Kind { Untyped, Tensor, Other };
  std::string_view name;
  Kind kind = Kind::Untyped;
  int64_t elementType = 0;
  bool hasShape = false;
  std::vector<Dim> dims;
};

struct Graph;

/// AttributeProto.AttributeType, with ONNX's numbers.
enum class AttributeType : int32_t {
  Undefined = 0,
  Float = 1,
  Int = 2,
  String = 3,
  Tensor = 4,
  Graph = 5,
  Floats = 6,
  Ints = 7,
  Strings = 8,
  Tensors = 9,
  Graphs = 10,
  SparseTensor = 11,
  SparseTensors = 12,
  TypeProto = 13,
  TypeProtos = 14,
};
const char *attributeTypeName(AttributeType type);

struct Attribute {
  std::string_view name;
  /// Inside a function: the function's attribute that gives the value.
  std::string_view reference;
  AttributeType type = AttributeType::Undefined;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::shared_ptr<Tensor> tensor;
  std::shared_ptr<Graph> graph;
};

struct Node {
  std::string_view name;
  std::string_view opType;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<Attribute> attributes;
  /// Version of the node's domain; set by validateModel.
  int64_t opset = 0;

  const Attribute *attribute(std::string_view wanted) const;
  /// The name for messages: the node's own, or that of its first output, or its operator.
  std::string label() const;
};

struct Graph {
  std::string_view name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
};

using OpsetMap = std::map<std::string_view, int64_t>;

struct Function {
  std::string_view domain;
  std::string_view name;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  /// Attributes without a default, and those with one.
  std::vector<std::string_view> attributeNames;
  std::vector<Attribute> defaults;
  std::vector<Node> nodes;
  OpsetMap opsets;
};

struct Model {
  int64_t irVersion = 0;
  std::string_view producer;
  OpsetMap opsets;
  Graph graph;
  std::vector<Function> functions;
  std::map<std::string_view, std::string_view> metadata;
  std::shared_ptr<const MappedFile> file;
  /// Names made while functions are inlined.
  std::deque<std::string> names;
};

/// Reads and validates a model, inlines its functions and sorts its nodes. Null after errors.
std::unique_ptr<Model> loadModel(const std::string &path, Diagnostics &diags);

/// The steps of loadModel, each false after errors.
/// Parses the file and checks every tensor's data (external data is mapped too).
std::unique_ptr<Model> readModel(const std::string &path, Diagnostics &diags);
/// Versions, domains, names: inputs defined, outputs defined once, no cycles. Sorts the nodes of every graph
/// and function topologically and resolves Node::opset.
bool validateModel(Model &model, Diagnostics &diags);
/// The part of validateModel that concerns names and order.
bool validateNames(Model &model, Diagnostics &diags);
/// Replaces every call of a model-local function by the function's nodes. The model must be validated.
bool inlineFunctions(Model &model, Diagnostics &diags);

/// Limits that no sensible model reaches; beyond them a file is refused.
constexpr int maxGraphDepth = 64;
constexpr size_t maxObjects = 4'000'000;
constexpr size_t maxInlinedNodes = 500'000;
constexpr size_t maxRank = 64;
constexpr int64_t minOpset = 7;
constexpr int64_t maxOpset = 22;
constexpr int64_t minIrVersion = 3;
constexpr int64_t maxIrVersion = 13;

/// Reports the first findings of a kind one by one and counts the rest.
class LimitedReport {
public:
  LimitedReport(Diagnostics &diags, std::string what) : diags(diags), what(std::move(what)) {}
  ~LimitedReport();
  void error(std::string message, std::string node = {}, std::string hint = {});
  size_t count() const { return found; }

private:
  Diagnostics &diags;
  std::string what;
  size_t found = 0;
};

} // namespace tensorturbo::onnx
