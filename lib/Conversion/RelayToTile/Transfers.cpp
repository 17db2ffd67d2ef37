#include "Conversion/RelayToTile/Transfers.h"
#include "Schedule/MemoryPlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tensorturbo::tile;
using tensorturbo::schedule::allParts;
using tensorturbo::schedule::PartMask;
using Point = tensorturbo::schedule::PrefetchTransfer::Point;

// Bytes of one descriptor.
static constexpr int64_t piece = int64_t(2) << 20;

static Value constant(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

static Value viewOf(OpBuilder &b, Location loc, Value buffer, Value offset, int64_t more) {
  auto level = cast<BufferType>(buffer.getType()).getLevel();
  if (more)
    offset = arith::AddIOp::create(b, loc, offset, constant(b, loc, more));
  return ViewOp::create(b, loc, PointerType::get(b.getContext(), level), buffer, offset);
}

static Value globalBuffer(OpBuilder &b, Location loc, MemoryLevel level, StringRef name) {
  return GlobalBufferOp::create(b, loc, BufferType::get(b.getContext(), level), name);
}

/// The side of a tile.bring or tile.write_back in LLB, and the other one.
static Value llbSide(Operation *op) {
  if (auto bring = dyn_cast<BringOp>(op))
    return bring.getDst();
  return cast<WriteBackOp>(op).getSrc();
}
static Value ddrSide(Operation *op) {
  if (auto bring = dyn_cast<BringOp>(op))
    return bring.getSrc();
  return cast<WriteBackOp>(op).getDst();
}

static WantedTransfer wantedOf(Operation *op) {
  WantedTransfer w;
  w.op = op;
  if (auto bring = dyn_cast<BringOp>(op)) {
    w.bytes = static_cast<int64_t>(bring.getBytes());
    w.partBytes = static_cast<int64_t>(bring.getPartBytes());
  } else {
    auto back = cast<WriteBackOp>(op);
    w.outgoing = true;
    w.bytes = static_cast<int64_t>(back.getBytes());
    w.partBytes = static_cast<int64_t>(back.getPartBytes());
  }
  w.global = ddrSide(op).getDefiningOp<GlobalBufferOp>().getGlobal().str();
  return w;
}

static int64_t ddrOffset(Operation *op) {
  auto bring = dyn_cast<BringOp>(op);
  return bring ? static_cast<int64_t>(bring.getOffset()) : 0;
}

WantedTransfers tensorturbo::tile::wantedTransfers(func::FuncOp kernel) {
  WantedTransfers wanted;
  llvm::DenseSet<Operation *> moved;
  kernel.walk([&](Operation *op) {
    if (!isa<BringOp, WriteBackOp>(op))
      return;
    auto alloc = llbSide(op).getDefiningOp<AllocOp>();
    if (alloc && moved.insert(alloc).second)
      wanted.list.push_back(wantedOf(op));
  });
  kernel.walk([&](AllocOp alloc) {
    if (!moved.contains(alloc) && alloc.getBuffer().getType().getLevel() == MemoryLevel::LLB)
      wanted.otherLlbBytes += schedule::paddedBytes(static_cast<int64_t>(alloc.getBytes()));
  });
  return wanted;
}

namespace {
/// Both ends of a transfer, as buffers that the code being written may name.
struct Ends {
  Value llb, ddr;
  /// Bytes into the DDR side.
  Value offset;
  int64_t bytes = 0;
  bool outgoing = false;

  Value destination(OpBuilder &b, Location loc, int64_t at) const {
    return outgoing ? viewOf(b, loc, ddr, offset, at) : viewOf(b, loc, llb, constant(b, loc, 0), at);
  }
  Value source(OpBuilder &b, Location loc, int64_t at) const {
    return outgoing ? viewOf(b, loc, llb, constant(b, loc, 0), at) : viewOf(b, loc, ddr, offset, at);
  }
};
} // namespace

static void copyNow(OpBuilder &b, Location loc, const Ends &ends) {
  for (int64_t at = 0; at < ends.bytes; at += piece)
    DmaOp::create(b, loc, ends.destination(b, loc, at), ends.source(b, loc, at), constant(b, loc, 1),
                  constant(b, loc, std::min(piece, ends.bytes - at)), constant(b, loc, 0));
}

static void startCopy(OpBuilder &b, Location loc, const Ends &ends, int channel) {
  SmallVector<Value> dst, src, bytes;
  for (int64_t at = 0; at < ends.bytes; at += piece) {
    dst.push_back(ends.destination(b, loc, at));
    src.push_back(ends.source(b, loc, at));
    bytes.push_back(constant(b, loc, std::min(piece, ends.bytes - at)));
  }
  DmaStartOp::create(b, loc, dst, src, bytes, static_cast<uint32_t>(channel));
}

/// Where the bytes of a part of the batch lie in DDR.
static Value offsetOfPart(OpBuilder &b, Location loc, const WantedTransfer &wanted, int64_t offset,
                          Value part) {
  Value constantOffset = constant(b, loc, offset);
  if (!wanted.partBytes || !part)
    return constantOffset;
  Value bytes = arith::MulIOp::create(b, loc, part, constant(b, loc, wanted.partBytes));
  return offset ? Value(arith::AddIOp::create(b, loc, bytes, constantOffset)) : bytes;
}

/// The number of the part that a kernel works on; null if it has only one.
static Value partOf(func::FuncOp kernel) {
  return kernel.getNumArguments() ? Value(kernel.getArgument(0)) : Value();
}

/// Runs the body in those parts of the batch that the mask has. A kernel that is not iterated has one part.
static void inParts(OpBuilder &b, func::FuncOp kernel, PartMask parts,
                    llvm::function_ref<void(OpBuilder &)> body) {
  if (parts == 0)
    return;
  if (parts == allParts || !partOf(kernel))
    return body(b);
  Location loc = kernel.getLoc();
  Value shifted = arith::ShRUIOp::create(b, loc, constant(b, loc, parts), partOf(kernel));
  Value bit = arith::AndIOp::create(b, loc, shifted, constant(b, loc, 1));
  Value wanted = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bit, constant(b, loc, 0));
  auto only = scf::IfOp::create(b, loc, wanted, /*withElseRegion=*/false);
  OpBuilder inside = OpBuilder::atBlockBegin(only.thenBlock());
  body(inside);
}

