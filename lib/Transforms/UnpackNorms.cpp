// Patterns of Legalize: normalisation of groups of channels and of single channels by operators that the NPU
// has. Runs on any layout whose other axes are neighbours.
//
//   mean over the map (and, by a product with a constant matrix, over the channels of a group)
//   -> x - mean -> variance likewise -> times 1/sqrt(variance + epsilon) -> times gamma, plus beta
#include "Transforms/SimplifyPatterns.h"

namespace tensorturbo::relay {
namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::success;

/// Larger matrices would cost more than they are worth.
constexpr int64_t maxChannels = 4096;

class Builder {
public:
  Builder(mlir::OpBuilder &b, mlir::Location loc, Value data, int64_t axis, int64_t groups)
      : b(b), loc(loc), type(elementType(data)), shape(shapeOf(data)), axis(axis), groups(groups) {}

  Value normalise(Value data, double epsilon, Value gamma, Value beta) {
    Value centred = make("subtract", {data, meanOf(data)});
    // Squares of a quarter: deviations up to 1023 stay in the range of halves.
    Value quarter = make("multiply", {centred, scalar(0.25)});
    Value variance = meanOf(make("multiply", {quarter, quarter}));
    // 1/4 of 1/sqrt(v/16 + epsilon/16), where the smallest half above zero keeps constant maps finite.
    Value inverse = make("rsqrt", make("add", {variance, scalar(std::max(epsilon / 16, 0x1p-24))}));
    Value factor = make("multiply", {inverse, scalar(0.25)});
    Value result = make("multiply", {centred, make("multiply", {factor, channels(gamma)})});
    return make("add", {result, channels(beta)});
  }

private:
  Value make(llvm::StringRef name, mlir::ValueRange operands,
             ArrayRef<mlir::NamedAttribute> attributes = {}) {
    if (llvm::is_contained(operands, Value()))
      return {};
    return build(b, loc, name, operands, attributes);
  }
  Value scalar(double value) { return createScalar(b, loc, type, value); }

  /// A vector shaped to broadcast along the axis.
  Value channels(Value vector) {
    SmallVector<int64_t> to(shape.size() - axis, 1);
    to[0] = shape[axis];
    Value v = buildReshape(b, loc, vector, to);
    return v ? foldNow(b, v) : v;
  }

  /// Mean of each group of channels of each sample, repeated for the group's channels; 1 along other axes.
  Value meanOf(Value data) {
    SmallVector<int64_t> others;
    for (int64_t i = 1; i < static_cast<int64_t>(shape.size()); ++i)
      if (i != axis)
        others.push_back(i);
    Value mean = make("mean", data,
                      {b.getNamedAttr("axis", b.getDenseI64ArrayAttr(others)),
                       b.getNamedAttr("keepdims", b.getBoolAttr(true))});
    int64_t count = shape[axis], members = count / groups;
    if (!mean || members == 1)
      return mean;
    SmallVector<int64_t> kept(shapeOf(mean));
    std::vector<double> matrix(count * count, 0);
    for (int64_t i = 0; i < count; ++i)
      for (int64_t k = i / members * members, end = k + members; k < end; ++k)
        matrix[i * count + k] = 1.0 / double(members);
    Value flat = buildReshape(b, loc, mean, {shape[0], count});
    Value product = make("nn.dense", {flat, floatConstant(b, loc, type, {count, count}, matrix)});
    return product ? buildReshape(b, loc, product, kept) : product;
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type type;
  SmallVector<int64_t> shape;
  int64_t axis, groups;
};

LogicalResult unpack(Operation *op, Value data, int64_t axis, int64_t groups, double epsilon, Value gamma,
                     Value beta, PatternRewriter &rewriter) {
  ArrayRef<int64_t> shape = shapeOf(data);
  auto rank = static_cast<int64_t>(shape.size());
  axis = normalizeAxis(axis, rank);
  // Axes that are reduced must be neighbours, and there must be some.
  bool neighbours = axis == 1 || axis == rank - 1;
  if (rank < 3 || axis == 0 || !neighbours || !elementType(data).isF32() || llvm::is_contained(shape, 0) ||
      (groups < shape[axis] && shape[axis] > maxChannels) || !constantOf(gamma) || !constantOf(beta))
    return failure();
  Value result = Builder(rewriter, op->getLoc(), data, axis, groups).normalise(data, epsilon, gamma, beta);
  if (!result)
    return failure();
  rewriter.replaceOp(op, result);
  return success();
}

struct UnpackGroupNorm : mlir::OpRewritePattern<GroupNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GroupNormOp op, PatternRewriter &rewriter) const override {
    if (!op.getScale() || !op.getCenter())
      return failure();
    return unpack(op, op.getData(), op.getAxis(), op.getNumGroups(), op.getEpsilon(), op.getGamma(),
                  op.getBeta(), rewriter);
  }
};

struct UnpackInstanceNorm : mlir::OpRewritePattern<InstanceNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(InstanceNormOp op, PatternRewriter &rewriter) const override {
    if (!op.getScale() || !op.getCenter())
      return failure();
    int64_t axis = normalizeAxis(op.getAxis(), shapeOf(op.getData()).size());
    return unpack(op, op.getData(), axis, shapeOf(op.getData())[axis], op.getEpsilon(), op.getGamma(),
                  op.getBeta(), rewriter);
  }
};

} // namespace

void populateNormPatterns(mlir::RewritePatternSet &patterns) {
  patterns.add<UnpackGroupNorm, UnpackInstanceNorm>(patterns.getContext());
}

} // namespace tensorturbo::relay
