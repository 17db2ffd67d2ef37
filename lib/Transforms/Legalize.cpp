// Operators that the NPU has no kernel for, by those that it has. Runs on NHWC, after ConvertLayout.
//
//   nn.conv2d_transpose             a convolution that makes every phase of the strides as channels, which
//   are then
//                                   spread over height and width
//   image.resize2d, nn.upsampling   to the nearest pixel by whole factors: concatenations of the data with
//   itself nn.depth_to_space and back      a transpose nn.adaptive_*_pool2d            pooling, where windows
//   are equal
//
//   %0 = relay.nn.depth_to_space %x {block_size = 2, layout = "NHWC"} : (tensor<1x4x4x8xf32>) ->
//   tensor<1x8x8x2xf32>
// becomes
//   %0 = relay.reshape %x {newshape = array<i64: 1, 4, 4, 2, 2, 2>}
//   %1 = relay.transpose %0 {axes = array<i64: 0, 1, 3, 2, 4, 5>}
//   %2 = relay.reshape %1 {newshape = array<i64: 1, 8, 8, 2>}
#include "Transforms/SimplifyPatterns.h"

namespace tensorturbo::relay {
namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::success;
using Ints = SmallVector<int64_t>;

mlir::NamedAttribute ints(mlir::OpBuilder &b, llvm::StringRef name, ArrayRef<int64_t> values) {
  return b.getNamedAttr(name, b.getDenseI64ArrayAttr(values));
}
mlir::NamedAttribute text(mlir::OpBuilder &b, llvm::StringRef name, llvm::StringRef value) {
  return b.getNamedAttr(name, b.getStringAttr(value));
}

/// Replaces if everything could be built.
LogicalResult replace(PatternRewriter &rewriter, Operation *op, Value v) {
  if (!v)
    return failure();
  rewriter.replaceOp(op, v);
  return success();
}

/// One axis of a transposed convolution: output y stems from y + before = stride * q + r, where q counts the
/// pixels of a convolution with `taps` taps and r the phase.
struct Phases {
  Phases(int64_t input, int64_t output, int64_t kernel, int64_t stride, int64_t before)
      : stride(stride), before(before), taps((kernel + stride - 1) / stride),
        count((before + output - 1) / stride + 1), after(std::max<int64_t>(count - input, 0)),
        length(input + after) {}
  int64_t stride, before, taps, count;
  /// Zeros behind the input, and pixels that the convolution makes: at least `count`.
  int64_t after, length;
};

struct UnpackConvTranspose : mlir::OpRewritePattern<Conv2DTransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(Conv2DTransposeOp op, PatternRewriter &rewriter) const override {
    bool dilated = llvm::any_of(op.getDilation(), [](int64_t d) { return d != 1; });
    if (op.getDataLayout() != "NHWC" || op.getGroups() != 1 || dilated)
      return failure();
    auto weights = floatsOf(op.getWeight());
    if (!weights)
      return failure();
    mlir::Location loc = op.getLoc();
    ArrayRef<int64_t> in = shapeOf(op.getData()), out = shapeOf(op.getResult()),
                      shape = shapeOf(op.getWeight());
    llvm::StringRef layout = op.getKernelLayout();
    int64_t kh = shape[axisOf(layout, 'H')], kw = shape[axisOf(layout, 'W')];
    Phases h(in[1], out[1], kh, op.getStrides()[0], op.getPadding()[0]);
    Phases w(in[2], out[2], kw, op.getStrides()[1], op.getPadding()[1]);
    int64_t cin = in[3], cout = out[3], channels = h.stride * w.stride * cout;
    // A kernel much smaller than its stride would mostly be zeros.
    if (h.stride > 16 || w.stride > 16 ||
        h.taps * w.taps * h.stride * w.stride > 4 * std::max<int64_t>(kh * kw, 4))
      return failure();

