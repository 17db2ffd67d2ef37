// Shapes and layouts: what moves elements without computing.
#include "Import/onnx/Shapes.h"
#include <algorithm>
#include <limits>

using namespace tensorturbo;
using namespace tensorturbo::onnx;

std::vector<int64_t> onnx::reshapeTarget(OpContext &c, bool &allowZero) {
  allowZero = c.opset() >= 14 && c.attrBool("allowzero", false);
  std::vector<int64_t> target = c.constInts(1, "the new shape");
  if (c.rank(1) != 1)
    c.fail("the new shape must be a vector, but has shape " + shapeText(c.shape(1)));
  if (target.size() > maxRank)
    c.fail("the new shape has rank " + std::to_string(target.size()));
  size_t inferred = 0;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] < -1)
      c.fail("the new shape " + shapeText(target) + " has an extent below -1");
    inferred += target[i] == -1;
    if (target[i] == 0 && !allowZero && static_cast<int64_t>(i) >= c.rank(0))
      c.fail("the new shape " + shapeText(target) + " keeps dimension " + std::to_string(i) +
             ", which the input of shape " + shapeText(c.shape(0)) + " does not have");
  }
  if (inferred > 1)
    c.fail("the new shape " + shapeText(target) + " has more than one -1");
  return target;
}

std::vector<int64_t> onnx::readAxes(OpContext &c, int64_t rank, int64_t inputSince, bool &given) {
  std::vector<int64_t> list;
  given = true;
  if (c.opset() >= inputSince) {
    given = c.has(1);
    if (given)
      list = c.constInts(1, "the axes");
  } else {
    std::optional<std::vector<int64_t>> attribute = c.attrInts("axes");
    given = attribute.has_value();
    list = attribute.value_or(std::vector<int64_t>());
  }
  return c.axes(list, rank);
}

std::vector<int64_t> onnx::squeezeAxes(OpContext &c) {
  bool given;
  std::vector<int64_t> axes = readAxes(c, c.rank(0), 13, given);
  for (int64_t i = 0; i < c.rank(0) && !given; ++i)
    if (c.shape(0)[static_cast<size_t>(i)] == 1)
      axes.push_back(i);
  for (int64_t a : axes)
    if (c.shape(0)[static_cast<size_t>(a)] != 1)
      c.fail("axis " + std::to_string(a) + " of shape " + shapeText(c.shape(0)) + " cannot be squeezed");
  return axes;
}

std::vector<int64_t> onnx::unsqueezeAxes(OpContext &c) {
  size_t count = 0;
  if (c.opset() >= 13)
    count = c.constInts(1, "the axes").size();
  else if (std::optional<std::vector<int64_t>> attribute = c.attrInts("axes"))
    count = attribute->size();
  if (count > maxRank)
    c.fail("too many axes: " + std::to_string(count));
  bool given;
  std::vector<int64_t> axes = readAxes(c, c.rank(0) + static_cast<int64_t>(count), 13, given);
  if (!given)
    c.fail("the axes are missing");
  return axes;
}

