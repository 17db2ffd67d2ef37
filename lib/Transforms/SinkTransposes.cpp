// Patterns that move a transpose behind the operator that follows it: op(T(x)) = T(op'(x)).
//
// T has permutation p: dimension i of T(x) is dimension p[i] of x, so axis a of T(x) is axis p[a] of x. A
// pattern never makes a transpose of a computed tensor that was not there before, so sinking ends.
#include "Transforms/SimplifyPatterns.h"
#include <algorithm>
#include <numeric>

namespace tensorturbo::relay {
namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::success;
using Ints = SmallVector<int64_t>;

/// The transpose that makes `v`, if its elements really change places.
TransposeOp transposeOf(Value v) {
  return v.getDefiningOp<TransposeOp>();
}

mlir::NamedAttribute intAttr(mlir::OpBuilder &b, llvm::StringRef name, int64_t value) {
  return b.getNamedAttr(name, b.getI64IntegerAttr(value));
}
mlir::NamedAttribute intsAttr(mlir::OpBuilder &b, llvm::StringRef name, ArrayRef<int64_t> values) {
  return b.getNamedAttr(name, b.getDenseI64ArrayAttr(values));
}

/// Builds op' and puts the transpose behind each of its results.
LogicalResult finish(PatternRewriter &rewriter, Operation *op, mlir::ValueRange operands,
                     ArrayRef<mlir::NamedAttribute> changed, ArrayRef<int64_t> permutation) {
  if (llvm::is_contained(operands, Value()))
    return failure();
  Operation *made = rebuild(rewriter, op, operands, changed);
  if (!made)
    return failure();
  SmallVector<Value> results;
  for (Value r : made->getResults()) {
    Value back = isIdentity(permutation) ? r : buildTranspose(rewriter, op->getLoc(), r, permutation);
    if (!back)
      return failure();
    results.push_back(back);
  }
  rewriter.replaceOp(op, results);
  return success();
}

/// `v`, which broadcasts against T's result, as it broadcasts against T's operand. Null if that needs a
/// transpose of a computed tensor.
Value untransposed(mlir::OpBuilder &b, Value v, ArrayRef<int64_t> permutation) {
  Ints shape(shapeOf(v));
  if (llvm::all_of(shape, [](int64_t d) { return d == 1; }) && shape.size() < permutation.size())
    return v;
  if (shape.size() > permutation.size())
    return {};
  shape.insert(shape.begin(), permutation.size() - shape.size(), 1);
  Ints back = inverse(permutation), result;
  for (int64_t axis : back)
    result.push_back(shape[axis]);
  if (keepsOrder(back, shape)) {
    Value reshaped = buildReshape(b, v.getLoc(), v, result);
    return reshaped ? foldNow(b, reshaped) : reshaped;
  }
  if (!v.getDefiningOp<ConstantOp>())
    return {};
  Value expanded = foldNow(b, buildReshape(b, v.getLoc(), v, shape));
  return foldNow(b, buildTranspose(b, v.getLoc(), expanded, back));
}

/// Element-wise operators with any number of operands that broadcast.
struct SinkElementwise : mlir::RewritePattern {
  SinkElementwise(mlir::MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 1, c) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!op->hasTrait<ElementwiseUnary>() && !op->hasTrait<ElementwiseBinary>() && !llvm::isa<WhereOp>(op))
      return failure();
    TransposeOp transpose;
    size_t rank = shapeOf(op->getResult(0)).size();
    for (Value v : op->getOperands())
      if (TransposeOp t = transposeOf(v); t && !transpose && shapeOf(v).size() == rank)
        transpose = t;
    if (!transpose)
      return failure();
    Ints permutation = permutationOf(transpose);
    SmallVector<Value> operands;
    for (Value v : op->getOperands()) {
      TransposeOp t = transposeOf(v);
      operands.push_back(t && permutationOf(t) == permutation ? t.getData()
                                                              : untransposed(rewriter, v, permutation));
      if (!operands.back())
        return failure();
    }
    return finish(rewriter, op, operands, {}, permutation);
  }
};

