// NCHW to NHWC, the layout of the NPU. Every operator with a layout is turned, with transposes around it;
// then transposes sink through what follows and cancel, so that they remain at the borders of the model only.
//
//   %0 = relay.nn.conv2d %x, %w
//   %1 = relay.nn.relu %0
//   %2 = relay.nn.max_pool2d %1 {pool_size = array<i64: 2, 2>}
// becomes
//   %t = relay.transpose %x {axes = array<i64: 0, 2, 3, 1>}
//   %0 = relay.nn.conv2d %t, %w_hwio {data_layout = "NHWC", kernel_layout = "HWIO"}
//   %1 = relay.nn.relu %0
//   %2 = relay.nn.max_pool2d %1 {pool_size = array<i64: 2, 2>, layout = "NHWC"}
//   %3 = relay.transpose %2 {axes = array<i64: 0, 3, 1, 2>}
#include "Transforms/SimplifyPatterns.h"

namespace tensorturbo::relay {
namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::success;

constexpr llvm::StringLiteral nhwc = "NHWC";

Value transposeFolded(mlir::OpBuilder &b, mlir::Location loc, Value v, ArrayRef<int64_t> axes) {
  Value made = buildTranspose(b, loc, v, axes);
  return made ? foldNow(b, made) : made;
}

/// The operator in NHWC between two transposes. `attribute` names its layout.
LogicalResult turn(Operation *op, llvm::StringRef layout, llvm::StringRef attribute, Value weight,
                   ArrayRef<mlir::NamedAttribute> more, PatternRewriter &rewriter) {
  SmallVector<int64_t> to = layoutPermutation(layout, nhwc);
  if (to.empty() || isIdentity(to))
    return failure();
  SmallVector<Value> operands(op->getOperands());
  operands[0] = buildTranspose(rewriter, op->getLoc(), operands[0], to);
  if (weight)
    operands[1] = weight;
  if (llvm::is_contained(operands, Value()))
    return failure();
  SmallVector<mlir::NamedAttribute> changed(more);
  changed.push_back(rewriter.getNamedAttr(attribute, rewriter.getStringAttr(nhwc)));
  changed.push_back(rewriter.getNamedAttr("out_layout", rewriter.getStringAttr("")));
  if (!op->getName().getRegisteredInfo()->getAttributeNames().empty() &&
      !llvm::is_contained(op->getName().getAttributeNames(), rewriter.getStringAttr("out_layout")))
    changed.pop_back();
  Operation *made = rebuild(rewriter, op, operands, changed);
  Value back = made ? buildTranspose(rewriter, op->getLoc(), made->getResult(0), inverse(to)) : Value();
  if (!back)
    return failure();
  rewriter.replaceOp(op, back);
  return success();
}

struct TurnConv : mlir::OpRewritePattern<Conv2DOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(Conv2DOp op, PatternRewriter &rewriter) const override {
    SmallVector<int64_t> kernel = layoutPermutation(op.getKernelLayout(), "HWIO");
    bool turnKernel = !isIdentity(kernel);
    if (!turnKernel && op.getDataLayout() == nhwc)
      return failure();
    Value weight = op.getWeight();
    auto kernelLayout = rewriter.getNamedAttr("kernel_layout", rewriter.getStringAttr("HWIO"));
    if (turnKernel)
      weight = transposeFolded(rewriter, weight.getLoc(), weight, kernel);
    if (op.getDataLayout() != nhwc)
      return turn(op, op.getDataLayout(), "data_layout", weight, kernelLayout, rewriter);
    Operation *made = rebuild(rewriter, op, {op.getData(), weight}, kernelLayout);
    if (!made)
      return failure();
    rewriter.replaceOp(op, made);
    return success();
  }
};

struct TurnConvTranspose : mlir::OpRewritePattern<Conv2DTransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(Conv2DTransposeOp op, PatternRewriter &rewriter) const override {
    // The kernel keeps its layout: what the NPU wants depends on how the operator is taken apart.
    return turn(op, op.getDataLayout(), "data_layout", {}, {}, rewriter);
  }
};

template <typename Op> struct TurnLayout : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    return turn(op, op.getLayout(), "layout", {}, {}, rewriter);
  }
};

