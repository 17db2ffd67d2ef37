#include "Conversion/RelayToTile/PrefetchWeights.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tensorturbo::tile;
using tensorturbo::schedule::allParts;
using tensorturbo::schedule::PartMask;
using tensorturbo::schedule::PrefetchTransfer;

// Bytes of one descriptor.
static constexpr int64_t piece = int64_t(2) << 20;

static Value constant(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

static Value viewOf(OpBuilder &b, Location loc, Value buffer, int64_t offset) {
  auto level = cast<BufferType>(buffer.getType()).getLevel();
  return ViewOp::create(b, loc, PointerType::get(b.getContext(), level), buffer, constant(b, loc, offset));
}

/// Where the weights come from; every piece's bytes in `bytes`.
struct Source {
  Value buffer;
  int64_t offset = 0, bytes = 0;
};

static void copyNow(OpBuilder &b, Location loc, Value dst, const Source &src) {
  for (int64_t at = 0; at < src.bytes; at += piece)
    DmaOp::create(b, loc, viewOf(b, loc, dst, at), viewOf(b, loc, src.buffer, src.offset + at),
                  constant(b, loc, 1), constant(b, loc, std::min(piece, src.bytes - at)),
                  constant(b, loc, 0));
}

static Value globalBuffer(OpBuilder &b, Location loc, MemoryLevel level, StringRef name) {
  return GlobalBufferOp::create(b, loc, BufferType::get(b.getContext(), level), name);
}

/// Runs the body in those parts of the batch that the mask has. A kernel that is not iterated has one part.
static void inParts(OpBuilder &b, func::FuncOp kernel, PartMask parts,
                    llvm::function_ref<void(OpBuilder &)> body) {
  if (parts == 0)
    return;
  if (parts == allParts || kernel.getNumArguments() == 0)
    return body(b);
  Location loc = kernel.getLoc();
  Value shifted = arith::ShRUIOp::create(b, loc, constant(b, loc, parts), kernel.getArgument(0));
  Value bit = arith::AndIOp::create(b, loc, shifted, constant(b, loc, 1));
  Value wanted = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bit, constant(b, loc, 0));
  auto only = scf::IfOp::create(b, loc, wanted, /*withElseRegion=*/false);
  OpBuilder inside = OpBuilder::atBlockBegin(only.thenBlock());
  body(inside);
}

static SmallVector<BringOp> bringsOf(func::FuncOp kernel) {
  SmallVector<BringOp> brings;
  kernel.walk([&](BringOp op) { brings.push_back(op); });
  return brings;
}

WantedWeights tensorturbo::tile::wantedWeights(func::FuncOp kernel) {
  WantedWeights wanted;
  SmallVector<BringOp> brings = bringsOf(kernel);
  AllocOp own;
  if (brings.size() == 1)
    own = brings[0].getDst().getDefiningOp<AllocOp>();
  if (own)
    wanted.bytes = static_cast<int64_t>(brings[0].getBytes());
  kernel.walk([&](AllocOp alloc) {
    if (alloc != own && alloc.getBuffer().getType().getLevel() == MemoryLevel::LLB)
      wanted.otherLlbBytes += (static_cast<int64_t>(alloc.getBytes()) + 63) / 64 * 64;
  });
  return wanted;
}

/// Where core 0 alone begins: behind `last` if that is set, else behind the declarations and the core's
/// number.
static OpBuilder onMaster(func::FuncOp kernel, Operation *last) {
  OpBuilder b(kernel.getContext());
  if (last) {
    b.setInsertionPointAfter(last);
    return b;
  }
  CoreIdOp id;
  for (Operation &op : kernel.getBody().front())
    if (auto core = dyn_cast<CoreIdOp>(op))
      id = core;
  b.setInsertionPointAfter(id);
  Location loc = kernel.getLoc();
  Value master = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, id.getId(), constant(b, loc, 0));
  auto only = scf::IfOp::create(b, loc, master, /*withElseRegion=*/false);
  return OpBuilder::atBlockBegin(only.thenBlock());
}

std::vector<PrefetchedBuffer> tensorturbo::tile::prefetchWeights(ModuleOp module,
                                                                 const std::vector<func::FuncOp> &kernels,
                                                                 const std::vector<PrefetchTransfer> &plan) {
  std::vector<const PrefetchTransfer *> transferOf(kernels.size(), nullptr);
  for (const PrefetchTransfer &t : plan)
    transferOf[static_cast<size_t>(t.kernel)] = &t;

  std::vector<PrefetchedBuffer> buffers;
  std::vector<Source> sourceOf(plan.size());
  // The last operation of what a kernel waits for; starts follow behind.
  std::vector<Operation *> waited(kernels.size(), nullptr);
  for (size_t k = 0; k < kernels.size(); ++k) {
    func::FuncOp kernel = kernels[k];
    for (BringOp bring : bringsOf(kernel)) {
      OpBuilder b(bring);
      Location loc = bring.getLoc();
      Source source{bring.getSrc(), static_cast<int64_t>(bring.getOffset()),
                    static_cast<int64_t>(bring.getBytes())};
      const PrefetchTransfer *transfer = transferOf[k];
      if (!transfer) {
        copyNow(b, loc, bring.getDst(), source);
        bring.erase();
        continue;
      }
      std::string name = "weights_" + kernel.getName().str();
      OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
      GlobalOp::create(top, kernel.getLoc(), b.getStringAttr(name), b.getI64IntegerAttr(source.bytes),
                       IntegerAttr(), IntegerAttr());
      auto alloc = bring.getDst().getDefiningOp<AllocOp>();
      OpBuilder declaration(alloc);
      Value weights = globalBuffer(declaration, alloc.getLoc(), MemoryLevel::LLB, name);
      alloc.getBuffer().replaceAllUsesWith(weights);
      inParts(b, kernel, transfer->waits, [&](OpBuilder &inside) {
        PrefetchWaitOp::create(inside, loc, static_cast<uint32_t>(transfer->channel));
      });
      inParts(b, kernel, transfer->brings, [&](OpBuilder &inside) { copyNow(inside, loc, weights, source); });
      waited[k] = bring->getPrevNode();
      bring.erase();
      alloc.erase();
      buffers.push_back({name, source.bytes});
      sourceOf[static_cast<size_t>(transfer - plan.data())] = source;
    }
  }

  // In the order of use, so that a channel that is shared fairly serves the next kernel first.
  for (size_t i = 0; i < plan.size(); ++i)
    for (const PrefetchTransfer::Start &start : plan[i].starts) {
      func::FuncOp starter = kernels[static_cast<size_t>(start.kernel)];
      Operation *&behind = waited[static_cast<size_t>(start.kernel)];
      OpBuilder b = onMaster(starter, behind);
      Location loc = starter.getLoc();
      auto global = sourceOf[i].buffer.getDefiningOp<GlobalBufferOp>();
      func::FuncOp user = kernels[static_cast<size_t>(plan[i].kernel)];
      std::string name = "weights_" + user.getName().str();
      inParts(b, starter, start.parts, [&](OpBuilder &inside) {
        Value to = globalBuffer(inside, loc, MemoryLevel::LLB, name),
              from = globalBuffer(inside, loc, MemoryLevel::DDR, global.getGlobal());
        PrefetchStartOp::create(
            inside, loc, viewOf(inside, loc, to, 0), viewOf(inside, loc, from, sourceOf[i].offset),
            static_cast<uint64_t>(sourceOf[i].bytes), static_cast<uint32_t>(plan[i].channel));
      });
      // The next start follows in the same place.
      behind = &*std::prev(b.getInsertionPoint());
    }
  return buffers;
}
