// Pass tile-to-npu.
#include "Conversion/TileToNpu/TileToNpu.h"
#include "Conversion/TileToNpu/Emitter.h"
#include "Dialect/Tile/Tile.h"
#include "Target/Target.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tensorturbo::tile {
namespace {

/// Lowers the ops of one kernel in program order.
class KernelLowering {
public:
  KernelLowering(func::FuncOp kernel, int ncore)
      : kernel(kernel), ncore(ncore), b(kernel.getContext()), e(b) {}

  bool run() {
    SmallVector<Operation *> tileOps;
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<TileDialect>(op->getDialect()))
        tileOps.push_back(op);
    });
    for (Operation *op : tileOps) {
      e.start(op);
      if (!lower(op))
        return false;
    }
    if (e.failed)
      return false;
    // Names for readers of the listing.
    if (!buffers.empty())
      kernel->setAttr("npu.buffers", b.getArrayAttr(buffers));
    for (Operation *op : llvm::reverse(tileOps)) {
      if (!op->use_empty()) {
        op->emitOpError("buffers and pointers may only be used by tile ops, not by '")
            << (*op->user_begin())->getName() << "'";
        return false;
      }
      op->erase();
    }
    return true;
  }

private:
  /// Address of a buffer or pointer.
  Value at(Value pointer) { return addresses.lookup(pointer); }

  bool lower(Operation *op) {
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case<GlobalBufferOp, AllocOp, ViewOp, BinaryOp, BinaryVectorOp, BinaryScalarOp, UnaryOp>(
            [&](auto typed) { return lowerOp(typed); })
        .Case<CoreIdOp, BarrierOp, DmaStartOp, DmaWaitOp, DmaOp, LoadWordOp, LoadOp, StoreOp, BroadcastOp,
              SendOp, ConvOp, MatmulOp, TransposeOp, LookupOp, FillOp, SpreadOp, ReduceOp, DotOp>(
            [&](auto typed) {
              lowerOp(typed);
              return true;
            })
        .Default([&](Operation *other) {
          other->emitOpError("has no lowering to the npu dialect");
          return false;
        });
  }

  //===-- buffers
  //----------------------------------------------------------------------------------------===//

  bool lowerOp(GlobalBufferOp op) {
    auto global = SymbolTable::lookupNearestSymbolFrom<GlobalOp>(op, op.getGlobalAttr());
    if (!global || !global.getAddress()) {
      op.emitOpError("names a tensor without address: @") << op.getGlobal();
      return false;
    }
    defineBuffer(op.getBuffer(), op.getGlobal(), uint32_t(*global.getAddress()), global.getBytes());
    return true;
  }
  bool lowerOp(AllocOp op) {
    if (!op.getOffset()) {
      op.emitOpError("has no offset: the memory has not been planned");
      return false;
    }
    uint32_t address = base(op.getBuffer().getType().getLevel()) + uint32_t(*op.getOffset());
    defineBuffer(op.getBuffer(), op.getName(), address, op.getBytes());
    return true;
  }
  bool lowerOp(ViewOp op) {
    addresses[op.getPointer()] = e.add(at(op.getBuffer()), op.getOffset());
    return true;
  }
  void defineBuffer(Value buffer, StringRef name, uint32_t address, uint64_t bytes) {
    addresses[buffer] = e.constant(address);
    buffers.push_back(b.getDictionaryAttr({b.getNamedAttr("name", b.getStringAttr(name)),
                                           b.getNamedAttr("address", b.getI64IntegerAttr(address)),
                                           b.getNamedAttr("bytes", b.getI64IntegerAttr(int64_t(bytes)))}));
  }
  static uint32_t base(MemoryLevel level) {
    const target::Target &chip = target::p920();
    switch (level) {
    case MemoryLevel::DDR:
      return chip.ddr().base;
    case MemoryLevel::LLB:
      return chip.llb().base;
    case MemoryLevel::L1:
      return chip.l1().base;
    case MemoryLevel::IM:
      return chip.im().base;
    }
    return 0;
  }
  void lowerOp(CoreIdOp op) {
    Value id = ncore == 1 ? e.constant(0) : Value(npu::CoreIdOp::create(b, op.getLoc()));
    op.getId().replaceAllUsesWith(id);
  }
  void lowerOp(BarrierOp) { e.emit<npu::SyncOp>(); }

  //===-- moves
  //------------------------------------------------------------------------------------------===//

  void lowerOp(DmaOp op) {
    e.systemDma(at(op.getDst()), at(op.getSrc()), op.getRows(), op.getRowBytes(), op.getSrcStride());
  }
  void lowerOp(DmaStartOp op) {
    SmallVector<Emitter::Copy> copies;
    for (auto [dst, src, bytes] : llvm::zip_equal(op.getDst(), op.getSrc(), op.getBytes()))
      copies.push_back({at(dst), at(src), bytes});
    e.startDma(copies, op.getChannel());
  }
  void lowerOp(DmaWaitOp op) { e.waitDma(op.getChannel()); }
  void lowerOp(LoadWordOp op) {
    op.getValue().replaceAllUsesWith(npu::Load32Op::create(b, op.getLoc(), at(op.getSrc())).getValue());
  }
  void lowerOp(LoadOp op) {
    e.moveShape(op.getRows(), op.getColumns(), op.getLlbStride());
    e.emit<npu::MovL1LlbOp>(at(op.getDst()), at(op.getSrc()));
  }
  void lowerOp(StoreOp op) {
    e.moveShape(op.getRows(), op.getColumns(), op.getLlbStride());
    e.emit<npu::MovLlbL1Op>(at(op.getDst()), at(op.getSrc()));
  }
  void lowerOp(BroadcastOp op) {
    e.set("mte_coremap", e.constant((1u << ncore) - 1));
    e.moveShape(op.getRows(), op.getColumns(), op.getLlbStride());
    e.emit<npu::PldOp>(at(op.getDst()), at(op.getSrc()));
  }
  void lowerOp(SendOp op) {
    e.set("mte_icdest", op.getCore());
    e.emit<npu::IcmovOp>(at(op.getDst()), at(op.getSrc()), op.getBytes());
  }

  //===-- matrix engine
  //----------------------------------------------------------------------------------===//

  void lowerOp(ConvOp op) {
    e.setPair("conv_FM_in", op.getWidth(), op.getHeight(), "height and width");
    e.setPair("conv_Depth_in", op.getSrcPixelStride(), op.getCin(), "channels and pixel stride");
    e.setPair("conv_FM_out", op.getOutWidth(), op.getOutHeight(), "output height and width");
    e.setPair("conv_Depth_out", op.getDstPixelStride(), op.getCout(), "output channels and pixel stride");
    e.setLow("conv_S_kernel", op.getWeightRowStride(), "weight row stride");
    e.setBytes("conv_kernel",
               {e.constant(op.getKernelWidth()), e.constant(op.getKernelHeight()),
                e.constant(op.getDilation()), e.constant(op.getStride())},
               "kernel size, dilation and stride");
    e.setBytes("conv_padding", {op.getTop(), op.getBottom(), op.getLeft(), op.getRight()}, "padding");
    e.emit<npu::MeconvMMOp>(at(op.getDst()), at(op.getSrc()), at(op.getWeights()));
  }
  void lowerOp(MatmulOp op) {
    bool transposed = op.getTransposed();
    Value lhsRows = transposed ? op.getK() : op.getM(), lhsColumns = transposed ? op.getM() : op.getK();
    e.setPair("m_shape_s1", lhsColumns, lhsRows, "size of the left operand");
    e.setPair("m_shape_s2", op.getN(), op.getK(), "size of the right operand");
    e.setLow("m_stride_d", e.stride(op.getM(), op.getDstStride()), "destination stride");
    e.setPair("m_stride_s", e.stride(op.getK(), op.getRhsStride()), e.stride(lhsRows, op.getLhsStride()),
              "source stride");
    e.emit<npu::MemulMMOp>(at(op.getDst()), at(op.getLhs()), at(op.getRhs()), transposed);
  }
  void lowerOp(TransposeOp op) {
    e.setPair("m_shape_s1", op.getColumns(), op.getRows(), "rows and columns");
    e.setLow("m_stride_d", e.stride(op.getColumns(), op.getDstStride()), "destination stride");
    e.setPair("m_stride_s", e.constant(0), e.stride(op.getRows(), op.getSrcStride()), "source stride");
    e.emit<npu::MetrMOp>(at(op.getDst()), at(op.getSrc()));
  }

  //===-- vector engine
  //----------------------------------------------------------------------------------===//

  bool noForm(Operation *op) {
    op->emitOpError("has no instruction for this kind of operands");
    return false;
  }
  bool lowerOp(BinaryOp op) {
    e.vectorShape(op.getRows(), op.getColumns());
    e.vectorStrides(op.getRows(), op.getDstStride(), op.getLhsStride(), op.getRhsStride());
    Value d = at(op.getDst()), x = at(op.getLhs()), y = at(op.getRhs());
    switch (op.getKind()) {
    case BinaryKind::add:
      return e.emit<npu::VeaddMMOp>(d, x, y), true;
    case BinaryKind::sub:
      return e.emit<npu::VesubMMOp>(d, x, y), true;
    case BinaryKind::mul:
      return e.emit<npu::VeemulMMOp>(d, x, y), true;
    case BinaryKind::max:
      return e.emit<npu::VemaxMMOp>(d, x, y), true;
    case BinaryKind::min:
      return e.emit<npu::VeminMMOp>(d, x, y), true;
    case BinaryKind::leaky_relu:
      return noForm(op);
    }
    return noForm(op);
  }
  bool lowerOp(BinaryVectorOp op) {
    e.vectorShape(op.getRows(), op.getColumns());
    e.vectorStrides(op.getRows(), op.getDstStride(), op.getLhsStride(), {});
    bool dm = op.getAxis() == Axis::rows;
    Value d = at(op.getDst()), x = at(op.getLhs()), y = at(op.getVector());
    switch (op.getKind()) {
    case BinaryKind::add:
      return e.emit<npu::VeaddMVOp>(d, x, y, dm), true;
    case BinaryKind::sub:
      return e.emit<npu::VesubMVOp>(d, x, y, dm), true;
    case BinaryKind::mul:
      return e.emit<npu::VeemulMVOp>(d, x, y, dm), true;
    case BinaryKind::max:
      return e.emit<npu::VemaxMVOp>(d, x, y, dm), true;
    case BinaryKind::min:
      return e.emit<npu::VeminMVOp>(d, x, y, dm), true;
    case BinaryKind::leaky_relu:
      return e.emit<npu::VelkreluMVOp>(d, x, y, dm), true;
    }
    return noForm(op);
  }
  bool lowerOp(BinaryScalarOp op) {
    e.vectorShape(op.getRows(), op.getColumns());
    e.vectorStrides(op.getRows(), op.getDstStride(), op.getLhsStride(), {});
    Value d = at(op.getDst()), x = at(op.getLhs()), y = e.scalar(op.getValue());
    switch (op.getKind()) {
    case BinaryKind::add:
      return e.emit<npu::VeaddMFOp>(d, x, y), true;
    case BinaryKind::sub:
      return e.emit<npu::VesubMFOp>(d, x, y), true;
    case BinaryKind::mul:
      return e.emit<npu::VeemulMFOp>(d, x, y), true;
    case BinaryKind::max:
      return e.emit<npu::VemaxMFOp>(d, x, y), true;
    case BinaryKind::min:
      return e.emit<npu::VeminMFOp>(d, x, y), true;
    case BinaryKind::leaky_relu:
      return e.emit<npu::VelkreluMFOp>(d, x, y), true;
    }
    return noForm(op);
  }
  bool lowerOp(UnaryOp op) {
    e.vectorShape(op.getRows(), op.getColumns());
    e.vectorStrides(op.getRows(), op.getDstStride(), op.getSrcStride(), {});
    Value d = at(op.getDst()), x = at(op.getSrc());
    switch (op.getKind()) {
    case UnaryKind::copy:
      return e.emit<npu::MovMOp>(d, x), true;
    case UnaryKind::exp:
      return e.emit<npu::VeexpMOp>(d, x), true;
    case UnaryKind::sqrt:
      return e.emit<npu::VesqrtMOp>(d, x), true;
    case UnaryKind::reciprocal:
      return e.emit<npu::VerecipMOp>(d, x), true;
    case UnaryKind::half_from_int8:
      return e.emit<npu::VecvtHfX8MOp>(d, x), true;
    case UnaryKind::half_from_uint8:
      return e.emit<npu::VecvtHfXu8MOp>(d, x), true;
    case UnaryKind::int8_from_half:
      return e.emit<npu::VecvtX8HfMOp>(d, x), true;
    }
    return noForm(op);
  }
  void lowerOp(LookupOp op) {
    e.vectorShape(op.getRows(), op.getColumns());
    e.vectorStrides(op.getRows(), op.getDstStride(), op.getSrcStride(), {});
    e.emit<npu::VelutMOp>(at(op.getDst()), at(op.getSrc()), at(op.getTable()));
  }
  void lowerOp(FillOp op) {
    e.vectorShape(op.getRows(), op.getColumns());
    e.vectorStrides(op.getRows(), op.getDstStride(), {}, {});
    e.emit<npu::MovFOp>(at(op.getDst()), e.scalar(op.getValue()));
  }
  void lowerOp(SpreadOp op) {
    e.vectorShape(op.getRows(), op.getColumns());
    e.vectorStrides(op.getRows(), op.getDstStride(), {}, {});
    e.emit<npu::MovVOp>(at(op.getDst()), at(op.getVector()), op.getAxis() == Axis::rows);
  }
  void lowerOp(ReduceOp op) {
    bool perRow = op.getAxis() == Axis::rows;
    e.vectorShape(op.getRows(), op.getColumns());
    // Results per column are dense, whatever stride_d is.
    e.vectorStrides(op.getRows(), perRow ? op.getDstStride() : Value(), op.getSrcStride(), {});
    Value d = at(op.getDst()), x = at(op.getSrc());
    if (op.getKind() == ReduceKind::max)
      e.emit<npu::VemaxMOp>(d, x, perRow);
    else if (op.getKind() == ReduceKind::min)
      e.emit<npu::VeminMOp>(d, x, perRow);
    else if (op.getScale())
      e.emit<npu::VeemaccMFOp>(d, x, e.scalar(*op.getScale()), perRow);
    else
      e.emit<npu::VeaccMOp>(d, x, perRow);
  }
  void lowerOp(DotOp op) {
    bool perRow = op.getAxis() == Axis::rows;
    e.vectorShape(op.getRows(), op.getColumns());
    e.vectorStrides(op.getRows(), perRow ? op.getDstStride() : Value(), op.getLhsStride(), op.getRhsStride());
    e.emit<npu::VeemaccMMOp>(at(op.getDst()), at(op.getLhs()), at(op.getRhs()), perRow);
  }

  func::FuncOp kernel;
  int ncore;
  OpBuilder b;
  Emitter e;
  llvm::DenseMap<Value, Value> addresses;
  SmallVector<Attribute> buffers;
};

