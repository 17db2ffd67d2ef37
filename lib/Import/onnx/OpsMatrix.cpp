// Matrix products.
#include "Import/onnx/Converter.h"

using namespace tensorturbo;
using namespace tensorturbo::onnx;

namespace {

mlir::Value swapLast(OpContext &c, mlir::Value v) {
  auto rank = static_cast<int64_t>(shapeOf(v).size());
  std::vector<int64_t> permutation;
  for (int64_t i = 0; i < rank; ++i)
    permutation.push_back(i);
  std::swap(permutation[static_cast<size_t>(rank - 1)], permutation[static_cast<size_t>(rank - 2)]);
  return c.transpose(v, permutation);
}

void convertGemm(OpContext &c) {
  double alpha = c.attrFloat("alpha", 1), beta = c.attrFloat("beta", 1);
  bool transA = c.attrBool("transA", false), transB = c.attrBool("transB", false);
  if (c.rank(0) != 2 || c.rank(1) != 2)
    c.fail("both matrices must have rank 2, but have shapes " + shapeText(c.shape(0)) + " and " +
           shapeText(c.shape(1)));
  if (!isFloat(c.dtype(0)) && (alpha != 1 || beta != 1))
    c.fail("integer matrices need alpha and beta of 1");
  mlir::Value a = transA ? swapLast(c, c.value(0)) : c.value(0);
  mlir::Value weight = transB ? c.value(1) : swapLast(c, c.value(1));
  mlir::Value result = c.emit("nn.dense", {a, weight}, {c.integer("units", shapeOf(weight)[0])});
  if (alpha != 1)
    result = c.multiply(result, c.scalar(alpha, c.dtype(0)));
  if (c.has(2)) {
    Shape shape = shapeOf(result);
    std::optional<Shape> sum = broadcastShapes(shape, c.shape(2));
    if (!sum || *sum != shape)
      c.fail("C of shape " + shapeText(c.shape(2)) + " does not broadcast to " + shapeText(shape));
    mlir::Value bias = c.value(2);
    if (beta != 1)
      bias = c.multiply(bias, c.scalar(beta, c.dtype(0)));
    bool isRow = product(c.shape(2)) == shape[1] && !c.shape(2).empty() && c.shape(2).back() == shape[1];
    result = isRow ? c.emit("nn.bias_add", {result, c.reshape(bias, {shape[1]})}, {c.integer("axis", 1)})
                   : c.add(result, bias);
  }
  c.setOutput(0, result);
}

/// NumPy's matmul.
mlir::Value matmul(OpContext &c, mlir::Value a, mlir::Value b) {
  Shape sa = shapeOf(a), sb = shapeOf(b);
  if (sa.empty() || sb.empty())
    c.fail("the inputs must not be scalars, but have shapes " + shapeText(sa) + " and " + shapeText(sb));
  int64_t ka = sa.back(), kb = sb.size() == 1 ? sb[0] : sb[sb.size() - 2];
  if (ka != kb)
    c.fail("the inner dimensions of " + shapeText(sa) + " and " + shapeText(sb) + " differ");
  if (sb.size() <= 2) {
    bool vector = sb.size() == 1;
    mlir::Value weight = vector ? c.reshape(b, {1, sb[0]}) : swapLast(c, b);
    mlir::Value result = c.emit("nn.dense", {a, weight}, {c.integer("units", shapeOf(weight)[0])});
    return vector ? c.reshape(result, Shape(sa.begin(), sa.end() - 1)) : result;
  }
  Shape batchA(sa.begin(), sa.size() >= 2 ? sa.end() - 2 : sa.begin()), batchB(sb.begin(), sb.end() - 2);
  std::optional<Shape> batch = broadcastShapes(batchA, batchB);
  if (!batch)
    c.fail("the batch dimensions of " + shapeText(sa) + " and " + shapeText(sb) + " do not broadcast");
  int64_t m = sa.size() >= 2 ? sa[sa.size() - 2] : 1, n = sb.back(), count = product(*batch);
  // A batch of 1 is repeated by batch_matmul itself; others are made equal first.
  auto flatten = [&](mlir::Value v, const Shape &own, int64_t rows, int64_t columns) {
    if (product(own) != 1 && own != *batch) {
      Shape full = *batch;
      full.insert(full.end(), {rows, columns});
      Shape same = own;
      same.insert(same.end(), {rows, columns});
      v = c.broadcast(c.reshape(v, same), full);
      return c.reshape(v, {count, rows, columns});
    }
    return c.reshape(v, {product(own), rows, columns});
  };
  mlir::Value result = c.emit("nn.batch_matmul", {flatten(a, batchA, m, ka), flatten(b, batchB, kb, n)},
                              {c.flag("transpose_a", false), c.flag("transpose_b", false)});
  Shape shape = *batch;
  if (sa.size() >= 2)
    shape.push_back(m);
  shape.push_back(n);
  return c.reshape(result, shape);
}

void convertMatMul(OpContext &c) {
  c.setOutput(0, matmul(c, c.value(0), c.value(1)));
}

/// Einsum of one or two operands without repeated labels in an operand.
struct EinsumTerm {
  std::string labels;
  mlir::Value value;
};

EinsumTerm permuted(OpContext &c, const EinsumTerm &term, const std::string &wanted) {
  std::vector<int64_t> permutation;
  for (char label : wanted)
    permutation.push_back(static_cast<int64_t>(term.labels.find(label)));
  return {wanted, c.transpose(term.value, permutation)};
}

/// Sums over the labels of `term` that are neither in `keep`.
EinsumTerm reduced(OpContext &c, const EinsumTerm &term, const std::string &keep) {
  std::vector<int64_t> axes;
  std::string rest;
  for (size_t i = 0; i < term.labels.size(); ++i)
    if (keep.find(term.labels[i]) == std::string::npos)
      axes.push_back(static_cast<int64_t>(i));
    else
      rest += term.labels[i];
  if (axes.empty())
    return term;
  return {rest, c.emit("sum", {term.value}, {c.ints("axis", axes), c.flag("keepdims", false)})};
}

void convertEinsum(OpContext &c) {
  std::string equation = c.attrString("equation", ""), compact;
  for (char ch : equation)
    if (ch != ' ')
      compact += ch;
  auto refuse = [&](const char *why) {
    c.fail("equation " + quoteForMessage(equation) + " " + why + ", which is not supported");
  };
  size_t arrow = compact.find("->");
  if (arrow == std::string::npos)
    refuse("has no '->'");
  std::string output = compact.substr(arrow + 2), left = compact.substr(0, arrow);
  std::vector<EinsumTerm> terms;
  for (size_t i = 0, at = 0; at <= left.size(); ++i) {
    size_t comma = std::min(left.find(',', at), left.size());
    std::string labels = left.substr(at, comma - at);
    at = comma + 1;
    if (i >= c.inputCount() || static_cast<int64_t>(labels.size()) != c.rank(i))
      c.fail("equation " + quoteForMessage(equation) + " does not fit the inputs");
    terms.push_back({labels, c.value(i)});
  }
  if (terms.size() != c.inputCount())
    c.fail("equation " + quoteForMessage(equation) + " does not fit the inputs");
  if (terms.size() > 2)
    refuse("has more than two operands");
  std::map<char, int64_t> extents;
  auto check = [&](const std::string &labels) {
    std::set<char> seen;
    for (char l : labels)
      if (!isalpha(static_cast<unsigned char>(l)))
        refuse("has labels that are no letters");
      else if (!seen.insert(l).second)
        refuse("repeats a label in one operand");
  };
  for (const EinsumTerm &t : terms) {
    check(t.labels);
    Shape shape = shapeOf(t.value);
    for (size_t i = 0; i < shape.size(); ++i)
      if (auto [it, added] = extents.emplace(t.labels[i], shape[i]); !added && it->second != shape[i])
        c.fail("label " + std::string(1, t.labels[i]) + " of equation " + quoteForMessage(equation) +
               " has the extents " + std::to_string(it->second) + " and " + std::to_string(shape[i]));
  }
  check(output);
  for (char l : output)
    if (!extents.count(l))
      refuse("has a label on the right that is not on the left");
  if (terms.size() == 1) {
    EinsumTerm result = permuted(c, reduced(c, terms[0], output), output);
    return c.setOutput(0, result.value == c.value(0) ? c.emit("copy", {result.value}) : result.value);
  }
  EinsumTerm a = reduced(c, terms[0], output + terms[1].labels),
             b = reduced(c, terms[1], output + terms[0].labels);
  std::string batch, rows, columns, inner;
  for (char l : a.labels)
    (b.labels.find(l) == std::string::npos ? rows : output.find(l) == std::string::npos ? inner : batch) += l;
  for (char l : b.labels)
    if (a.labels.find(l) == std::string::npos)
      columns += l;
  auto size = [&](const std::string &labels) {
    int64_t n = 1;
    for (char l : labels)
      n *= extents[l];
    return n;
  };
  mlir::Value ma =
      c.reshape(permuted(c, a, batch + rows + inner).value, {size(batch), size(rows), size(inner)});
  mlir::Value mb =
      c.reshape(permuted(c, b, batch + inner + columns).value, {size(batch), size(inner), size(columns)});
  mlir::Value result =
      c.emit("nn.batch_matmul", {ma, mb}, {c.flag("transpose_a", false), c.flag("transpose_b", false)});
  Shape shape;
  for (char l : batch + rows + columns)
    shape.push_back(extents[l]);
  c.setOutput(0, permuted(c, {batch + rows + columns, c.reshape(result, shape)}, output).value);
}

} // namespace

void onnx::addMatrixOps(OpTable &table) {
  table.push_back({"Einsum", 1, -1, convertEinsum, 12});
  table.push_back({"Gemm", 2, 3, convertGemm});
  table.push_back({"MatMul", 2, 2, convertMatMul});
}
