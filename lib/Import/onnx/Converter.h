// What the converters of ONNX operators work with. Internal to the importer.
#pragma once
#include "Constants/ConstantStore.h"
#include "Import/onnx/Model.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tensorturbo::onnx {

using Shape = std::vector<int64_t>;

/// Thrown by a converter whose node cannot be converted; caught where the converter was called, so that the
/// other nodes' faults are found too. Never leaves the library.
struct NodeError {
  std::string message;
  std::string hint;
  bool resource = false;
};

/// A value of the ONNX graph during the conversion: known now (a constant), or computed by the program.
struct Operand {
  DType dtype = DType::Float32;
  Shape shape;
  /// Null for a constant that the program has not needed yet.
  mlir::Value value;
  std::optional<Constant> constant;
  /// Not empty for a value that no program can hold (strings, 4-bit integers ...): its element type.
  std::string unsupportedType;
  /// The tensor of the file behind a constant of such a type.
  const Tensor *tensor = nullptr;
};

/// Constants up to this many elements are evaluated at import where all inputs of a node are constant.
constexpr int64_t maxFoldedElements = 1 << 16;
/// Larger tensors are refused.
constexpr int64_t maxTensorBytes = int64_t(1) << 34;

class Importer;

/// One node while it is converted.
class OpContext {
public:
  OpContext(Importer &importer, const Node &node);

  const Node &node() const { return theNode; }
  int64_t opset() const { return theNode.opset; }
  [[noreturn]] void fail(std::string message, std::string hint = {}) const { throw NodeError{message, hint}; }

  // Inputs.
  size_t inputCount() const { return inputs.size(); }
  /// Whether input `i` is given: omitted optional inputs have an empty name or are missing at the end.
  bool has(size_t i) const { return i < inputs.size() && inputs[i]; }
  const Operand &input(size_t i) const;
  const Shape &shape(size_t i) const { return input(i).shape; }
  int64_t rank(size_t i) const { return static_cast<int64_t>(input(i).shape.size()); }
  DType dtype(size_t i) const { return input(i).dtype; }
  /// The input in the program; constants are made part of it.
  mlir::Value value(size_t i);
  /// Null if the input is not a constant.
  const Constant *constant(size_t i) const;
  /// The elements of a constant integer input; `what` names it in the message if it is none.
  std::vector<int64_t> constInts(size_t i, const char *what) const;
  /// The elements of a constant input as floating-point numbers.
  std::vector<double> constFloats(size_t i, const char *what) const;
  /// The only element of a constant.
  double constScalar(size_t i, const char *what) const;
  void requireFloat(size_t i) const;
  void requireRank(size_t i, int64_t smallest) const;

  // Attributes. Each one that is read counts as known; the others are refused after the conversion.
  bool hasAttr(std::string_view name) const { return theNode.attribute(name); }
  int64_t attrInt(std::string_view name);
  int64_t attrInt(std::string_view name, int64_t fallback);
  bool attrBool(std::string_view name, bool fallback);
  double attrFloat(std::string_view name, double fallback);
  std::string attrString(std::string_view name, std::string_view fallback);
  std::optional<std::vector<int64_t>> attrInts(std::string_view name);
  std::vector<int64_t> attrInts(std::string_view name, std::vector<int64_t> fallback);
  std::optional<std::vector<double>> attrFloats(std::string_view name);
  const Attribute *rawAttr(std::string_view name);
  /// Marks attributes as known whose values do not matter.
  void ignoreAttrs(std::initializer_list<std::string_view> names);
  std::string unknownAttrs() const;

  /// `axis` counted from the front; fails if it is outside [-rank, rank).
  int64_t axis(int64_t axis, int64_t rank) const;
  /// The same for several, which must differ; sorted.
  std::vector<int64_t> axes(std::vector<int64_t> list, int64_t rank) const;