class TileToNpuPass : public PassWrapper<TileToNpuPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TileToNpuPass)
  explicit TileToNpuPass(int cores = 8) { ncore = cores; }
  TileToNpuPass(const TileToNpuPass &other) : PassWrapper(other) { ncore = other.ncore.getValue(); }

  StringRef getArgument() const override { return "tile-to-npu"; }
  StringRef getDescription() const override { return "tile ops to instructions, buffers to addresses"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<npu::NpuDialect, arith::ArithDialect>();
  }
  void runOnOperation() override {
    if (ncore < 1 || ncore > int(target::p920().cores())) {
      getOperation().emitError("ncore must be between 1 and ") << target::p920().cores() << ", got " << ncore;
      return signalPassFailure();
    }
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (!kernel.isExternal() && !KernelLowering(kernel, ncore).run())
        signalPassFailure();
    for (auto global : llvm::make_early_inc_range(getOperation().getOps<GlobalOp>()))
      global.erase();
  }

private:
  Option<int> ncore{*this, "ncore", llvm::cl::desc("cores that run the kernels"), llvm::cl::init(8)};
};

} // namespace

std::unique_ptr<Pass> createTileToNpuPass(int ncore) {
  return std::make_unique<TileToNpuPass>(ncore);
}

void registerTileToNpuPasses() {
  registerPass([] { return createDmaLoadUnrollPass(); });
  registerPass([] { return createDmaAddSchedulePass(); });
  registerPass([] { return createInsnSchedulePass(); });
  registerPass([] { return createPlanMemoryPass(); });
  registerPass([] { return createTileToNpuPass(); });
  registerPass([] { return createPostInsnSchedulePass(); });
  registerPass([] { return createCsrwEliminationPass(); });
}

} // namespace tensorturbo::tile
