// Layer normalisation that an exporter wrote out as means, squares and a root becomes one operator, with the
// scale and offset behind it.
//
//   %m = relay.mean %x {axis = array<i64: -1>, keepdims = true}
//   %c = relay.subtract %x, %m
//   %v = relay.mean (relay.power %c, 2) {axis = array<i64: -1>, keepdims = true}
//   %n = relay.divide %c, (relay.sqrt (relay.add %v, %epsilon))
//   %s = relay.multiply %n, %gamma
//   %r = relay.add %s, %beta
// becomes
//   %r = relay.nn.layer_norm %x, %gamma, %beta {epsilon = 1e-5}
//
// Means over several trailing axes are one axis of reshaped data.
#include "Transforms/SimplifyPatterns.h"

namespace tensorturbo::relay {
namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::success;

/// The operand of `op` that `wanted` accepts, and the other one; nulls if none is.
template <typename F> std::pair<Value, Value> operandsOf(Operation *op, F wanted) {
  if (op && op->getNumOperands() == 2)
    for (int i : {0, 1})
      if (wanted(op->getOperand(i)))
        return {op->getOperand(i), op->getOperand(1 - i)};
  return {};
}

/// The operators of a match, for the location of what replaces them.
struct Match {
  Value data;
  /// Trailing axes that are normalised.
  int64_t axes = 0;
  double epsilon = 0;
  SmallVector<mlir::Location> locations;

  void note(Operation *op) { locations.push_back(op->getLoc()); }

  /// A mean over trailing axes that are kept as 1; returns its operand.
  Value meanOf(Value v) {
    auto mean = v.getDefiningOp<MeanOp>();
    if (!mean || !mean.getKeepdims())
      return {};
    SmallVector<bool> mask = reducedAxes(shapeOf(mean.getData()).size(), mean.getAxis(), mean.getExclude());
    int64_t count = 0;
    while (count < static_cast<int64_t>(mask.size()) && mask[mask.size() - 1 - count])
      ++count;
    if (count == 0 || count != llvm::count(mask, true) || (axes && axes != count))
      return {};
    axes = count;
    note(mean);
    return mean.getData();
  }

  /// x - mean(x); returns x.
  Value centred(Value v) {
    auto difference = v.getDefiningOp<SubtractOp>();
    if (!difference || meanOf(difference.getRhs()) != difference.getLhs())
      return {};
    note(difference);
    return difference.getLhs();
  }

  /// The mean of the squares of x - mean(x).
  bool variance(Value v) {
    Value square = meanOf(v);
    Operation *op = square ? square.getDefiningOp() : nullptr;
    Value base;
    if (auto power = llvm::dyn_cast_if_present<PowerOp>(op))
      base = scalarOf(power.getRhs()) == 2.0 ? power.getLhs() : Value();
    else if (auto product = llvm::dyn_cast_if_present<MultiplyOp>(op))
      base = product.getLhs() == product.getRhs() ? product.getLhs() : Value();
    if (!base || centred(base) != data)
      return false;
    note(op);
    return true;
  }

  /// variance + epsilon
  bool stabilised(Value v) {
    auto sum = v.getDefiningOp<AddOp>();
    auto [constant, other] = operandsOf(sum, [](Value o) { return scalarOf(o).has_value(); });
    if (!constant || !variance(other))
      return false;
    epsilon = *scalarOf(constant);
    note(sum);
    return true;
  }

  /// The root of variance + epsilon, or its inverse.
  bool root(Value v, bool inverse) {
    Operation *op = v.getDefiningOp();
    Value inside;
    if (auto power = llvm::dyn_cast_if_present<PowerOp>(op))
      inside = scalarOf(power.getRhs()) == (inverse ? -0.5 : 0.5) ? power.getLhs() : Value();
    else if (inverse && llvm::isa_and_present<RsqrtOp>(op))
      inside = op->getOperand(0);
    else if (!inverse && llvm::isa_and_present<SqrtOp>(op))
      inside = op->getOperand(0);
    if (auto quotient = llvm::dyn_cast_if_present<DivideOp>(op); quotient && inverse) {
      if (scalarOf(quotient.getLhs()) != 1.0 || !root(quotient.getRhs(), false))
        return false;
      note(op);
      return true;
    }
    if (!inside || !stabilised(inside))
      return false;
    note(op);
    return true;
  }

