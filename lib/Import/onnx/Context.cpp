// What converters call: inputs, attributes, ops, outputs.
#include "Dialect/Relay/RelayDialect.h"
#include "Import/onnx/Importer.h"
#include <algorithm>
#include <cmath>

using namespace tensorturbo;
using namespace tensorturbo::onnx;

Shape onnx::shapeOf(mlir::Value value) {
  llvm::ArrayRef<int64_t> shape = relay::shapeOf(value);
  return Shape(shape.begin(), shape.end());
}

DType onnx::dtypeOf(mlir::Value value) {
  return relay::dtypeOf(relay::elementType(value)).value();
}

std::string onnx::shapeText(const Shape &shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

int64_t onnx::product(const Shape &shape, size_t begin, size_t end) {
  int64_t n = 1;
  for (size_t i = begin; i < std::min(end, shape.size()); ++i)
    n *= shape[i];
  return n;
}

std::optional<Shape> onnx::broadcastShapes(const Shape &a, const Shape &b) {
  auto shape = relay::broadcastShapes(a, b);
  return shape ? std::optional<Shape>(Shape(shape->begin(), shape->end())) : std::nullopt;
}

OpContext::OpContext(Importer &importer, const Node &node) : theImporter(importer), theNode(node) {
  for (std::string_view name : node.inputs)
    inputs.push_back(name.empty() ? nullptr : importer.lookup(name));
  while (!inputs.empty() && !inputs.back())
    inputs.pop_back();
}

const Operand &OpContext::input(size_t i) const {
  if (!has(i))
    fail("input " + std::to_string(i) + " is missing");
  return *inputs[i];
}

mlir::Value OpContext::value(size_t i) {
  input(i);
  return theImporter.materialise(*inputs[i]);
}

const Constant *OpContext::constant(size_t i) const {
  const Operand &operand = input(i);
  return operand.constant ? &*operand.constant : nullptr;
}

std::vector<int64_t> OpContext::constInts(size_t i, const char *what) const {
  const Constant *c = constant(i);
  if (!c)
    fail(std::string(what) + " must be known when the model is compiled, but input " +
         quoteForMessage(theNode.inputs[i]) + " is computed from the model's inputs");
  if (isFloat(c->dtype))
    fail(std::string(what) + " must be integers, but are " + dtypeName(c->dtype));
  if (c->elements() > maxFoldedElements)
    fail(std::string(what) + " has too many elements: " + std::to_string(c->elements()));
  return readInts(*c);
}

std::vector<double> OpContext::constFloats(size_t i, const char *what) const {
  const Constant *c = constant(i);
  if (!c)
    fail(std::string(what) + " must be known when the model is compiled, but input " +
         quoteForMessage(theNode.inputs[i]) + " is computed from the model's inputs");
  if (c->elements() > maxFoldedElements)
    fail(std::string(what) + " has too many elements: " + std::to_string(c->elements()));
  return readFloats(*c);
}

double OpContext::constScalar(size_t i, const char *what) const {
  std::vector<double> values = constFloats(i, what);
  if (values.size() != 1)
    fail(std::string(what) + " must be one value, but has shape " + shapeText(shape(i)));
  return values[0];
}

void OpContext::requireFloat(size_t i) const {
  if (!isFloat(dtype(i)))
    fail("input " + std::to_string(i) + " must be floating-point, but is " + dtypeName(dtype(i)));
}

void OpContext::requireRank(size_t i, int64_t smallest) const {
  if (rank(i) < smallest)
    fail("input " + std::to_string(i) + " must have rank " + std::to_string(smallest) +
         " or more, but has shape " + shapeText(shape(i)));
}

const Attribute *OpContext::rawAttr(std::string_view name) {
  known.insert(name);
  return theNode.attribute(name);
}

const Attribute *OpContext::typed(std::string_view name, AttributeType type) {
  const Attribute *a = rawAttr(name);
  if (a && a->type != type)
    fail("attribute " + quoteForMessage(name) + " must be " + attributeTypeName(type) + ", but is " +
         attributeTypeName(a->type));
  return a;
}

int64_t OpContext::attrInt(std::string_view name) {
  const Attribute *a = typed(name, AttributeType::Int);
  if (!a)
    fail("attribute " + quoteForMessage(name) + " is missing");
  return a->i;
}

int64_t OpContext::attrInt(std::string_view name, int64_t fallback) {
  const Attribute *a = typed(name, AttributeType::Int);
  return a ? a->i : fallback;
}

bool OpContext::attrBool(std::string_view name, bool fallback) {
  int64_t value = attrInt(name, fallback);
  if (value != 0 && value != 1)
    fail("attribute " + quoteForMessage(name) + " must be 0 or 1, but is " + std::to_string(value));
  return value == 1;
}

double OpContext::attrFloat(std::string_view name, double fallback) {
  const Attribute *a = typed(name, AttributeType::Float);
  return a ? a->f : fallback;
}

std::string OpContext::attrString(std::string_view name, std::string_view fallback) {
  const Attribute *a = typed(name, AttributeType::String);
  return std::string(a ? a->s : fallback);
}

std::optional<std::vector<int64_t>> OpContext::attrInts(std::string_view name) {
  const Attribute *a = rawAttr(name);
  // An empty list may be written without its type's field, or with the type only.
  if (!a || (a->type == AttributeType::Undefined))
    return std::nullopt;
  if (a->type != AttributeType::Ints)
    fail("attribute " + quoteForMessage(name) + " must be integers, but is " + attributeTypeName(a->type));
  return a->ints;
}

std::vector<int64_t> OpContext::attrInts(std::string_view name, std::vector<int64_t> fallback) {
  std::optional<std::vector<int64_t>> given = attrInts(name);
  if (!given)
    return fallback;
  if (given->size() != fallback.size())
    fail("attribute " + quoteForMessage(name) + " must have " + std::to_string(fallback.size()) +
         " values, but has " + std::to_string(given->size()) + ": " + shapeText(*given));
  return *given;
}

std::optional<std::vector<double>> OpContext::attrFloats(std::string_view name) {
  const Attribute *a = typed(name, AttributeType::Floats);
  if (!a)
    return std::nullopt;
  return std::vector<double>(a->floats.begin(), a->floats.end());
}

void OpContext::ignoreAttrs(std::initializer_list<std::string_view> names) {
  known.insert(names.begin(), names.end());
}

std::string OpContext::unknownAttrs() const {
  std::string out;
  for (const Attribute &a : theNode.attributes)
    if (!known.count(a.name))
      out += (out.empty() ? "" : ", ") + quoteForMessage(a.name);
  return out;
}

int64_t OpContext::axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    fail("axis " + std::to_string(axis) + " is not an axis of a tensor of rank " + std::to_string(rank));
  return axis < 0 ? axis + rank : axis;
}

