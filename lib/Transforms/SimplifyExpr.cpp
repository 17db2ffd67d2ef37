// Algebraic clean-up that does not change a bit of the results.
//
//   %0 = relay.transpose %x {axes = array<i64: 0, 2, 3, 1>}
//   %1 = relay.transpose %0 {axes = array<i64: 0, 3, 1, 2>}
//   %2 = relay.reshape %1 {newshape = array<i64: 1, 12>}
//   %3 = relay.reshape %2 {newshape = array<i64: 3, 4>}
// becomes
//   %3 = relay.reshape %x {newshape = array<i64: 3, 4>}
#include "Transforms/SimplifyPatterns.h"
#include <limits>

namespace tensorturbo::relay {
namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::success;

bool isReshapeLike(Operation *op) {
  return llvm::isa_and_present<ReshapeOp, SqueezeOp, ExpandDimsOp, BatchFlattenOp>(op);
}

/// Ops whose result is their operand.
bool doesNothing(Operation *op) {
  if (op->getNumResults() == 0 || op->getNumOperands() == 0)
    return false;
  bool sameType = op->getResult(0).getType() == op->getOperand(0).getType();
  if (llvm::isa<CopyOp>(op))
    return true;
  if (!sameType)
    return false;
  if (isReshapeLike(op))
    return true;
  if (auto transpose = llvm::dyn_cast<TransposeOp>(op))
    return isIdentity(permutationOf(transpose));
  if (auto layout = llvm::dyn_cast<LayoutTransformOp>(op))
    return layout.getSrcLayout() == layout.getDstLayout();
  if (auto concat = llvm::dyn_cast<ConcatenateOp>(op))
    return concat.getData().size() == 1;
  if (auto slice = llvm::dyn_cast<StridedSliceOp>(op)) {
    auto slices = resolveSlices(shapeOf(slice.getData()), slice.getBegin(), slice.getEnd(),
                                slice.getStrides(), slice.getSliceMode(), slice.getAxes());
    return slices && llvm::all_of(*slices, [](const Slice &s) { return s.stride == 1; });
  }
  if (auto clip = llvm::dyn_cast<ClipOp>(op))
    return isFloat(*dtypeOf(elementType(clip.getData()))) &&
           clip.getAMin() == -std::numeric_limits<double>::infinity() &&
           clip.getAMax() == std::numeric_limits<double>::infinity();
  if (auto split = llvm::dyn_cast<SplitOp>(op))
    return split.getNumResults() == 1;
  if (auto scale = llvm::dyn_cast<UpsamplingOp>(op))
    return scale.getScaleH() == 1 && scale.getScaleW() == 1;
  return llvm::isa<CastOp, BroadcastToOp, TileOp, RepeatOp, PadOp>(op);
}

struct RemoveNothing : mlir::RewritePattern {
  RemoveNothing(mlir::MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 2, c) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!llvm::isa_and_present<RelayDialect>(op->getDialect()) || op->use_empty() || !doesNothing(op))
      return failure();
    return replaceByOperand(rewriter, op, op->getOperand(0));
  }
};

/// reshape(reshape(x)), with squeeze, expand_dims and batch_flatten as reshapes.
struct JoinReshapes : mlir::RewritePattern {
  JoinReshapes(mlir::MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 1, c) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isReshapeLike(op))
      return failure();
    Operation *inner = op->getOperand(0).getDefiningOp();
    if (!isReshapeLike(inner))
      return failure();
    Value joined = buildReshape(rewriter, op->getLoc(), inner->getOperand(0), shapeOf(op->getResult(0)));
    if (!joined)
      return failure();
    copyDiscardable(op, joined);
    rewriter.replaceOp(op, joined);
    return success();
  }
};

struct JoinTransposes : mlir::OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    SmallVector<int64_t> outer = permutationOf(op);
    Value data = op.getData();
    if (keepsOrder(outer, shapeOf(data)) && !isIdentity(outer)) {
      Value reshape = buildReshape(rewriter, op.getLoc(), data, shapeOf(op.getResult()));
      copyDiscardable(op, reshape);
      rewriter.replaceOp(op, reshape);
      return success();
    }
    auto inner = data.getDefiningOp<TransposeOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> first = permutationOf(inner), joined;
    for (int64_t axis : outer)
      joined.push_back(first[axis]);
    Value made = buildTranspose(rewriter, op.getLoc(), inner.getData(), joined);
    copyDiscardable(op, made);
    rewriter.replaceOp(op, made);
    return success();
  }
};

