#include "Pipeline/Intermediates.h"
#include "Dialect/Relay/Relay.h"
#include "Pipeline/Compiler.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

void tensorturbo::exposeIntermediates(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  Block &block = main.getBody().front();
  llvm::MapVector<StringAttr, Value> last;
  for (Operation &op : block) {
    if (isa<relay::ConstantOp, func::ReturnOp>(op) || op.getNumResults() != 1)
      continue;
    auto tensor = dyn_cast<RankedTensorType>(op.getResult(0).getType());
    std::string name = relay::nodeName(op.getLoc());
    if (tensor && isa<FloatType>(tensor.getElementType()) && !name.empty())
      last[StringAttr::get(module.getContext(), intermediatePrefix + name)] = op.getResult(0);
  }
  auto end = cast<func::ReturnOp>(block.getTerminator());
  SmallVector<Value> results(end.getOperands());
  SmallVector<Type> types(main.getResultTypes());
  for (auto &[name, value] : last) {
    results.push_back(value);
    types.push_back(value.getType());
  }
  unsigned first = main.getNumResults();
  SmallVector<Attribute> attributes;
  for (unsigned i = 0; i < first; ++i)
    attributes.push_back(main.getResultAttrDict(i) ? main.getResultAttrDict(i)
                                                   : DictionaryAttr::get(module.getContext()));
  Builder b(module.getContext());
  for (auto &[name, value] : last)
    attributes.push_back(b.getDictionaryAttr(b.getNamedAttr("relay.name", name)));
  end.getOperandsMutable().assign(results);
  main.setFunctionType(b.getFunctionType(main.getArgumentTypes(), types));
  main.setResAttrsAttr(b.getArrayAttr(attributes));
}
