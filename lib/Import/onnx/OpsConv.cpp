// Convolutions.
#include "Import/onnx/Spatial.h"
#include <algorithm>

using namespace tensorturbo;
using namespace tensorturbo::onnx;

static constexpr int64_t maxWindow = 1 << 24;

static void checkRange(OpContext &c, const char *what, const std::vector<int64_t> &values, int64_t smallest) {
  for (int64_t v : values)
    if (v < smallest || v > maxWindow)
      c.fail(std::string(what) + " must be " + std::to_string(smallest) + " to " + std::to_string(maxWindow) +
             ", but is " + shapeText(values));
}

Window onnx::readWindow(OpContext &c, const Shape &data, std::vector<int64_t> kernel, bool withDilations) {
  Window w;
  size_t n = kernel.size();
  w.kernel = std::move(kernel);
  w.strides = c.attrInts("strides", std::vector<int64_t>(n, 1));
  w.dilations = std::vector<int64_t>(n, 1);
  if (withDilations)
    w.dilations = c.attrInts("dilations", w.dilations);
  bool padsGiven = c.hasAttr("pads");
  w.pads = c.attrInts("pads", std::vector<int64_t>(2 * n, 0));
  std::string autoPad = c.attrString("auto_pad", "NOTSET");
  checkRange(c, "kernel_shape", w.kernel, 1);
  checkRange(c, "strides", w.strides, 1);
  checkRange(c, "dilations", w.dilations, 1);
  checkRange(c, "pads", w.pads, 0);
  if (autoPad == "NOTSET" || autoPad.empty())
    return w;
  if (autoPad != "VALID" && autoPad != "SAME_UPPER" && autoPad != "SAME_LOWER")
    c.fail("auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, but is " + quoteForMessage(autoPad));
  if (padsGiven && std::any_of(w.pads.begin(), w.pads.end(), [](int64_t p) { return p != 0; }))
    c.fail("pads and auto_pad must not be given together");
  for (size_t i = 0; i < n && autoPad != "VALID"; ++i) {
    int64_t in = data[i + 2], out = (in + w.strides[i] - 1) / w.strides[i];
    int64_t total = std::max<int64_t>((out - 1) * w.strides[i] + w.extent(i) - in, 0);
    int64_t small = total / 2;
    w.pads[i] = autoPad == "SAME_UPPER" ? small : total - small;
    w.pads[i + n] = total - w.pads[i];
  }
  return w;
}

