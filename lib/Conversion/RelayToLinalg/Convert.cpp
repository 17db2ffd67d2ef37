#include "Conversion/RelayToLinalg/Emitter.h"
#include "Dialect/Relay/RelayCore.h"

using namespace mlir;

namespace tensorturbo {
namespace {

const host::LoweringTable &lowerings() {
  static const host::LoweringTable table = [] {
    host::LoweringTable t;
    host::addConvLowerings(t);
    host::addElemwiseLowerings(t);
    host::addIndexLowerings(t);
    host::addMatmulLowerings(t);
    host::addNnLowerings(t);
    host::addPoolLowerings(t);
    host::addReduceLowerings(t);
    host::addResizeLowerings(t);
    host::addSortLowerings(t);
    host::addTransformLowerings(t);
    return t;
  }();
  return table;
}

/// Temporaries come from malloc; a larger tensor is refused here rather than at run time.
constexpr int64_t largestTensorBytes = int64_t(1) << 34;

bool tooLarge(Operation &op) {
  return llvm::any_of(op.getResultTypes(), [](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    int64_t width = host::storageType(tensor.getElementType()).getIntOrFloatBitWidth();
    return tensor.getNumElements() > largestTensorBytes / (width / 8);
  });
}

/// Lowers the ops of a block whose arguments are bound; binds what it returns to `results`.
void lowerBlock(host::Emitter &e, Block &block, SmallVector<Value> &results, unsigned depth) {
  for (Operation &op : block) {
    e.setLocation(op.getLoc());
    if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
      // Partitions call fused primitives and nothing deeper; the limit keeps recursion from running away.
      if (!callee || callee.isExternal() || depth > 8) {
        e.unsupported(&op, "calls of unknown functions have no host code");
        continue;
      }
      for (auto [argument, operand] : llvm::zip_equal(callee.getArguments(), call.getOperands()))
        e.bind(argument, e.get(operand).value);
      SmallVector<Value> returned;
      lowerBlock(e, callee.front(), returned, depth + 1);
      for (auto [result, value] : llvm::zip_equal(call.getResults(), returned))
        e.bind(result, value);
      continue;
    }
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      for (Value operand : op.getOperands())
        results.push_back(e.get(operand).value);
      continue;
    }
    if (isa<relay::ConstantOp>(op)) {
      if (std::optional<Constant> constant = relay::constantOf(op.getResult(0)))
        e.setConstant(op.getResult(0), *constant);
      else
        e.unsupported(&op, "its data is not in the constant store");
      continue;
    }
    if (tooLarge(op)) {
      e.unsupported(&op, "its result needs more than 16 GiB");
      continue;
    }
    auto lowering = lowerings().find(op.getName().getStringRef());
    if (lowering == lowerings().end())
      e.unsupported(&op, "there is no host code for this operator");
    else
      lowering->second(e, &op);
  }
}

} // namespace

bool hasHostLowering(Operation *op) {
  return isa<relay::ConstantOp>(op) || lowerings().contains(op->getName().getStringRef());
}

std::optional<HostProgram> convertRelayToLinalg(ArrayRef<func::FuncOp> functions, Diagnostics &diags) {
  if (functions.empty())
    return HostProgram();
  func::FuncOp first = functions.front();
  MLIRContext *context = first.getContext();
  loadHostDialects(*context);
  HostProgram program;
  program.module = ModuleOp::create(UnknownLoc::get(context));
  OpBuilder builder(context);
  Diagnostics findings;
  for (func::FuncOp source : functions) {
    auto storage = [](Type type) -> Type {
      auto tensor = cast<RankedTensorType>(type);
      return RankedTensorType::get(tensor.getShape(), host::storageType(tensor.getElementType()));
    };
    auto type = builder.getFunctionType(llvm::map_to_vector(source.getArgumentTypes(), storage),
                                        llvm::map_to_vector(source.getResultTypes(), storage));
    builder.setInsertionPointToEnd(program.module->getBody());
    auto target = func::FuncOp::create(builder, source.getLoc(), source.getName(), type);
    Block *entry = target.addEntryBlock();
    builder.setInsertionPointToStart(entry);
    host::Emitter emitter(builder, program.constants, *program.module, findings);
    for (auto [from, to] : llvm::zip_equal(source.getArguments(), entry->getArguments()))
      emitter.bind(from, to);
    SmallVector<Value> results;
    lowerBlock(emitter, source.front(), results, 0);
    func::ReturnOp::create(builder, source.getLoc(), results);
  }
  bool failed = findings.hasErrors();
  for (tensorturbo::Diagnostic &finding : findings.all())
    diags.report(std::move(finding));
  if (failed)
    return std::nullopt;
  return program;
}

} // namespace tensorturbo
