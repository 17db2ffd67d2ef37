// Pass tile-insn-schedule (option insn_schedule): order of a kernel's instructions before its buffers have
// addresses. A core's MTE handles moves in the order in which they come, so a load behind a store waits for
// everything that the store waits for. Two steps:
//
// 1. A loop's stores move over its back edge, behind the loads of the next turn:
//
//      for i:                                  for i:
//        load rows(i)                            load rows(i)
//        conv sum, rows                =>        if i is not the first: store out(i - 1)
//        add out, sum                            conv sum, rows
//        store out(i)                            add out, sum
//                                              store out(last)
//
//    The load of turn i now runs beside the vector instructions of turn i - 1.
// 2. Straight pieces are list-scheduled by the engines' times (Schedule/ListSchedule.h): of two unrolled
// turns
//    the second load comes before the first store.
//
// Nothing moves over barriers, system DMA or sends; broadcasts keep their order, which is the same on all
// cores; instructions whose operands may share a byte keep theirs.
#include "Conversion/TileToNpu/TileAccesses.h"
#include "Conversion/TileToNpu/TileToNpu.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tensorturbo::tile {
namespace {

//===-- stores over the back edge
//------------------------------------------------------------------------===//

/// True if `store` of one turn and `other` of the next one may touch the same bytes.
bool meetsTurnBefore(scf::ForOp loop, Operation *store, Operation *other, ValueBounds &bounds) {
  for (const Access &x : accessesOf(store, bounds))
    for (const Access &y : accessesOf(other, bounds)) {
      if (!(x.isWrite || y.isWrite) || x.isShared != y.isShared)
        continue;
      bool apart =
          x.buffer && y.buffer &&
          (x.buffer != y.buffer || bounds.apartFromTurnBefore(loop, x.offset, x.bytes, y.offset, y.bytes));
      if (!apart)
        return true;
    }
  return false;
}

bool containsLoad(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<LoadOp, BroadcastOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Copies of `stores` and their views, with values replaced by `mapping`.
void cloneStores(OpBuilder &b, ArrayRef<StoreOp> stores, IRMapping mapping) {
  for (StoreOp store : stores) {
    for (Value pointer : {store.getDst(), store.getSrc()})
      if (!mapping.contains(pointer))
        mapping.map(pointer, b.clone(*pointer.getDefiningOp(), mapping)->getResult(0));
    b.clone(*store, mapping);
  }
}

class StoreDelay {
public:
  StoreDelay(scf::ForOp loop, int ncore) : loop(loop), bounds(ncore) {}

  void run() {
    for (Operation &op : loop.getBody()->without_terminator())
      body.push_back(&op);
    bool worthIt = loop.getNumResults() == 0 && llvm::none_of(body, isFence) &&
                   bounds.trips(loop.getLowerBound(), loop.getUpperBound(), loop.getStep()).high > 1;
    if (worthIt && findStores() && findPlace())
      rewrite();
  }

private:
  /// Stores that may move to the end of the turn.
  bool findStores() {
    SmallVector<Operation *> later;
    for (Operation *op : llvm::reverse(body)) {
      auto store = dyn_cast<StoreOp>(op);
      bool free = store && llvm::none_of(later, [&](Operation *x) { return mustStayInOrder(op, x, bounds); });
      free = free && fromOutside(store.getDst()) && fromOutside(store.getSrc());
      if (free)
        stores.push_back(store);
      else if (!isMemoryEffectFree(op))
        later.push_back(op);
    }
    std::reverse(stores.begin(), stores.end());
    return !stores.empty();
  }
  bool fromOutside(Value pointer) {
    auto view = pointer.getDefiningOp<ViewOp>();
    return view && loop.isDefinedOutsideOfLoop(view.getBuffer());
  }
  /// Behind the loads of the next turn, as far as they come before what meets the stores; false if there are
  /// none.
  bool findPlace() {
    for (Operation *op : body) {
      if (isMemoryEffectFree(op))
        continue;
      if (llvm::is_contained(stores, op) ||
          llvm::any_of(stores, [&](StoreOp store) { return meetsTurnBefore(loop, store, op, bounds); }))
        break;
      if (containsLoad(op))
        place = op->getNextNode();
    }
    return place;
  }
  void rewrite() {
    llvm::SetVector<Value> carried;
    auto collect = [&](Value value) {
      if (value.getType().isInteger(32) && !loop.isDefinedOutsideOfLoop(value))
        carried.insert(value);
    };
    for (StoreOp store : stores) {
      llvm::for_each(store->getOperands(), collect);
      collect(store.getDst().getDefiningOp<ViewOp>().getOffset());
      collect(store.getSrc().getDefiningOp<ViewOp>().getOffset());
    }
    Location loc = stores.front().getLoc();
    IRRewriter b(loop.getContext());
    b.setInsertionPoint(loop);
    Value zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
    bool always = bounds.of(loop.getLowerBound()).high < bounds.of(loop.getUpperBound()).low;
    auto next = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
        b, SmallVector<Value>(carried.size(), zero), /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &, Location, ArrayRef<BlockArgument>) {
          return SmallVector<Value>(carried.getArrayRef());
        }));
    IRMapping before, last;
    // The yield holds what the values have become.
    for (auto [value, argument, result] :
         llvm::zip(next.getYieldedValues(), next.getRegionIterArgs(), next.getResults())) {
      before.map(value, argument);
      last.map(value, result);
    }
    b.setInsertionPoint(place);
    auto guarded = [&](arith::CmpIPredicate predicate, Value x, Value y, const IRMapping &mapping) {
      Value condition = arith::CmpIOp::create(b, loc, predicate, x, y);
      auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
      OpBuilder inside = branch.getThenBodyBuilder();
      cloneStores(inside, stores, mapping);
    };
    guarded(arith::CmpIPredicate::ne, next.getInductionVar(), next.getLowerBound(), before);
    b.setInsertionPointAfter(next);
    if (always)
      cloneStores(b, stores, last);
    else
      guarded(arith::CmpIPredicate::slt, next.getLowerBound(), next.getUpperBound(), last);
    for (StoreOp store : stores)
      store.erase();
  }

  scf::ForOp loop;
  ValueBounds bounds;
  SmallVector<Operation *> body;
  SmallVector<StoreOp> stores;
  Operation *place = nullptr;
};