std::vector<AxisSlice> onnx::readSlices(OpContext &c) {
  int64_t rank = c.rank(0);
  std::vector<int64_t> starts, ends, axes, steps;
  if (c.opset() >= 10) {
    starts = c.constInts(1, "starts");
    ends = c.constInts(2, "ends");
    if (c.has(3))
      axes = c.constInts(3, "axes");
    if (c.has(4))
      steps = c.constInts(4, "steps");
  } else {
    starts = c.attrInts("starts").value_or(std::vector<int64_t>());
    ends = c.attrInts("ends").value_or(std::vector<int64_t>());
    axes = c.attrInts("axes").value_or(std::vector<int64_t>());
  }
  if (axes.empty())
    for (size_t i = 0; i < starts.size(); ++i)
      axes.push_back(static_cast<int64_t>(i));
  if (steps.empty())
    steps.assign(starts.size(), 1);
  if (starts.size() != ends.size() || starts.size() != axes.size() || starts.size() != steps.size())
    c.fail("starts, ends, axes and steps must have one length");
  std::vector<AxisSlice> slices;
  for (int64_t d : c.shape(0))
    slices.push_back({0, d, 1});
  std::vector<bool> seen(slices.size());
  for (size_t i = 0; i < starts.size(); ++i) {
    auto a = static_cast<size_t>(c.axis(axes[i], rank));
    if (seen[a])
      c.fail("axis " + std::to_string(a) + " comes twice");
    seen[a] = true;
    int64_t dim = c.shape(0)[a], step = steps[i], begin = starts[i], end = ends[i];
    if (step == 0 || step == std::numeric_limits<int64_t>::min())
      c.fail("the step on axis " + std::to_string(a) + " must not be " + std::to_string(step));
    begin += begin < 0 ? dim : 0;
    end += end < 0 ? dim : 0;
    AxisSlice s{0, 0, step};
    if (step > 0) {
      begin = std::clamp<int64_t>(begin, 0, dim);
      end = std::clamp<int64_t>(end, 0, dim);
      s.count = end > begin ? (end - begin - 1) / step + 1 : 0;
    } else {
      begin = std::clamp<int64_t>(begin, -1, dim - 1);
      end = std::clamp<int64_t>(end, -1, dim - 1);
      s.count = begin > end ? (begin - end - 1) / -step + 1 : 0;
    }
    s.begin = s.count ? begin : 0;
    // One element needs no step; a long step must not overflow later.
    if (s.count <= 1)
      s.step = 1;
    slices[a] = s;
  }
  return slices;
}

std::vector<int64_t> onnx::splitLengths(OpContext &c, int64_t axis) {
  int64_t dim = c.shape(0)[static_cast<size_t>(axis)];
  auto parts = static_cast<int64_t>(c.outputCount());
  std::optional<std::vector<int64_t>> lengths;
  if (c.opset() >= 13) {
    if (c.has(1))
      lengths = c.constInts(1, "the lengths");
  } else {
    lengths = c.attrInts("split");
  }
  if (lengths) {
    int64_t sum = 0;
    for (int64_t l : *lengths) {
      if (l < 0 || l > dim)
        c.fail("the lengths " + shapeText(*lengths) + " do not split an axis of " + std::to_string(dim));
      sum += l;
    }
    if (sum != dim || static_cast<int64_t>(lengths->size()) != parts)
      c.fail("the lengths " + shapeText(*lengths) + " do not split an axis of " + std::to_string(dim) +
             " into " + std::to_string(parts) + " outputs");
    return *lengths;
  }
  if (c.opset() >= 18 && c.attrInt("num_outputs") != parts)
    c.fail("num_outputs is " + std::to_string(c.attrInt("num_outputs")) + ", but the node has " +
           std::to_string(parts) + " outputs");
  if (c.opset() < 18 && dim % parts != 0)
    c.fail("an axis of " + std::to_string(dim) + " cannot be split into " + std::to_string(parts) +
           " equal parts");
  int64_t chunk = (dim + parts - 1) / parts;
  std::vector<int64_t> equal(static_cast<size_t>(parts), chunk);
  equal.back() = dim - chunk * (parts - 1);
  if (equal.back() < 0)
    c.fail("an axis of " + std::to_string(dim) + " cannot be split into " + std::to_string(parts) + " parts");
  return equal;
}

Shape onnx::expandTarget(OpContext &c) {
  std::vector<int64_t> target = c.constInts(1, "the shape");
  for (int64_t d : target)
    if (d < 0)
      c.fail("the shape " + shapeText(target) + " has a negative extent");
  std::optional<Shape> result = broadcastShapes(c.shape(0), target);
  if (!result)
    c.fail("the input of shape " + shapeText(c.shape(0)) + " does not broadcast to " + shapeText(target));
  return *result;
}

