// Shared parts of constraint checks and shape rules.
#include "Dialect/Relay/RelayInfer.h"
#include "Support/Diagnostics.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace tensorturbo::relay {

namespace infer {

constexpr int64_t maxElements = int64_t(1) << 40;

int64_t addSat(int64_t a, int64_t b) {
  int64_t r;
  if (llvm::AddOverflow(a, b, r))
    return (a > 0 ? 1 : -1) * (int64_t(1) << 62);
  return r;
}

int64_t mulSat(int64_t a, int64_t b) {
  int64_t r;
  if (llvm::MulOverflow(a, b, r))
    return ((a > 0) == (b > 0) ? 1 : -1) * (int64_t(1) << 62);
  return r;
}

int64_t dim(Value v, int64_t axis) {
  ArrayRef<int64_t> shape = shapeOf(v);
  axis = normalizeAxis(axis, shape.size());
  return axis < 0 || axis >= static_cast<int64_t>(shape.size()) ? -1 : shape[axis];
}

int64_t count(Value v) {
  int64_t n = 1;
  for (int64_t d : shapeOf(v))
    n = mulSat(n, d);
  return n;
}

std::string str(ArrayRef<int64_t> values) {
  std::string out;
  llvm::raw_string_ostream os(out);
  os << '[';
  llvm::interleaveComma(values, os);
  os << ']';
  return out;
}

std::string quote(StringRef text) {
  return quoteForMessage({text.data(), text.size()});
}

std::string shapes(Values values) {
  std::string out;
  for (Value v : values)
    out += (out.empty() ? "" : ", ") + str(shapeOf(v));
  return out;
}

std::string types(Values values) {
  std::string out;
  llvm::raw_string_ostream os(out);
  llvm::interleaveComma(values, os, [&](Value v) { os << elementType(v); });
  return out;
}

// Extents and counts in attributes beyond 2^40 are refused everywhere, so sums and products of a few stay in
// range.
bool positive(ArrayRef<int64_t> values, int64_t n) {
  return static_cast<int64_t>(values.size()) == n &&
         llvm::all_of(values, [](int64_t v) { return v > 0 && v < maxElements; });
}

bool nonNegative(ArrayRef<int64_t> values, int64_t n) {
  return static_cast<int64_t>(values.size()) == n && shapeOk(values);
}

bool shapeOk(ArrayRef<int64_t> values) {
  return llvm::all_of(values, [](int64_t v) { return v >= 0 && v < maxElements; });
}

bool axesOk(ArrayRef<int64_t> axes, int64_t rank) {
  llvm::SmallVector<bool> seen(rank, false);
  for (int64_t a : axes) {
    if (!axisOk(a, rank) || seen[normalizeAxis(a, rank)])
      return false;
    seen[normalizeAxis(a, rank)] = true;
  }
  return true;
}

bool isPermutation(ArrayRef<int64_t> axes, int64_t rank) {
  return static_cast<int64_t>(axes.size()) == rank && axesOk(axes, rank);
}

bool isLayout(StringRef layout, StringRef letters) {
  std::string a = layout.str(), b = letters.str();
  llvm::sort(a);
  llvm::sort(b);
  return a == b && std::unique(a.begin(), a.end()) == a.end();
}

bool oneOf(StringRef value, std::initializer_list<StringRef> allowed) {
  return llvm::is_contained(allowed, value);
}

static std::optional<llvm::SmallVector<int64_t>> broadcastAll(ArrayRef<Value> values) {
  std::optional<llvm::SmallVector<int64_t>> shape = llvm::SmallVector<int64_t>();
  for (Value v : values)
    if (shape)
      shape = broadcastShapes(*shape, shapeOf(v));
  return shape;
}

bool broadcastable(ArrayRef<Value> values) {
  return broadcastAll(values).has_value();
}

bool broadcastsTo(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  auto shape = broadcastShapes(from, to);
  return shape && ArrayRef<int64_t>(*shape) == to;
}

bool padFits(ArrayRef<int64_t> shape, ArrayRef<int64_t> pads, StringRef mode) {
  if (pads.size() != 2 * shape.size())
    return true; // another constraint's finding
  for (size_t i = 0; i < pads.size(); ++i) {
    int64_t extent = shape[i / 2];
    if (pads[i] < 0 || pads[i] >= maxElements)
      return false;
    if (pads[i] > 0 && ((mode == "edge" && extent < 1) || (mode == "reflect" && pads[i] >= extent)))
      return false;
  }
  return true;
}

bool sameExceptAxis(Values values, int64_t axis) {
  if (values.empty() || !axisOk(axis, rank(values.front())))
    return true;
  axis = normalizeAxis(axis, rank(values.front()));
  for (Value v : values) {
    if (rank(v) != rank(values.front()))
      return false;
    for (int64_t i = 0; i < rank(v); ++i)
      if (i != axis && dim(v, i) != dim(values.front(), i))
        return false;
  }
  return true;
}

bool sameShape(Values values) {
  return llvm::all_of(values, [&](Value v) { return shapeOf(v) == shapeOf(values.front()); });
}

bool sameElementType(Values values) {
  return llvm::all_of(values, [&](Value v) { return elementType(v) == elementType(values.front()); });
}

mlir::InFlightDiagnostic InferContext::fail(int number, StringRef text) {
  failed = true;
  return mlir::emitError(loc) << "'" << op << "' op (C" << number << ") " << text;
}

bool InferContext::checkOperands(mlir::ValueRange operands, unsigned fixed, bool variadic) {
  if (operands.size() < fixed || (!variadic && operands.size() != fixed)) {
    mlir::emitError(loc) << "'" << op << "' op needs " << (variadic ? "at least " : "") << fixed
                         << " inputs, got " << operands.size();
    return false;
  }
  bool ok = true;
  for (auto [i, v] : llvm::enumerate(operands))
    if (!isRelayTensor(v.getType())) {
      mlir::emitError(loc) << "'" << op << "' op input " << i << " must be a static tensor, got "
                           << v.getType();
      ok = false;
    }
  return ok;
}

LogicalResult InferContext::add(ArrayRef<int64_t> shape, Type type) {
  int64_t n = 1;
  for (int64_t d : shape)
    n = mulSat(n, d);
  if (n > maxElements || llvm::any_of(shape, [](int64_t d) { return d < 0 || d > maxElements; }))
    return mlir::emitError(loc) << "'" << op << "' op result is too large: shape " << str(shape);
  types.push_back(mlir::RankedTensorType::get(shape, type));
  return mlir::success();
}

LogicalResult InferContext::sameAs(std::initializer_list<Value> values) {
  for (Value v : values)
    if (mlir::failed(sameAs(v)))
      return mlir::failure();
  return mlir::success();
}

LogicalResult InferContext::broadcast(std::initializer_list<Value> values, Type type) {
  return add(*broadcastAll(values), type);
}

Type InferContext::dtype(StringRef name, Value like) {
  if (auto type = dtypeFromName({name.data(), name.size()}))
    return elementTypeFor(context, *type);
  return elementType(like);
}

llvm::SmallVector<int64_t> sliceShape(ArrayRef<Slice> slices) {
  llvm::SmallVector<int64_t> shape;
  for (const Slice &s : slices)
    shape.push_back(s.size);
  return shape;
}

} // namespace infer

