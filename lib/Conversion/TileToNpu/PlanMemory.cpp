// Pass tile-plan-memory: offsets for the buffers of each kernel.
#include "Conversion/TileToNpu/TileToNpu.h"
#include "Dialect/Tile/Tile.h"
#include "Schedule/MemoryPlan.h"

using namespace mlir;

namespace tensorturbo::tile {
namespace {

constexpr MemoryLevel levels[] = {MemoryLevel::LLB, MemoryLevel::L1, MemoryLevel::IM};

/// Position in the kernel's outermost block of the op in which `user` is nested.
class Steps {
public:
  explicit Steps(func::FuncOp kernel) : body(&kernel.getBody().front()) {
    int64_t step = 0;
    for (Operation &op : *body)
      position[&op] = step++;
    last = step;
  }
  int64_t of(Operation *user) const {
    Operation *top = body->findAncestorOpInBlock(*user);
    return top ? position.lookup(top) : last;
  }
  int64_t last = 0;

private:
  Block *body;
  llvm::DenseMap<Operation *, int64_t> position;
};

/// First and last step at which the buffer is touched through any pointer.
std::pair<int64_t, int64_t> lifetime(AllocOp alloc, const Steps &steps) {
  int64_t first = steps.last, last = 0;
  bool shared = alloc.getBuffer().getType().getLevel() == MemoryLevel::LLB;
  SmallVector<Operation *> users(alloc.getBuffer().getUsers());
  while (!users.empty()) {
    Operation *user = users.pop_back_val();
    first = std::min(first, steps.of(user));
    last = std::max(last, steps.of(user));
    // What another core writes may arrive before this core comes to the use.
    if (auto send = dyn_cast<SendOp>(user))
      shared |= send.getDst().getDefiningOp<ViewOp>() &&
                send.getDst().getDefiningOp<ViewOp>().getBuffer() == alloc.getBuffer();
    for (Value result : user->getResults())
      if (isa<PointerType, BufferType>(result.getType()))
        llvm::append_range(users, result.getUsers());
  }
  // Cores run through a kernel at their own speed: shared memory is never reused within it.
  if (shared || first > last)
    return {0, steps.last};
  return {first, last};
}

class PlanMemoryPass : public PassWrapper<PlanMemoryPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanMemoryPass)
  StringRef getArgument() const override { return "tile-plan-memory"; }
  StringRef getDescription() const override { return "choose the offsets of tile.alloc"; }
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      Diagnostics diags;
      if (kernel.isExternal() || planKernelMemory(kernel, diags))
        continue;
      for (const tensorturbo::Diagnostic &d : diags.all())
        kernel.emitError(d.message);
      signalPassFailure();
    }
  }
};

} // namespace

bool planKernelMemory(func::FuncOp kernel, Diagnostics &diags) {
  Steps steps(kernel);
  bool good = true;
  for (MemoryLevel level : levels) {
    schedule::MemoryProblem problem;
    problem.level = stringifyMemoryLevel(level).str();
    problem.capacity = uint64_t(levelCapacity(level));
    SmallVector<AllocOp> allocs;
    kernel.walk([&](AllocOp alloc) {
      if (alloc.getBuffer().getType().getLevel() != level)
        return;
      auto [first, last] = lifetime(alloc, steps);
      problem.buffers.push_back({alloc.getName().str(), alloc.getBytes(), 64, first, last});
      allocs.push_back(alloc);
    });
    schedule::MemoryPlanOptions options;
    options.stopWhenFits = true;
    schedule::MemoryPlan plan = schedule::planMemory(problem, options);
    if (!schedule::checkMemoryPlan(problem, plan, diags)) {
      good = false;
      continue;
    }
    for (auto [alloc, offset] : llvm::zip(allocs, plan.offsets))
      alloc.setOffset(offset);
  }
  return good;
}

std::unique_ptr<Pass> createPlanMemoryPass() {
  return std::make_unique<PlanMemoryPass>();
}

} // namespace tensorturbo::tile