std::vector<int64_t> onnx::readPermutation(OpContext &c) {
  int64_t rank = c.rank(0);
  std::vector<int64_t> reversed, sorted;
  for (int64_t i = rank; i-- > 0;)
    reversed.push_back(i);
  std::vector<int64_t> permutation = c.attrInts("perm").value_or(reversed);
  sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int64_t>(i) || sorted.size() != static_cast<size_t>(rank))
      c.fail("perm " + shapeText(permutation) + " is not a permutation of " + std::to_string(rank) + " axes");
  if (sorted.size() != static_cast<size_t>(rank))
    c.fail("perm " + shapeText(permutation) + " is not a permutation of " + std::to_string(rank) + " axes");
  return permutation;
}

mlir::Value onnx::sliceAxes(OpContext &c, mlir::Value x, const std::vector<AxisSlice> &slices) {
  Shape shape = shapeOf(x);
  std::vector<int64_t> begin, end, strides, axes;
  for (size_t i = 0; i < slices.size(); ++i) {
    AxisSlice s = slices[i];
    // A negative step is a positive one on the reversed axis.
    if (s.step < 0) {
      x = c.emit("reverse", {x}, {c.integer("axis", static_cast<int64_t>(i))});
      s.begin = shape[i] - 1 - s.begin;
      s.step = -s.step;
    }
    if (s.begin == 0 && s.count == shape[i])
      continue;
    axes.push_back(static_cast<int64_t>(i));
    begin.push_back(s.begin);
    end.push_back(s.count ? s.begin + (s.count - 1) * s.step + 1 : s.begin);
    strides.push_back(s.step);
  }
  if (axes.empty())
    return x;
  return c.emit(
      "strided_slice", {x},
      {c.ints("begin", begin), c.ints("end", end), c.ints("strides", strides), c.ints("axes", axes)});
}