/// 1-D convolution and pooling are 2-D ones on images of height 1, which have kernels.
template <typename Op> struct Widen : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  static constexpr bool isConv = std::is_same_v<Op, Conv1DOp>;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    mlir::Location loc = op.getLoc();
    auto ints = [&](llvm::StringRef name, ArrayRef<int64_t> values) {
      return rewriter.getNamedAttr(name, rewriter.getDenseI64ArrayAttr(values));
    };
    auto heightBefore = [](ArrayRef<int64_t> shape) {
      SmallVector<int64_t> out(shape);
      out.insert(out.end() - 1, 1);
      return out;
    };
    SmallVector<mlir::NamedAttribute> attributes = {
        ints("strides", {1, op.getStrides()[0]}), ints("dilation", {1, op.getDilation()[0]}),
        ints("padding", {0, op.getPadding()[0], 0, op.getPadding()[1]})};
    SmallVector<Value> operands = {
        buildReshape(rewriter, loc, op.getData(), heightBefore(shapeOf(op.getData())))};
    llvm::StringRef name;
    if constexpr (isConv) {
      if (op.getDataLayout() != "NCW" || op.getKernelLayout() != "OIW")
        return failure();
      name = "nn.conv2d";
      Value weight = op.getWeight();
      operands.push_back(
          foldNow(rewriter, buildReshape(rewriter, weight.getLoc(), weight, heightBefore(shapeOf(weight)))));
      attributes.push_back(rewriter.getNamedAttr("groups", rewriter.getI64IntegerAttr(op.getGroups())));
      attributes.push_back(rewriter.getNamedAttr("out_dtype", rewriter.getStringAttr(op.getOutDtype())));
    } else {
      if (op.getLayout() != "NCW")
        return failure();
      name = std::is_same_v<Op, MaxPool1DOp> ? "nn.max_pool2d" : "nn.avg_pool2d";
      attributes.push_back(ints("pool_size", {1, op.getPoolSize()[0]}));
      attributes.push_back(rewriter.getNamedAttr("ceil_mode", rewriter.getBoolAttr(op.getCeilMode())));
      if constexpr (std::is_same_v<Op, AvgPool1DOp>)
        attributes.push_back(
            rewriter.getNamedAttr("count_include_pad", rewriter.getBoolAttr(op.getCountIncludePad())));
    }
    Value made = build(rewriter, loc, name, operands, attributes);
    made = made ? buildReshape(rewriter, loc, made, shapeOf(op.getResult())) : made;
    if (!made)
      return failure();
    rewriter.replaceOp(op, made);
    return success();
  }
};

/// Operators on images that have an axis instead of a layout: the channels come last.
template <typename Op> struct TurnAxis : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (shapeOf(op.getData()).size() != 4 || normalizeAxis(op.getAxis(), 4) != 1)
      return failure();
    Value data = buildTranspose(rewriter, op.getLoc(), op.getData(), {0, 2, 3, 1});
    if (!data)
      return failure();
    SmallVector<Value> operands(op->getOperands());
    operands[0] = data;
    Operation *made =
        rebuild(rewriter, op, operands, rewriter.getNamedAttr("axis", rewriter.getI64IntegerAttr(3)));
    Value back = made ? buildTranspose(rewriter, op.getLoc(), made->getResult(0), {0, 3, 1, 2}) : Value();
    if (!back)
      return failure();
    rewriter.replaceOp(op, back);
    return success();
  }
};

struct ConvertLayout : RelayPass<ConvertLayout> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertLayout)
  static constexpr llvm::StringLiteral passName = "ConvertLayout";

  void runOnOperation() override {
    mlir::RewritePatternSet turning(&getContext());
    turning.add<Widen<Conv1DOp>, Widen<MaxPool1DOp>, Widen<AvgPool1DOp>, TurnConv, TurnConvTranspose,
                TurnLayout<MaxPool2DOp>, TurnLayout<AvgPool2DOp>, TurnLayout<GlobalAvgPool2DOp>,
                TurnLayout<GlobalMaxPool2DOp>, TurnLayout<AdaptiveAvgPool2DOp>,
                TurnLayout<AdaptiveMaxPool2DOp>, TurnLayout<UpsamplingOp>, TurnLayout<Resize2DOp>,
                TurnLayout<DepthToSpaceOp>, TurnLayout<SpaceToDepthOp>, TurnAxis<LrnOp>,
                TurnAxis<InstanceNormOp>, TurnAxis<GroupNormOp>, TurnAxis<PreluOp>>(&getContext());
    mlir::RewritePatternSet sinking(&getContext());
    populateSimplifyPatterns(sinking);
    populateSinkPatterns(sinking);
    if (mlir::failed(applyPatterns(getOperation(), std::move(turning))) ||
        mlir::failed(applyPatterns(getOperation(), std::move(sinking))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createConvertLayoutPass() {
  return std::make_unique<ConvertLayout>();
}

} // namespace tensorturbo::relay
