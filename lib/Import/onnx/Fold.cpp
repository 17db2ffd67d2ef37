// Evaluation at import of nodes whose inputs are all small constants: the shape arithmetic that exporters
// write. Every folder checks what its converter checks; one that returns false leaves the node to the
// converter.
#include "Import/onnx/Shapes.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

using namespace tensorturbo;
using namespace tensorturbo::onnx;

namespace {

size_t countOf(const Shape &shape) {
  return static_cast<size_t>(product(shape));
}

bool tooLarge(const Shape &shape) {
  double n = 1;
  for (int64_t d : shape)
    n *= static_cast<double>(d);
  return n > static_cast<double>(maxFoldedElements);
}

std::vector<int64_t> stridesOf(const Shape &shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// A constant of `shape` whose element at each position is the source's at `source(position)`.
template <typename F> Constant rearranged(const Constant &from, const Shape &shape, F source) {
  size_t size = dtypeSize(from.dtype), count = countOf(shape);
  auto bytes = std::make_shared<std::vector<uint8_t>>(count * size);
  std::vector<int64_t> at(shape.size(), 0);
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(bytes->data() + i * size, from.data + static_cast<size_t>(source(at)) * size, size);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d])
        break;
      at[d] = 0;
    }
  }
  Constant out;
  out.dtype = from.dtype;
  out.shape = shape;
  out.data = bytes->data();
  out.bytes = bytes->size();
  out.owner = std::move(bytes);
  return out;
}

Constant reshaped(Constant c, Shape shape) {
  c.shape = std::move(shape);
  return c;
}

Constant broadcastTo(const Constant &from, const Shape &shape) {
  std::vector<int64_t> strides = stridesOf(from.shape);
  size_t skip = shape.size() - from.shape.size();
  return rearranged(from, shape, [&](const std::vector<int64_t> &at) {
    int64_t source = 0;
    for (size_t d = 0; d < from.shape.size(); ++d)
      source += from.shape[d] == 1 ? 0 : at[d + skip] * strides[d];
    return source;
  });
}

// --- Element-wise -----------------------------------------------------------------------------------------

bool foldable(DType t) {
  return t != DType::UInt64 && t != DType::Float16 && t != DType::BFloat16;
}

/// Results of the narrower types are cut as the hardware cuts them.
Constant makeResult(DType t, const Shape &shape, const std::vector<double> &reals,
                    const std::vector<int64_t> &ints) {
  return isFloat(t) ? makeConstant(t, shape, reals) : makeIntConstant(t, shape, ints);
}

double applyReal(std::string_view op, double a, double b) {
  if (op == "Add")
    return a + b;
  if (op == "Sub")
    return a - b;
  if (op == "Mul")
    return a * b;
  if (op == "Div")
    return a / b;
  if (op == "Min")
    return std::isnan(a) || a < b ? a : b;
  return std::isnan(a) || a > b ? a : b;
}

