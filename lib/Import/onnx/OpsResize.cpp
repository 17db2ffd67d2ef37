// Resize and Upsample. Where the sizes are what the scales say, relay's resize does the work; otherwise, and
// for other axes than the spatial ones, every axis is resampled with constant indices and weights.
#include "Import/onnx/Converter.h"
#include <algorithm>
#include <cmath>

using namespace tensorturbo;
using namespace tensorturbo::onnx;

namespace {

struct ResizePlan {
  /// One entry for each axis of the data.
  std::vector<int64_t> sizes;
  std::vector<double> scales;
  std::string mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_floor";
};

int64_t scaledSize(OpContext &c, int64_t dim, double scale) {
  if (!(scale > 0) || !(static_cast<double>(dim) * scale < 1e9))
    c.fail("scale " + std::to_string(scale) + " is out of range");
  // Scales are float32; the product is formed in that precision, as the reference does it.
  return static_cast<int64_t>(std::floor(static_cast<float>(dim) * static_cast<float>(scale)));
}

/// Position in the input of element `i` of the output, in float32 as the reference computes it: a position
/// close to a whole number decides which element is the nearest.
float sourcePosition(const ResizePlan &p, size_t axis, int64_t in, int64_t i) {
  auto scale = static_cast<float>(p.scales[axis]), x = static_cast<float>(i);
  auto out = static_cast<float>(p.sizes[axis]), length = static_cast<float>(in);
  if (p.coordinates == "asymmetric")
    return x / scale;
  if (p.coordinates == "align_corners")
    return out == 1 ? 0 : x * (length - 1) / (out - 1);
  if (p.coordinates == "pytorch_half_pixel")
    return out > 1 ? (x + 0.5f) / scale - 0.5f : 0;
  if (p.coordinates == "tf_half_pixel_for_nn")
    return (x + 0.5f) / scale;
  if (p.coordinates == "half_pixel_symmetric") {
    float adjustment = out / (scale * length), center = length / 2;
    return center * (1 - adjustment) + (x + 0.5f) / scale - 0.5f;
  }
  return (x + 0.5f) / scale - 0.5f;
}

double nearestOf(const ResizePlan &p, double x) {
  if (p.nearest == "floor")
    return std::floor(x);
  if (p.nearest == "ceil")
    return std::ceil(x);
  return p.nearest == "round_prefer_floor" ? std::ceil(x - 0.5) : std::floor(x + 0.5);
}

mlir::Value resampleAxis(OpContext &c, mlir::Value x, const ResizePlan &p, size_t axis) {
  Shape shape = shapeOf(x);
  int64_t in = shape[axis], out = p.sizes[axis];
  if (out > maxFoldedElements)
    c.fail("axis " + std::to_string(axis) + " would have " + std::to_string(out) + " elements");
  std::vector<int64_t> low, high;
  std::vector<double> weight;
  for (int64_t i = 0; i < out; ++i) {
    double at = sourcePosition(p, axis, in, i);
    auto clip = [&](double v) {
      return static_cast<int64_t>(std::clamp(v, 0.0, static_cast<double>(in - 1)));
    };
    if (p.mode == "nearest") {
      low.push_back(clip(nearestOf(p, at)));
      continue;
    }
    at = std::clamp(at, 0.0, static_cast<double>(in - 1));
    low.push_back(clip(std::floor(at)));
    high.push_back(clip(std::floor(at) + 1));
    weight.push_back(at - std::floor(at));
  }
  auto take = [&](const std::vector<int64_t> &indices) {
    return c.emit("take", {x, c.vector(indices, DType::Int64)},
                  {c.integer("axis", static_cast<int64_t>(axis)), c.text("mode", "clip")});
  };
  if (p.mode == "nearest")
    return take(low);
  Shape along(shape.size() - axis, 1);
  along[0] = out;
  mlir::Value w = c.materialise(makeConstant(dtypeOf(x), along, weight));
  mlir::Value first = take(low);
  return c.add(first, c.multiply(c.subtract(take(high), first), w));
}

void emitResize(OpContext &c, const ResizePlan &p, double cubicAlpha, bool cubicExclude) {
  const Shape &shape = c.shape(0);
  size_t n = shape.size();
  if (p.sizes == shape && std::all_of(p.scales.begin(), p.scales.end(), [](double s) { return s == 1; }))
    return c.setOutput(0, c.input(0));
  for (size_t i = 0; i < n; ++i)
    if (shape[i] < 1 || p.sizes[i] < 1)
      c.fail("shape " + shapeText(shape) + " cannot be resized to " + shapeText(p.sizes));
  bool spatial = n >= 3 && n <= 5 && p.sizes[0] == shape[0] && p.sizes[1] == shape[1];
  bool exact = p.coordinates != "half_pixel_symmetric";
  for (size_t i = 0; i < n; ++i)
    exact &= std::abs(p.scales[i] * static_cast<double>(shape[i]) - static_cast<double>(p.sizes[i])) <
             1e-4 * static_cast<double>(p.sizes[i]) / std::max<double>(1, static_cast<double>(p.sizes[i]));
  if (!isFloat(c.dtype(0)) && p.mode != "nearest")
    c.fail("mode " + p.mode + " needs floating-point data");
  if (spatial && exact) {
    static const char *const names[] = {"image.resize1d", "image.resize2d", "image.resize3d"};
    std::vector<int64_t> size(p.sizes.begin() + 2, p.sizes.end());
    const char *method = p.mode == "nearest" ? "nearest_neighbor" : p.mode == "linear" ? "linear" : "cubic";
    return c.setOutput(0, c.emit(names[n - 3], {c.value(0)},
                                 {c.ints("size", size), c.text("method", method),
                                  c.text("coordinate_transformation_mode", p.coordinates),
                                  c.text("rounding_method", p.nearest), c.real("cubic_alpha", cubicAlpha),
                                  c.integer("cubic_exclude", cubicExclude)}));
  }
  // Positions fall on whole numbers there, and the last bit of float32 would decide.
  if (p.coordinates == "half_pixel_symmetric" && p.mode == "nearest" &&
      (p.nearest == "floor" || p.nearest == "ceil"))
    c.fail("half_pixel_symmetric with nearest_mode " + p.nearest + " is not supported");
  if (!exact && p.coordinates == "align_corners")
    c.fail("align_corners is supported for scales that give whole sizes");
  if (p.mode == "cubic")
    c.fail("mode cubic is supported for spatial axes with scales that give whole sizes");
  mlir::Value x = c.value(0);
  for (size_t i = 0; i < n; ++i)
    if (p.sizes[i] != shape[i] || p.scales[i] != 1)
      x = resampleAxis(c, x, p, i);
  c.setOutput(0, x);
}

ResizePlan scaled(OpContext &c, const std::vector<double> &scales) {
  ResizePlan p;
  if (static_cast<int64_t>(scales.size()) != c.rank(0))
    c.fail("there must be one scale an axis, but there are " + std::to_string(scales.size()));
  p.scales = scales;
  for (size_t i = 0; i < scales.size(); ++i)
    p.sizes.push_back(scaledSize(c, c.shape(0)[i], scales[i]));
  return p;
}

/// Upsample, and Resize of version 10: nearest rounds down, positions are asymmetric.
void convertOldResize(OpContext &c) {
  std::string mode = c.attrString("mode", "nearest");
  if (mode != "nearest" && mode != "linear")
    c.fail("mode " + quoteForMessage(mode) + " is not supported");
  std::vector<double> scales;
  if (c.opset() >= 9)
    scales = c.constFloats(1, "the scales");
  else
    scales = c.attrFloats("scales").value_or(std::vector<double>());
  ResizePlan p = scaled(c, scales);
  p.mode = mode;
  p.coordinates = "asymmetric";
  p.nearest = "floor";
  // These versions do not say how a fraction is rounded where elements are left out.
  for (double scale : p.scales)
    if (mode == "nearest" && scale < 1 && std::abs(1 / scale - std::nearbyint(1 / scale)) > 1e-5)
      c.fail("scale " + std::to_string(scale) +
             " of mode nearest is not supported before version 11: it must be 1 / n");
  emitResize(c, p, -0.75, false);
}

void convertResize(OpContext &c) {
  if (c.opset() < 11)
    return convertOldResize(c);
  std::string mode = c.attrString("mode", "nearest");
  std::string coordinates = c.attrString("coordinate_transformation_mode", "half_pixel");
  std::string nearest = c.attrString("nearest_mode", "round_prefer_floor");
  double alpha = c.attrFloat("cubic_coeff_a", -0.75);
  bool exclude = c.attrBool("exclude_outside", false);
  c.ignoreAttrs({"extrapolation_value"});
  if (mode != "nearest" && mode != "linear" && mode != "cubic")
    c.fail("mode " + quoteForMessage(mode) + " is not supported");
  static const std::set<std::string> known = {"half_pixel",           "asymmetric",
                                              "align_corners",        "pytorch_half_pixel",
                                              "half_pixel_symmetric", "tf_half_pixel_for_nn"};
  if (!known.count(coordinates) || (coordinates == "tf_half_pixel_for_nn" && mode != "nearest"))
    c.fail("coordinate_transformation_mode " + quoteForMessage(coordinates) + " is not supported");
  if (nearest != "floor" && nearest != "ceil" && nearest != "round_prefer_floor" &&
      nearest != "round_prefer_ceil")
    c.fail("nearest_mode " + quoteForMessage(nearest) + " is not known");
  if (exclude && mode != "cubic")
    c.fail("exclude_outside is supported for mode cubic only");
  auto n = static_cast<size_t>(c.rank(0));
  std::vector<int64_t> axes;
  for (size_t i = 0; i < n; ++i)
    axes.push_back(static_cast<int64_t>(i));
  if (c.opset() >= 18) {
    if (c.attrBool("antialias", false))
      c.fail("antialias is not supported");
    if (c.attrString("keep_aspect_ratio_policy", "stretch") != "stretch")
      c.fail("keep_aspect_ratio_policy must be stretch");
    if (std::optional<std::vector<int64_t>> given = c.attrInts("axes")) {
      axes = *given;
      for (int64_t &a : axes)
        a = c.axis(a, c.rank(0));
    }
  }
  bool hasScales = c.has(2) && product(c.shape(2)) > 0, hasSizes = c.has(3) && product(c.shape(3)) > 0;
  if (hasScales == hasSizes)
    c.fail("either scales or sizes must be given");
  ResizePlan p;
  if (hasScales) {
    std::vector<double> given = c.constFloats(2, "the scales"), scales(n, 1);
    if (given.size() != axes.size())
      c.fail("there must be " + std::to_string(axes.size()) + " scales, but there are " +
             std::to_string(given.size()));
    for (size_t i = 0; i < axes.size(); ++i)
      scales[static_cast<size_t>(axes[i])] = given[i];
    p = scaled(c, scales);
  } else {
    std::vector<int64_t> given = c.constInts(3, "the sizes");
    if (given.size() != axes.size())
      c.fail("there must be " + std::to_string(axes.size()) + " sizes, but there are " +
             std::to_string(given.size()));
    p.sizes = c.shape(0);
    for (size_t i = 0; i < axes.size(); ++i)
      p.sizes[static_cast<size_t>(axes[i])] = given[i];
    for (size_t i = 0; i < n; ++i) {
      if (p.sizes[i] < 1 || p.sizes[i] > 1 << 30 || c.shape(0)[i] < 1)
        c.fail("shape " + shapeText(c.shape(0)) + " cannot be resized to " + shapeText(p.sizes));
      p.scales.push_back(static_cast<double>(p.sizes[i]) / static_cast<double>(c.shape(0)[i]));
    }
  }
  p.mode = mode;
  p.coordinates = coordinates;
  p.nearest = nearest;
  emitResize(c, p, alpha, exclude);
}

} // namespace

void onnx::addResizeOps(OpTable &table) {
  table.push_back({"Resize", 1, 4, convertResize, 10});
  table.push_back({"Upsample", 1, 2, convertOldResize, 7, 9});
}
