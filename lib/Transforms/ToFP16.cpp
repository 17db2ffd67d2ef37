// Operators of the NPU compute in float16; casts stand where they meet the host's, and inputs and outputs
// that only the NPU sees change their type.
//
//   func @main(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
//     %0 = relay.exp %x {tt.where = "npu"} : (tensor<1x8xf32>) -> tensor<1x8xf32>
// becomes
//   func @main(%x: tensor<1x8xf16> {relay.model_dtype = "float32"})
//       -> (tensor<1x8xf16> {relay.model_dtype = "float32"}) {
//     %0 = relay.exp %x {tt.where = "npu"} : (tensor<1x8xf16>) -> tensor<1x8xf16>
//
// An operator without tt.where counts as the NPU's if its operands or results are float32.
#include "Transforms/Evaluate.h"
#include "Transforms/RelayPass.h"
#include "llvm/ADT/MapVector.h"

namespace tensorturbo::relay {
namespace {

constexpr llvm::StringLiteral modelDtype = "relay.model_dtype";

bool isF32(Value v) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(v.getType());
  return tensor && tensor.getElementType().isF32();
}

struct ToFP16 : RelayPass<ToFP16> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ToFP16)
  static constexpr llvm::StringLiteral passName = "ToFP16";

  void runOnOperation() override {
    for (auto func : getOperation().getOps<mlir::func::FuncOp>())
      if (!func.isExternal() && mlir::failed(convert(func)))
        return signalPassFailure();
  }

  static bool isNpu(Operation *op) {
    if (!llvm::isa_and_present<RelayDialect>(op->getDialect()) || llvm::isa<ConstantOp>(op))
      return false;
    if (auto where = op->getAttrOfType<mlir::StringAttr>("tt.where"))
      return where == "npu";
    return llvm::any_of(op->getOperands(), isF32) || llvm::any_of(op->getResults(), isF32);
  }

  mlir::LogicalResult convert(mlir::func::FuncOp func) {
    mlir::Block &body = func.getBody().front();
    /// float16 counterparts of float32 values.
    llvm::DenseMap<Value, Value> halves;
    auto half = [&](mlir::OpBuilder &b, Value v) {
      Value &known = halves[v];
      if (known)
        return known;
      mlir::OpBuilder::InsertionGuard guard(b);
      // Right behind the definition, so that it serves all users.
      if (Operation *def = v.getDefiningOp())
        b.setInsertionPointAfter(def);
      else
        b.setInsertionPointToStart(&body);
      known = makeCast(b, v, "float16");
      if (!known || !v.getDefiningOp<ConstantOp>())
        return known;
      Operation *cast = known.getDefiningOp();
      known = foldNow(b, known);
      if (cast->use_empty() && known.getDefiningOp() != cast)
        cast->erase();
      return known;
    };

    SmallVector<Operation *> ops;
    for (Operation &op : body)
      ops.push_back(&op);
    SmallVector<Operation *> dead;
    for (Operation *op : ops) {
      if (!isNpu(op))
        continue;
      mlir::OpBuilder b(op);
      SmallVector<Value> operands;
      for (Value v : op->getOperands())
        operands.push_back(isF32(v) ? half(b, v) : v);
      if (llvm::is_contained(operands, Value()))
        return mlir::failure();
      Operation *made = rebuild(b, op, operands, dtypeChanges(b, op));
      if (!made)
        return mlir::failure();
      for (auto [from, to] : llvm::zip_equal(op->getResults(), made->getResults())) {
        if (from.getType() == to.getType()) {
          from.replaceAllUsesWith(to);
          continue;
        }
        halves[from] = to;
      }
      dead.push_back(op);
    }
    // Users that stay in float32 get a cast; converted operators are gone by now.
    for (Operation *op : llvm::reverse(dead)) {
      for (Value result : op->getResults()) {
        if (result.use_empty())
          continue;
        Value to = halves[result];
        mlir::OpBuilder b(to.getDefiningOp());
        b.setInsertionPointAfter(to.getDefiningOp());
        Value wide = makeCast(b, to, "float32");
        if (!wide)
          return mlir::failure();
        result.replaceAllUsesWith(wide);
      }
      op->erase();
    }
    convertBorders(func);
    for (auto c : llvm::make_early_inc_range(body.getOps<ConstantOp>()))
      if (c->use_empty())
        c->erase();
    return mlir::success();
  }

  /// A cast is the host's business: the NPU's tensors are float16.
  static Value makeCast(mlir::OpBuilder &b, Value v, llvm::StringRef dtype) {
    mlir::Location loc = v.getLoc();
    Value cast = build(b, loc, "cast", v, b.getNamedAttr("dtype", b.getStringAttr(dtype)));
    if (cast)
      cast.getDefiningOp()->setAttr("tt.where", b.getStringAttr("host"));
    return cast;
  }

  /// Attributes that name float32.
  static SmallVector<mlir::NamedAttribute> dtypeChanges(mlir::OpBuilder &b, Operation *op) {
    SmallVector<mlir::NamedAttribute> changes;
    for (llvm::StringRef name : {"dtype", "out_dtype"})
      if (auto value = op->getAttrOfType<mlir::StringAttr>(name); value && value == "float32")
        changes.push_back(b.getNamedAttr(name, b.getStringAttr("float16")));
    return changes;
  }

  static bool isCastFrom(Operation *op, bool toHalf) {
    auto cast = llvm::dyn_cast_if_present<CastOp>(op);
    if (!cast)
      return false;
    mlir::Type from = elementType(cast.getData()), to = elementType(cast.getResult());
    return toHalf ? from.isF32() && to.isF16() : from.isF16() && to.isF32();
  }

  /// float32 arguments that are only cast to float16, and results that are only cast from it, become float16.
  static void convertBorders(mlir::func::FuncOp func) {
    mlir::Block &body = func.getBody().front();
    mlir::Type f16 = mlir::Float16Type::get(func.getContext());
    auto name = mlir::StringAttr::get(func.getContext(), "float32");
    for (mlir::BlockArgument arg : body.getArguments()) {
      if (!isF32(arg) || arg.use_empty() ||
          !llvm::all_of(arg.getUsers(), [](Operation *u) { return isCastFrom(u, true); }))
        continue;
      SmallVector<Operation *> casts(arg.getUsers());
      arg.setType(mlir::RankedTensorType::get(shapeOf(arg), f16));
      for (Operation *cast : casts) {
        cast->getResult(0).replaceAllUsesWith(arg);
        cast->erase();
      }
      func.setArgAttr(arg.getArgNumber(), modelDtype, name);
    }
    Operation *end = body.getTerminator();
    for (auto [i, v] : llvm::enumerate(end->getOperands())) {
      Operation *cast = v.getDefiningOp();
      if (!isCastFrom(cast, false))
        continue;
      end->setOperand(i, cast->getOperand(0));
      if (cast->use_empty())
        cast->erase();
      func.setResultAttr(i, modelDtype, name);
    }
    func.setType(mlir::FunctionType::get(func.getContext(), body.getArgumentTypes(), end->getOperandTypes()));
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createToFP16Pass() {
  return std::make_unique<ToFP16>();
}

} // namespace tensorturbo::relay