int64_t applyInt(OpContext &c, std::string_view op, int64_t a, int64_t b) {
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  if (op == "Add")
    return static_cast<int64_t>(ua + ub);
  if (op == "Sub")
    return static_cast<int64_t>(ua - ub);
  if (op == "Mul")
    return static_cast<int64_t>(ua * ub);
  if (op == "Min")
    return std::min(a, b);
  if (op == "Max")
    return std::max(a, b);
  if (b == 0)
    c.fail("division by zero");
  if (b == -1)
    return op == "Div" ? static_cast<int64_t>(0 - ua) : 0;
  if (op == "Div")
    return a / b;
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

bool foldBinary(OpContext &c) {
  std::string_view op = c.node().opType;
  DType t = c.dtype(0);
  if (!foldable(t) || t == DType::Bool || c.inputCount() != 2 || c.dtype(1) != t ||
      (op == "Mod" && isFloat(t)))
    return false;
  std::optional<Shape> shape = broadcastShapes(c.shape(0), c.shape(1));
  if (!shape || tooLarge(*shape))
    return false;
  if (op == "Mod" && c.attrInt("fmod", 0) != 0)
    return false;
  Constant a = broadcastTo(*c.constant(0), *shape), b = broadcastTo(*c.constant(1), *shape);
  std::vector<double> reals;
  std::vector<int64_t> ints;
  if (isFloat(t)) {
    std::vector<double> x = readFloats(a), y = readFloats(b);
    for (size_t i = 0; i < x.size(); ++i)
      reals.push_back(applyReal(op, x[i], y[i]));
  } else {
    std::vector<int64_t> x = readInts(a), y = readInts(b);
    for (size_t i = 0; i < x.size(); ++i)
      ints.push_back(applyInt(c, op, x[i], y[i]));
  }
  c.setConstant(0, makeResult(t, *shape, reals, ints));
  return true;
}

template <typename T> bool compare(std::string_view op, T a, T b) {
  if (op == "Equal")
    return a == b;
  if (op == "Less")
    return a < b;
  if (op == "LessOrEqual")
    return a <= b;
  if (op == "Greater")
    return a > b;
  if (op == "GreaterOrEqual")
    return a >= b;
  if (op == "And")
    return a != 0 && b != 0;
  if (op == "Or")
    return a != 0 || b != 0;
  return (a != 0) != (b != 0);
}

bool foldCompare(OpContext &c) {
  std::string_view op = c.node().opType;
  DType t = c.dtype(0);
  std::optional<Shape> shape = broadcastShapes(c.shape(0), c.shape(1));
  bool logic = op == "And" || op == "Or" || op == "Xor";
  if (!foldable(t) || c.dtype(1) != t || !shape || tooLarge(*shape) ||
      logic != (t == DType::Bool && op != "Equal"))
    return false;
  Constant a = broadcastTo(*c.constant(0), *shape), b = broadcastTo(*c.constant(1), *shape);
  std::vector<int64_t> out;
  if (isFloat(t)) {
    std::vector<double> x = readFloats(a), y = readFloats(b);
    for (size_t i = 0; i < x.size(); ++i)
      out.push_back(compare(op, x[i], y[i]));
  } else {
    std::vector<int64_t> x = readInts(a), y = readInts(b);
    for (size_t i = 0; i < x.size(); ++i)
      out.push_back(compare(op, x[i], y[i]));
  }
  c.setInts(0, DType::Bool, *shape, out);
  return true;
}

bool foldUnary(OpContext &c) {
  std::string_view op = c.node().opType;
  DType t = c.dtype(0);
  const Constant &x = *c.constant(0);
  if (op == "Not") {
    if (t != DType::Bool)
      return false;
    std::vector<int64_t> out = readInts(x);
    for (int64_t &v : out)
      v = !v;
    c.setInts(0, t, x.shape, out);
    return true;
  }
  if (!foldable(t) || t == DType::Bool || (!isFloat(t) && op != "Neg" && op != "Abs"))
    return false;
  std::vector<double> reals;
  std::vector<int64_t> ints;
  if (isFloat(t)) {
    reals = readFloats(x);
    for (double &v : reals)
      v = op == "Neg"     ? -v
          : op == "Abs"   ? std::abs(v)
          : op == "Floor" ? std::floor(v)
          : op == "Ceil"  ? std::ceil(v)
          : op == "Sqrt"  ? std::sqrt(v)
                          : std::nearbyint(v);
  } else {
    ints = readInts(x);
    for (int64_t &v : ints)
      v = op == "Neg" || v < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(v)) : v;
  }
  c.setConstant(0, makeResult(t, x.shape, reals, ints));
  return true;
}