namespace {

/// Data and weight of a convolution of 1 to 3 spatial axes; gives back the number of these axes.
size_t checkConvInputs(OpContext &c) {
  int64_t rank = c.rank(0);
  if (rank < 3 || rank > 5)
    c.fail("convolutions of 1, 2 and 3 spatial axes are supported, but the input has shape " +
           shapeText(c.shape(0)));
  if (c.rank(1) != rank)
    c.fail("the weight must have the input's rank " + std::to_string(rank) + ", but has shape " +
           shapeText(c.shape(1)));
  c.requireFloat(0);
  return static_cast<size_t>(rank - 2);
}

std::vector<int64_t> readKernel(OpContext &c) {
  std::vector<int64_t> kernel(c.shape(1).begin() + 2, c.shape(1).end());
  std::vector<int64_t> given = c.attrInts("kernel_shape", kernel);
  if (given != kernel)
    c.fail("kernel_shape is " + shapeText(given) + ", but the weight has shape " + shapeText(c.shape(1)));
  return kernel;
}

int64_t readGroups(OpContext &c) {
  int64_t groups = c.attrInt("group", 1);
  if (groups < 1 || groups > maxWindow)
    c.fail("group must be at least 1, but is " + std::to_string(groups));
  if (c.shape(0)[1] % groups != 0)
    c.fail("group " + std::to_string(groups) + " must divide the input's channels " +
           std::to_string(c.shape(0)[1]));
  return groups;
}

mlir::Value addBias(OpContext &c, mlir::Value result, int64_t channels) {
  if (!c.has(2))
    return result;
  if (c.shape(2) != Shape{channels})
    c.fail("the bias must have shape [" + std::to_string(channels) + "], but has " + shapeText(c.shape(2)));
  return c.emit("nn.bias_add", {result, c.value(2)}, {c.integer("axis", 1)});
}

void convertConv(OpContext &c) {
  size_t n = checkConvInputs(c);
  Window w = readWindow(c, c.shape(0), readKernel(c), true);
  int64_t groups = readGroups(c), channels = c.shape(1)[0];
  if (c.shape(1)[1] * groups != c.shape(0)[1])
    c.fail("the input has " + std::to_string(c.shape(0)[1]) + " channels, but weight " +
           shapeText(c.shape(1)) + " with group " + std::to_string(groups) + " needs " +
           std::to_string(c.shape(1)[1] * groups));
  static const char *const names[] = {"nn.conv1d", "nn.conv2d", "nn.conv3d"};
  mlir::Value result =
      c.emit(names[n - 1], {c.value(0), c.value(1)},
             {c.ints("strides", w.strides), c.ints("padding", w.pads), c.ints("dilation", w.dilations),
              c.integer("groups", groups), c.integer("channels", channels), c.ints("kernel_size", w.kernel)});
  c.setOutput(0, addBias(c, result, channels));
}

void convertConvTranspose(OpContext &c) {
  size_t n = checkConvInputs(c);
  std::vector<int64_t> kernel = readKernel(c);
  // SAME padding means something else here, so auto_pad is looked at first and the window read without it.
  std::string autoPad = c.attrString("auto_pad", "NOTSET");
  Window w;
  w.kernel = kernel;
  w.strides = c.attrInts("strides", std::vector<int64_t>(n, 1));
  w.dilations = c.attrInts("dilations", std::vector<int64_t>(n, 1));
  w.pads = c.attrInts("pads", std::vector<int64_t>(2 * n, 0));
  std::vector<int64_t> outputPadding = c.attrInts("output_padding", std::vector<int64_t>(n, 0));
  std::optional<std::vector<int64_t>> outputShape = c.attrInts("output_shape");
  checkRange(c, "strides", w.strides, 1);
  checkRange(c, "dilations", w.dilations, 1);
  checkRange(c, "output_padding", outputPadding, 0);
  checkRange(c, "pads", w.pads, 0);
  checkRange(c, "kernel_shape", w.kernel, 1);
  bool same = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
  if (!same && autoPad != "VALID" && autoPad != "NOTSET" && !autoPad.empty())
    c.fail("auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, but is " + quoteForMessage(autoPad));
  if (outputShape && outputShape->size() == n + 2)
    outputShape->erase(outputShape->begin(), outputShape->begin() + 2);
  if (outputShape && outputShape->size() != n)
    c.fail("output_shape must have " + std::to_string(n) + " values, but is " + shapeText(*outputShape));
  if (outputShape)
    checkRange(c, "output_shape", *outputShape, 1);
  for (size_t i = 0; i < n && (same || outputShape); ++i) {
    int64_t in = c.shape(0)[i + 2];
    int64_t wanted = outputShape ? (*outputShape)[i] : in * w.strides[i];
    int64_t total = w.strides[i] * (in - 1) + outputPadding[i] + w.extent(i) - wanted;
    if (total < 0 && !outputShape)
      c.fail("auto_pad " + autoPad + " with strides larger than the kernel is not supported");
    // What the products do not reach is filled up at the end.
    outputPadding[i] += std::max<int64_t>(-total, 0);
    total = std::max<int64_t>(total, 0);
    w.pads[i] = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
    w.pads[i + n] = total - w.pads[i];
  }
  int64_t groups = readGroups(c), channels = c.shape(1)[1] * groups;
  if (c.shape(1)[0] != c.shape(0)[1])
    c.fail("the input has " + std::to_string(c.shape(0)[1]) + " channels, but the weight " +
           shapeText(c.shape(1)) + " needs " + std::to_string(c.shape(1)[0]));
  static const char *const names[] = {"nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose"};
  mlir::Value result =
      c.emit(names[n - 1], {c.value(0), c.value(1)},
             {c.integer("channels", channels), c.ints("kernel_size", w.kernel), c.ints("strides", w.strides),
              c.ints("output_padding", outputPadding), c.ints("padding", w.pads),
              c.ints("dilation", w.dilations), c.integer("groups", groups)});
  c.setOutput(0, addBias(c, result, channels));
}

} // namespace

void onnx::addConvOps(OpTable &table) {
  table.push_back({"Conv", 2, 3, convertConv});
  table.push_back({"ConvTranspose", 2, 3, convertConvTranspose});
}
