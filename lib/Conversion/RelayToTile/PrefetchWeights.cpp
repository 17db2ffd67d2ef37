#include "Conversion/RelayToTile/PrefetchWeights.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tensorturbo::tile;

// What the descriptor buffer can chain, and what may take LLB from two kernels at once.
static constexpr int64_t largest = int64_t(3) << 20;
// Bytes of one descriptor.
static constexpr int64_t piece = int64_t(2) << 20;

static Value constant(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

static Value viewOf(OpBuilder &b, Location loc, Value buffer, int64_t offset) {
  auto level = cast<BufferType>(buffer.getType()).getLevel();
  return ViewOp::create(b, loc, PointerType::get(b.getContext(), level), buffer, constant(b, loc, offset));
}

/// System DMA where the operation stands.
static void copyNow(BringOp bring) {
  OpBuilder b(bring);
  Location loc = bring.getLoc();
  auto bytes = static_cast<int64_t>(bring.getBytes());
  for (int64_t offset = 0; offset < bytes; offset += piece)
    DmaOp::create(b, loc, viewOf(b, loc, bring.getDst(), offset), viewOf(b, loc, bring.getSrc(), offset),
                  constant(b, loc, 1), constant(b, loc, std::min(piece, bytes - offset)),
                  constant(b, loc, 0));
  bring.erase();
}

static Value globalBuffer(OpBuilder &b, Location loc, MemoryLevel level, StringRef name) {
  return GlobalBufferOp::create(b, loc, BufferType::get(b.getContext(), level), name);
}

namespace {
/// Where a kernel can start a transfer: in code that only core 0 runs.
class Starter {
public:
  explicit Starter(func::FuncOp kernel) : kernel(kernel) {}

  void start(StringRef dst, StringRef src, int64_t bytes, Operation *behind) {
    Location loc = kernel.getLoc();
    Block &entry = kernel.getBody().front();
    OpBuilder top = OpBuilder::atBlockBegin(&entry);
    Value to = globalBuffer(top, loc, MemoryLevel::LLB, dst),
          from = globalBuffer(top, loc, MemoryLevel::DDR, src);
    auto emit = [&](OpBuilder &b) {
      PrefetchStartOp::create(b, loc, viewOf(b, loc, to, 0), viewOf(b, loc, from, 0),
                              static_cast<uint64_t>(bytes));
    };
    if (behind) {
      // Its own weights have arrived, so the channel is free.
      OpBuilder b(behind->getContext());
      b.setInsertionPointAfter(behind);
      return emit(b);
    }
    // Behind the declarations and the number of the core.
    Operation *last = nullptr;
    for (Operation &op : entry)
      if (isa<CoreIdOp>(op))
        last = &op;
    OpBuilder b(last->getContext());
    b.setInsertionPointAfter(last);
    Value master = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, cast<CoreIdOp>(last).getId(),
                                         constant(b, loc, 0));
    auto only = scf::IfOp::create(b, loc, master, /*withElseRegion=*/false);
    OpBuilder inside = OpBuilder::atBlockBegin(only.thenBlock());
    emit(inside);
  }

private:
  func::FuncOp kernel;
};
} // namespace

std::vector<PrefetchedBuffer>
tensorturbo::tile::prefetchWeights(ModuleOp module, const std::vector<PrefetchStep> &steps, bool ahead) {
  std::vector<PrefetchedBuffer> buffers;
  // The operation of the step before behind which the channel is free; null: from its beginning on.
  Operation *free = nullptr;
  for (size_t i = 0; i < steps.size(); ++i) {
    SmallVector<BringOp> brings;
    func::FuncOp kernel = steps[i].kernel;
    kernel.walk([&](BringOp op) { brings.push_back(op); });
    Operation *freeHere = nullptr;
    for (BringOp bring : brings) {
      auto bytes = static_cast<int64_t>(bring.getBytes());
      auto alloc = bring.getDst().getDefiningOp<AllocOp>();
      bool early = ahead && i > 0 && steps[i].follows && brings.size() == 1 && bytes <= largest && alloc;
      if (!early) {
        copyNow(bring);
        continue;
      }
      std::string name = "weights_" + kernel.getName().str();
      OpBuilder b(module.getContext());
      b.setInsertionPointToStart(module.getBody());
      GlobalOp::create(b, kernel.getLoc(), b.getStringAttr(name), b.getI64IntegerAttr(bytes), IntegerAttr(),
                       IntegerAttr());
      auto source = bring.getSrc().getDefiningOp<GlobalBufferOp>();
      Starter(steps[i - 1].kernel).start(name, source.getGlobal(), bytes, free);
      b.setInsertionPoint(alloc);
      alloc.getBuffer().replaceAllUsesWith(globalBuffer(b, alloc.getLoc(), MemoryLevel::LLB, name));
      b.setInsertionPoint(bring);
      freeHere = PrefetchWaitOp::create(b, bring.getLoc());
      bring.erase();
      alloc.erase();
      buffers.push_back({name, bytes, i});
    }
    free = freeHere;
  }
  return buffers;
}