//===-- list scheduling
//----------------------------------------------------------------------------------===//

void scheduleBlock(Block &block, int ncore) {
  ValueBounds bounds(ncore);
  PieceScheduler scheduler(block, bounds);
  SmallVector<Operation *> all;
  for (Operation &op : block.without_terminator())
    all.push_back(&op);
  for (Operation *op : all) {
    if (isMemoryEffectFree(op) && op->getNumRegions() == 0)
      continue;
    std::optional<InstructionUnit> unit = isFence(op) ? std::nullopt : unitOf(op, bounds);
    if (unit)
      scheduler.add(std::move(*unit));
    else
      scheduler.fence();
  }
  scheduler.fence();
}

class InsnSchedulePass : public PassWrapper<InsnSchedulePass, OperationPass<func::FuncOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InsnSchedulePass)
  explicit InsnSchedulePass(int cores = 8) { ncore = cores; }
  InsnSchedulePass(const InsnSchedulePass &other) : PassWrapper(other) { ncore = other.ncore.getValue(); }
  StringRef getArgument() const override { return "tile-insn-schedule"; }
  StringRef getDescription() const override { return "order instructions before buffers have addresses"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect>();
  }
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      StoreDelay(loop, ncore).run();
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      scheduleBlock(*block, ncore);
  }

private:
  Option<int> ncore{*this, "ncore", llvm::cl::desc("cores that run the kernels"), llvm::cl::init(8)};
};

} // namespace

std::unique_ptr<Pass> createInsnSchedulePass(int ncore) {
  return std::make_unique<InsnSchedulePass>(ncore);
}

} // namespace tensorturbo::tile
