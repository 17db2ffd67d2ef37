// Dequantisation of stored weights. What is quantised at run time is not supported yet.
#include "Import/onnx/Converter.h"
#include "llvm/ADT/APFloat.h"

using namespace tensorturbo;
using namespace tensorturbo::onnx;

namespace {

const llvm::fltSemantics *smallFloat(ElementType type) {
  switch (type) {
  case ElementType::Float8E4M3FN:
    return &llvm::APFloat::Float8E4M3FN();
  case ElementType::Float8E4M3FNUZ:
    return &llvm::APFloat::Float8E4M3FNUZ();
  case ElementType::Float8E5M2:
    return &llvm::APFloat::Float8E5M2();
  case ElementType::Float8E5M2FNUZ:
    return &llvm::APFloat::Float8E5M2FNUZ();
  default:
    return nullptr;
  }
}

/// All elements of a constant input as floats; 4- and 8-bit types included.
std::vector<float> readAny(OpContext &c, size_t i) {
  const Operand &operand = c.input(i);
  if (operand.constant) {
    if (isFloat(operand.dtype) || operand.dtype == DType::Bool || operand.dtype == DType::Int64 ||
        operand.dtype == DType::UInt64)
      c.fail(std::string("elements of type ") + dtypeName(operand.dtype) + " cannot be dequantised");
    std::vector<int64_t> values = readInts(*operand.constant);
    return std::vector<float>(values.begin(), values.end());
  }
  if (!operand.tensor)
    c.fail("only constants can be dequantised; values that are quantised at run time are not supported");
  const Tensor &t = *operand.tensor;
  auto type = static_cast<ElementType>(t.dataType);
  std::vector<float> values(static_cast<size_t>(t.elements()));
  if (type == ElementType::Int4 || type == ElementType::UInt4) {
    for (size_t k = 0; k < values.size(); ++k) {
      int nibble = t.data[k / 2] >> (4 * (k % 2)) & 15;
      values[k] = static_cast<float>(type == ElementType::Int4 && nibble >= 8 ? nibble - 16 : nibble);
    }
    return values;
  }
  const llvm::fltSemantics *semantics = smallFloat(type);
  if (!semantics)
    c.fail("elements of type " + elementTypeName(t.dataType) + " cannot be dequantised");
  for (size_t k = 0; k < values.size(); ++k) {
    llvm::APFloat value(*semantics, llvm::APInt(8, t.data[k]));
    bool exact;
    value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &exact);
    values[k] = value.convertToFloat();
  }
  return values;
}

void convertDequantizeLinear(OpContext &c) {
  const Shape &shape = c.shape(0), &scaleShape = c.shape(1);
  std::vector<float> values = readAny(c, 0);
  const Constant *scale = c.constant(1);
  if (!scale || !isFloat(scale->dtype))
    c.fail("the scale must be a floating-point constant");
  std::vector<double> scales = readFloats(*scale);
  std::vector<float> zeros;
  if (c.has(2)) {
    if (c.shape(2) != scaleShape)
      c.fail("the zero point of shape " + shapeText(c.shape(2)) + " must have the scale's shape " +
             shapeText(scaleShape));
    zeros = readAny(c, 2);
  }
  // Which scale an element has: one for all, one an index of an axis, or one a block of an axis.
  int64_t axis = c.opset() >= 13 ? c.attrInt("axis", 1) : 1, block = 1, length = 1;
  if (c.opset() >= 21)
    block = c.attrInt("block_size", 0);
  bool blocked = c.opset() >= 21 && block > 0;
  if (scaleShape.empty() || (scaleShape == Shape{1} && !blocked)) {
    axis = 0;
  } else {
    axis = c.axis(axis, c.rank(0));
    length = shape[static_cast<size_t>(axis)];
    Shape wanted{length};
    if (blocked) {
      wanted = shape;
      wanted[static_cast<size_t>(axis)] = (length + block - 1) / block;
    }
    if (scaleShape != wanted)
      c.fail("the scale has shape " + shapeText(scaleShape) + ", but " + shapeText(wanted) + " is needed");
  }
  int64_t inner = product(shape, static_cast<size_t>(axis) + 1),
          blocks = blocked ? (length + block - 1) / block : 0;
  std::vector<double> results;
  results.reserve(values.size());
  for (size_t k = 0; k < values.size(); ++k) {
    size_t s = 0;
    auto position = static_cast<int64_t>(k);
    if (blocked && scales.size() > 1)
      s = static_cast<size_t>((position / (inner * length) * blocks + position / inner % length / block) *
                                  inner +
                              position % inner);
    else if (scales.size() > 1)
      s = static_cast<size_t>(position / inner % length);
    float x = values[k] - (zeros.empty() ? 0 : zeros[s]);
    results.push_back(x * static_cast<float>(scales[s]));
  }
  c.setConstant(0, makeConstant(scale->dtype, shape, results));
}

} // namespace

void onnx::addQuantizationOps(OpTable &table) {
  table.push_back({"DequantizeLinear", 2, 3, convertDequantizeLinear, 10, 0, "", true});
}