namespace {
/// Adds code at the beginning of a kernel that core 0 alone runs, behind what it waits for already.
class Beginning {
public:
  explicit Beginning(func::FuncOp kernel) : kernel(kernel) {}

  /// Code that is there already and that comes first.
  void follow(Operation *op) { last = op; }

  void add(PartMask parts, llvm::function_ref<void(OpBuilder &)> body) {
    OpBuilder b(kernel.getContext());
    if (last) {
      b.setInsertionPointAfter(last);
    } else {
      CoreIdOp id;
      for (Operation &op : kernel.getBody().front())
        if (auto core = dyn_cast<CoreIdOp>(op))
          id = core;
      b.setInsertionPointAfter(id);
      Location loc = kernel.getLoc();
      Value master = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, id.getId(), constant(b, loc, 0));
      auto only = scf::IfOp::create(b, loc, master, /*withElseRegion=*/false);
      b = OpBuilder::atBlockBegin(only.thenBlock());
    }
    inParts(b, kernel, parts, body);
    last = &*std::prev(b.getInsertionPoint());
  }

private:
  func::FuncOp kernel;
  Operation *last = nullptr;
};
} // namespace

void tensorturbo::tile::scheduleTransfers(ModuleOp module, const std::vector<func::FuncOp> &kernels,
                                          std::vector<Transfer> &transfers) {
  llvm::DenseMap<Operation *, Transfer *> planned;
  for (Transfer &t : transfers)
    planned[t.wanted.op] = &t;
  std::vector<Beginning> beginnings(kernels.begin(), kernels.end());
  std::vector<int64_t> offsets(transfers.size());
  for (size_t k = 0; k < kernels.size(); ++k) {
    func::FuncOp kernel = kernels[k];
    SmallVector<Operation *> ops;
    kernel.walk([&](Operation *op) {
      if (isa<BringOp, WriteBackOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      OpBuilder b(op);
      Location loc = op->getLoc();
      WantedTransfer wanted = wantedOf(op);
      Ends ends{llbSide(op), ddrSide(op), Value(), wanted.bytes, wanted.outgoing};
      Transfer *transfer = planned.lookup(op);
      PartMask onTheSpot = transfer ? transfer->plan.onTheSpot : allParts;
      AllocOp alloc;
      if (transfer) {
        alloc = ends.llb.getDefiningOp<AllocOp>();
        transfer->buffer = kernel.getName().str() + "_" + std::to_string(transfer - transfers.data()) + "_" +
                           alloc.getName().str();
        OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
        GlobalOp::create(top, kernel.getLoc(), b.getStringAttr(transfer->buffer),
                         b.getI64IntegerAttr(static_cast<int64_t>(alloc.getBytes())), IntegerAttr(),
                         IntegerAttr());
        OpBuilder declaration(alloc);
        ends.llb = globalBuffer(declaration, alloc.getLoc(), MemoryLevel::LLB, transfer->buffer);
        alloc.getBuffer().replaceAllUsesWith(ends.llb);
        offsets[static_cast<size_t>(transfer - transfers.data())] = ddrOffset(op);
      }
      if (transfer && !wanted.outgoing)
        for (const Point &wait : transfer->plan.waits)
          inParts(b, kernel, wait.parts, [&](OpBuilder &inside) {
            DmaWaitOp::create(inside, loc, static_cast<uint32_t>(transfer->plan.channel));
          });
      inParts(b, kernel, onTheSpot, [&](OpBuilder &inside) {
        ends.offset = offsetOfPart(inside, loc, wanted, ddrOffset(op), partOf(kernel));
        copyNow(inside, loc, ends);
      });
      if (transfer && !wanted.outgoing)
        beginnings[k].follow(op->getPrevNode());
      op->erase();
      if (alloc)
        alloc.erase();
    }
  }

  for (const Transfer &t : transfers)
    if (t.wanted.outgoing)
      for (const Point &wait : t.plan.waits)
        beginnings[static_cast<size_t>(wait.kernel)].add(wait.parts, [&](OpBuilder &b) {
          DmaWaitOp::create(b, kernels[static_cast<size_t>(wait.kernel)]->getLoc(),
                            static_cast<uint32_t>(t.plan.channel));
        });
  // In the order of use: channels share DDR fairly, and the next kernel's bytes should not come last.
  for (size_t i = 0; i < transfers.size(); ++i)
    for (const Point &start : transfers[i].plan.starts) {
      const Transfer &t = transfers[i];
      func::FuncOp starter = kernels[static_cast<size_t>(start.kernel)];
      Location loc = starter->getLoc();
      beginnings[static_cast<size_t>(start.kernel)].add(start.parts, [&](OpBuilder &b) {
        Value part = partOf(starter);
        if (!part)
          part = constant(b, loc, 0);
        part = arith::MulIOp::create(b, loc, part, constant(b, loc, start.times));
        part = arith::DivUIOp::create(b, loc, part, constant(b, loc, start.over));
        part = arith::AddIOp::create(b, loc, part, constant(b, loc, start.plus));
        Ends ends{globalBuffer(b, loc, MemoryLevel::LLB, t.buffer),
                  globalBuffer(b, loc, MemoryLevel::DDR, t.wanted.global),
                  offsetOfPart(b, loc, t.wanted, offsets[i], part), t.wanted.bytes, t.wanted.outgoing};
        startCopy(b, loc, ends, t.plan.channel);
      });
    }
}
