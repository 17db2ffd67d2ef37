// Activations; those that relay lacks are written with its element-wise operators.
#include "Import/onnx/Converter.h"
#include <cmath>

using namespace tensorturbo;
using namespace tensorturbo::onnx;

namespace {

void convertRelu(OpContext &c) {
  c.setOutput(0, c.relu(c.value(0)));
}

void convertSigmoid(OpContext &c) {
  c.setOutput(0, c.emit("sigmoid", {c.value(0)}));
}

void convertTanh(OpContext &c) {
  c.setOutput(0, c.emit("tanh", {c.value(0)}));
}

void convertLeakyRelu(OpContext &c) {
  c.requireFloat(0);
  c.setOutput(0, c.emit("nn.leaky_relu", {c.value(0)}, {c.real("alpha", c.attrFloat("alpha", 0.01))}));
}

void convertPRelu(OpContext &c) {
  c.requireFloat(0);
  const Shape &data = c.shape(0), &slope = c.shape(1);
  std::optional<Shape> result = broadcastShapes(data, slope);
  if (!result || *result != data)
    c.fail("slope of shape " + shapeText(slope) + " does not broadcast to the input's " + shapeText(data));
  if (product(slope) == 1 && c.constant(1))
    return c.setOutput(0,
                       c.emit("nn.leaky_relu", {c.value(0)}, {c.real("alpha", c.constScalar(1, "slope"))}));
  // One slope a channel: all slope axes but that of the channels have length 1.
  if (data.size() >= 2 && data.size() - slope.size() <= 1 && product(slope) == data[1] &&
      slope[1 - (data.size() - slope.size())] == data[1])
    return c.setOutput(
        0, c.emit("nn.prelu", {c.value(0), c.reshape(c.value(1), {data[1]})}, {c.integer("axis", 1)}));
  mlir::Value negative = c.emit("minimum", {c.value(0), c.scalar(0, c.dtype(0))});
  c.setOutput(0, c.add(c.relu(c.value(0)), c.multiply(negative, c.value(1))));
}

/// scale * alpha * (exp(x / divisor) - 1) below 0, scale * x above.
mlir::Value exponentialUnit(OpContext &c, double alpha, double scale, double divisor) {
  DType t = c.dtype(0);
  mlir::Value x = c.value(0);
  mlir::Value below = c.emit("minimum", {x, c.scalar(0, t)});
  if (divisor != 1)
    below = c.divide(below, c.scalar(divisor, t));
  mlir::Value curve = c.subtract(c.emit("exp", {below}), c.scalar(1, t));
  if (alpha * scale != 1)
    curve = c.multiply(curve, c.scalar(alpha * scale, t));
  mlir::Value above = c.relu(x);
  if (scale != 1)
    above = c.multiply(above, c.scalar(scale, t));
  return c.add(above, curve);
}

void convertElu(OpContext &c) {
  c.requireFloat(0);
  c.setOutput(0, exponentialUnit(c, c.attrFloat("alpha", 1), 1, 1));
}

void convertSelu(OpContext &c) {
  c.requireFloat(0);
  double alpha = c.attrFloat("alpha", 1.67326319217681884765625);
  c.setOutput(0, exponentialUnit(c, alpha, c.attrFloat("gamma", 1.05070102214813232421875), 1));
}

void convertCelu(OpContext &c) {
  c.requireFloat(0);
  double alpha = c.attrFloat("alpha", 1);
  if (!(alpha > 0))
    c.fail("alpha must be positive, but is " + std::to_string(alpha));
  c.setOutput(0, exponentialUnit(c, alpha, 1, alpha));
}

/// log(1 + exp(x)) without overflow.
mlir::Value softplus(OpContext &c) {
  mlir::Value x = c.value(0);
  mlir::Value small = c.emit("exp", {c.emit("negative", {c.emit("abs", {x})})});
  return c.add(c.relu(x), c.emit("log", {c.add(small, c.scalar(1, c.dtype(0)))}));
}

void convertSoftplus(OpContext &c) {
  c.requireFloat(0);
  c.setOutput(0, softplus(c));
}

void convertSoftsign(OpContext &c) {
  c.requireFloat(0);
  c.setOutput(0, c.divide(c.value(0), c.add(c.emit("abs", {c.value(0)}), c.scalar(1, c.dtype(0)))));
}

mlir::Value hardSigmoid(OpContext &c, double alpha, double beta) {
  DType t = c.dtype(0);
  mlir::Value line = c.add(c.multiply(c.value(0), c.scalar(alpha, t)), c.scalar(beta, t));
  return c.emit("clip", {line}, {c.real("a_min", 0), c.real("a_max", 1)});
}

void convertHardSigmoid(OpContext &c) {
  c.requireFloat(0);
  double alpha = c.attrFloat("alpha", 0.2);
  c.setOutput(0, hardSigmoid(c, alpha, c.attrFloat("beta", 0.5)));
}

void convertHardSwish(OpContext &c) {
  c.requireFloat(0);
  c.setOutput(0, c.multiply(c.value(0), hardSigmoid(c, 1.0 / 6, 0.5)));
}

void convertMish(OpContext &c) {
  c.requireFloat(0);
  c.setOutput(0, c.multiply(c.value(0), c.emit("tanh", {softplus(c)})));
}

void convertGelu(OpContext &c) {
  c.requireFloat(0);
  std::string approximate = c.attrString("approximate", "none");
  DType t = c.dtype(0);
  mlir::Value x = c.value(0), inner;
  if (approximate == "none") {
    inner = c.emit("erf", {c.multiply(x, c.scalar(std::sqrt(0.5), t))});
  } else if (approximate == "tanh") {
    mlir::Value cubic = c.multiply(c.multiply(c.multiply(x, x), x), c.scalar(0.044715, t));
    inner = c.emit("tanh", {c.multiply(c.add(x, cubic), c.scalar(std::sqrt(2 / M_PI), t))});
  } else {
    c.fail("approximate must be none or tanh, but is " + quoteForMessage(approximate));
  }
  c.setOutput(0, c.multiply(c.multiply(x, c.scalar(0.5, t)), c.add(inner, c.scalar(1, t))));
}

void convertThresholdedRelu(OpContext &c) {
  c.requireFloat(0);
  double alpha = c.attrFloat("alpha", 1);
  mlir::Value above = c.emit("greater", {c.value(0), c.scalar(alpha, c.dtype(0))});
  c.setOutput(0, c.emit("where", {above, c.value(0), c.scalar(0, c.dtype(0))}));
}

void convertShrink(OpContext &c) {
  c.requireFloat(0);
  double lambda = c.attrFloat("lambd", 0.5), bias = c.attrFloat("bias", 0);
  DType t = c.dtype(0);
  mlir::Value x = c.value(0);
  mlir::Value below = c.emit("less", {x, c.scalar(-lambda, t)}),
              above = c.emit("greater", {x, c.scalar(lambda, t)});
  mlir::Value rest = c.emit("where", {above, c.subtract(x, c.scalar(bias, t)), c.scalar(0, t)});
  c.setOutput(0, c.emit("where", {below, c.add(x, c.scalar(bias, t)), rest}));
}

/// Before version 13 softmax normalises over all axes from `axis` on together.
void convertSoftmaxLike(OpContext &c, const char *name) {
  c.requireFloat(0);
  if (c.opset() >= 13) {
    int64_t axis = c.attrInt("axis", -1);
    if (c.rank(0) == 0)
      c.fail("the input must not be a scalar");
    return c.setOutput(0, c.emit(name, {c.value(0)}, {c.integer("axis", c.axis(axis, c.rank(0)))}));
  }
  int64_t given = c.attrInt("axis", 1), rank = c.rank(0);
  // An axis past the last one leaves one element a row.
  int64_t axis = given == rank ? rank : c.axis(given, rank);
  const Shape &shape = c.shape(0);
  if (axis == rank - 1)
    return c.setOutput(0, c.emit(name, {c.value(0)}, {c.integer("axis", axis)}));
  auto cut = static_cast<size_t>(axis);
  mlir::Value rows = c.reshape(c.value(0), {product(shape, 0, cut), product(shape, cut)});
  c.setOutput(0, c.reshape(c.emit(name, {rows}, {c.integer("axis", 1)}), shape));
}

void convertSoftmax(OpContext &c) {
  convertSoftmaxLike(c, "nn.softmax");
}
void convertLogSoftmax(OpContext &c) {
  convertSoftmaxLike(c, "nn.log_softmax");
}

/// Dropout does nothing at inference.
void convertDropout(OpContext &c) {
  c.ignoreAttrs({"ratio", "seed"});
  if (c.has(2) && c.constScalar(2, "training_mode") != 0)
    c.fail("training_mode must be false");
  c.setOutput(0, c.input(0));
  if (c.wants(1))
    c.setOutput(1, c.emit("ones", {},
                          {c.ints("shape", c.shape(0)),
                           c.text("dtype", dtypeName(c.opset() >= 10 ? DType::Bool : c.dtype(0)))}));
}

} // namespace

void onnx::addActivationOps(OpTable &table) {
  table.insert(table.end(), {{"Celu", 1, 1, convertCelu, 12},
                             {"Dropout", 1, 3, convertDropout},
                             {"Elu", 1, 1, convertElu},
                             {"Gelu", 1, 1, convertGelu, 20},
                             {"HardSigmoid", 1, 1, convertHardSigmoid},
                             {"HardSwish", 1, 1, convertHardSwish, 14},
                             {"LeakyRelu", 1, 1, convertLeakyRelu},
                             {"LogSoftmax", 1, 1, convertLogSoftmax},
                             {"Mish", 1, 1, convertMish, 18},
                             {"PRelu", 2, 2, convertPRelu},
                             {"Relu", 1, 1, convertRelu},
                             {"Selu", 1, 1, convertSelu},
                             {"Shrink", 1, 1, convertShrink, 9},
                             {"Sigmoid", 1, 1, convertSigmoid},
                             {"Softmax", 1, 1, convertSoftmax},
                             {"Softplus", 1, 1, convertSoftplus},
                             {"Softsign", 1, 1, convertSoftsign},
                             {"Tanh", 1, 1, convertTanh},
                             {"ThresholdedRelu", 1, 1, convertThresholdedRelu, 10}});
}
