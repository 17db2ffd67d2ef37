// Pass tile-dma-load-unroll (option dma_load_unroll): unrolls loops with loads, so that the schedulers see
// several turns at once and slots become constants:
//
//      for i = core to 24 step 8:            load rows[0], in[core * 64]
//        slot = ((i - core) / 8) % 2         conv sum[0], rows[0]
//        load rows[slot], in[i * 64]    =>   load rows[1], in[core * 64 + 512]
//        conv sum[slot], rows[slot]          conv sum[1], rows[1]
//                                            load rows[0], in[core * 64 + 1024]
//                                            conv sum[0], rows[0]
//
// The option bounds the number of turns of a loop that is unrolled. Code stays bounded too: at most
// `mostInstructions` come out of one loop. Where all turns would be more, a loop of known length gets as many
// turns in its body as fit, and the rest behind it. Turns that not every core makes get a condition.
#include "Conversion/TileToNpu/TileAccesses.h"
#include "Conversion/TileToNpu/TileToNpu.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tensorturbo::tile {
namespace {

constexpr int64_t mostInstructions = 48;

/// Instructions in the body of a loop that may be unrolled; 0 for others.
int64_t instructionsOf(scf::ForOp loop) {
  int64_t count = 0;
  bool loads = false, plain = loop.getNumResults() == 0;
  loop.getBody()->walk([&](Operation *op) {
    count += engineOf(op).has_value();
    loads |= isa<LoadOp, BroadcastOp>(op);
    plain &= !isa<scf::ForOp>(op);
  });
  for (Operation &op : loop.getBody()->without_terminator())
    plain &= !isFence(&op);
  return plain && loads ? count : 0;
}

class Unroller {
public:
  Unroller(scf::ForOp loop, int ncore) : loop(loop), bounds(ncore), b(loop) {}

  void run(int64_t mostTurns) {
    int64_t instructions = instructionsOf(loop);
    Interval trips = bounds.trips(loop.getLowerBound(), loop.getUpperBound(), loop.getStep());
    if (!isa<func::FuncOp>(loop->getParentOp()) || instructions == 0 || trips.high < 2 ||
        trips.high > mostTurns)
      return;
    if (instructions * trips.high <= mostInstructions)
      unrollAll(trips);
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, loop.getLoc(), b.getI32IntegerAttr(int32_t(value)));
  }
  /// `from` plus `turns` steps.
  Value after(Value from, int64_t turns) {
    if (turns == 0)
      return from;
    Value way = arith::MulIOp::create(b, loop.getLoc(), loop.getStep(), constant(turns));
    return arith::AddIOp::create(b, loop.getLoc(), from, way);
  }
  void cloneTurn(Value variable) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), variable);
    for (Operation &op : loop.getBody()->without_terminator())
      b.clone(op, mapping);
  }
  void unrollAll(Interval trips) {
    for (int64_t turn = 0; turn < trips.high; ++turn) {
      Value variable = after(loop.getLowerBound(), turn);
      if (turn < trips.low) {
        cloneTurn(variable);
        continue;
      }
      Value some =
          arith::CmpIOp::create(b, loop.getLoc(), arith::CmpIPredicate::slt, variable, loop.getUpperBound());
      auto branch = scf::IfOp::create(b, loop.getLoc(), some, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      cloneTurn(variable);
    }
    loop.erase();
  }
  scf::ForOp loop;
  ValueBounds bounds;
  OpBuilder b;
};

class DmaLoadUnrollPass : public PassWrapper<DmaLoadUnrollPass, OperationPass<func::FuncOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DmaLoadUnrollPass)
  explicit DmaLoadUnrollPass(int cores = 8, int turns = 100) {
    ncore = cores;
    mostTurns = turns;
  }
  DmaLoadUnrollPass(const DmaLoadUnrollPass &other) : PassWrapper(other) {
    ncore = other.ncore.getValue();
    mostTurns = other.mostTurns.getValue();
  }
  StringRef getArgument() const override { return "tile-dma-load-unroll"; }
  StringRef getDescription() const override { return "unroll loops with loads"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect>();
  }
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      Unroller(loop, ncore).run(mostTurns);
  }

private:
  Option<int> ncore{*this, "ncore", llvm::cl::desc("cores that run the kernels"), llvm::cl::init(8)};
  Option<int> mostTurns{*this, "turns", llvm::cl::desc("most turns of a loop that is unrolled"),
                        llvm::cl::init(100)};
};

} // namespace

std::unique_ptr<Pass> createDmaLoadUnrollPass(int ncore, int turns) {
  return std::make_unique<DmaLoadUnrollPass>(ncore, turns);
}

} // namespace tensorturbo::tile
