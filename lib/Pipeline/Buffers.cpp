#include "Pipeline/Buffers.h"
#include "Conversion/RelayToTile/RelayToTile.h"
#include "Dialect/Relay/Relay.h"
#include "Schedule/MemoryPlan.h"

using namespace mlir;
using namespace tensorturbo;

// Memory that the map of DDR leaves to programs.
static constexpr uint64_t ddrBytes = uint64_t(0xC0000000);

uint64_t tensorturbo::tensorBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  unsigned bits = tensor.getElementTypeBitWidth();
  return static_cast<uint64_t>(tensor.getNumElements()) * (bits == 1 ? 1 : bits / 8);
}

BufferAssignment::BufferAssignment(ModuleOp module, tile::ConstantPool &pool) : module(module), pool(pool) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (BlockArgument argument : main.getArguments())
    arguments.push_back(create(argument, "input" + std::to_string(argument.getArgNumber())));
  walk(main, false);
  auto end = static_cast<int64_t>(stepList.size());
  for (Value v : main.getBody().front().getTerminator()->getOperands()) {
    size_t buffer = bufferOf(v);
    bufferList[buffer].lastUse = end;
    results.push_back(buffer);
  }
}

size_t BufferAssignment::create(Value v, const std::string &name) {
  DdrBuffer b;
  b.name = name;
  b.bytes = tensorBytes(v.getType());
  b.firstUse = b.lastUse = static_cast<int64_t>(stepList.size());
  bufferList.push_back(std::move(b));
  return ofValue[v] = bufferList.size() - 1;
}

size_t BufferAssignment::bufferOf(Value v) {
  auto found = ofValue.find(v);
  if (found != ofValue.end())
    return found->second;
  Operation *def = v.getDefiningOp();
  if (def && tile::isAlias(def))
    return ofValue[v] = bufferOf(def->getOperand(0));
  auto constant = relay::constantOf(v);
  size_t buffer = create(v, "constant");
  bufferList[buffer].constant =
      pool.add(std::vector<uint8_t>(constant->data, constant->data + constant->bytes), "tensor");
  return buffer;
}

void BufferAssignment::walk(func::FuncOp function, bool npu) {
  for (Operation &op : function.getBody().front()) {
    auto call = dyn_cast<func::CallOp>(op);
    if (!call)
      continue;
    auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
    auto target = callee->getAttrOfType<StringAttr>("tt.target");
    if (target && target.getValue() == "npu") {
      for (auto [argument, operand] : llvm::zip_equal(callee.getArguments(), call.getOperands())) {
        size_t buffer = bufferOf(operand);
        ofValue[argument] = buffer;
      }
      walk(callee, true);
      ++segments;
      for (auto [result, value] :
           llvm::zip_equal(call.getResults(), callee.getBody().front().getTerminator()->getOperands())) {
        size_t buffer = bufferOf(value);
        ofValue[result] = buffer;
      }
      continue;
    }
    Step step;
    step.npu = npu;
    step.call = call;
    step.segment = segments;
    auto now = static_cast<int64_t>(stepList.size());
    for (Value v : call.getOperands()) {
      step.inputs.push_back(bufferOf(v));
      bufferList[step.inputs.back()].lastUse = now;
    }
    for (Value v : call.getResults())
      step.outputs.push_back(create(v, call.getCallee().str()));
    stepList.push_back(std::move(step));
  }
}

bool BufferAssignment::plan(uint64_t start, Diagnostics &diags, uint64_t &end) {
  schedule::MemoryProblem problem;
  problem.level = "DDR";
  problem.capacity = ddrBytes - start;
  std::vector<size_t> planned;
  for (size_t i = 0; i < bufferList.size(); ++i) {
    const DdrBuffer &b = bufferList[i];
    if (!b.constant.empty() || b.inLlb)
      continue;
    planned.push_back(i);
    problem.buffers.push_back({b.name, std::max<uint64_t>(b.bytes, 1), 64, b.firstUse, b.lastUse});
  }
  schedule::MemoryPlan plan = schedule::planMemory(problem);
  if (!schedule::checkMemoryPlan(problem, plan, diags))
    return false;
  for (size_t k = 0; k < planned.size(); ++k)
    bufferList[planned[k]].address = static_cast<uint32_t>(start + plan.offsets[k]);
  end = start + plan.peak;
  return true;
}
