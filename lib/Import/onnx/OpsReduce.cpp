// Reductions, scans and sorting.
#include "Import/onnx/Converter.h"

using namespace tensorturbo;
using namespace tensorturbo::onnx;

namespace {

struct Reduction {
  std::vector<int64_t> axes;
  bool keepDims;
  /// No axes and noop_with_empty_axes.
  bool nothing = false;
};

/// Axes are an attribute first, an input from version `inputSince` on; without any all axes are reduced.
Reduction readReduction(OpContext &c, int64_t inputSince) {
  Reduction r;
  int64_t rank = c.rank(0);
  r.keepDims = c.attrBool("keepdims", true);
  std::vector<int64_t> given;
  bool noop = false;
  if (c.opset() >= inputSince) {
    noop = c.attrBool("noop_with_empty_axes", false);
    if (c.has(1))
      given = c.constInts(1, "the axes");
  } else {
    if (c.has(1))
      c.fail("axes as an input need operator set " + std::to_string(inputSince));
    given = c.attrInts("axes").value_or(std::vector<int64_t>());
  }
  r.nothing = given.empty() && noop;
  if (given.empty() && !noop)
    for (int64_t i = 0; i < rank; ++i)
      given.push_back(i);
  r.axes = c.axes(given, rank);
  return r;
}

mlir::Value reduce(OpContext &c, const char *name, mlir::Value x, const Reduction &r) {
  return c.emit(name, {x}, {c.ints("axis", r.axes), c.flag("keepdims", r.keepDims)});
}

template <int64_t inputSince> void convertReduce(OpContext &c) {
  Reduction r = readReduction(c, inputSince);
  std::string_view op = c.node().opType;
  DType type = c.dtype(0);
  mlir::Value x = c.value(0);
  bool extreme = op == "ReduceMax" || op == "ReduceMin";
  if (type == DType::Bool && !extreme)
    c.fail("the input must be numeric, but is bool");
  if (op != "ReduceSum" && op != "ReduceProd" && !extreme && op != "ReduceSumSquare" && op != "ReduceL1")
    c.requireFloat(0);
  if (r.nothing || r.axes.empty()) {
    if (op != "ReduceSum" && op != "ReduceProd" && op != "ReduceMean" && !extreme)
      c.fail("a reduction over no axes is not supported");
    return c.setOutput(0, c.input(0));
  }
  mlir::Value result;
  if (op == "ReduceSum")
    result = reduce(c, "sum", x, r);
  else if (op == "ReduceMean")
    result = reduce(c, "mean", x, r);
  else if (op == "ReduceProd")
    result = reduce(c, "prod", x, r);
  else if (op == "ReduceMax")
    result = reduce(c, type == DType::Bool ? "any" : "max", x, r);
  else if (op == "ReduceMin")
    result = reduce(c, type == DType::Bool ? "all" : "min", x, r);
  else if (op == "ReduceL1")
    result = reduce(c, "sum", c.emit("abs", {x}), r);
  else if (op == "ReduceL2")
    result = c.emit("sqrt", {reduce(c, "sum", c.multiply(x, x), r)});
  else if (op == "ReduceSumSquare")
    result = reduce(c, "sum", c.multiply(x, x), r);
  else if (op == "ReduceLogSum")
    result = c.emit("log", {reduce(c, "sum", x, r)});
  else
    result = reduce(c, "logsumexp", x, r);
  c.setOutput(0, result);
}

void convertArgReduce(OpContext &c) {
  int64_t axis = c.axis(c.attrInt("axis", 0), c.rank(0));
  bool keepDims = c.attrBool("keepdims", true), last = false;
  if (c.opset() >= 12)
    last = c.attrBool("select_last_index", false);
  mlir::Value index =
      c.emit(c.node().opType == "ArgMax" ? "argmax" : "argmin", {c.value(0)},
             {c.ints("axis", {axis}), c.flag("keepdims", keepDims), c.flag("select_last_index", last)});
  c.setOutput(0, c.cast(index, DType::Int64));
}

void convertCumSum(OpContext &c) {
  int64_t axis = c.axis(static_cast<int64_t>(c.constScalar(1, "the axis")), c.rank(0));
  bool exclusive = c.attrBool("exclusive", false), reverse = c.attrBool("reverse", false);
  mlir::Value x = c.value(0);
  if (reverse)
    x = c.emit("reverse", {x}, {c.integer("axis", axis)});
  x = c.emit("cumsum", {x}, {c.integer("axis", axis), c.flag("exclusive", exclusive)});
  if (reverse)
    x = c.emit("reverse", {x}, {c.integer("axis", axis)});
  c.setOutput(0, x);
}

void convertTopK(OpContext &c) {
  int64_t axis = c.axis(c.attrInt("axis", -1), c.rank(0)), k;
  bool largest = true;
  if (c.opset() >= 11) {
    largest = c.attrBool("largest", true);
    c.attrBool("sorted", true);
  }
  if (c.opset() >= 10) {
    std::vector<int64_t> values = c.constInts(1, "K");
    if (values.size() != 1)
      c.fail("K must be one value, but has shape " + shapeText(c.shape(1)));
    k = values[0];
  } else {
    k = c.attrInt("k");
  }
  if (k < 1 || k > c.shape(0)[static_cast<size_t>(axis)])
    c.fail("K must be 1 to " + std::to_string(c.shape(0)[static_cast<size_t>(axis)]) + ", but is " +
           std::to_string(k));
  auto results = c.emitMany("topk", {c.value(0)},
                            {c.integer("k", k), c.integer("axis", axis), c.text("ret_type", "both"),
                             c.flag("is_ascend", !largest), c.text("dtype", "int64")},
                            2);
  c.setOutput(0, results[0]);
  c.setOutput(1, results[1]);
}

} // namespace

void onnx::addReduceOps(OpTable &table) {
  for (const char *name : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
                           "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSumSquare"})
    table.push_back({name, 1, 2, convertReduce<18>});
  table.push_back({"ReduceSum", 1, 2, convertReduce<13>});
  table.push_back({"ArgMax", 1, 1, convertArgReduce});
  table.push_back({"ArgMin", 1, 1, convertArgReduce});
  table.push_back({"CumSum", 2, 2, convertCumSum, 11});
  table.push_back({"TopK", 1, 2, convertTopK});
}
