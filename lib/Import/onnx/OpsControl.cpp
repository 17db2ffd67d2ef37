// Constants, filled tensors, and If on a condition that is known.
#include "Import/onnx/Importer.h"
#include <cmath>

using namespace tensorturbo;
using namespace tensorturbo::onnx;

namespace {

Constant viewOf(OpContext &c, const Tensor &t, const char *what) {
  std::optional<DType> dtype = toDType(t.dataType);
  if (!dtype)
    c.fail(std::string(what) + " has element type " + elementTypeName(t.dataType) +
           ", which is not supported");
  Constant constant;
  constant.dtype = *dtype;
  constant.shape = t.dims;
  constant.data = t.data;
  constant.bytes = t.bytes;
  constant.owner = t.owner;
  return constant;
}

void convertConstant(OpContext &c) {
  if (c.node().attributes.size() != 1)
    c.fail("a constant must have exactly one attribute, but has " +
           std::to_string(c.node().attributes.size()));
  if (const Attribute *a = c.rawAttr("value")) {
    if (a->type != AttributeType::Tensor)
      c.fail(std::string("attribute 'value' must be a tensor, but is ") + attributeTypeName(a->type));
    if (!toDType(a->tensor->dataType)) {
      // Who uses the value refuses it; operators that take such types may come to know it.
      Operand operand;
      operand.shape = a->tensor->dims;
      operand.unsupportedType = elementTypeName(a->tensor->dataType);
      operand.tensor = a->tensor.get();
      return c.setOutput(0, std::move(operand));
    }
    return c.setConstant(0, viewOf(c, *a->tensor, "the value"));
  }
  if (c.opset() < 12)
    c.fail("attribute 'value' is missing");
  if (c.hasAttr("value_float"))
    return c.setConstant(0, makeConstant(DType::Float32, {}, {c.attrFloat("value_float", 0)}));
  if (c.hasAttr("value_int"))
    return c.setInts(0, DType::Int64, {}, {c.attrInt("value_int")});
  if (c.hasAttr("value_floats")) {
    std::vector<double> values = *c.attrFloats("value_floats");
    return c.setConstant(0, makeConstant(DType::Float32, {static_cast<int64_t>(values.size())}, values));
  }
  if (c.hasAttr("value_ints")) {
    std::vector<int64_t> values = c.attrInts("value_ints").value_or(std::vector<int64_t>());
    return c.setInts(0, DType::Int64, {static_cast<int64_t>(values.size())}, values);
  }
  c.fail("attribute " + quoteForMessage(c.node().attributes[0].name) + " is not supported");
}

void convertConstantOfShape(OpContext &c) {
  Shape shape = c.constInts(0, "the shape");
  double elements = 1;
  for (int64_t d : shape) {
    if (d < 0)
      c.fail("the shape " + shapeText(shape) + " has a negative extent");
    elements *= static_cast<double>(d);
  }
  Constant fill = makeConstant(DType::Float32, {1}, {0});
  if (const Attribute *a = c.rawAttr("value")) {
    if (a->type != AttributeType::Tensor)
      c.fail("attribute 'value' must be a tensor");
    fill = viewOf(c, *a->tensor, "the value");
  }
  if (fill.elements() != 1)
    c.fail("the value must be one element, but has shape " + shapeText(fill.shape));
  if (elements <= static_cast<double>(maxFoldedElements)) {
    size_t size = dtypeSize(fill.dtype), count = static_cast<size_t>(elements);
    auto bytes = std::make_shared<std::vector<uint8_t>>();
    for (size_t i = 0; i < count; ++i)
      bytes->insert(bytes->end(), fill.data, fill.data + size);
    fill.shape = shape;
    fill.data = bytes->data();
    fill.bytes = bytes->size();
    fill.owner = bytes;
    return c.setConstant(0, fill);
  }
  fill.shape = {};
  c.setOutput(0, c.emit("full", {c.materialise(fill)},
                        {c.ints("shape", shape), c.text("dtype", dtypeName(fill.dtype))}));
}

void convertRange(OpContext &c) {
  for (size_t i = 0; i < 3; ++i)
    if (c.dtype(i) != c.dtype(0) || product(c.shape(i)) != 1)
      c.fail("start, limit and delta must be scalars of one type");
  bool real = isFloat(c.dtype(0));
  double start = c.constScalar(0, "start"), limit = c.constScalar(1, "limit"),
         delta = c.constScalar(2, "delta");
  if (delta == 0 || !std::isfinite(start) || !std::isfinite(limit) || !std::isfinite(delta))
    c.fail("start, limit and delta must be finite and delta must not be 0");
  double length = std::max(std::ceil((limit - start) / delta), 0.0);
  if (length > static_cast<double>(maxFoldedElements))
    c.fail("the range has " + std::to_string(length) + " elements; at most " +
           std::to_string(maxFoldedElements) + " are supported");
  auto n = static_cast<int64_t>(length);
  if (!real) {
    int64_t first = readInts(*c.constant(0))[0], step = readInts(*c.constant(2))[0];
    std::vector<int64_t> values;
    for (int64_t i = 0; i < n; ++i)
      values.push_back(static_cast<int64_t>(static_cast<uint64_t>(first) +
                                            static_cast<uint64_t>(i) * static_cast<uint64_t>(step)));
    return c.setInts(0, c.dtype(0), {n}, values);
  }
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i)
    values.push_back(start + static_cast<double>(i) * delta);
  c.setConstant(0, makeConstant(c.dtype(0), {n}, values));
}

/// The chosen branch becomes part of the graph around it.
void convertIf(OpContext &c) {
  const Attribute *thenBranch = c.rawAttr("then_branch"), *elseBranch = c.rawAttr("else_branch");
  if (!thenBranch || !elseBranch || !thenBranch->graph || !elseBranch->graph)
    c.fail("both branches must be given");
  const Constant *condition = c.constant(0);
  if (!condition)
    c.fail("If on a condition that is computed at run time is not supported");
  if (c.dtype(0) != DType::Bool || condition->elements() != 1)
    c.fail("the condition must be one bool");
  const Graph &branch = condition->data[0] ? *thenBranch->graph : *elseBranch->graph;
  if (!branch.inputs.empty() || branch.outputs.size() != c.outputCount())
    c.fail("a branch must have no inputs and " + std::to_string(c.outputCount()) + " outputs");
  std::vector<Operand> results = c.importer().convertBranch(branch);
  for (size_t i = 0; i < results.size(); ++i)
    c.setOutput(i, std::move(results[i]));
}

} // namespace

void onnx::addControlOps(OpTable &table) {
  table.insert(table.end(), {{"Constant", 0, 0, convertConstant},
                             {"ConstantOfShape", 1, 1, convertConstantOfShape, 9},
                             {"If", 1, 1, convertIf},
                             {"Range", 3, 3, convertRange, 11}});
}
