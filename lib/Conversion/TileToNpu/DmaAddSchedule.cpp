// Pass tile-dmaadd-sch (option dmaadd_sch): the additions that make the addresses and sizes of moves. Bounds
// of loop variables say what many of them are, so that less is worked out in loops:
//
//      for i = core to 64 step 8:                        for i = core to 64 step 8:
//        image = i / 64, tile = i % 64
//        row = tile * 392                                  row = i * 392
//        rows = min(25088 - row, 392)            =>
//        load rows, in[image * 802816 + row * 64]          load 392, in[row * 64]
//
// A size that has become a constant leaves the loop with its CSR write (npu-csrw-elim). Loops of one turn go,
// and those of at most one become a condition.
//
// Copies by system DMA that follow each other directly become one chain of descriptors, with one start and
// one wait. That saves the start-up time of all but the first:
//
//      dma weights; dma input           =>               dma_start (weights, input); dma_wait
#include "Conversion/TileToNpu/TileToNpu.h"
#include "Conversion/TileToNpu/ValueBounds.h"
#include "Dialect/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tensorturbo::tile {
namespace {

/// One walk over a kernel.
class Simplifier {
public:
  Simplifier(func::FuncOp kernel, int ncore) : kernel(kernel), b(kernel.getContext()), bounds(ncore) {}

  bool run() {
    // Outer loops first: their variables bound the inner ones. Of a loop that goes, the yield goes too.
    SmallVector<Operation *> ops;
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
      bool isArithmetic = op->getNumResults() == 1 && op->getResult(0).getType().isSignlessInteger() &&
                          isMemoryEffectFree(op) && !op->hasTrait<OpTrait::ConstantLike>();
      if (isa<scf::ForOp>(op) || isArithmetic)
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (auto loop = dyn_cast<scf::ForOp>(op))
        simplify(loop);
      else if (Value simpler = simplify(op))
        replace(op, simpler);
    }
    return changed;
  }

private:
  void replace(Operation *op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    changed = true;
  }
  Value constant(Operation *at, int64_t value, Type type) {
    b.setInsertionPoint(at);
    return arith::ConstantOp::create(b, at->getLoc(), b.getIntegerAttr(type, value));
  }
  Value simplify(Operation *op) {
    Value result = op->getResult(0);
    if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
      std::optional<bool> known = bounds.outcome(compare);
      return known ? constant(op, *known, result.getType()) : Value();
    }
    if (!result.getType().isInteger(32))
      return {};
    Interval range = bounds.of(result);
    if (range.isSingle())
      return constant(op, range.low, result.getType());
    return llvm::TypeSwitch<Operation *, Value>(op)
        .Case<arith::MinSIOp, arith::MaxSIOp>([&](auto) {
          Interval difference = bounds.difference(op->getOperand(0), op->getOperand(1));
          bool first = isa<arith::MinSIOp>(op) ? difference.high <= 0 : difference.low >= 0;
          bool second = isa<arith::MinSIOp>(op) ? difference.low >= 0 : difference.high <= 0;
          return first ? op->getOperand(0) : second ? op->getOperand(1) : Value();
        })
        .Case<arith::RemUIOp, arith::RemSIOp>([&](auto) {
          Interval x = bounds.of(op->getOperand(0)), y = bounds.of(op->getOperand(1));
          return x.low >= 0 && x.high < y.low ? op->getOperand(0) : Value();
        })
        .Case<arith::AddIOp, arith::SubIOp>([&](auto) { return shorterSum(op); })
        .Default([](Operation *) { return Value(); });
  }
  /// A value plus a constant, or just the value.
  Value shorterSum(Operation *op) {
    auto [value, offset] = bounds.valuePlusConstant(op->getResult(0));
    if (!value || value == op->getResult(0))
      return {};
    if (offset == 0)
      return value;
    bool isShort =
        isa<arith::AddIOp>(op) && op->getOperand(0) == value && matchPattern(op->getOperand(1), m_Constant());
    if (isShort)
      return {};
    Value right = constant(op, offset, op->getResult(0).getType());
    return arith::AddIOp::create(b, op->getLoc(), value, right);
  }
  void simplify(scf::ForOp loop) {
    Interval trips = bounds.trips(loop.getLowerBound(), loop.getUpperBound(), loop.getStep());
    if (trips.high > 1 || loop.getNumResults() != 0)
      return;
    IRRewriter rewriter(loop.getContext());
    Block *target = loop->getBlock();
    auto before = loop->getIterator();
    if (trips.low < 1) {
      rewriter.setInsertionPoint(loop);
      Value some = arith::CmpIOp::create(rewriter, loop.getLoc(), arith::CmpIPredicate::slt,
                                         loop.getLowerBound(), loop.getUpperBound());
      auto branch = scf::IfOp::create(rewriter, loop.getLoc(), some, /*withElseRegion=*/false);
      target = branch.thenBlock();
      before = target->getTerminator()->getIterator();
    }
    rewriter.eraseOp(loop.getBody()->getTerminator());
    rewriter.inlineBlockBefore(loop.getBody(), target, before, {loop.getLowerBound()});
    rewriter.eraseOp(loop);
    changed = true;
  }

  func::FuncOp kernel;
  OpBuilder b;
  ValueBounds bounds;
  bool changed = false;
};