    // Tap t of phase r is tap stride * (taps - 1 - t) + r of the transposed convolution, or nothing.
    Ints strides(4, 1);
    for (int64_t i = 2; i >= 0; --i)
      strides[i] = strides[i + 1] * shape[i + 1];
    auto stride = [&](char letter) { return strides[axisOf(layout, letter)]; };
    std::vector<double> made(h.taps * w.taps * cin * channels, 0);
    for (int64_t th = 0; th < h.taps; ++th)
      for (int64_t tw = 0; tw < w.taps; ++tw)
        for (int64_t rh = 0; rh < h.stride; ++rh)
          for (int64_t rw = 0; rw < w.stride; ++rw) {
            int64_t y = h.stride * (h.taps - 1 - th) + rh, x = w.stride * (w.taps - 1 - tw) + rw;
            if (y >= kh || x >= kw)
              continue;
            for (int64_t i = 0; i < cin; ++i)
              for (int64_t o = 0; o < cout; ++o)
                made[((th * w.taps + tw) * cin + i) * channels + (rh * w.stride + rw) * cout + o] =
                    (*weights)[y * stride('H') + x * stride('W') + i * stride('I') + o * stride('O')];
          }
    Value weight = floatConstant(rewriter, op.getWeight().getLoc(), elementType(op.getWeight()),
                                 {h.taps, w.taps, cin, channels}, made);
    Value v = build(rewriter, loc, "nn.conv2d", {op.getData(), weight},
                    {ints(rewriter, "padding", {h.taps - 1, w.taps - 1, h.after, w.after}),
                     text(rewriter, "data_layout", "NHWC"), text(rewriter, "kernel_layout", "HWIO"),
                     text(rewriter, "out_dtype", op.getOutDtype())});
    // A bias behind it is one of every phase.
    Operation *last = op;
    if (auto bias = op->hasOneUse() ? llvm::dyn_cast<BiasAddOp>(*op->user_begin()) : BiasAddOp())
      if (auto values = floatsOf(bias.getBias());
          v && values && bias.getData() == op.getResult() && normalizeAxis(bias.getAxis(), 4) == 3) {
        std::vector<double> repeated;
        for (int64_t phase = 0; phase < h.stride * w.stride; ++phase)
          repeated.insert(repeated.end(), values->begin(), values->end());
        loc = rewriter.getFusedLoc({op.getLoc(), bias.getLoc()});
        Value vector = floatConstant(rewriter, loc, elementType(bias.getBias()), {channels}, repeated);
        v = build(rewriter, loc, "nn.bias_add", {v, vector},
                  rewriter.getNamedAttr("axis", rewriter.getI64IntegerAttr(3)));
        last = bias;
      }
    // [n h, w, rh, rw c] to [n h, rh, w, rw c]: the phases of the rows move in front of the columns.
    if (v)
      v = buildReshape(rewriter, loc, v, {in[0] * h.length, w.length, h.stride, w.stride * cout});
    if (v && h.stride > 1)
      v = buildTranspose(rewriter, loc, v, {0, 2, 1, 3});
    if (v)
      v = buildReshape(rewriter, loc, v, {in[0], h.length * h.stride, w.length * w.stride, cout});
    // One axis at a time: that is a plain copy of neighbouring elements.
    for (int64_t axis : {1, 2}) {
      int64_t before = axis == 1 ? h.before : w.before;
      if (v && shapeOf(v)[axis] != out[axis])
        v = build(rewriter, loc, "strided_slice", v,
                  {ints(rewriter, "begin", before), ints(rewriter, "end", before + out[axis]),
                   ints(rewriter, "axes", axis)});
    }
    return replace(rewriter, last, v);
  }
};

/// The data `factor` times side by side along the last axis.
Value repeatLast(mlir::OpBuilder &b, mlir::Location loc, Value v, int64_t factor) {
  if (factor == 1 || !v)
    return v;
  SmallVector<Value> parts(factor, v);
  return build(b, loc, "concatenate", parts, b.getNamedAttr("axis", b.getI64IntegerAttr(1)));
}

/// Every pixel becomes fh x fw equal ones.
Value repeatPixels(mlir::OpBuilder &b, mlir::Location loc, Value v, int64_t fh, int64_t fw) {
  Ints in(shapeOf(v));
  v = buildReshape(b, loc, v, {in[0] * in[1] * in[2], in[3]});
  v = repeatLast(b, loc, v, fw);
  v = v ? buildReshape(b, loc, v, {in[0] * in[1], in[2] * fw * in[3]}) : v;
  v = repeatLast(b, loc, v, fh);
  return v ? buildReshape(b, loc, v, {in[0], in[1] * fh, in[2] * fw, in[3]}) : v;
}

