// Evaluates operators whose operands are all constant.
//
//   %w = relay.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
//   %0 = relay.transpose %w {axes = array<i64: 1, 0>} : (tensor<1x2xf32>) -> tensor<2x1xf32>
// becomes
//   %0 = relay.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
//
// A result much larger than its operands stays an operator, so that a hostile file cannot fill the memory.
#include "Transforms/Evaluate.h"
#include "Transforms/RelayPass.h"

namespace tensorturbo::relay {
namespace {

/// Results up to this size are always folded; beyond, up to sixteen times the operands and never above the
/// limit.
constexpr int64_t smallBytes = 1 << 16;
constexpr int64_t limitBytes = int64_t(64) << 20;

bool sizeAllowed(Operation *op, ArrayRef<Constant> operands) {
  int64_t in = 0, out = 0;
  for (const Constant &c : operands)
    in += static_cast<int64_t>(c.bytes);
  for (Value r : op->getResults())
    out += elementCount(shapeOf(r).vec()) * static_cast<int64_t>(dtypeSize(*dtypeOf(elementType(r))));
  // Pure moves of weights never grow, however large the weights are.
  return out <= smallBytes || out <= in || (out <= limitBytes && out <= 16 * in);
}

struct FoldConstant : RelayPass<FoldConstant> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldConstant)
  static constexpr llvm::StringLiteral passName = "FoldConstant";

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (llvm::isa_and_present<RelayDialect>(op->getDialect()) && !llvm::isa<ConstantOp>(op))
        ops.push_back(op);
    });
    SmallVector<Operation *> dead;
    for (Operation *op : ops)
      if (fold(op))
        dead.push_back(op);
    for (Operation *op : llvm::reverse(dead))
      op->erase();
    removeDeadConstants();
  }

  static bool fold(Operation *op) {
    std::vector<Constant> operands;
    // Only their operands' types matter.
    bool needsValues = !llvm::isa<ShapeOfOp, NdarraySizeOp, ZerosLikeOp, OnesLikeOp>(op);
    for (Value v : op->getOperands()) {
      auto c = constantOf(v);
      if (!c && needsValues)
        return false;
      if (!c) {
        c = Constant();
        c->shape = shapeOf(v).vec();
        c->dtype = *dtypeOf(elementType(v));
      }
      operands.push_back(std::move(*c));
    }
    if (!sizeAllowed(op, operands))
      return false;
    auto results = evaluate(op, operands);
    if (!results)
      return false;
    mlir::OpBuilder b(op);
    for (auto [result, constant] : llvm::zip_equal(op->getResults(), *results))
      result.replaceAllUsesWith(createConstant(b, op->getLoc(), constant));
    return true;
  }

  void removeDeadConstants() {
    getOperation().walk([](ConstantOp c) {
      if (c->use_empty())
        c->erase();
    });
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createFoldConstantPass() {
  return std::make_unique<FoldConstant>();
}

} // namespace tensorturbo::relay
