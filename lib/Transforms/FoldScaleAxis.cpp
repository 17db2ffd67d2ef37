// Factors and offsets per channel become part of the layer before or behind them.
//
//   %0 = relay.nn.conv2d %x, %w
//   %1 = relay.multiply %0, %scale       // one value per channel
//   %2 = relay.add %1, %shift
// becomes
//   %0 = relay.nn.conv2d %x, %w_scaled
//   %2 = relay.nn.bias_add %0, %shift
//
// Layers with constant weights only: convolutions, dense, matmul. New weights are computed in double and
// rounded once. A layer whose result has other users stays as it is.
#include "Transforms/Elements.h"
#include "Transforms/RelayPass.h"
#include <cmath>

namespace tensorturbo::relay {
namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::success;

/// A layer with constant weights, and where its channels are.
struct Layer {
  Operation *op = nullptr;
  /// Channel axis of data and result.
  int64_t axis = 0;
  /// Axes of the weight: output channels, and input channels within a group.
  int64_t outputs = 0, inputs = 1;
  int64_t groups = 1;
  bool padded = false;

  Value weight() const { return op->getOperand(1); }
  ArrayRef<int64_t> shape() const { return shapeOf(op->getResult(0)); }
};

template <typename Conv> Layer convLayer(Conv op) {
  Layer layer;
  layer.op = op;
  layer.axis = axisOf(op.getDataLayout(), 'C');
  layer.outputs = axisOf(op.getKernelLayout(), 'O');
  layer.inputs = axisOf(op.getKernelLayout(), 'I');
  layer.groups = op.getGroups();
  layer.padded = llvm::any_of(op.getPadding(), [](int64_t p) { return p != 0; });
  return layer;
}

std::optional<Layer> layerOf(Operation *op) {
  std::optional<Layer> layer;
  if (auto conv = llvm::dyn_cast_if_present<Conv2DOp>(op))
    layer = convLayer(conv);
  else if (auto conv1 = llvm::dyn_cast_if_present<Conv1DOp>(op))
    layer = convLayer(conv1);
  else if (auto conv3 = llvm::dyn_cast_if_present<Conv3DOp>(op))
    layer = convLayer(conv3);
  else if (llvm::isa_and_present<DenseOp, MatmulOp>(op)) {
    layer.emplace();
    layer->op = op;
    layer->axis = static_cast<int64_t>(layer->shape().size()) - 1;
    auto matmul = llvm::dyn_cast<MatmulOp>(op);
    if (matmul && matmul.getTransposeA())
      return std::nullopt;
    if (matmul && !matmul.getTransposeB())
      std::swap(layer->outputs, layer->inputs);
  }
  if (!layer || !isFloatConstant(layer->weight()))
    return std::nullopt;
  return layer;
}

/// The layer that computes `v` for one user alone, seen through a bias_add along its channels.
struct Tail {
  Layer layer;
  BiasAddOp bias;
};
std::optional<Tail> tailOf(Value v) {
  Tail tail;
  if (!v.hasOneUse())
    return std::nullopt;
  tail.bias = v.getDefiningOp<BiasAddOp>();
  Value data = tail.bias ? tail.bias.getData() : v;
  if (!data.hasOneUse() || (tail.bias && !isFloatConstant(tail.bias.getBias())))
    return std::nullopt;
  auto layer = layerOf(data.getDefiningOp());
  if (!layer)
    return std::nullopt;
  tail.layer = *layer;
  if (tail.bias && normalizeAxis(tail.bias.getAxis(), layer->shape().size()) != layer->axis)
    return std::nullopt;
  return tail;
}

/// A constant factor or offset per channel: x * c, x / c, x + c, x - c.
struct Affine {
  Value data;
  bool isScale = false;
  std::vector<double> values;
};
std::optional<Affine> affineOf(Operation *op, int64_t axis) {
  if (!llvm::isa_and_present<AddOp, SubtractOp, MultiplyOp, DivideOp>(op))
    return std::nullopt;
  bool commutes = llvm::isa<AddOp, MultiplyOp>(op);
  for (int i : {1, 0}) {
    if (i == 0 && !commutes)
      break;
    Value data = op->getOperand(1 - i);
    if (data.getType() != op->getResult(0).getType())
      continue;
    auto values = channelValues(op->getOperand(i), shapeOf(data), axis);
    if (!values)
      continue;
    Affine affine{data, llvm::isa<MultiplyOp, DivideOp>(op), std::move(*values)};
    for (double &v : affine.values) {
      if (llvm::isa<SubtractOp>(op))
        v = -v;
      if (llvm::isa<DivideOp>(op))
        v = 1 / v;
      if (!std::isfinite(v))
        return std::nullopt;
    }
    return affine;
  }
  return std::nullopt;
}

/// Calls f(index, output channel, input channel of the data) for every element of the weight.
template <typename F> void forEachWeight(const Layer &layer, F f) {
  ArrayRef<int64_t> shape = shapeOf(layer.weight());
  SmallVector<int64_t> index(shape.size(), 0);
  int64_t perGroup = shape[layer.inputs],
          outputsPerGroup = std::max<int64_t>(shape[layer.outputs] / layer.groups, 1);
  int64_t n = elementCount(shape.vec());
  for (int64_t i = 0; i < n; ++i) {
    int64_t o = index[layer.outputs];
    f(i, o, o / outputsPerGroup * perGroup + index[layer.inputs]);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis])
        break;
      index[axis] = 0;
    }
  }
}

