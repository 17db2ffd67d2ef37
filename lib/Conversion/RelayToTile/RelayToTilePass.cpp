// relay-to-tile for tt-opt: the kernel of every primitive function, with a tile.global in DDR for each
// argument and result. The compiler calls lowerKernel itself, because it knows where tensors lie.
//
//   func.func private @fused_nn_relu(%x: tensor<4xf16>) -> tensor<4xf16> attributes {relay.primitive} { ... }
// becomes
//   tile.global @fused_nn_relu_in_0 {bytes = 8 : i64}
//   tile.global @fused_nn_relu_out_0 {bytes = 8 : i64}
//   func.func @npu_fused_nn_relu() { ... tile operations ... }
#include "Conversion/RelayToTile/RelayToTile.h"
#include "Dialect/Relay/Relay.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace tensorturbo::tile {
namespace {

class RelayToTilePass : public PassWrapper<RelayToTilePass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RelayToTilePass)
  RelayToTilePass() = default;
  RelayToTilePass(const RelayToTilePass &other) : PassWrapper(other) {
    ncore = other.ncore.getValue();
    llbInputs = other.llbInputs.getValue();
  }

  StringRef getArgument() const override { return "relay-to-tile"; }
  StringRef getDescription() const override { return "primitive functions to kernels of tile operations"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<TileDialect, arith::ArithDialect, func::FuncDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    ConstantPool pool(module, store);
    Diagnostics diags;
    LoweringContext context{module, pool, ncore, diags};
    SmallVector<func::FuncOp> sources(module.getOps<func::FuncOp>());
    bool good = true;
    for (func::FuncOp source : sources)
      if (source->hasAttr("relay.primitive"))
        good = lower(source, context) && good;
    for (const Diagnostic &d : diags.all())
      module.emitError(d.message);
    if (!good)
      return signalPassFailure();
    // Symbols that call one another go in any order.
    for (func::FuncOp source : sources)
      source.erase();
  }

private:
  bool lower(func::FuncOp source, LoweringContext &context) {
    for (Operation &op : source.getBody().front())
      if (!isa<relay::ConstantOp, func::ReturnOp>(op)) {
        std::string why = whyNotNpu(&op, ncore);
        if (why.empty())
          continue;
        op.emitError("not on the NPU: " + why);
        return false;
      }
    KernelSpec spec;
    spec.primitive = source;
    spec.name = "npu_" + source.getName().str();
    for (Type type : source.getArgumentTypes())
      spec.inputs.push_back(declare(type, source.getName() + "_in_" + Twine(spec.inputs.size()), llbInputs));
    for (Type type : source.getResultTypes())
      spec.outputs.push_back(declare(type, source.getName() + "_out_" + Twine(spec.outputs.size()), false));
    return lowerKernel(spec, context);
  }

  TensorRef declare(Type type, const Twine &name, bool inLlb) {
    auto tensor = cast<RankedTensorType>(type);
    OpBuilder b(&getContext());
    b.setInsertionPointToStart(getOperation().getBody());
    GlobalOp::create(b, getOperation().getLoc(), b.getStringAttr(name),
                     b.getI64IntegerAttr(tensor.getNumElements() * tensor.getElementTypeBitWidth() / 8),
                     IntegerAttr(), IntegerAttr());
    return {name.str(), inLlb, 0};
  }

  ConstantStore store;
  Option<int> ncore{*this, "ncore", llvm::cl::desc("cores that run the kernels"), llvm::cl::init(8)};
  Option<bool> llbInputs{*this, "llb-inputs", llvm::cl::desc("arguments lie in LLB"), llvm::cl::init(false)};
};

} // namespace

void registerRelayToTilePass() {
  registerPass([] { return std::make_unique<RelayToTilePass>(); });
}

} // namespace tensorturbo::tile