std::vector<int64_t> OpContext::axes(std::vector<int64_t> list, int64_t rank) const {
  for (int64_t &a : list)
    a = axis(a, rank);
  std::sort(list.begin(), list.end());
  if (std::adjacent_find(list.begin(), list.end()) != list.end())
    fail("an axis comes twice in " + shapeText(list));
  return list;
}

llvm::SmallVector<mlir::Value> OpContext::emitMany(llvm::StringRef name, mlir::ValueRange operands,
                                                   Attrs attributes, size_t results) {
  mlir::FailureOr<mlir::Operation *> op =
      relay::createOp(theImporter.opBuilder(), theImporter.location(), name, operands, attributes);
  std::string messages = theImporter.takeMessages();
  if (mlir::failed(op))
    fail(messages.empty() ? "relay." + name.str() + " could not be made" : messages);
  for (mlir::Value v : (*op)->getResults()) {
    auto bytes = static_cast<double>(dtypeSize(dtypeOf(v)));
    for (int64_t d : relay::shapeOf(v))
      bytes *= static_cast<double>(d);
    if (bytes > static_cast<double>(maxTensorBytes)) {
      std::string text = shapeText(shapeOf(v));
      (*op)->erase();
      throw NodeError{"the result of shape " + text + " is too large: at most " +
                          std::to_string(maxTensorBytes >> 30) + " GiB are supported for one tensor",
                      {},
                      true};
    }
  }
  if ((*op)->getNumResults() != results)
    fail("relay." + name.str() + " has " + std::to_string((*op)->getNumResults()) + " results");
  return llvm::SmallVector<mlir::Value>((*op)->getResults());
}