/// Operators that treat one axis specially and keep the shape.
struct SinkAxis : mlir::RewritePattern {
  SinkAxis(mlir::MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 1, c) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!llvm::isa<BiasAddOp, PreluOp, SoftmaxOp, LogSoftmaxOp, LrnOp, InstanceNormOp, LayerNormOp,
                   GroupNormOp, ReverseOp, CumsumOp, CumprodOp, SortOp, ArgsortOp, TopkOp, SplitOp>(op))
      return failure();
    TransposeOp transpose = transposeOf(op->getOperand(0));
    auto axis = op->getAttrOfType<mlir::IntegerAttr>("axis");
    if (!transpose || !axis)
      return failure();
    Ints permutation = permutationOf(transpose);
    SmallVector<Value> operands(op->getOperands());
    operands[0] = transpose.getData();
    int64_t at = permutation[normalizeAxis(axis.getInt(), permutation.size())];
    return finish(rewriter, op, operands, intAttr(rewriter, "axis", at), permutation);
  }
};

struct SinkConcatenate : mlir::OpRewritePattern<ConcatenateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatenateOp op, PatternRewriter &rewriter) const override {
    // The permutation that most inputs have; the others must not need a transpose, or be fewer.
    TransposeOp first;
    for (Value v : op.getData())
      if (!first)
        first = transposeOf(v);
    if (!first)
      return failure();
    Ints permutation = permutationOf(first);
    size_t matching = llvm::count_if(op.getData(), [&](Value v) {
      TransposeOp t = transposeOf(v);
      return t && permutationOf(t) == permutation;
    });
    SmallVector<Value> operands;
    for (Value v : op.getData()) {
      TransposeOp t = transposeOf(v);
      if (t && permutationOf(t) == permutation)
        operands.push_back(t.getData());
      else if (keepsOrder(inverse(permutation), shapeOf(v)) || v.getDefiningOp<ConstantOp>())
        operands.push_back(untransposed(rewriter, v, permutation));
      else if (2 * matching > op.getData().size())
        operands.push_back(buildTranspose(rewriter, op.getLoc(), v, inverse(permutation)));
      else
        return failure();
    }
    int64_t axis = permutation[normalizeAxis(op.getAxis(), permutation.size())];
    return finish(rewriter, op, operands, intAttr(rewriter, "axis", axis), permutation);
  }
};

struct SinkPad : mlir::OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PadOp op, PatternRewriter &rewriter) const override {
    TransposeOp transpose = transposeOf(op.getData());
    if (!transpose)
      return failure();
    Ints permutation = permutationOf(transpose), width(op.getPadWidth().size());
    for (auto [i, axis] : llvm::enumerate(permutation)) {
      width[2 * axis] = op.getPadWidth()[2 * i];
      width[2 * axis + 1] = op.getPadWidth()[2 * i + 1];
    }
    return finish(rewriter, op, {transpose.getData(), op.getPadVal()}, intsAttr(rewriter, "pad_width", width),
                  permutation);
  }
};

struct SinkSlice : mlir::OpRewritePattern<StridedSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(StridedSliceOp op, PatternRewriter &rewriter) const override {
    TransposeOp transpose = transposeOf(op.getData());
    if (!transpose)
      return failure();
    Ints permutation = permutationOf(transpose), axes;
    for (size_t i = 0; i < op.getBegin().size(); ++i)
      axes.push_back(permutation[op.getAxes() ? normalizeAxis((*op.getAxes())[i], permutation.size()) : i]);
    return finish(rewriter, op, transpose.getData(), intsAttr(rewriter, "axes", axes), permutation);
  }
};

struct SinkL2Normalize : mlir::OpRewritePattern<L2NormalizeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(L2NormalizeOp op, PatternRewriter &rewriter) const override {
    TransposeOp transpose = transposeOf(op.getData());
    if (!transpose)
      return failure();
    Ints permutation = permutationOf(transpose), axes;
    for (int64_t a : op.getAxis())
      axes.push_back(permutation[normalizeAxis(a, permutation.size())]);
    return finish(rewriter, op, transpose.getData(), intsAttr(rewriter, "axis", axes), permutation);
  }
};

