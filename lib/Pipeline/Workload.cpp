#include "Pipeline/Workload.h"
#include "Dialect/Relay/Relay.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tensorturbo;

static RankedTensorType typeOf(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

/// A convolution as the product of its output pixels. Groups count their multiply-adds alone: the matrix unit
/// has no better use for them, and the vector unit may do a part.
static void addConvolution(runtime::Workload &work, Operation *op, StringRef kernelLayout, int64_t groups) {
  RankedTensorType out = typeOf(op->getResult(0)), weight = typeOf(op->getOperand(1));
  if (!out || !weight || weight.getRank() < 3)
    return;
  int64_t n = kernelLayout.starts_with("O") ? weight.getDimSize(0) : weight.getShape().back();
  int64_t k = weight.getNumElements() / n;
  if (groups > 1)
    work.groupedMacs += out.getNumElements() * k;
  else
    work.products.push_back({out.getNumElements() / n, n, k, 1});
}

/// Products of matrices: [..., m, k] times a right operand that is shared or one for each of the leading
/// indices.
static void addProduct(runtime::Workload &work, Operation *op) {
  RankedTensorType a = typeOf(op->getOperand(0)), b = typeOf(op->getOperand(1)),
                   out = typeOf(op->getResult(0));
  if (!a || !b || !out || out.getRank() < 1 || out.getNumElements() == 0)
    return;
  int64_t n = out.getShape().back(), count = 1;
  if (b.getRank() > 2)
    count = std::max<int64_t>(1, b.getNumElements() /
                                     (b.getDimSize(b.getRank() - 1) * b.getDimSize(b.getRank() - 2)));
  int64_t m = out.getNumElements() / n / count, k = b.getNumElements() / count / n;
  if (m > 0 && k > 0)
    work.products.push_back({m, n, k, count});
}

/// Operators without arithmetic, or whose arithmetic other operators can take over: a bias moves into the
/// next one, a product with a constant into the weights.
static bool isFree(Operation *op) {
  StringRef name = op->getName().stripDialect();
  for (const char *free :
       {"nn.bias_add", "reshape", "transpose", "expand_dims", "squeeze", "nn.batch_flatten", "concatenate",
        "split", "strided_slice", "layout_transform", "cast", "nn.pad", "copy", "constant", "full", "zeros",
        "ones", "broadcast_to", "nn.dropout"})
    if (name == free)
      return true;
  return false;
}

static bool isOnHost(Operation *user) {
  auto target = [](func::FuncOp func) {
    auto attr = func ? func->getAttrOfType<StringAttr>("tt.target") : StringAttr();
    return attr && attr.getValue() == "host";
  };
  if (auto call = dyn_cast<func::CallOp>(user))
    return target(SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(user, call.getCalleeAttr()));
  return target(user->getParentOfType<func::FuncOp>());
}

/// Bytes of the constants that the NPU's part uses.
static int64_t constantBytes(ModuleOp module) {
  int64_t bytes = 0;
  llvm::DenseSet<Attribute> seen;
  module.walk([&](relay::ConstantOp op) {
    RankedTensorType type = typeOf(op->getResult(0));
    if (type && !op->use_empty() && !llvm::all_of(op->getUsers(), isOnHost) &&
        seen.insert(op.getValue()).second)
      bytes += type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
  });
  return bytes;
}

runtime::Workload tensorturbo::measureWorkload(ModuleOp module) {
  runtime::Workload work;
  work.constantBytes = constantBytes(module);
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal() || !func->hasAttr("relay.primitive"))
      continue;
    func.walk([&](Operation *op) {
      if (!isa_and_nonnull<relay::RelayDialect>(op->getDialect()) || op->getNumResults() == 0)
        return;
      RankedTensorType out = typeOf(op->getResult(0));
      if (!out)
        return;
      if (auto conv = dyn_cast<relay::Conv2DOp>(op))
        return addConvolution(work, op, conv.getKernelLayout(), conv.getGroups());
      StringRef name = op->getName().stripDialect();
      if (name == "nn.dense" || name == "nn.matmul" || name == "nn.batch_matmul")
        return addProduct(work, op);
      if (isFree(op))
        return;
      // One pass over the larger side.
      int64_t elements = out.getNumElements();
      for (Value operand : op->getOperands())
        if (RankedTensorType type = typeOf(operand))
          elements = std::max(elements, type.getNumElements());
      work.vectorElements += elements;
    });
  }
  return work;
}
