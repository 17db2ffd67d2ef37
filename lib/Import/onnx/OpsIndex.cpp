// Gathering and scattering. ONNX counts negative indices from the end of the axis; relay does not.
#include "Import/onnx/Converter.h"
#include <algorithm>

using namespace tensorturbo;
using namespace tensorturbo::onnx;

namespace {

void requireIndices(OpContext &c, size_t i) {
  if (c.dtype(i) != DType::Int64 && c.dtype(i) != DType::Int32)
    c.fail(std::string("indices must be int32 or int64, but are ") + dtypeName(c.dtype(i)));
}

[[noreturn]] void outOfRange(OpContext &c, int64_t index, int64_t dim) {
  c.fail("index " + std::to_string(index) + " is outside an axis of " + std::to_string(dim) + " elements");
}

/// Indices into an axis of `dim` elements, counted from the front. Constants are checked.
mlir::Value fromFront(OpContext &c, size_t i, int64_t dim) {
  requireIndices(c, i);
  if (const Constant *constant = c.constant(i)) {
    std::vector<int64_t> values = readInts(*constant);
    bool negative = false;
    for (int64_t &v : values) {
      if (v < -dim || v >= dim)
        outOfRange(c, v, dim);
      negative |= v < 0;
      v += v < 0 ? dim : 0;
    }
    return negative ? c.materialise(makeIntConstant(constant->dtype, constant->shape, values)) : c.value(i);
  }
  mlir::Value index = c.value(i);
  mlir::Value isNegative = c.emit("less", {index, c.scalar(0, c.dtype(i))});
  return c.emit("where", {isNegative, c.add(index, c.scalar(static_cast<double>(dim), c.dtype(i))), index});
}

/// Index tuples in the last axis of input `i`, checked, counted from the front, moved to the first axis.
mlir::Value tuplesFirst(OpContext &c, size_t i, size_t batch) {
  requireIndices(c, i);
  const Shape &shape = c.shape(i), &data = c.shape(0);
  if (shape.empty() || shape.back() < 1 || static_cast<size_t>(shape.back()) + batch > data.size())
    c.fail("indices of shape " + shapeText(shape) + " do not fit data of shape " + shapeText(data));
  auto length = static_cast<size_t>(shape.back());
  mlir::Value index;
  if (const Constant *constant = c.constant(i)) {
    std::vector<int64_t> values = readInts(*constant);
    for (size_t k = 0; k < values.size(); ++k) {
      int64_t dim = data[batch + k % length];
      if (values[k] < -dim || values[k] >= dim)
        outOfRange(c, values[k], dim);
      values[k] += values[k] < 0 ? dim : 0;
    }
    index = c.materialise(makeIntConstant(constant->dtype, shape, values));
  } else {
    index = c.value(i);
    std::vector<int64_t> dims(data.begin() + static_cast<int64_t>(batch),
                              data.begin() + static_cast<int64_t>(batch + length));
    mlir::Value isNegative = c.emit("less", {index, c.scalar(0, c.dtype(i))});
    index = c.emit("where", {isNegative, c.add(index, c.vector(dims, c.dtype(i))), index});
  }
  std::vector<int64_t> permutation{static_cast<int64_t>(shape.size()) - 1};
  for (size_t k = 0; k + 1 < shape.size(); ++k)
    permutation.push_back(static_cast<int64_t>(k));
  return c.transpose(index, permutation);
}

void convertGather(OpContext &c) {
  int64_t axis = c.axis(c.attrInt("axis", 0), c.rank(0)), dim = c.shape(0)[static_cast<size_t>(axis)];
  mlir::Value indices = fromFront(c, 1, dim);
  if (c.constant(1) && c.rank(1) == 0) {
    // One element of an axis is a slice.
    int64_t at = readInts(*c.constant(1))[0];
    at += at < 0 ? dim : 0;
    mlir::Value slice = c.emit(
        "strided_slice", {c.value(0)},
        {c.ints("begin", {at}), c.ints("end", {at + 1}), c.ints("strides", {1}), c.ints("axes", {axis})});
    return c.setOutput(0, c.emit("squeeze", {slice}, {c.ints("axis", {axis})}));
  }
  c.setOutput(0, c.emit("take", {c.value(0), indices}, {c.integer("axis", axis), c.text("mode", "clip")}));
}

void convertGatherElements(OpContext &c) {
  int64_t axis = c.axis(c.attrInt("axis", 0), c.rank(0));
  mlir::Value indices = fromFront(c, 1, c.shape(0)[static_cast<size_t>(axis)]);
  c.setOutput(0, c.emit("gather", {c.value(0), indices}, {c.integer("axis", axis)}));
}

void convertGatherNd(OpContext &c) {
  int64_t batch = c.opset() >= 12 ? c.attrInt("batch_dims", 0) : 0;
  if (batch < 0 || batch >= std::min(c.rank(0), c.rank(1)))
    c.fail("batch_dims " + std::to_string(batch) + " is out of range");
  mlir::Value indices = tuplesFirst(c, 1, static_cast<size_t>(batch));
  c.setOutput(0, c.emit("gather_nd", {c.value(0), indices}, {c.integer("batch_dims", batch)}));
}

std::string readReduction(OpContext &c) {
  std::string reduction = c.opset() >= 16 ? c.attrString("reduction", "none") : "none";
  if (reduction != "none" && reduction != "add" && reduction != "mul" && reduction != "min" &&
      reduction != "max")
    c.fail("reduction " + quoteForMessage(reduction) + " is not known");
  return reduction == "none" ? "update" : reduction;
}

void convertScatterElements(OpContext &c) {
  int64_t axis = c.axis(c.attrInt("axis", 0), c.rank(0));
  mlir::Value indices = fromFront(c, 1, c.shape(0)[static_cast<size_t>(axis)]);
  c.setOutput(0, c.emit("scatter_elements", {c.value(0), indices, c.value(2)},
                        {c.integer("axis", axis), c.text("reduction", readReduction(c))}));
}

void convertScatterNd(OpContext &c) {
  mlir::Value indices = tuplesFirst(c, 1, 0);
  c.setOutput(0, c.emit("scatter_nd", {c.value(0), indices, c.value(2)}, {c.text("mode", readReduction(c))}));
}

void convertOneHot(OpContext &c) {
  int64_t axis = c.attrInt("axis", -1);
  axis = c.axis(axis, c.rank(0) + 1);
  double depthValue = c.constScalar(1, "the depth");
  if (!(depthValue >= 1 && depthValue <= 1 << 30))
    c.fail("the depth must be at least 1, but is " + std::to_string(depthValue));
  auto depth = static_cast<int64_t>(depthValue);
  if (c.shape(2) != Shape{2})
    c.fail("values must be [off, on], but has shape " + shapeText(c.shape(2)));
  auto value = [&](int64_t k) {
    mlir::Value one =
        c.emit("strided_slice", {c.value(2)},
               {c.ints("begin", {k}), c.ints("end", {k + 1}), c.ints("strides", {1}), c.ints("axes", {0})});
    return c.reshape(one, {});
  };
  // Indices outside [-depth, depth) give a row of off values, which one_hot does by itself.
  mlir::Value index = c.cast(c.value(0), DType::Int64);
  mlir::Value isNegative = c.emit("less", {index, c.scalar(0, DType::Int64)});
  index =
      c.emit("where", {isNegative, c.add(index, c.scalar(static_cast<double>(depth), DType::Int64)), index});
  mlir::Value on = c.constant(2) ? c.scalar(readFloats(*c.constant(2))[1], c.dtype(2)) : value(1);
  mlir::Value off = c.constant(2) ? c.scalar(readFloats(*c.constant(2))[0], c.dtype(2)) : value(0);
  c.setOutput(0, c.emit("one_hot", {index, on, off},
                        {c.integer("depth", depth), c.integer("axis", axis),
                         c.text("dtype", dtypeName(c.dtype(2)))}));
}

void convertTrilu(OpContext &c) {
  c.requireRank(0, 2);
  bool upper = c.attrBool("upper", true);
  double k = c.has(1) ? c.constScalar(1, "k") : 0;
  // Beyond the matrix every k is alike.
  k = std::clamp(k, -double(1 << 30), double(1 << 30));
  c.setOutput(0, c.emit("trilu", {c.value(0), c.scalar(k, DType::Int64)}, {c.flag("upper", upper)}));
}

} // namespace

void onnx::addIndexOps(OpTable &table) {
  table.insert(table.end(), {{"Gather", 2, 2, convertGather},
                             {"GatherElements", 2, 2, convertGatherElements, 11},
                             {"GatherND", 2, 2, convertGatherNd, 11},
                             {"OneHot", 3, 3, convertOneHot, 9},
                             {"Scatter", 3, 3, convertScatterElements, 9, 10},
                             {"ScatterElements", 3, 3, convertScatterElements, 11},
                             {"ScatterND", 3, 3, convertScatterNd, 11},
                             {"Trilu", 1, 2, convertTrilu, 14}});
}