/// Reductions: the transpose of what is left. Only those that do not care in which order they meet elements.
template <typename Op> struct SinkReduce : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    TransposeOp transpose = transposeOf(op.getData());
    if (!transpose)
      return failure();
    Ints permutation = permutationOf(transpose), axes, left;
    SmallVector<bool> mask = reducedAxes(permutation.size(), op.getAxis(), op.getExclude()), own(mask.size());
    for (auto [i, reduced] : llvm::enumerate(mask))
      if (reduced) {
        axes.push_back(permutation[i]);
        own[permutation[i]] = true;
      }
    llvm::sort(axes);
    if (op.getKeepdims()) {
      left = permutation;
    } else {
      // Numbers of the dimensions that stay, among themselves.
      Ints number(own.size(), 0);
      for (size_t d = 0, n = 0; d < own.size(); ++d)
        number[d] = own[d] ? -1 : static_cast<int64_t>(n++);
      for (auto [i, reduced] : llvm::enumerate(mask))
        if (!reduced)
          left.push_back(number[permutation[i]]);
    }
    // An empty list means all axes, whatever `exclude` says.
    if (axes.empty())
      return failure();
    return finish(
        rewriter, op, transpose.getData(),
        {intsAttr(rewriter, "axis", axes), rewriter.getNamedAttr("exclude", rewriter.getBoolAttr(false))},
        left);
  }
};

/// Dimensions of a reshape that belong together: in[i0, i1) has as many elements as out[o0, o1), and nothing
/// smaller.
struct ReshapeGroup {
  int64_t in0, in1, out0, out1;
};
SmallVector<ReshapeGroup> reshapeGroups(ArrayRef<int64_t> in, ArrayRef<int64_t> out) {
  SmallVector<ReshapeGroup> groups;
  size_t i = 0, o = 0;
  while (i < in.size() || o < out.size()) {
    ReshapeGroup g{static_cast<int64_t>(i), 0, static_cast<int64_t>(o), 0};
    int64_t a = i < in.size() ? in[i++] : 1, b = o < out.size() ? out[o++] : 1;
    while (a != b) {
      if (a < b && i < in.size())
        a *= in[i++];
      else if (o < out.size())
        b *= out[o++];
      else
        break;
    }
    g.in1 = i;
    g.out1 = o;
    groups.push_back(g);
  }
  return groups;
}

/// reshape(T(x)) where dimensions that are joined are neighbours in x too, or can be made so by a smaller
/// transpose.
struct SinkReshape : mlir::RewritePattern {
  SinkReshape(mlir::MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 1, c) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!llvm::isa<ReshapeOp, SqueezeOp, ExpandDimsOp, BatchFlattenOp>(op))
      return failure();
    TransposeOp transpose = transposeOf(op->getOperand(0));
    ArrayRef<int64_t> in = shapeOf(op->getOperand(0)), out = shapeOf(op->getResult(0));
    if (!transpose || llvm::is_contained(in, 0))
      return failure();
    Ints permutation = permutationOf(transpose);
    SmallVector<ReshapeGroup> groups = reshapeGroups(in, out);
    // Groups in the order in which x has their dimensions. Lengths of 1 could be anywhere; they stay where
    // they are.
    SmallVector<int64_t> places;
    for (const ReshapeGroup &g : groups) {
      int64_t first = std::numeric_limits<int64_t>::max(), any = first;
      for (int64_t i = g.in0; i < g.in1; ++i) {
        any = std::min(any, permutation[i]);
        if (in[i] != 1)
          first = std::min(first, permutation[i]);
      }
      bool ones = first == std::numeric_limits<int64_t>::max();
      bool outOnly = g.in0 == g.in1;
      places.push_back(!ones ? first : !outOnly ? any : places.empty() ? -1 : places.back());
    }
    SmallVector<size_t> order(groups.size());
    std::iota(order.begin(), order.end(), 0);
    llvm::sort(order, [&](size_t a, size_t b) {
      return std::make_pair(places[a], a) < std::make_pair(places[b], b);
    });

    Ints inner, shape, position(out.size());
    for (size_t g : order) {
      for (int64_t i = groups[g].in0; i < groups[g].in1; ++i)
        inner.push_back(permutation[i]);
      for (int64_t o = groups[g].out0; o < groups[g].out1; ++o) {
        position[o] = shape.size();
        shape.push_back(out[o]);
      }
    }
    // Nothing would sink: the whole transpose would stay in front of the reshape.
    if (isIdentity(position))
      return failure();
    Value x = transpose.getData();
    if (!keepsOrder(inner, shapeOf(x)))
      x = buildTranspose(rewriter, op->getLoc(), x, inner);
    Value reshaped = x ? buildReshape(rewriter, op->getLoc(), x, shape) : Value();
    Value back = reshaped ? buildTranspose(rewriter, op->getLoc(), reshaped, position) : Value();
    if (!back)
      return failure();
    rewriter.replaceOp(op, back);
    return success();
  }
};