namespace {

void convertReshape(OpContext &c) {
  bool allowZero;
  std::vector<int64_t> target = reshapeTarget(c, allowZero);
  if (Shape(target) == c.shape(0))
    return c.setOutput(0, c.input(0));
  c.setOutput(0,
              c.emit("reshape", {c.value(0)}, {c.ints("newshape", target), c.flag("allowzero", allowZero)}));
}

void convertFlatten(OpContext &c) {
  int64_t rank = c.rank(0), axis = c.attrInt("axis", 1);
  if (axis < (c.opset() >= 11 ? -rank : 0) || axis > rank)
    c.fail("axis " + std::to_string(axis) + " is outside a tensor of rank " + std::to_string(rank));
  axis += axis < 0 ? rank : 0;
  const Shape &shape = c.shape(0);
  if (axis == 1 && rank >= 1)
    return rank == 2 ? c.setOutput(0, c.input(0)) : c.setOutput(0, c.emit("nn.batch_flatten", {c.value(0)}));
  auto cut = static_cast<size_t>(axis);
  c.setOutput(0, c.reshape(c.value(0), {product(shape, 0, cut), product(shape, cut)}));
}

void convertTranspose(OpContext &c) {
  std::vector<int64_t> permutation = readPermutation(c);
  if (std::is_sorted(permutation.begin(), permutation.end()))
    return c.setOutput(0, c.input(0));
  c.setOutput(0, c.transpose(c.value(0), permutation));
}

void convertSqueeze(OpContext &c) {
  std::vector<int64_t> axes = squeezeAxes(c);
  if (axes.empty())
    return c.setOutput(0, c.input(0));
  c.setOutput(0, c.emit("squeeze", {c.value(0)}, {c.ints("axis", axes)}));
}

void convertUnsqueeze(OpContext &c) {
  mlir::Value x = c.value(0);
  for (int64_t a : unsqueezeAxes(c))
    x = c.emit("expand_dims", {x}, {c.integer("axis", a), c.integer("num_newaxis", 1)});
  c.setOutput(0, x);
}

void convertConcat(OpContext &c) {
  int64_t axis = c.axis(c.attrInt("axis"), c.rank(0));
  llvm::SmallVector<mlir::Value> parts;
  std::optional<size_t> first;
  for (size_t i = 0; i < c.inputCount(); ++i) {
    if (c.rank(i) != c.rank(0))
      c.fail("the inputs have different ranks: " + shapeText(c.shape(0)) + " and " + shapeText(c.shape(i)));
    if (c.dtype(i) != c.dtype(0))
      c.fail(std::string("the inputs have different types: ") + dtypeName(c.dtype(0)) + " and " +
             dtypeName(c.dtype(i)));
    // Parts without elements add nothing.
    if (c.shape(i)[static_cast<size_t>(axis)] == 0 && c.inputCount() > 1)
      continue;
    first = first.value_or(i);
    parts.push_back(c.value(i));
  }
  if (parts.size() <= 1)
    return c.setOutput(0, c.input(first.value_or(0)));
  c.setOutput(0, c.emit("concatenate", parts, {c.integer("axis", axis)}));
}

void convertSplit(OpContext &c) {
  c.requireRank(0, 1);
  int64_t axis = c.axis(c.attrInt("axis", 0), c.rank(0));
  std::vector<int64_t> lengths = splitLengths(c, axis);
  if (lengths.size() == 1)
    return c.setOutput(0, c.input(0));
  std::vector<int64_t> points;
  bool equal = true;
  for (size_t i = 0; i + 1 < lengths.size(); ++i) {
    points.push_back((points.empty() ? 0 : points.back()) + lengths[i]);
    equal &= lengths[i] == lengths.back();
  }
  auto results = c.emitMany("split", {c.value(0)},
                            {equal ? c.integer("indices_or_sections", static_cast<int64_t>(lengths.size()))
                                   : c.ints("indices_or_sections", points),
                             c.integer("axis", axis)},
                            lengths.size());
  for (size_t i = 0; i < results.size(); ++i)
    c.setOutput(i, results[i]);
}

void convertSlice(OpContext &c) {
  mlir::Value x = sliceAxes(c, c.value(0), readSlices(c));
  x == c.value(0) ? c.setOutput(0, c.input(0)) : c.setOutput(0, x);
}

void convertExpand(OpContext &c) {
  Shape shape = expandTarget(c);
  if (shape == c.shape(0))
    return c.setOutput(0, c.input(0));
  c.setOutput(0, c.broadcast(c.value(0), shape));
}

void convertTile(OpContext &c) {
  std::vector<int64_t> repeats = c.constInts(1, "the repeats");
  if (static_cast<int64_t>(repeats.size()) != c.rank(0))
    c.fail("repeats must have " + std::to_string(c.rank(0)) + " values, but is " + shapeText(repeats));
  for (size_t i = 0; i < repeats.size(); ++i)
    if (repeats[i] < 0 || repeats[i] > (int64_t(1) << 40))
      c.fail("repeats " + shapeText(repeats) + " are out of range");
  c.setOutput(0, c.emit("tile", {c.value(0)}, {c.ints("reps", repeats)}));
}

void convertPad(OpContext &c) {
  int64_t rank = c.rank(0);
  std::string mode = c.attrString("mode", "constant");
  auto n = static_cast<size_t>(rank);
  std::vector<int64_t> pads;
  double value = 0;
  mlir::Value padValue;
  if (c.opset() < 11) {
    pads = c.attrInts("pads").value_or(std::vector<int64_t>());
    value = c.attrFloat("value", 0);
  } else {
    pads = c.constInts(1, "pads");
    if (c.has(2)) {
      if (product(c.shape(2)) != 1 || c.dtype(2) != c.dtype(0))
        c.fail("the pad value must be one element of the input's type");
      padValue = c.reshape(c.value(2), {});
    }
    if (c.opset() >= 18 && c.has(3)) {
      std::vector<int64_t> axes = c.constInts(3, "axes"), all(2 * n, 0);
      if (pads.size() != 2 * axes.size())
        c.fail("pads must have two values an axis, but is " + shapeText(pads));
      for (size_t i = 0; i < axes.size(); ++i) {
        auto a = static_cast<size_t>(c.axis(axes[i], rank));
        all[a] = pads[i];
        all[a + n] = pads[i + axes.size()];
      }
      pads = all;
    }
  }
  if (pads.size() != 2 * n)
    c.fail("pads must have " + std::to_string(2 * n) + " values, but is " + shapeText(pads));
  bool negative = false, any = false;
  for (int64_t p : pads) {
    if (p < -(int64_t(1) << 40) || p > (int64_t(1) << 40))
      c.fail("pads " + shapeText(pads) + " are out of range");
    negative |= p < 0;
    any |= p != 0;
  }
  const char *relayMode = mode == "constant"  ? "constant"
                          : mode == "edge"    ? "edge"
                          : mode == "reflect" ? "reflect"
                                              : "";
  if (!*relayMode)
    c.fail("mode " + quoteForMessage(mode) + " is not supported");
  if (negative && mode != "constant")
    c.fail("negative pads are supported for mode constant only");
  if (!any)
    return c.setOutput(0, c.input(0));
  std::vector<int64_t> width;
  std::vector<AxisSlice> crop;
  bool grows = false;
  for (size_t i = 0; i < n; ++i) {
    int64_t before = std::max<int64_t>(pads[i], 0), after = std::max<int64_t>(pads[i + n], 0);
    int64_t count = c.shape(0)[i] + pads[i] + pads[i + n];
    if (count < 0)
      c.fail("pads " + shapeText(pads) + " take more than the input of shape " + shapeText(c.shape(0)) +
             " has");
    grows |= before || after;
    width.insert(width.end(), {before, after});
    crop.push_back({std::max<int64_t>(-pads[i], 0), count, 1});
  }
  mlir::Value x = c.value(0);
  if (grows)
    x = c.emit("nn.pad", {x, padValue ? padValue : c.scalar(value, c.dtype(0))},
               {c.ints("pad_width", width), c.text("pad_mode", relayMode)});
  c.setOutput(0, negative ? sliceAxes(c, x, crop) : x);
}

void convertShape(OpContext &c) {
  int64_t rank = c.rank(0), start = 0, end = rank;
  if (c.opset() >= 15) {
    start = c.attrInt("start", 0);
    end = c.attrInt("end", rank);
    start = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
    end = std::clamp<int64_t>(end < 0 ? end + rank : end, 0, rank);
  }
  std::vector<int64_t> values;
  for (int64_t i = start; i < end; ++i)
    values.push_back(c.shape(0)[static_cast<size_t>(i)]);
  c.setInts(0, DType::Int64, {static_cast<int64_t>(values.size())}, values);
}

void convertSize(OpContext &c) {
  c.setInts(0, DType::Int64, {}, {product(c.shape(0))});
}

void convertIdentity(OpContext &c) {
  c.setOutput(0, c.input(0));
}

void convertDepthSpace(OpContext &c) {
  int64_t block = c.attrInt("blocksize");
  bool toSpace = c.node().opType == "DepthToSpace";
  std::string mode = toSpace && c.opset() >= 11 ? c.attrString("mode", "DCR") : "DCR";
  if (mode != "DCR" && mode != "CRD")
    c.fail("mode must be DCR or CRD, but is " + quoteForMessage(mode));
  c.setOutput(0, c.emit(toSpace ? "nn.depth_to_space" : "nn.space_to_depth", {c.value(0)},
                        {c.integer("block_size", block), c.text("mode", mode == "DCR" ? "DCR" : "CDR")}));
}

} // namespace

void onnx::addShapeOps(OpTable &table) {
  table.insert(table.end(), {{"Concat", 1, -1, convertConcat},
                             {"DepthToSpace", 1, 1, convertDepthSpace},
                             {"Expand", 2, 2, convertExpand, 8},
                             {"Flatten", 1, 1, convertFlatten},
                             {"Identity", 1, 1, convertIdentity},
                             {"Pad", 1, 4, convertPad},
                             {"Reshape", 2, 2, convertReshape},
                             {"Shape", 1, 1, convertShape},
                             {"Size", 1, 1, convertSize},
                             {"Slice", 1, 5, convertSlice},
                             {"SpaceToDepth", 1, 1, convertDepthSpace},
                             {"Split", 1, 2, convertSplit},
                             {"Squeeze", 1, 2, convertSqueeze},
                             {"Tile", 2, 2, convertTile},
                             {"Transpose", 1, 1, convertTranspose},
                             {"Unsqueeze", 1, 2, convertUnsqueeze}});
}