Operation *withWeights(mlir::OpBuilder &b, const Layer &layer, ArrayRef<double> weights, Value data) {
  Value w = layer.weight();
  Value made = floatConstant(b, w.getLoc(), elementType(w), shapeOf(w), weights);
  return rebuild(b, layer.op, {data, made});
}

Value withBias(mlir::OpBuilder &b, mlir::Location loc, const Layer &layer, Value data,
               ArrayRef<double> bias) {
  Value vector = floatConstant(b, loc, elementType(data), {static_cast<int64_t>(bias.size())}, bias);
  return build(b, loc, "nn.bias_add", {data, vector},
               b.getNamedAttr("axis", b.getI64IntegerAttr(layer.axis)));
}

/// layer, [bias_add,] affine: into the weights and the bias.
struct FoldBehind : mlir::RewritePattern {
  FoldBehind(mlir::MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 2, c) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!llvm::isa<AddOp, SubtractOp, MultiplyOp, DivideOp, BiasAddOp>(op))
      return failure();
    for (Value operand : op->getOperands()) {
      auto tail = tailOf(operand);
      // A bias_add on its own is where all this leads.
      if (!tail || (llvm::isa<BiasAddOp>(op) && !tail->bias))
        continue;
      auto affine = llvm::isa<BiasAddOp>(op) ? secondBias(llvm::cast<BiasAddOp>(op), tail->layer)
                                             : affineOf(op, tail->layer.axis);
      if (affine && affine->data == operand)
        return rewrite(op, *tail, *affine, rewriter);
    }
    return failure();
  }

  static std::optional<Affine> secondBias(BiasAddOp op, const Layer &layer) {
    auto values = floatsOf(op.getBias());
    if (!values || normalizeAxis(op.getAxis(), layer.shape().size()) != layer.axis)
      return std::nullopt;
    return Affine{op.getData(), false, std::move(*values)};
  }

  static LogicalResult rewrite(Operation *op, Tail tail, const Affine &affine, PatternRewriter &rewriter) {
    const Layer &layer = tail.layer;
    SmallVector<mlir::Location> locs = {layer.op->getLoc()};
    std::vector<double> bias(affine.values.size(), 0);
    if (tail.bias) {
      bias = *floatsOf(tail.bias.getBias());
      locs.push_back(tail.bias.getLoc());
    }
    locs.push_back(op->getLoc());
    mlir::Location loc = rewriter.getFusedLoc(locs);
    Operation *layerOp = layer.op;
    // The new operators stand where the last of the old ones stood; all operands are there.
    if (affine.isScale) {
      auto weights = *floatsOf(layer.weight());
      forEachWeight(layer, [&](int64_t i, int64_t o, int64_t) { weights[i] *= affine.values[o]; });
      layerOp = withWeights(rewriter, layer, weights, layer.op->getOperand(0));
      if (!layerOp)
        return failure();
      layerOp->setLoc(rewriter.getFusedLoc({layer.op->getLoc(), op->getLoc()}));
    }
    for (size_t i = 0; i < bias.size(); ++i)
      bias[i] = affine.isScale ? bias[i] * affine.values[i] : bias[i] + affine.values[i];
    Value result = layerOp->getResult(0);
    if (tail.bias || !affine.isScale)
      result = withBias(rewriter, loc, layer, result, bias);
    if (!result)
      return failure();
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// affine, layer: the factor into the weights, the offset (without padding) into a bias.
struct FoldInFront : mlir::RewritePattern {
  FoldInFront(mlir::MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 1, c) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    auto layer = layerOf(op);
    if (!layer || !op->getOperand(0).hasOneUse())
      return failure();
    Operation *before = op->getOperand(0).getDefiningOp();
    // The result of another layer with its bias is folded there.
    auto affine = affineOf(before, layer->axis);
    if (!affine || tailOf(affine->data) || (!affine->isScale && layer->padded))
      return failure();
    auto weights = *floatsOf(layer->weight());
    std::vector<double> bias(layer->shape()[layer->axis], 0);
    if (affine->isScale)
      forEachWeight(*layer, [&](int64_t i, int64_t, int64_t in) { weights[i] *= affine->values[in]; });
    else
      forEachWeight(*layer,
                    [&](int64_t i, int64_t o, int64_t in) { bias[o] += weights[i] * affine->values[in]; });
    Operation *made = affine->isScale ? withWeights(rewriter, *layer, weights, affine->data)
                                      : rebuild(rewriter, op, {affine->data, layer->weight()});
    if (!made)
      return failure();
    made->setLoc(rewriter.getFusedLoc({before->getLoc(), op->getLoc()}));
    Value result = made->getResult(0);
    if (!affine->isScale)
      result = withBias(rewriter, op->getLoc(), *layer, result, bias);
    if (!result)
      return failure();
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// norm, affine: into gamma and beta.
template <typename Norm> struct FoldBehindNorm : mlir::RewritePattern {
  FoldBehindNorm(mlir::MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 1, c) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!llvm::isa<AddOp, SubtractOp, MultiplyOp, DivideOp>(op))
      return failure();
    for (Value operand : op->getOperands()) {
      auto norm = operand.getDefiningOp<Norm>();
      if (!norm || !operand.hasOneUse())
        continue;
      int64_t axis = normalizeAxis(norm.getAxis(), shapeOf(operand).size());
      auto affine = affineOf(op, axis);
      auto gamma = floatsOf(norm.getGamma()), beta = floatsOf(norm.getBeta());
      if (!affine || affine->data != operand || !gamma || !beta)
        continue;
      for (size_t i = 0; i < gamma->size(); ++i) {
        double g = norm.getScale() ? (*gamma)[i] : 1, b = norm.getCenter() ? (*beta)[i] : 0,
               v = affine->values[i];
        (*gamma)[i] = affine->isScale ? g * v : g;
        (*beta)[i] = affine->isScale ? b * v : b + v;
      }
      mlir::Type type = elementType(norm.getGamma());
      int64_t n = static_cast<int64_t>(gamma->size());
      Operation *made = rebuild(rewriter, norm,
                                {norm.getData(), floatConstant(rewriter, norm.getLoc(), type, {n}, *gamma),
                                 floatConstant(rewriter, norm.getLoc(), type, {n}, *beta)},
                                {rewriter.getNamedAttr("scale", rewriter.getBoolAttr(true)),
                                 rewriter.getNamedAttr("center", rewriter.getBoolAttr(true))});
      if (!made)
        return failure();
      made->setLoc(rewriter.getFusedLoc({norm.getLoc(), op->getLoc()}));
      rewriter.replaceOp(op, made);
      return success();
    }
    return failure();
  }
};

struct FoldScaleAxis : RelayPass<FoldScaleAxis> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldScaleAxis)
  static constexpr llvm::StringLiteral passName = "FoldScaleAxis";

  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    patterns.add<FoldBehind, FoldInFront, FoldBehindNorm<GroupNormOp>, FoldBehindNorm<InstanceNormOp>,
                 FoldBehindNorm<LayerNormOp>>(&getContext());
    if (mlir::failed(applyPatterns(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createFoldScaleAxisPass() {
  return std::make_unique<FoldScaleAxis>();
}

} // namespace tensorturbo::relay