using llvm::ArrayRef;
using llvm::SmallVector;

std::optional<SmallVector<int64_t>> broadcastShapes(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  SmallVector<int64_t> out(a.begin(), a.end());
  size_t shift = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t &d = out[i + shift];
    if (d == 1)
      d = b[i];
    else if (b[i] != 1 && b[i] != d)
      return std::nullopt;
  }
  return out;
}

std::optional<SmallVector<int64_t>> resolveReshape(ArrayRef<int64_t> shape, ArrayRef<int64_t> codes,
                                                   bool allowZero) {
  SmallVector<int64_t> out;
  std::optional<size_t> inferred;
  size_t source = 0;
  auto next = [&]() -> int64_t { return source < shape.size() ? shape[source++] : -1; };
  for (size_t i = 0; i < codes.size(); ++i) {
    int64_t code = codes[i];
    if (code > 0 || (code == 0 && allowZero)) {
      out.push_back(code);
      ++source;
    } else if (code == 0) {
      if (source >= shape.size())
        return std::nullopt;
      out.push_back(next());
    } else if (code == -1) {
      if (inferred)
        return std::nullopt;
      inferred = out.size();
      out.push_back(1);
      ++source;
    } else if (code == -2) {
      while (source < shape.size())
        out.push_back(next());
    } else if (code == -3) {
      if (source + 1 >= shape.size())
        return std::nullopt;
      int64_t first = next();
      out.push_back(infer::mulSat(first, next()));
    } else if (code == -4) {
      if (source >= shape.size() || i + 2 >= codes.size())
        return std::nullopt;
      int64_t whole = next(), a = codes[++i], b = codes[++i];
      if (a == -1 && b > 0 && whole % b == 0)
        a = whole / b;
      else if (b == -1 && a > 0 && whole % a == 0)
        b = whole / a;
      if (a < 0 || b < 0 || infer::mulSat(a, b) != whole)
        return std::nullopt;
      out.push_back(a);
      out.push_back(b);
    } else {
      return std::nullopt;
    }
  }
  int64_t total = 1, known = 1;
  for (int64_t d : shape)
    total = infer::mulSat(total, d);
  for (int64_t d : out)
    known = infer::mulSat(known, d);
  if (inferred) {
    if (known == 0 || total % known != 0)
      return std::nullopt;
    out[*inferred] = total / known;
    known = total;
  }
  if (known != total)
    return std::nullopt;
  return out;
}