/// Chains copies of dense bytes on the channel that copies on the spot.
class TransferChain {
public:
  explicit TransferChain(int ncore) : bounds(ncore) {}

  void run(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto dma = dyn_cast<DmaOp>(op);
      if (dma && isDense(dma)) {
        chain.push_back(dma);
        if (chain.size() == longest)
          merge();
      } else if (!isMemoryEffectFree(&op) || op.getNumRegions() != 0) {
        merge();
      }
    }
    merge();
  }

private:
  /// Descriptors of a chain.
  static constexpr size_t longest = 16;

  bool isDense(DmaOp dma) {
    Interval rows = bounds.of(dma.getRows()), bytes = bounds.of(dma.getRowBytes());
    return rows.isSingle() && rows.low == 1 && bytes.low > 0 && bytes.high <= largestCopy;
  }
  void merge() {
    if (chain.size() > 1) {
      OpBuilder b(chain.back());
      SmallVector<Value> to, from, bytes;
      for (DmaOp dma : chain) {
        to.push_back(dma.getDst());
        from.push_back(dma.getSrc());
        bytes.push_back(dma.getRowBytes());
      }
      Location loc = chain.back().getLoc();
      DmaStartOp::create(b, loc, to, from, bytes, chunkChannel);
      DmaWaitOp::create(b, loc, chunkChannel);
      for (DmaOp dma : chain)
        dma.erase();
    }
    chain.clear();
  }

  ValueBounds bounds;
  SmallVector<DmaOp> chain;
};

class DmaAddSchedulePass : public PassWrapper<DmaAddSchedulePass, OperationPass<func::FuncOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DmaAddSchedulePass)
  explicit DmaAddSchedulePass(int cores = 8) { ncore = cores; }
  DmaAddSchedulePass(const DmaAddSchedulePass &other) : PassWrapper(other) { ncore = other.ncore.getValue(); }
  StringRef getArgument() const override { return "tile-dmaadd-sch"; }
  StringRef getDescription() const override { return "less arithmetic for the addresses and sizes of moves"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect>();
  }
  void runOnOperation() override {
    // What one walk finds lets the next one find more.
    constexpr int walks = 3;
    for (int i = 0; i < walks && Simplifier(getOperation(), ncore).run(); ++i) {
    }
    getOperation().walk([&](Block *block) { TransferChain(ncore).run(*block); });
  }

private:
  Option<int> ncore{*this, "ncore", llvm::cl::desc("cores that run the kernels"), llvm::cl::init(8)};
};

} // namespace

std::unique_ptr<Pass> createDmaAddSchedulePass(int ncore) {
  return std::make_unique<DmaAddSchedulePass>(ncore);
}

} // namespace tensorturbo::tile