/// Factors larger than this would make long concatenations.
constexpr int64_t maxFactor = 8;

struct UnpackResize : mlir::OpRewritePattern<Resize2DOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(Resize2DOp op, PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> in = shapeOf(op.getData()), out = shapeOf(op.getResult());
    if (op.getLayout() != "NHWC" || op.getMethod() != "nearest_neighbor" || out[1] % in[1] ||
        out[2] % in[2] || elementType(op.getData()) != elementType(op.getResult()))
      return failure();
    int64_t fh = out[1] / in[1], fw = out[2] / in[2];
    // Output y takes pixel floor(y / factor): asymmetric coordinates rounded down, or pixel centres rounded
    // to the nearest, which are never half way between two.
    llvm::StringRef mode = op.getCoordinateTransformationMode(), rounding = op.getRoundingMethod();
    bool centres = mode == "half_pixel" || (mode == "pytorch_half_pixel" && out[1] > 1 && out[2] > 1);
    bool nearest = rounding.empty() || rounding.starts_with("round");
    if (!(mode == "asymmetric" && rounding == "floor") && !(centres && nearest))
      return failure();
    if (fh > maxFactor || fw > maxFactor)
      return failure();
    return replace(rewriter, op, repeatPixels(rewriter, op.getLoc(), op.getData(), fh, fw));
  }
};

struct UnpackUpsampling : mlir::OpRewritePattern<UpsamplingOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(UpsamplingOp op, PatternRewriter &rewriter) const override {
    auto fh = static_cast<int64_t>(op.getScaleH()), fw = static_cast<int64_t>(op.getScaleW());
    if (op.getLayout() != "NHWC" || op.getMethod() != "nearest_neighbor" || op.getAlignCorners() || fh < 1 ||
        fw < 1 || fh > maxFactor || fw > maxFactor || static_cast<double>(fh) != op.getScaleH() ||
        static_cast<double>(fw) != op.getScaleW())
      return failure();
    return replace(rewriter, op, repeatPixels(rewriter, op.getLoc(), op.getData(), fh, fw));
  }
};

struct UnpackDepthToSpace : mlir::OpRewritePattern<DepthToSpaceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DepthToSpaceOp op, PatternRewriter &rewriter) const override {
    if (op.getLayout() != "NHWC")
      return failure();
    Ints in(shapeOf(op.getData()));
    int64_t n = op.getBlockSize(), c = in[3] / (n * n);
    Value v = op.getData();
    // Channels are [row, column, c] for DCR, [c, row, column] for Relay's CDR, which is brought to the first
    // form: every transpose exchanges two neighbouring groups of axes.
    if (op.getMode() != "DCR") {
      v = buildReshape(rewriter, op.getLoc(), v, {in[0], in[1], in[2], c, n * n});
      v = v ? buildTranspose(rewriter, op.getLoc(), v, {0, 1, 2, 4, 3}) : v;
    }
    v = v ? buildReshape(rewriter, op.getLoc(), v, {in[0], in[1], in[2], n, n, c}) : v;
    v = v ? buildTranspose(rewriter, op.getLoc(), v, {0, 1, 3, 2, 4, 5}) : v;
    return replace(rewriter, op, v ? buildReshape(rewriter, op.getLoc(), v, shapeOf(op.getResult())) : v);
  }
};

struct UnpackSpaceToDepth : mlir::OpRewritePattern<SpaceToDepthOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SpaceToDepthOp op, PatternRewriter &rewriter) const override {
    if (op.getLayout() != "NHWC" || op.getMode() != "DCR")
      return failure();
    Ints in(shapeOf(op.getData()));
    int64_t n = op.getBlockSize();
    Value v = buildReshape(rewriter, op.getLoc(), op.getData(), {in[0], in[1] / n, n, in[2] / n, n, in[3]});
    v = v ? buildTranspose(rewriter, op.getLoc(), v, {0, 1, 3, 2, 4, 5}) : v;
    return replace(rewriter, op, v ? buildReshape(rewriter, op.getLoc(), v, shapeOf(op.getResult())) : v);
  }
};