std::optional<SmallVector<Slice>> resolveSlices(ArrayRef<int64_t> shape, ArrayRef<int64_t> begin,
                                                ArrayRef<int64_t> end,
                                                std::optional<ArrayRef<int64_t>> strides,
                                                llvm::StringRef mode, std::optional<ArrayRef<int64_t>> axes) {
  int64_t rank = shape.size();
  size_t n = begin.size();
  // A single stride stands for all axes.
  if (end.size() != n || (strides && strides->size() != n && strides->size() != 1) ||
      (mode != "end" && mode != "size"))
    return std::nullopt;
  if (axes ? axes->size() != n || !infer::axesOk(*axes, rank) : static_cast<int64_t>(n) > rank)
    return std::nullopt;
  SmallVector<Slice> out;
  for (int64_t d : shape)
    out.push_back({0, d, 1});
  for (size_t i = 0; i < n; ++i) {
    int64_t axis = axes ? normalizeAxis((*axes)[i], rank) : i, extent = shape[axis];
    int64_t stride = mode == "size" || !strides || strides->empty() ? 1
                     : strides->size() == 1                         ? strides->front()
                                                                    : (*strides)[i];
    if (stride == 0 || stride == std::numeric_limits<int64_t>::min())
      return std::nullopt;
    int64_t first = begin[i] < 0 ? infer::addSat(begin[i], extent) : begin[i];
    int64_t last;
    if (mode == "size")
      last = end[i] < 0 ? extent : infer::addSat(first, end[i]);
    else
      last = end[i] < 0 ? infer::addSat(end[i], extent) : end[i];
    int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? extent : extent - 1;
    first = std::min(std::max(first, low), std::max(high, low));
    last = std::min(std::max(last, low), std::max(high, low));
    int64_t span = stride > 0 ? last - first : first - last, step = std::abs(stride);
    out[axis] = {first, span <= 0 ? 0 : (span - 1) / step + 1, stride};
  }
  return out;
}

std::optional<SmallVector<int64_t>> splitSizes(int64_t length, mlir::Attribute attribute) {
  SmallVector<int64_t> sizes;
  if (length < 0)
    return std::nullopt;
  if (auto sections = llvm::dyn_cast_if_present<mlir::IntegerAttr>(attribute)) {
    int64_t n = sections.getInt();
    if (n < 1 || n > 65536 || length % n != 0)
      return std::nullopt;
    sizes.assign(n, length / n);
    return sizes;
  }
  auto points = llvm::dyn_cast_if_present<mlir::DenseI64ArrayAttr>(attribute);
  if (!points)
    return std::nullopt;
  int64_t last = 0;
  for (int64_t p : points.asArrayRef()) {
    if (p < last || p > length)
      return std::nullopt;
    sizes.push_back(p - last);
    last = p;
  }
  sizes.push_back(length - last);
  return sizes;
}

SmallVector<bool> reducedAxes(int64_t rank, std::optional<ArrayRef<int64_t>> axes, bool exclude) {
  bool all = !axes || axes->empty();
  SmallVector<bool> mask(rank, all);
  if (!all)
    for (int64_t a : *axes)
      mask[normalizeAxis(a, rank)] = true;
  if (exclude && !all)
    for (bool &m : mask)
      m = !m;
  return mask;
}

int axisOf(llvm::StringRef layout, char letter) {
  size_t at = layout.find(letter);
  return at == llvm::StringRef::npos ? -1 : static_cast<int>(at);
}

SmallVector<int64_t> layoutPermutation(llvm::StringRef source, llvm::StringRef target) {
  SmallVector<int64_t> out;
  if (!infer::isLayout(target, source))
    return out;
  for (char letter : target)
    out.push_back(axisOf(source, letter));
  return out;
}

} // namespace tensorturbo::relay