bool foldWhere(OpContext &c) {
  std::optional<Shape> shape = broadcastShapes(c.shape(1), c.shape(2));
  shape = shape ? broadcastShapes(*shape, c.shape(0)) : shape;
  if (!shape || tooLarge(*shape) || c.dtype(0) != DType::Bool || c.dtype(1) != c.dtype(2))
    return false;
  Constant condition = broadcastTo(*c.constant(0), *shape), x = broadcastTo(*c.constant(1), *shape),
           y = broadcastTo(*c.constant(2), *shape);
  size_t size = dtypeSize(x.dtype);
  auto bytes = std::make_shared<std::vector<uint8_t>>(x.bytes);
  for (size_t i = 0; i < condition.bytes; ++i)
    std::memcpy(bytes->data() + i * size, (condition.data[i] ? x.data : y.data) + i * size, size);
  x.data = bytes->data();
  x.owner = std::move(bytes);
  c.setConstant(0, x);
  return true;
}

bool foldCast(OpContext &c) {
  c.ignoreAttrs({"saturate"});
  std::optional<DType> to =
      c.node().opType == "Cast" ? toDType(c.attrInt("to")) : std::optional<DType>(c.dtype(1));
  const Constant &x = *c.constant(0);
  if (!to || *to == DType::UInt64 || c.dtype(0) == DType::UInt64)
    return false;
  if (isFloat(c.dtype(0)))
    c.setConstant(0, makeConstant(*to, x.shape, readFloats(x)));
  else
    c.setInts(0, *to, x.shape, readInts(x));
  return true;
}

// --- Movement ---------------------------------------------------------------------------------------------

bool foldReshape(OpContext &c) {
  bool allowZero;
  std::vector<int64_t> target = reshapeTarget(c, allowZero);
  Shape shape;
  int64_t known = 1, inferred = -1;
  for (size_t i = 0; i < target.size(); ++i) {
    int64_t d = target[i] == 0 && !allowZero ? c.shape(0)[i] : target[i];
    if (d == -1)
      inferred = static_cast<int64_t>(i);
    else if (d > maxFoldedElements)
      return false;
    else
      known *= std::max<int64_t>(d, 0);
    if (known > maxFoldedElements)
      return false;
    shape.push_back(d);
  }
  int64_t count = product(c.shape(0));
  if (inferred >= 0) {
    if (known == 0 || count % known != 0)
      return false;
    shape[static_cast<size_t>(inferred)] = count / known;
  }
  if (product(shape) != count)
    return false;
  c.setConstant(0, reshaped(*c.constant(0), shape));
  return true;
}

bool foldSqueeze(OpContext &c) {
  std::vector<int64_t> axes = squeezeAxes(c);
  Shape shape;
  for (int64_t i = 0; i < c.rank(0); ++i)
    if (!std::binary_search(axes.begin(), axes.end(), i))
      shape.push_back(c.shape(0)[static_cast<size_t>(i)]);
  c.setConstant(0, reshaped(*c.constant(0), shape));
  return true;
}

bool foldUnsqueeze(OpContext &c) {
  Shape shape = c.shape(0);
  for (int64_t a : unsqueezeAxes(c))
    shape.insert(shape.begin() + a, 1);
  c.setConstant(0, reshaped(*c.constant(0), shape));
  return true;
}

bool foldTranspose(OpContext &c) {
  std::vector<int64_t> permutation = readPermutation(c), strides = stridesOf(c.shape(0));
  Shape shape;
  for (int64_t p : permutation)
    shape.push_back(c.shape(0)[static_cast<size_t>(p)]);
  c.setConstant(0, rearranged(*c.constant(0), shape, [&](const std::vector<int64_t> &at) {
                  int64_t source = 0;
                  for (size_t d = 0; d < at.size(); ++d)
                    source += at[d] * strides[static_cast<size_t>(permutation[d])];
                  return source;
                }));
  return true;
}

bool foldSlice(OpContext &c) {
  std::vector<AxisSlice> slices = readSlices(c);
  std::vector<int64_t> strides = stridesOf(c.shape(0));
  Shape shape;
  for (const AxisSlice &s : slices)
    shape.push_back(s.count);
  c.setConstant(0, rearranged(*c.constant(0), shape, [&](const std::vector<int64_t> &at) {
                  int64_t source = 0;
                  for (size_t d = 0; d < at.size(); ++d)
                    source += (slices[d].begin + at[d] * slices[d].step) * strides[d];
                  return source;
                }));
  return true;
}

