// Infers every type anew from the types of the function arguments, after a change of the model's inputs.
//
//   func @main(%x: tensor<4x8xf32>) {                    // the batch was 1
//     %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<1x8xf32>
// becomes
//     %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
//
// All errors are reported in one run; an operator whose operand could not be inferred is not.
#include "Transforms/RelayPass.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"

namespace tensorturbo::relay {
namespace {

struct InferType : RelayPass<InferType> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InferType)
  static constexpr llvm::StringLiteral passName = "InferType";

  void runOnOperation() override {
    bool ok = true;
    for (auto func : getOperation().getOps<mlir::func::FuncOp>())
      if (!func.isExternal())
        ok &= inferFunction(func);
    if (!ok)
      signalPassFailure();
  }

  bool inferFunction(mlir::func::FuncOp func) {
    llvm::DenseSet<Operation *> bad;
    func.walk([&](Operation *op) {
      for (Value v : op->getOperands())
        if (v.getDefiningOp() && bad.contains(v.getDefiningOp())) {
          bad.insert(op);
          return;
        }
      auto interface = llvm::dyn_cast<mlir::InferTypeOpInterface>(op);
      // Constants keep their type.
      if (!interface || llvm::isa<ConstantOp>(op))
        return;
      SmallVector<mlir::Type> types;
      bool inferred = mlir::succeeded(interface.inferReturnTypes(
          op->getContext(), op->getLoc(), op->getOperands(), op->getDiscardableAttrDictionary(),
          op->getPropertiesStorage(), op->getRegions(), types));
      if (inferred && types.size() != op->getNumResults()) {
        op->emitOpError() << "now has " << types.size() << " results instead of " << op->getNumResults();
        inferred = false;
      }
      if (!inferred) {
        bad.insert(op);
        return;
      }
      for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
        result.setType(type);
    });
    if (!bad.empty())
      return false;
    mlir::Block &body = func.getBody().front();
    func.setType(mlir::FunctionType::get(func.getContext(), body.getArgumentTypes(),
                                         body.getTerminator()->getOperandTypes()));
    return true;
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createInferTypePass() {
  return std::make_unique<InferType>();
}

} // namespace tensorturbo::relay