mlir::Value OpContext::emit(llvm::StringRef name, mlir::ValueRange operands, Attrs attributes) {
  return emitMany(name, operands, attributes, 1)[0];
}

mlir::NamedAttribute OpContext::ints(llvm::StringRef name, const std::vector<int64_t> &values) const {
  return theImporter.opBuilder().getNamedAttr(name, theImporter.opBuilder().getDenseI64ArrayAttr(values));
}

mlir::NamedAttribute OpContext::integer(llvm::StringRef name, int64_t value) const {
  return theImporter.opBuilder().getNamedAttr(name, theImporter.opBuilder().getI64IntegerAttr(value));
}

mlir::NamedAttribute OpContext::real(llvm::StringRef name, double value) const {
  return theImporter.opBuilder().getNamedAttr(name, theImporter.opBuilder().getF64FloatAttr(value));
}

mlir::NamedAttribute OpContext::flag(llvm::StringRef name, bool value) const {
  return theImporter.opBuilder().getNamedAttr(name, theImporter.opBuilder().getBoolAttr(value));
}

mlir::NamedAttribute OpContext::text(llvm::StringRef name, llvm::StringRef value) const {
  return theImporter.opBuilder().getNamedAttr(name, theImporter.opBuilder().getStringAttr(value));
}

mlir::Value OpContext::scalar(double value, DType dtype) {
  mlir::OpBuilder &builder = theImporter.opBuilder();
  return relay::createScalar(builder, theImporter.location(),
                             relay::elementTypeFor(builder.getContext(), dtype), value);
}

mlir::Value OpContext::vector(const std::vector<int64_t> &values, DType dtype) {
  return materialise(makeIntConstant(dtype, {static_cast<int64_t>(values.size())}, values));
}

mlir::Value OpContext::materialise(const Constant &constant) {
  return relay::createConstant(theImporter.opBuilder(), theImporter.location(), constant);
}

mlir::Value OpContext::cast(mlir::Value a, DType to) {
  return dtypeOf(a) == to ? a : emit("cast", {a}, {text("dtype", dtypeName(to))});
}

mlir::Value OpContext::reshape(mlir::Value a, const Shape &shape) {
  if (shapeOf(a) == shape)
    return a;
  // A zero extent is meant literally here.
  return emit("reshape", {a}, {ints("newshape", shape), flag("allowzero", product(shape) == 0)});
}

mlir::Value OpContext::transpose(mlir::Value a, const std::vector<int64_t> &permutation) {
  bool identity = true;
  for (size_t i = 0; i < permutation.size(); ++i)
    identity &= permutation[i] == static_cast<int64_t>(i);
  return identity ? a : emit("transpose", {a}, {ints("axes", permutation)});
}

mlir::Value OpContext::broadcast(mlir::Value a, const Shape &shape) {
  return shapeOf(a) == shape ? a : emit("broadcast_to", {a}, {ints("shape", shape)});
}

bool OpContext::wants(size_t i) const {
  return i < theNode.outputs.size() && !theNode.outputs[i].empty() && theImporter.isUsed(theNode.outputs[i]);
}

void OpContext::setOutput(size_t i, Operand operand) {
  if (i < theNode.outputs.size() && !theNode.outputs[i].empty())
    theImporter.define(theNode.outputs[i], std::move(operand));
}

void OpContext::setOutput(size_t i, mlir::Value value) {
  Operand operand;
  operand.dtype = dtypeOf(value);
  operand.shape = shapeOf(value);
  operand.value = value;
  setOutput(i, std::move(operand));
}

void OpContext::setConstant(size_t i, Constant constant) {
  Operand operand;
  operand.dtype = constant.dtype;
  operand.shape = constant.shape;
  operand.constant = std::move(constant);
  setOutput(i, std::move(operand));
}

void OpContext::setInts(size_t i, DType dtype, Shape shape, const std::vector<int64_t> &values) {
  setConstant(i, makeIntConstant(dtype, std::move(shape), values));
}