bool foldGather(OpContext &c) {
  int64_t axis = c.axis(c.attrInt("axis", 0), c.rank(0));
  if (c.dtype(1) != DType::Int64 && c.dtype(1) != DType::Int32)
    return false;
  auto a = static_cast<size_t>(axis);
  const Shape &data = c.shape(0), &index = c.shape(1);
  std::vector<int64_t> indices = readInts(*c.constant(1)), strides = stridesOf(data),
                       indexStrides = stridesOf(index);
  for (int64_t &i : indices) {
    if (i < -data[a] || i >= data[a])
      return false;
    i += i < 0 ? data[a] : 0;
  }
  Shape shape(data.begin(), data.begin() + axis);
  shape.insert(shape.end(), index.begin(), index.end());
  shape.insert(shape.end(), data.begin() + axis + 1, data.end());
  if (tooLarge(shape))
    return false;
  c.setConstant(0, rearranged(*c.constant(0), shape, [&](const std::vector<int64_t> &at) {
                  int64_t source = 0, which = 0;
                  for (size_t d = 0; d < a; ++d)
                    source += at[d] * strides[d];
                  for (size_t d = 0; d < index.size(); ++d)
                    which += at[a + d] * indexStrides[d];
                  source += indices[static_cast<size_t>(which)] * strides[a];
                  for (size_t d = a + 1; d < data.size(); ++d)
                    source += at[d + index.size() - 1] * strides[d];
                  return source;
                }));
  return true;
}

bool foldExpand(OpContext &c) {
  Shape shape = expandTarget(c);
  if (tooLarge(shape))
    return false;
  c.setConstant(0, broadcastTo(*c.constant(0), shape));
  return true;
}

bool foldTile(OpContext &c) {
  std::vector<int64_t> repeats = c.constInts(1, "the repeats");
  if (static_cast<int64_t>(repeats.size()) != c.rank(0))
    return false;
  Shape shape = c.shape(0);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (repeats[i] < 0 || repeats[i] > maxFoldedElements)
      return false;
    shape[i] *= repeats[i];
  }
  if (tooLarge(shape))
    return false;
  std::vector<int64_t> strides = stridesOf(c.shape(0));
  c.setConstant(0, rearranged(*c.constant(0), shape, [&](const std::vector<int64_t> &at) {
                  int64_t source = 0;
                  for (size_t d = 0; d < at.size(); ++d)
                    source += at[d] % c.shape(0)[d] * strides[d];
                  return source;
                }));
  return true;
}

bool foldConcat(OpContext &c) {
  int64_t axis = c.axis(c.attrInt("axis"), c.rank(0));
  auto a = static_cast<size_t>(axis);
  Shape shape = c.shape(0);
  for (size_t i = 1; i < c.inputCount(); ++i) {
    Shape other = c.shape(i);
    if (other.size() != shape.size() || c.dtype(i) != c.dtype(0))
      return false;
    int64_t extent = other[a];
    other[a] = shape[a];
    if (other != shape)
      return false;
    shape[a] += extent;
  }
  // Rows before the axis; each input gives a contiguous piece of every row.
  size_t size = dtypeSize(c.dtype(0)), rows = static_cast<size_t>(product(shape, 0, a));
  auto bytes = std::make_shared<std::vector<uint8_t>>();
  for (size_t r = 0; r < rows; ++r)
    for (size_t i = 0; i < c.inputCount(); ++i) {
      size_t piece = static_cast<size_t>(product(c.shape(i), a)) * size;
      const uint8_t *from = c.constant(i)->data + r * piece;
      if (piece)
        bytes->insert(bytes->end(), from, from + piece);
    }
  Constant out;
  out.dtype = c.dtype(0);
  out.shape = shape;
  out.data = bytes->data();
  out.bytes = bytes->size();
  out.owner = std::move(bytes);
  c.setConstant(0, out);
  return true;
}

