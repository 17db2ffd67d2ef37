// Pooling.
#include "Import/onnx/Spatial.h"
#include <algorithm>

using namespace tensorturbo;
using namespace tensorturbo::onnx;

namespace {

size_t spatialAxes(OpContext &c) {
  if (c.rank(0) < 3 || c.rank(0) > 5)
    c.fail("pools of 1, 2 and 3 spatial axes are supported, but the input has shape " +
           shapeText(c.shape(0)));
  return static_cast<size_t>(c.rank(0) - 2);
}

/// The window of a pool with ceil_mode expressed by padding at the ends: `extra` is what goes beyond the pads
/// that the node asks for.
Window readPool(OpContext &c, bool withDilations, std::vector<int64_t> &extra) {
  size_t n = spatialAxes(c);
  std::optional<std::vector<int64_t>> kernel = c.attrInts("kernel_shape");
  if (!kernel || kernel->size() != n)
    c.fail("kernel_shape must have " + std::to_string(n) + " values");
  Window w = readWindow(c, c.shape(0), *kernel, withDilations);
  bool ceilMode = c.attrBool("ceil_mode", false);
  extra.assign(n, 0);
  for (size_t i = 0; i < n; ++i) {
    int64_t in = c.shape(0)[i + 2], begin = w.pads[i], end = w.pads[i + n], extent = w.extent(i);
    if (begin >= extent || end >= extent)
      c.fail("pads " + shapeText(w.pads) + " must be smaller than the window " + shapeText(w.kernel));
    int64_t span = in + begin + end - extent;
    if (span < 0)
      c.fail("the window " + shapeText(w.kernel) + " does not fit into the padded input of shape " +
             shapeText(c.shape(0)));
    if (!ceilMode)
      continue;
    int64_t out = (span + w.strides[i] - 1) / w.strides[i] + 1;
    // A last window that would begin in the padding at the end is left out.
    if ((out - 1) * w.strides[i] >= in + begin)
      --out;
    extra[i] = std::max<int64_t>((out - 1) * w.strides[i] + extent - in - begin - end, 0);
  }
  return w;
}

std::vector<int64_t> withExtra(const Window &w, const std::vector<int64_t> &extra) {
  std::vector<int64_t> pads = w.pads;
  for (size_t i = 0; i < extra.size(); ++i)
    pads[i + extra.size()] += extra[i];
  return pads;
}

void convertMaxPool(OpContext &c) {
  std::vector<int64_t> extra;
  Window w = readPool(c, true, extra);
  c.attrInt("storage_order", 0);
  if (c.wants(1))
    c.fail("the second output of MaxPool (Indices) is not supported");
  static const char *const names[] = {"nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"};
  c.setOutput(0, c.emit(names[w.rank() - 1], {c.value(0)},
                        {c.ints("pool_size", w.kernel), c.ints("strides", w.strides),
                         c.ints("dilation", w.dilations), c.ints("padding", withExtra(w, extra))}));
}

void convertAveragePool(OpContext &c) {
  c.requireFloat(0);
  std::vector<int64_t> extra;
  Window w = readPool(c, c.opset() >= 19, extra);
  bool countPad = c.attrBool("count_include_pad", false);
  size_t n = w.rank();
  mlir::Value data = c.value(0);
  std::vector<int64_t> pads = withExtra(w, extra);
  if (countPad && pads != w.pads) {
    // The node's own padding counts, what ceil_mode adds does not: make the former part of the data.
    std::vector<int64_t> width(4, 0);
    for (size_t i = 0; i < n; ++i) {
      width.push_back(w.pads[i]);
      width.push_back(w.pads[i + n]);
      pads[i] = 0;
      pads[i + n] = extra[i];
    }
    data = c.emit("nn.pad", {data, c.scalar(0, c.dtype(0))}, {c.ints("pad_width", width)});
    countPad = false;
  }
  static const char *const names[] = {"nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d"};
  c.setOutput(
      0, c.emit(names[n - 1], {data},
                {c.ints("pool_size", w.kernel), c.ints("strides", w.strides), c.ints("dilation", w.dilations),
                 c.ints("padding", pads), c.flag("count_include_pad", countPad)}));
}

void convertLpPool(OpContext &c) {
  c.requireFloat(0);
  std::vector<int64_t> extra;
  int64_t p = c.attrInt("p", 2);
  if (p != 1 && p != 2)
    c.fail("p must be 1 or 2, but is " + std::to_string(p));
  Window w = readPool(c, c.opset() >= 18, extra);
  static const char *const names[] = {"nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d"};
  mlir::Value data = c.value(0);
  data = p == 1 ? c.emit("abs", {data}) : c.multiply(data, data);
  // The sum of a window is its mean over all of it, padding included, times its size.
  mlir::Value mean =
      c.emit(names[w.rank() - 1], {data},
             {c.ints("pool_size", w.kernel), c.ints("strides", w.strides), c.ints("dilation", w.dilations),
              c.ints("padding", withExtra(w, extra)), c.flag("count_include_pad", true)});
  mlir::Value sum = c.multiply(mean, c.scalar(static_cast<double>(product(w.kernel)), c.dtype(0)));
  c.setOutput(0, p == 1 ? sum : c.emit("sqrt", {sum}));
}

void convertGlobal(OpContext &c, const char *pool2d, const char *reduce) {
  size_t n = spatialAxes(c);
  if (n == 2)
    return c.setOutput(0, c.emit(pool2d, {c.value(0)}));
  std::vector<int64_t> axes;
  for (size_t i = 0; i < n; ++i)
    axes.push_back(static_cast<int64_t>(i) + 2);
  c.setOutput(0, c.emit(reduce, {c.value(0)}, {c.ints("axis", axes), c.flag("keepdims", true)}));
}

void convertGlobalAveragePool(OpContext &c) {
  c.requireFloat(0);
  convertGlobal(c, "nn.global_avg_pool2d", "mean");
}
void convertGlobalMaxPool(OpContext &c) {
  convertGlobal(c, "nn.global_max_pool2d", "max");
}

} // namespace

void onnx::addPoolOps(OpTable &table) {
  table.push_back({"MaxPool", 1, 1, convertMaxPool});
  table.push_back({"AveragePool", 1, 1, convertAveragePool});
  table.push_back({"LpPool", 1, 1, convertLpPool});
  table.push_back({"GlobalAveragePool", 1, 1, convertGlobalAveragePool});
  table.push_back({"GlobalMaxPool", 1, 1, convertGlobalMaxPool});
}