  // The program.
  using Attrs = llvm::ArrayRef<mlir::NamedAttribute>;
  /// Adds op relay.`name`; its type is inferred and checked.
  mlir::Value emit(llvm::StringRef name, mlir::ValueRange operands, Attrs attributes = {});
  llvm::SmallVector<mlir::Value> emitMany(llvm::StringRef name, mlir::ValueRange operands, Attrs attributes,
                                          size_t results);
  mlir::NamedAttribute ints(llvm::StringRef name, const std::vector<int64_t> &values) const;
  mlir::NamedAttribute integer(llvm::StringRef name, int64_t value) const;
  mlir::NamedAttribute real(llvm::StringRef name, double value) const;
  mlir::NamedAttribute flag(llvm::StringRef name, bool value) const;
  mlir::NamedAttribute text(llvm::StringRef name, llvm::StringRef value) const;
  /// A constant of rank 0.
  mlir::Value scalar(double value, DType dtype);
  /// A constant of rank 1.
  mlir::Value vector(const std::vector<int64_t> &values, DType dtype);
  mlir::Value materialise(const Constant &constant);

  // Short forms of common ops.
  mlir::Value add(mlir::Value a, mlir::Value b) { return emit("add", {a, b}); }
  mlir::Value subtract(mlir::Value a, mlir::Value b) { return emit("subtract", {a, b}); }
  mlir::Value multiply(mlir::Value a, mlir::Value b) { return emit("multiply", {a, b}); }
  mlir::Value divide(mlir::Value a, mlir::Value b) { return emit("divide", {a, b}); }
  mlir::Value relu(mlir::Value a) { return emit("nn.relu", {a}); }
  mlir::Value cast(mlir::Value a, DType to);
  /// Nothing is emitted where the shape is already right.
  mlir::Value reshape(mlir::Value a, const Shape &shape);
  mlir::Value transpose(mlir::Value a, const std::vector<int64_t> &permutation);
  mlir::Value broadcast(mlir::Value a, const Shape &shape);

  // Outputs.
  size_t outputCount() const { return theNode.outputs.size(); }
  /// Whether the graph uses output `i`.
  bool wants(size_t i) const;
  void setOutput(size_t i, mlir::Value value);
  void setOutput(size_t i, Operand operand);
  void setConstant(size_t i, Constant constant);
  /// A constant known at import; the integers are converted to `dtype`.
  void setInts(size_t i, DType dtype, Shape shape, const std::vector<int64_t> &values);
  Importer &importer() { return theImporter; }

private:
  const Attribute *typed(std::string_view name, AttributeType type);

  Importer &theImporter;
  const Node &theNode;
  std::vector<Operand *> inputs;
  std::set<std::string_view> known;
};

/// Shape and element type of a program's value.
Shape shapeOf(mlir::Value value);
DType dtypeOf(mlir::Value value);
std::string shapeText(const Shape &shape);
/// Product of extents from `begin` to before `end`.
int64_t product(const Shape &shape, size_t begin = 0, size_t end = ~size_t(0));
/// NumPy broadcasting; nothing if the shapes do not fit.
std::optional<Shape> broadcastShapes(const Shape &a, const Shape &b);

// Reading and making constants.
std::vector<int64_t> readInts(const Constant &constant);
std::vector<double> readFloats(const Constant &constant);
Constant makeConstant(DType dtype, Shape shape, const std::vector<double> &values);
Constant makeIntConstant(DType dtype, Shape shape, const std::vector<int64_t> &values);

/// One row of the table of operators.
struct OpRow {
  const char *name;
  /// Limits of the number of inputs, omitted ones before the last included; -1: any number.
  int minInputs;
  int maxInputs;
  void (*convert)(OpContext &);
  /// The first version of the domain that has the operator, and the last (0: no end).
  int64_t since = 1;
  int64_t until = 0;
  const char *domain = "";
  /// Whether the converter looks at element types itself, those that no program can hold included.
  bool anyType = false;
};

using OpTable = std::vector<OpRow>;
// One per file Ops*.cpp.
void addConvOps(OpTable &table);
void addElementwiseOps(OpTable &table);
void addActivationOps(OpTable &table);
void addPoolOps(OpTable &table);
void addMatrixOps(OpTable &table);
void addNormalizationOps(OpTable &table);
void addQuantizationOps(OpTable &table);
void addReduceOps(OpTable &table);
void addShapeOps(OpTable &table);
void addIndexOps(OpTable &table);
void addResizeOps(OpTable &table);
void addControlOps(OpTable &table);

/// The row for a node, or null. Among rows of one name the version decides.
const OpRow *findOp(const Node &node);
/// Evaluates a node whose inputs are all small constants; false if it does not want to after all.
using Folder = bool (*)(OpContext &);
/// The folder of an operator of the default domain (Fold*.cpp), or null.
Folder findFolder(std::string_view name);

} // namespace tensorturbo::onnx