/// Whether every value of `from` is a value of `to`.
bool isLossless(DType from, DType to) {
  if (from == to || from == DType::Bool)
    return true;
  if (isFloat(from) || isFloat(to))
    return (from == DType::Float16 || from == DType::BFloat16)
               ? to == DType::Float32 || to == DType::Float64
               : from == DType::Float32 && to == DType::Float64;
  bool fromUnsigned = from >= DType::UInt8, toUnsigned = to >= DType::UInt8;
  return fromUnsigned == toUnsigned ? dtypeSize(from) <= dtypeSize(to)
                                    : fromUnsigned && dtypeSize(from) < dtypeSize(to);
}

struct JoinCasts : mlir::OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getData().getDefiningOp<CastOp>();
    if (!inner ||
        !isLossless(*dtypeOf(elementType(inner.getData())), *dtypeOf(elementType(inner.getResult()))))
      return failure();
    Operation *made = rebuild(rewriter, op, inner.getData());
    if (!made)
      return failure();
    rewriter.replaceOp(op, made);
    return success();
  }
};

/// Whether every element of a float constant of moderate size is `value`.
bool isAll(Value v, double value) {
  if (elementCount(shapeOf(v).vec()) > (1 << 16))
    return false;
  auto values = floatsOf(v);
  return values && !values->empty() && llvm::all_of(*values, [&](double x) { return x == value; });
}

/// x + 0, x - 0, x * 1, x / 1.
struct RemoveNeutral : mlir::RewritePattern {
  RemoveNeutral(mlir::MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 1, c) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    bool sum = llvm::isa<AddOp>(op), product = llvm::isa<MultiplyOp>(op);
    bool right = llvm::isa<SubtractOp, DivideOp>(op);
    if (!sum && !product && !right)
      return failure();
    double neutral = sum || llvm::isa<SubtractOp>(op) ? 0 : 1;
    for (int i : {1, 0}) {
      if (i == 0 && right)
        break;
      Value other = op->getOperand(1 - i);
      if (other.getType() == op->getResult(0).getType() && isAll(op->getOperand(i), neutral))
        return replaceByOperand(rewriter, op, other);
    }
    return failure();
  }
};

/// maximum(x, 0) is relu; minimum(relu(x), c) and clip(relu(x)) are one clip.
struct RecogniseRelu : mlir::OpRewritePattern<MaximumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MaximumOp op, PatternRewriter &rewriter) const override {
    for (int i : {1, 0}) {
      Value x = op->getOperand(1 - i);
      if (x.getType() != op.getResult().getType() || !isAll(op->getOperand(i), 0))
        continue;
      Value relu = build(rewriter, op.getLoc(), "nn.relu", x);
      copyDiscardable(op, relu);
      rewriter.replaceOp(op, relu);
      return success();
    }
    return failure();
  }
};

struct RecogniseClip : mlir::OpRewritePattern<MinimumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MinimumOp op, PatternRewriter &rewriter) const override {
    auto relu = op.getLhs().getDefiningOp<ReluOp>();
    auto limit = scalarOf(op.getRhs());
    if (!relu || !relu->hasOneUse() || !limit || !(*limit >= 0) || relu.getType() != op.getResult().getType())
      return failure();
    Value clip = build(rewriter, rewriter.getFusedLoc({relu.getLoc(), op.getLoc()}), "clip", relu.getData(),
                       {rewriter.getNamedAttr("a_min", rewriter.getF64FloatAttr(0)),
                        rewriter.getNamedAttr("a_max", rewriter.getF64FloatAttr(*limit))});
    if (!clip)
      return failure();
    copyDiscardable(op, clip);
    rewriter.replaceOp(op, clip);
    return success();
  }
};

/// relu(relu(x)), relu(clip(x, >= 0, ..)).
struct RemoveRelu : mlir::OpRewritePattern<ReluOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReluOp op, PatternRewriter &rewriter) const override {
    Operation *inner = op.getData().getDefiningOp();
    auto clip = llvm::dyn_cast_if_present<ClipOp>(inner);
    if (!llvm::isa_and_present<ReluOp, SigmoidOp>(inner) && !(clip && clip.getAMin() >= 0))
      return failure();
    return replaceByOperand(rewriter, op, op.getData());
  }
};

