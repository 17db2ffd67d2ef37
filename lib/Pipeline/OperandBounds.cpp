#include "Pipeline/OperandBounds.h"
#include "Conversion/TileToNpu/ValueBounds.h"
#include "Dialect/Npu/Npu.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tensorturbo;

/// How often one run of the kernel executes the op.
static tile::Interval executionsOf(Operation *op, tile::ValueBounds &values) {
  tile::Interval times{1, 1};
  for (Operation *parent = op->getParentOp(), *child = op; !isa<func::FuncOp>(parent);
       child = parent, parent = parent->getParentOp()) {
    tile::Interval here{0, INT32_MAX};
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      here = values.trips(loop.getLowerBound(), loop.getUpperBound(), loop.getStep());
    } else if (auto branch = dyn_cast<scf::IfOp>(parent)) {
      auto compare = branch.getCondition().getDefiningOp<arith::CmpIOp>();
      std::optional<bool> taken = compare ? values.outcome(compare) : std::nullopt;
      if (taken && child->getParentRegion() == &branch.getElseRegion())
        taken = !*taken;
      here = taken ? tile::Interval{*taken, *taken} : tile::Interval{0, 1};
    }
    times.low = std::min<int64_t>(times.low * here.low, INT32_MAX);
    times.high = std::min<int64_t>(times.high * here.high, INT32_MAX);
  }
  return times;
}

/// Bounds of the operands of every instruction and store of a kernel, as core `core` executes them, and of
/// how often it does.
static void boundOperands(func::FuncOp kernel, int ncore, int core, int parts,
                          llvm::MapVector<Operation *, SmallVector<int32_t>> &bounds) {
  tile::ValueBounds values(ncore);
  kernel.walk([&](npu::CoreIdOp id) { values.assume(id.getResult(), {core, core}); });
  if (kernel.getNumArguments() == 1) // the part of the batch
    values.assume(kernel.getArgument(0), {0, parts - 1});
  kernel.walk([&](Operation *op) {
    if (!isa<npu::Instruction, npu::Store32Op>(op))
      return;
    for (Value operand : op->getOperands()) {
      std::pair<tile::Interval, int64_t> known{{1, 0}, 1}; // nothing
      if (operand.getType().isSignlessInteger(32)) {
        auto found = values.stepped(operand);
        // As unsigned numbers: only intervals that do not go through zero stay intervals.
        if ((found.first.low < 0) == (found.first.high < 0) && found.first.low > INT32_MIN)
          known = found;
      }
      for (int64_t number : {known.first.low, known.first.high, known.second})
        bounds[op].push_back(static_cast<int32_t>(number));
    }
    tile::Interval times = executionsOf(op, values);
    for (int64_t number : {times.low, times.high, int64_t(0)})
      bounds[op].push_back(static_cast<int32_t>(number));
  });
}

void tensorturbo::noteOperandBounds(ModuleOp npuModule, const OnChipPlan &plan, int ncore) {
  int32_t number = 0;
  for (auto kernel : npuModule.getOps<func::FuncOp>()) {
    auto parts = plan.parts.find(kernel.getName().str());
    llvm::MapVector<Operation *, SmallVector<int32_t>> bounds;
    for (int core = 0; core < ncore; ++core)
      boundOperands(kernel, ncore, core, parts == plan.parts.end() ? 1 : parts->second, bounds);
    for (auto &[op, list] : bounds) {
      // LLVM may make copies of an instruction: they count as one.
      for (size_t at = 3 * op->getNumOperands() + 2; at < list.size(); at += 3 * op->getNumOperands() + 3)
        list[at] = number;
      ++number;
      op->setAttr("npu.bounds", DenseI32ArrayAttr::get(op->getContext(), list));
    }
  }
}