bool foldSplit(OpContext &c) {
  c.requireRank(0, 1);
  int64_t axis = c.axis(c.attrInt("axis", 0), c.rank(0));
  std::vector<int64_t> lengths = splitLengths(c, axis), strides = stridesOf(c.shape(0));
  int64_t begin = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    Shape shape = c.shape(0);
    shape[static_cast<size_t>(axis)] = lengths[i];
    c.setConstant(i, rearranged(*c.constant(0), shape, [&](const std::vector<int64_t> &at) {
                    int64_t source = begin * strides[static_cast<size_t>(axis)];
                    for (size_t d = 0; d < at.size(); ++d)
                      source += at[d] * strides[d];
                    return source;
                  }));
    begin += lengths[i];
  }
  return true;
}

/// Reductions of integer vectors, as element counts are computed.
bool foldReduce(OpContext &c) {
  std::string_view op = c.node().opType;
  if (isFloat(c.dtype(0)) || c.dtype(0) == DType::Bool || c.dtype(0) == DType::UInt64 || c.rank(0) != 1 ||
      c.shape(0)[0] == 0)
    return false;
  bool noop = c.hasAttr("noop_with_empty_axes") && c.attrInt("noop_with_empty_axes", 0) != 0;
  if (noop)
    return false;
  bool keepDims = c.attrBool("keepdims", true);
  std::vector<int64_t> axes =
      c.has(1) ? c.constInts(1, "the axes") : c.attrInts("axes").value_or(std::vector<int64_t>());
  c.axes(axes, 1);
  std::vector<int64_t> values = readInts(*c.constant(0));
  uint64_t sum = 0, product = 1;
  for (int64_t v : values) {
    sum += static_cast<uint64_t>(v);
    product *= static_cast<uint64_t>(v);
  }
  int64_t result = op == "ReduceSum"    ? static_cast<int64_t>(sum)
                   : op == "ReduceProd" ? static_cast<int64_t>(product)
                   : op == "ReduceMax"  ? *std::max_element(values.begin(), values.end())
                                        : *std::min_element(values.begin(), values.end());
  c.setInts(0, c.dtype(0), keepDims ? Shape{1} : Shape{}, {result});
  return true;
}

} // namespace

Folder onnx::findFolder(std::string_view name) {
  static const std::map<std::string_view, Folder> folders = {
      {"Abs", foldUnary},           {"Add", foldBinary},
      {"And", foldCompare},         {"Cast", foldCast},
      {"CastLike", foldCast},       {"Ceil", foldUnary},
      {"Concat", foldConcat},       {"Div", foldBinary},
      {"Equal", foldCompare},       {"Expand", foldExpand},
      {"Floor", foldUnary},         {"Gather", foldGather},
      {"Greater", foldCompare},     {"GreaterOrEqual", foldCompare},
      {"Less", foldCompare},        {"LessOrEqual", foldCompare},
      {"Max", foldBinary},          {"Min", foldBinary},
      {"Mod", foldBinary},          {"Mul", foldBinary},
      {"Neg", foldUnary},           {"Not", foldUnary},
      {"Or", foldCompare},          {"ReduceMax", foldReduce},
      {"ReduceMin", foldReduce},    {"ReduceProd", foldReduce},
      {"ReduceSum", foldReduce},    {"Reshape", foldReshape},
      {"Round", foldUnary},         {"Slice", foldSlice},
      {"Split", foldSplit},         {"Sqrt", foldUnary},
      {"Squeeze", foldSqueeze},     {"Sub", foldBinary},
      {"Tile", foldTile},           {"Transpose", foldTranspose},
      {"Unsqueeze", foldUnsqueeze}, {"Where", foldWhere},
      {"Xor", foldCompare},
  };
  auto it = folders.find(name);
  return it == folders.end() ? nullptr : it->second;
}