/// mean over height and width of a 4-D tensor is a global pooling, which knows layouts.
struct RecogniseGlobalPool : mlir::OpRewritePattern<MeanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MeanOp op, PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> shape = shapeOf(op.getData());
    if (shape.size() != 4 || !llvm::isa<mlir::FloatType>(elementType(op.getData())) ||
        llvm::is_contained(shape, 0))
      return failure();
    SmallVector<bool> mask = reducedAxes(4, op.getAxis(), op.getExclude());
    bool nchw = mask == SmallVector<bool>{false, false, true, true};
    if (!nchw && mask != SmallVector<bool>{false, true, true, false})
      return failure();
    Value pooled = build(rewriter, op.getLoc(), "nn.global_avg_pool2d", op.getData(),
                         rewriter.getNamedAttr("layout", rewriter.getStringAttr(nchw ? "NCHW" : "NHWC")));
    if (!pooled)
      return failure();
    copyDiscardable(op, pooled);
    if (!op.getKeepdims())
      pooled = buildReshape(rewriter, op.getLoc(), pooled, shapeOf(op.getResult()));
    copyDiscardable(op, pooled);
    rewriter.replaceOp(op, pooled);
    return success();
  }
};

/// Exporters write group normalisation as an instance normalisation of reshaped data, which would keep the
/// data in its layout: reshape to [n, groups, rest], instance_norm without scale and offset, reshape back.
struct RecogniseGroupNorm : mlir::RewritePattern {
  RecogniseGroupNorm(mlir::MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 3, c) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isReshapeLike(op))
      return failure();
    auto norm = op->getOperand(0).getDefiningOp<InstanceNormOp>();
    Operation *split = norm ? norm.getData().getDefiningOp() : nullptr;
    if (!isReshapeLike(split) || !norm->hasOneUse())
      return failure();
    Value data = split->getOperand(0);
    ArrayRef<int64_t> shape = shapeOf(data), grouped = shapeOf(norm.getData());
    bool plain =
        (!norm.getScale() || isAll(norm.getGamma(), 1)) && (!norm.getCenter() || isAll(norm.getBeta(), 0));
    if (!plain || op->getResult(0).getType() != data.getType() || shape.size() < 3 || grouped.size() < 3 ||
        normalizeAxis(norm.getAxis(), grouped.size()) != 1 || shape[0] != grouped[0] ||
        shape[1] % grouped[1] != 0)
      return failure();
    mlir::Location loc = norm.getLoc();
    std::vector<double> ones(shape[1], 1), zeros(shape[1], 0);
    mlir::Type type = elementType(data);
    Value gamma = floatConstant(rewriter, loc, type, {shape[1]}, ones);
    Value beta = floatConstant(rewriter, loc, type, {shape[1]}, zeros);
    Value made = build(rewriter, loc, "nn.group_norm", {data, gamma, beta},
                       {rewriter.getNamedAttr("num_groups", rewriter.getI64IntegerAttr(grouped[1])),
                        rewriter.getNamedAttr("epsilon", norm->getAttr("epsilon"))});
    if (!made)
      return failure();
    copyDiscardable(op, made);
    rewriter.replaceOp(op, made);
    return success();
  }
};

struct SimplifyExpr : RelayPass<SimplifyExpr> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SimplifyExpr)
  static constexpr llvm::StringLiteral passName = "SimplifyExpr";

  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    populateSimplifyPatterns(patterns);
    if (mlir::failed(applyPatterns(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void copyDiscardable(Operation *from, Value to) {
  for (mlir::NamedAttribute a : from->getDiscardableAttrs())
    to.getDefiningOp()->setDiscardableAttr(a.getName(), a.getValue());
}

void populateSimplifyPatterns(mlir::RewritePatternSet &patterns) {
  patterns.add<RemoveNothing, JoinReshapes, JoinTransposes, JoinCasts, RemoveNeutral, RecogniseRelu,
               RecogniseClip, RemoveRelu, RecogniseGlobalPool, RecogniseGroupNorm>(patterns.getContext());
}

std::unique_ptr<mlir::Pass> createSimplifyExprPass() {
  return std::make_unique<SimplifyExpr>();
}

} // namespace tensorturbo::relay