template <typename Op> struct UnpackAdaptivePool : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> in = shapeOf(op.getData()), out = shapeOf(op.getResult());
    constexpr bool average = std::is_same_v<Op, AdaptiveAvgPool2DOp>;
    if (op.getLayout() != "NHWC" || in[1] % out[1] || in[2] % out[2])
      return failure();
    if (out[1] == 1 && out[2] == 1)
      return replace(rewriter, op,
                     build(rewriter, op.getLoc(), average ? "nn.global_avg_pool2d" : "nn.global_max_pool2d",
                           op.getData(), text(rewriter, "layout", "NHWC")));
    Ints window = {in[1] / out[1], in[2] / out[2]};
    return replace(rewriter, op,
                   build(rewriter, op.getLoc(), average ? "nn.avg_pool2d" : "nn.max_pool2d", op.getData(),
                         {ints(rewriter, "pool_size", window), ints(rewriter, "strides", window),
                          text(rewriter, "layout", "NHWC")}));
  }
};

/// Indices counted from the end, written out by the importer: the kernel does that itself.
struct TakeFromEnd : mlir::OpRewritePattern<TakeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TakeOp op, PatternRewriter &rewriter) const override {
    auto where = op.getIndices().getDefiningOp<WhereOp>();
    if (!where || op.getMode() != "clip" || !op.getAxis() || op.getBatchDims() != 0)
      return failure();
    Value index = where.getY();
    auto negative = where.getCondition().getDefiningOp<LessOp>();
    auto shifted = where.getX().getDefiningOp<AddOp>();
    ArrayRef<int64_t> shape = shapeOf(op.getData());
    int64_t extent = shape[normalizeAxis(*op.getAxis(), shape.size())];
    if (!negative || negative.getLhs() != index || scalarOf(negative.getRhs()) != 0.0 || !shifted ||
        shifted.getLhs() != index || scalarOf(shifted.getRhs()) != double(extent) ||
        index.getType() != where.getType())
      return failure();
    return replace(
        rewriter, op,
        build(rewriter, op.getLoc(), "take", {op.getData(), index},
              {rewriter.getNamedAttr("axis", op->getAttr("axis")), text(rewriter, "mode", "fast")}));
  }
};

/// Scores of attention: a factor behind the reshaped product moves in front of the reshape, into the
/// product's kernel.
struct SinkReshape : mlir::RewritePattern {
  SinkReshape(mlir::MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 1, c) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!llvm::isa<MultiplyOp, DivideOp>(op) || !scalarOf(op->getOperand(1)))
      return failure();
    auto reshape = op->getOperand(0).getDefiningOp<ReshapeOp>();
    if (!reshape || !reshape->hasOneUse() || !reshape.getData().getDefiningOp<BatchMatmulOp>() ||
        !reshape.getData().hasOneUse() ||
        shapeOf(op->getOperand(1)).size() > shapeOf(reshape.getData()).size() ||
        op->getResult(0).getType() != reshape.getType())
      return failure();
    Operation *scaled = rebuild(rewriter, op, {reshape.getData(), op->getOperand(1)});
    if (!scaled)
      return failure();
    return replace(rewriter, op,
                   buildReshape(rewriter, reshape.getLoc(), scaled->getResult(0), shapeOf(op->getResult(0))));
  }
};

struct Legalize : RelayPass<Legalize> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Legalize)
  static constexpr llvm::StringLiteral passName = "Legalize";

  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    patterns.add<UnpackConvTranspose, UnpackResize, UnpackUpsampling, UnpackDepthToSpace, UnpackSpaceToDepth,
                 TakeFromEnd, SinkReshape, UnpackAdaptivePool<AdaptiveAvgPool2DOp>,
                 UnpackAdaptivePool<AdaptiveMaxPool2DOp>>(&getContext());
    populateNormPatterns(patterns);
    populateSplitPatterns(patterns);
    if (mlir::failed(applyPatterns(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createLegalizePass() {
  return std::make_unique<Legalize>();
}

} // namespace tensorturbo::relay
