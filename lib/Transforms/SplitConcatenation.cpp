// Pattern of Legalize: a convolution of concatenated channels is the sum of convolutions of the parts, where
// moving the sums costs less than moving the parts together (skip connections, fire modules). The additions
// become epilogues.
//
//   %0 = relay.concatenate %a, %b {axis = 3}
//   %1 = relay.nn.conv2d %0, %w
// becomes
//   %0 = relay.nn.conv2d %b, %w[input channels of b]
//   %1 = relay.nn.conv2d %a, %w[input channels of a]
//   %2 = relay.add %1, %0
#include "Transforms/SimplifyPatterns.h"

namespace tensorturbo::relay {
namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::success;

struct SplitConcatenation : mlir::OpRewritePattern<Conv2DOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(Conv2DOp op, PatternRewriter &rewriter) const override {
    auto concat = op.getData().getDefiningOp<ConcatenateOp>();
    if (!concat || !concat->hasOneUse() || op.getGroups() != 1 || op.getDataLayout() != "NHWC" ||
        op.getKernelLayout() != "HWIO" || !isFloatConstant(op.getWeight()) || concat.getData().size() < 2 ||
        normalizeAxis(concat.getAxis(), 4) != 3)
      return failure();
    auto parts = static_cast<int64_t>(concat.getData().size());
    auto elements = [](Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()).getNumElements(); };
    if ((parts - 1) * elements(op.getResult()) >= elements(op.getData()))
      return failure();
    Value sum;
    int64_t end = shapeOf(op.getData())[3];
    SmallVector<Value> inputs(concat.getData());
    for (Value part : llvm::reverse(inputs)) {
      int64_t begin = end - shapeOf(part)[3];
      auto number = [&](llvm::StringRef name, int64_t value) {
        return rewriter.getNamedAttr(name, rewriter.getDenseI64ArrayAttr(value));
      };
      Value weight = build(rewriter, op.getWeight().getLoc(), "strided_slice", op.getWeight(),
                           {number("begin", begin), number("end", end), number("axes", 2)});
      Operation *made = weight ? rebuild(rewriter, op, {part, foldNow(rewriter, weight)}) : nullptr;
      if (!made)
        return failure();
      Value result = made->getResult(0);
      sum = sum ? build(rewriter, op.getLoc(), "add", {result, sum}) : result;
      if (!sum)
        return failure();
      end = begin;
    }
    rewriter.replaceOp(op, sum);
    return success();
  }
};

} // namespace

void populateSplitPatterns(mlir::RewritePatternSet &patterns) {
  patterns.add<SplitConcatenation>(patterns.getContext());
}

} // namespace tensorturbo::relay
