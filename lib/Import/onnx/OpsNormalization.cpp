// Normalisations.
#include "Import/onnx/Converter.h"

using namespace tensorturbo;
using namespace tensorturbo::onnx;

namespace {

mlir::Value channelVector(OpContext &c, size_t i, int64_t channels) {
  if (c.shape(i) != Shape{channels})
    c.fail("input " + std::to_string(i) + " must have shape [" + std::to_string(channels) + "], but has " +
           shapeText(c.shape(i)));
  return c.cast(c.value(i), c.dtype(0));
}

void convertBatchNormalization(OpContext &c) {
  c.requireFloat(0);
  c.requireRank(0, 2);
  double epsilon = c.attrFloat("epsilon", 1e-5);
  c.ignoreAttrs({"momentum"});
  if (c.opset() < 9 && c.attrInt("spatial", 1) != 1)
    c.fail("spatial=0 is not supported");
  if (c.opset() >= 14 && c.attrInt("training_mode", 0) != 0)
    c.fail("training_mode=1 is not supported");
  int64_t channels = c.shape(0)[1];
  llvm::SmallVector<mlir::Value> operands{c.value(0)};
  for (size_t i = 1; i <= 4; ++i)
    operands.push_back(channelVector(c, i, channels));
  c.setOutput(
      0, c.emitMany("nn.batch_norm", operands, {c.integer("axis", 1), c.real("epsilon", epsilon)}, 3)[0]);
}

void convertInstanceNormalization(OpContext &c) {
  c.requireFloat(0);
  c.requireRank(0, 3);
  int64_t channels = c.shape(0)[1];
  double epsilon = c.attrFloat("epsilon", 1e-5);
  c.setOutput(0, c.emit("nn.instance_norm",
                        {c.value(0), channelVector(c, 1, channels), channelVector(c, 2, channels)},
                        {c.integer("axis", 1), c.real("epsilon", epsilon)}));
}

void convertLayerNormalization(OpContext &c) {
  c.requireFloat(0);
  int64_t axis = c.axis(c.attrInt("axis", -1), c.rank(0));
  double epsilon = c.attrFloat("epsilon", 1e-5);
  if (c.attrInt("stash_type", 1) != 1)
    c.fail("stash_type must be 1 (float)");
  auto cut = static_cast<size_t>(axis);
  Shape data = c.shape(0), normalised(data.begin() + axis, data.end());
  int64_t count = product(normalised);
  auto affine = [&](size_t i, double fallback) {
    if (!c.has(i))
      return c.materialise(
          makeConstant(c.dtype(0), {count}, std::vector<double>(static_cast<size_t>(count), fallback)));
    std::optional<Shape> full = broadcastShapes(normalised, c.shape(i));
    if (!full || *full != normalised)
      c.fail("input " + std::to_string(i) + " of shape " + shapeText(c.shape(i)) + " does not broadcast to " +
             shapeText(normalised));
    return c.reshape(c.broadcast(c.cast(c.value(i), c.dtype(0)), normalised), {count});
  };
  mlir::Value gamma = affine(1, 1), beta = affine(2, 0);
  // The op normalises over one axis: several are made one.
  Shape flat(data.begin(), data.begin() + axis);
  flat.push_back(product(data, cut));
  mlir::Value result = c.emit("nn.layer_norm", {c.reshape(c.value(0), flat), gamma, beta},
                              {c.integer("axis", axis), c.real("epsilon", epsilon)});
  c.setOutput(0, c.reshape(result, data));
  if (!c.wants(1) && !c.wants(2))
    return;
  // The statistics are float, whatever the data is.
  std::vector<int64_t> axes;
  for (int64_t i = axis; i < c.rank(0); ++i)
    axes.push_back(i);
  mlir::Value x = c.cast(c.value(0), DType::Float32);
  auto meanOf = [&](mlir::Value v) {
    return c.emit("mean", {v}, {c.ints("axis", axes), c.flag("keepdims", true)});
  };
  mlir::Value mean = meanOf(x), centred = c.subtract(x, mean);
  mlir::Value variance = meanOf(c.multiply(centred, centred));
  c.setOutput(1, mean);
  c.setOutput(2, c.emit("rsqrt", {c.add(variance, c.scalar(epsilon, DType::Float32))}));
}

void convertGroupNormalization(OpContext &c) {
  c.requireFloat(0);
  c.requireRank(0, 3);
  int64_t channels = c.shape(0)[1], groups = c.attrInt("num_groups");
  double epsilon = c.attrFloat("epsilon", 1e-5);
  if (c.attrInt("stash_type", 1) != 1)
    c.fail("stash_type must be 1 (float)");
  if (groups < 1 || channels % groups != 0)
    c.fail("num_groups " + std::to_string(groups) + " must divide the " + std::to_string(channels) +
           " channels");
  auto affine = [&](size_t i) {
    // Until version 20 there is one value a group.
    if (c.opset() >= 21)
      return channelVector(c, i, channels);
    mlir::Value groupValues = c.reshape(channelVector(c, i, groups), {groups, 1});
    return c.reshape(c.broadcast(groupValues, {groups, channels / groups}), {channels});
  };
  mlir::Value gamma = affine(1), beta = affine(2);
  c.setOutput(0, c.emit("nn.group_norm", {c.value(0), gamma, beta},
                        {c.integer("num_groups", groups), c.integer("axis", 1), c.real("epsilon", epsilon)}));
}

void convertLrn(OpContext &c) {
  c.requireFloat(0);
  c.requireRank(0, 2);
  int64_t size = c.attrInt("size");
  if (size < 1 || size % 2 == 0)
    c.fail("size must be odd, but is " + std::to_string(size));
  double alpha = c.attrFloat("alpha", 1e-4), beta = c.attrFloat("beta", 0.75), bias = c.attrFloat("bias", 1);
  c.setOutput(0, c.emit("nn.lrn", {c.value(0)},
                        {c.integer("size", size), c.integer("axis", 1), c.real("bias", bias),
                         c.real("alpha", alpha), c.real("beta", beta)}));
}

void convertLpNormalization(OpContext &c) {
  c.requireFloat(0);
  int64_t axis = c.axis(c.attrInt("axis", -1), c.rank(0)), p = c.attrInt("p", 2);
  if (p != 1 && p != 2)
    c.fail("p must be 1 or 2, but is " + std::to_string(p));
  mlir::Value x = c.value(0);
  mlir::Value norm = c.emit("sum", {p == 1 ? c.emit("abs", {x}) : c.multiply(x, x)},
                            {c.ints("axis", {axis}), c.flag("keepdims", true)});
  // A row of zeros stays one.
  mlir::Value isZero = c.emit("equal", {norm, c.scalar(0, c.dtype(0))});
  norm = c.emit("where", {isZero, c.scalar(1, c.dtype(0)), norm});
  c.setOutput(0, c.divide(x, p == 1 ? norm : c.emit("sqrt", {norm})));
}

} // namespace

void onnx::addNormalizationOps(OpTable &table) {
  table.insert(table.end(), {{"BatchNormalization", 5, 5, convertBatchNormalization},
                             {"GroupNormalization", 3, 3, convertGroupNormalization, 18},
                             {"InstanceNormalization", 3, 3, convertInstanceNormalization},
                             {"LRN", 1, 1, convertLrn},
                             {"LayerNormalization", 2, 3, convertLayerNormalization, 17},
                             {"LpNormalization", 1, 1, convertLpNormalization}});
}