/// A dense layer on flattened images: the rows of its weight in the other order instead of the images.
template <typename Op> struct PermuteWeights : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Value data = op->getOperand(0), weight = op->getOperand(1);
    Operation *flatten = data.getDefiningOp();
    if (!llvm::isa_and_present<ReshapeOp, SqueezeOp, BatchFlattenOp>(flatten) ||
        !weight.template getDefiningOp<ConstantOp>())
      return failure();
    TransposeOp transpose = transposeOf(flatten->getOperand(0));
    if (!transpose || shapeOf(data).size() != 2)
      return failure();
    Ints permutation = permutationOf(transpose);
    ArrayRef<int64_t> images = shapeOf(flatten->getOperand(0));
    if (permutation.size() < 2 || permutation[0] != 0 || images[0] != shapeOf(data)[0])
      return failure();
    bool rows = std::is_same_v<Op, DenseOp>;
    if constexpr (std::is_same_v<Op, MatmulOp>) {
      if (op.getTransposeA())
        return failure();
      rows = op.getTransposeB();
    }
    // The weight's k axis as the dimensions of T's result, then in x's order.
    int64_t k = rows ? 1 : 0, other = shapeOf(weight)[1 - k];
    Ints shape(images.drop_front()), order;
    int64_t shift = rows ? 1 : 0;
    for (int64_t axis : ArrayRef<int64_t>(inverse(permutation)).drop_front())
      order.push_back(axis - 1 + shift);
    if (rows) {
      shape.insert(shape.begin(), other);
      order.insert(order.begin(), 0);
    } else {
      order.push_back(shape.size());
      shape.push_back(other);
    }
    Value w = foldNow(rewriter, buildReshape(rewriter, weight.getLoc(), weight, shape));
    w = foldNow(rewriter, buildTranspose(rewriter, weight.getLoc(), w, order));
    w = foldNow(rewriter, buildReshape(rewriter, weight.getLoc(), w, shapeOf(weight)));
    Value flat = buildReshape(rewriter, flatten->getLoc(), transpose.getData(), shapeOf(data));
    Operation *made = flat && w ? rebuild(rewriter, op, {flat, w}) : nullptr;
    if (!made)
      return failure();
    rewriter.replaceOp(op, made);
    return success();
  }
};

} // namespace

void populateSinkPatterns(mlir::RewritePatternSet &patterns) {
  patterns.add<SinkElementwise, SinkAxis, SinkConcatenate, SinkPad, SinkSlice, SinkL2Normalize,
               SinkReduce<SumOp>, SinkReduce<MeanOp>, SinkReduce<MaxOp>, SinkReduce<MinOp>,
               SinkReduce<ProdOp>, SinkReduce<AllOp>, SinkReduce<AnyOp>, SinkReduce<LogSumExpOp>, SinkReshape,
               PermuteWeights<DenseOp>, PermuteWeights<MatmulOp>>(patterns.getContext());
}

} // namespace tensorturbo::relay
