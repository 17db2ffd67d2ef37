// What training needs and inference does not: batch normalisation becomes a factor and an offset per channel,
// dropout disappears.
//
//   %0:3 = relay.nn.batch_norm %x, %gamma, %beta, %mean, %var
// becomes, with constants folded,
//   %0 = relay.multiply %x, %scale         // gamma / sqrt(var + epsilon)
//   %1 = relay.add %0, %shift              // beta - mean * scale
#include "Transforms/RelayPass.h"
#include <cmath>

namespace tensorturbo::relay {
namespace {

struct UnpackBatchNorm : mlir::OpRewritePattern<BatchNormOp> {
  using OpRewritePattern::OpRewritePattern;

  mlir::LogicalResult matchAndRewrite(BatchNormOp op, mlir::PatternRewriter &rewriter) const override {
    mlir::Location loc = op.getLoc();
    Value data = op.getData();
    int64_t rank = shapeOf(data).size(), axis = normalizeAxis(op.getAxis(), rank),
            channels = shapeOf(data)[axis];
    // Broadcasts along the axis: [C, 1, 1] for NCHW.
    SmallVector<int64_t> shape(rank - axis, 1);
    shape[0] = channels;
    auto vectors = constants(op, rewriter, shape);
    if (mlir::failed(vectors))
      vectors = computed(op, rewriter, shape);
    auto [scale, shift] = *vectors;
    Value scaled = scale ? build(rewriter, loc, "multiply", {data, scale}) : Value();
    Value result = scaled && shift ? build(rewriter, loc, "add", {scaled, shift}) : Value();
    if (!result)
      return mlir::failure();
    rewriter.replaceOp(op, {result, op.getMovingMean(), op.getMovingVar()});
    return mlir::success();
  }

  using Pair = std::pair<Value, Value>;

  /// Both vectors from constant statistics, computed in double and rounded once.
  static mlir::FailureOr<Pair> constants(BatchNormOp op, mlir::OpBuilder &b, ArrayRef<int64_t> shape) {
    auto gamma = floatsOf(op.getGamma()), beta = floatsOf(op.getBeta()), mean = floatsOf(op.getMovingMean()),
         variance = floatsOf(op.getMovingVar());
    if (!gamma || !beta || !mean || !variance)
      return mlir::failure();
    std::vector<double> scale(shape[0]), shift(shape[0]);
    for (int64_t i = 0; i < shape[0]; ++i) {
      scale[i] = (op.getScale() ? (*gamma)[i] : 1) / std::sqrt((*variance)[i] + op.getEpsilon());
      shift[i] = (op.getCenter() ? (*beta)[i] : 0) - (*mean)[i] * scale[i];
    }
    mlir::Type type = elementType(op.getData());
    return Pair(floatConstant(b, op.getLoc(), type, shape, scale),
                floatConstant(b, op.getLoc(), type, shape, shift));
  }

  /// The same as operators.
  static Pair computed(BatchNormOp op, mlir::OpBuilder &b, ArrayRef<int64_t> shape) {
    mlir::Location loc = op.getLoc();
    auto make = [&](llvm::StringRef name, mlir::ValueRange operands) {
      return build(b, loc, name, operands);
    };
    Value epsilon = createScalar(b, loc, elementType(op.getMovingVar()), op.getEpsilon());
    Value scale = make("rsqrt", make("add", {op.getMovingVar(), epsilon}));
    if (op.getScale())
      scale = make("multiply", {op.getGamma(), scale});
    Value shift = make("negative", make("multiply", {op.getMovingMean(), scale}));
    if (op.getCenter())
      shift = make("add", {op.getBeta(), shift});
    return {buildReshape(b, loc, scale, shape), buildReshape(b, loc, shift, shape)};
  }
};

struct RemoveDropout : mlir::OpRewritePattern<DropoutOp> {
  using OpRewritePattern::OpRewritePattern;
  mlir::LogicalResult matchAndRewrite(DropoutOp op, mlir::PatternRewriter &rewriter) const override {
    // Nothing is dropped: the mask is all ones.
    if (!op.getMask().use_empty()) {
      Value ones = build(rewriter, op.getLoc(), "ones_like", op.getData());
      if (!ones)
        return mlir::failure();
      rewriter.replaceAllUsesWith(op.getMask(), ones);
    }
    if (op.getResult().use_empty())
      return mlir::failure();
    return replaceByOperand(rewriter, op, op.getData());
  }
};

struct SimplifyInference : RelayPass<SimplifyInference> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SimplifyInference)
  static constexpr llvm::StringLiteral passName = "SimplifyInference";

  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    patterns.add<UnpackBatchNorm, RemoveDropout>(&getContext());
    if (mlir::failed(applyPatterns(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createSimplifyInferencePass() {
  return std::make_unique<SimplifyInference>();
}

} // namespace tensorturbo::relay