  /// (x - mean) / root, or times the inverse root.
  bool normalised(Operation *op) {
    bool divides = llvm::isa<DivideOp>(op);
    for (int i : {0, 1}) {
      Match m;
      m.data = m.centred(op->getOperand(i));
      if (m.data && m.root(op->getOperand(1 - i), !divides)) {
        *this = std::move(m);
        note(op);
        return true;
      }
      if (divides)
        break;
    }
    return false;
  }
};

template <typename Op> struct FromMoments : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Match m;
    if (!llvm::isa<mlir::FloatType>(elementType(op.getResult())) || !m.normalised(op) ||
        m.data.getType() != op.getResult().getType())
      return failure();
    mlir::Location loc = rewriter.getFusedLoc(m.locations);
    SmallVector<int64_t> shape(shapeOf(m.data)), flat(shape);
    int64_t extent = 1;
    for (int64_t i = 0; i < m.axes; ++i)
      extent *= flat.pop_back_val();
    flat.push_back(extent);
    mlir::Type type = elementType(m.data);
    std::vector<double> ones(extent, 1), zeros(extent, 0);
    Value gamma = floatConstant(rewriter, loc, type, {extent}, ones);
    Value beta = floatConstant(rewriter, loc, type, {extent}, zeros);
    Value data = flat == shape ? m.data : buildReshape(rewriter, loc, m.data, flat);
    Value norm = build(rewriter, loc, "nn.layer_norm", {data, gamma, beta},
                       rewriter.getNamedAttr("epsilon", rewriter.getF64FloatAttr(m.epsilon)));
    if (norm && flat != shape)
      norm = buildReshape(rewriter, loc, norm, shape);
    if (!norm)
      return failure();
    rewriter.replaceOp(op, norm);
    return success();
  }
};

/// A factor or an offset for each element of the axis behind the normalisation.
template <typename Op> struct Affine : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    constexpr bool multiplies = std::is_same_v<Op, MultiplyOp>;
    auto [result, operand] =
        operandsOf(op, [](Value v) { return v.getDefiningOp<LayerNormOp>() && v.hasOneUse(); });
    if (!result || result.getType() != op.getResult().getType())
      return failure();
    auto norm = result.template getDefiningOp<LayerNormOp>();
    ArrayRef<int64_t> shape = shapeOf(norm.getData());
    int64_t last = static_cast<int64_t>(shape.size()) - 1;
    auto values = channelValues(operand, shape, last);
    auto gamma = floatsOf(norm.getGamma()), beta = floatsOf(norm.getBeta());
    if (!values || !gamma || !beta || normalizeAxis(norm.getAxis(), shape.size()) != last ||
        !norm.getScale() || !norm.getCenter())
      return failure();
    for (int64_t i = 0; i < shape[last]; ++i) {
      if (multiplies)
        (*gamma)[i] *= (*values)[i];
      (*beta)[i] = multiplies ? (*beta)[i] * (*values)[i] : (*beta)[i] + (*values)[i];
    }
    mlir::Location loc = rewriter.getFusedLoc({norm.getLoc(), op.getLoc()});
    mlir::Type type = elementType(norm.getGamma());
    Value made = build(rewriter, loc, "nn.layer_norm",
                       {norm.getData(), floatConstant(rewriter, loc, type, {shape[last]}, *gamma),
                        floatConstant(rewriter, loc, type, {shape[last]}, *beta)},
                       rewriter.getNamedAttr("epsilon", norm->getAttr("epsilon")));
    if (!made)
      return failure();
    rewriter.replaceOp(op, made);
    return success();
  }
};

struct RecogniseLayerNorm : RelayPass<RecogniseLayerNorm> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RecogniseLayerNorm)
  static constexpr llvm::StringLiteral passName = "RecogniseLayerNorm";

  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    patterns.add<FromMoments<DivideOp>, FromMoments<MultiplyOp>, Affine<MultiplyOp>, Affine<AddOp>>(
        &getContext());
    if (mlir::failed(applyPatterns(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createRecogniseLayerNormPass() {
  return std::make_unique<RecogniseLayerNorm>();
}

} // namespace tensorturbo::relay
