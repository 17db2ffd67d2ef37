// nn.pad becomes the padding of the convolution or pooling behind it, where the values agree.
//
//   %0 = relay.nn.pad %x, %zero {pad_width = array<i64: 0, 0, 0, 0, 1, 1, 1, 1>}
//   %1 = relay.nn.conv2d %0, %w
// becomes
//   %1 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1, 1, 1>}
#include "Transforms/RelayPass.h"
#include <limits>

namespace tensorturbo::relay {
namespace {

/// What the padding of an operator means: conv and avg_pool pad with 0, max_pool with minus infinity.
template <typename Op> struct FoldPad : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  static constexpr bool isConv =
      std::is_same_v<Op, Conv1DOp> || std::is_same_v<Op, Conv2DOp> || std::is_same_v<Op, Conv3DOp>;
  static constexpr bool isAverage =
      std::is_same_v<Op, AvgPool1DOp> || std::is_same_v<Op, AvgPool2DOp> || std::is_same_v<Op, AvgPool3DOp>;

  mlir::LogicalResult matchAndRewrite(Op op, mlir::PatternRewriter &rewriter) const override {
    auto pad = op->getOperand(0).template getDefiningOp<PadOp>();
    if (!pad || pad.getPadMode() != "constant")
      return mlir::failure();
    auto value = scalarOf(pad.getPadVal());
    if (!value)
      return mlir::failure();
    llvm::StringRef layout;
    if constexpr (isConv)
      layout = op.getDataLayout();
    else
      layout = op.getLayout();
    // Any value below all data would do for max_pool; only these are certain.
    bool lowest = *value == -std::numeric_limits<double>::infinity() ||
                  *value == static_cast<double>(std::numeric_limits<float>::lowest());
    if (isConv || isAverage ? *value != 0 : !lowest)
      return mlir::failure();
    ArrayRef<int64_t> width = pad.getPadWidth();
    SmallVector<int64_t> padding(op.getPadding());
    size_t n = padding.size() / 2, axis = 0;
    for (char letter : layout) {
      int64_t before = width[2 * axis], after = width[2 * axis + 1];
      ++axis;
      if (letter == 'N' || letter == 'C') {
        if (before || after)
          return mlir::failure();
        continue;
      }
      size_t spatial = llvm::StringRef(n == 3 ? "DHW" : n == 2 ? "HW" : "W").find(letter);
      padding[spatial] += before;
      padding[spatial + n] += after;
    }
    SmallVector<mlir::NamedAttribute> changed = {
        rewriter.getNamedAttr("padding", rewriter.getDenseI64ArrayAttr(padding))};
    if constexpr (isAverage) {
      // Zeros of nn.pad count; the pooling's own count only if it says so, so both kinds cannot be mixed.
      bool ownPadding = llvm::any_of(op.getPadding(), [](int64_t p) { return p != 0; });
      if ((ownPadding && !op.getCountIncludePad()) || op.getCeilMode())
        return mlir::failure();
      changed.push_back(rewriter.getNamedAttr("count_include_pad", rewriter.getBoolAttr(true)));
    }
    SmallVector<Value> operands(op->getOperands());
    operands[0] = pad.getData();
    Operation *made = rebuild(rewriter, op, operands, changed);
    if (!made)
      return mlir::failure();
    made->setLoc(rewriter.getFusedLoc({pad.getLoc(), op.getLoc()}));
    rewriter.replaceOp(op, made);
    return mlir::success();
  }
};

struct FoldExplicitPadding : RelayPass<FoldExplicitPadding> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldExplicitPadding)
  static constexpr llvm::StringLiteral passName = "FoldExplicitPadding";

  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    patterns.add<FoldPad<Conv1DOp>, FoldPad<Conv2DOp>, FoldPad<Conv3DOp>, FoldPad<MaxPool1DOp>,
                 FoldPad<MaxPool2DOp>, FoldPad<MaxPool3DOp>, FoldPad<AvgPool1DOp>, FoldPad<AvgPool2DOp>,
                 FoldPad<AvgPool3DOp>>(&getContext());
    if (mlir::failed(applyPatterns(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createFoldExplicitPaddingPass() {
  return std::make_unique<FoldExplicitPadding>();
}

} // namespace tensorturbo::relay
