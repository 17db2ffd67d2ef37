#include "HostCpu/Internal.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace tensorturbo::host {
namespace {

/// The buffer that a view looks at.
Value rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

bool isDense(Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  return type && type.hasStaticShape() && type.getLayout().isIdentity();
}

/// Moves loop nests into functions of their own.
class Outliner {
public:
  explicit Outliner(ModuleOp module) : module(module), b(module.getContext()) {}

  void run(func::FuncOp entry) {
    SmallVector<Operation *> nests;
    for (Operation &op : entry.getBody().front())
      if (isa<linalg::LinalgOp, scf::ForOp>(op) && op.getNumResults() == 0)
        nests.push_back(&op);
    for (Operation *nest : nests)
      outline(nest);
  }

private:
  void outline(Operation *nest) {
    llvm::SetVector<Value> used(nest->operand_begin(), nest->operand_end());
    getUsedValuesDefinedAbove(nest->getRegions(), used);
    SmallVector<Value> captured;
    SmallVector<Operation *> constants;
    for (Value value : used) {
      Operation *definition = value.getDefiningOp();
      if (definition && definition->hasTrait<OpTrait::ConstantLike>())
        constants.push_back(definition);
      else if (isDense(value) || value.getType().isIntOrIndexOrFloat())
        captured.push_back(value);
      else
        return;
    }
    func::FuncOp function = build(nest, captured, constants);
    call(nest, captured, unique(function));
  }

  func::FuncOp build(Operation *nest, ArrayRef<Value> captured, ArrayRef<Operation *> constants) {
    Location loc = nest->getLoc();
    Type pointerType = LLVM::LLVMPointerType::get(b.getContext());
    SmallVector<Type> types;
    for (Value value : captured)
      types.push_back(isDense(value) ? pointerType : value.getType());
    b.setInsertionPointToEnd(module.getBody());
    auto function = func::FuncOp::create(b, loc, "nest", b.getFunctionType(types, {}));
    function.setPrivate();
    Block *body = function.addEntryBlock();
    b.setInsertionPointToStart(body);
    IRMapping mapping;
    for (auto [value, argument] : llvm::zip_equal(captured, body->getArguments()))
      mapping.map(value, isDense(value) ? denseBuffer(b, loc, argument, cast<MemRefType>(value.getType()))
                                        : argument);
    for (Operation *constant : constants)
      b.clone(*constant, mapping);
    b.clone(*nest, mapping);
    func::ReturnOp::create(b, loc);
    // Buffers of different roots are apart; views of one root may overlap.
    for (size_t i = 0; i < captured.size(); ++i) {
      auto sameRoot = [&](Value other) { return isDense(other) && rootOf(other) == rootOf(captured[i]); };
      if (isDense(captured[i]) && llvm::count_if(captured, sameRoot) == 1)
        function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
    }
    return function;
  }

  /// The function itself under a name of its own, or an equal one that exists: layers of a network repeat,
  /// and their loops differ in nothing but the buffers.
  func::FuncOp unique(func::FuncOp function) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    function->print(stream, OpPrintingFlags().useLocalScope());
    auto [position, isNew] = functions.try_emplace(text, function);
    if (!isNew) {
      function.erase();
      return position->second;
    }
    function.setName("nest_" + std::to_string(functions.size()));
    return function;
  }

  void call(Operation *nest, ArrayRef<Value> captured, func::FuncOp function) {
    Location loc = nest->getLoc();
    b.setInsertionPoint(nest);
    SmallVector<Value> arguments;
    for (Value value : captured)
      arguments.push_back(isDense(value) ? pointerOf(b, loc, value) : value);
    func::CallOp::create(b, loc, function, arguments);
    nest->erase();
  }

  ModuleOp module;
  OpBuilder b;
  llvm::StringMap<func::FuncOp> functions;
};

} // namespace

void outlineLoops(ModuleOp module) {
  Outliner outliner(module);
  for (func::FuncOp function : llvm::to_vector(module.getOps<func::FuncOp>()))
    if (function.isPublic())
      outliner.run(function);
}

} // namespace tensorturbo::host
