// Pass npu-post-insn-schedule (option post_insn_schedule): the second list scheduling, when addresses are
// known. An instruction and the CSR writes in front of it are one unit; units whose operands share no byte
// may change places, where the engines then finish earlier:
//
//      csrw mte_shape; mov.l1.llb rows0          csrw mte_shape; mov.l1.llb rows0
//      csrw shape_s1;  mov.m out0, rows0         csrw shape_s1;  mov.m out0, rows0
//      csrw mte_shape; mov.llb.l1 out0     =>    csrw mte_shape; mov.l1.llb rows1
//      csrw mte_shape; mov.l1.llb rows1          csrw mte_shape; mov.llb.l1 out0
//
// A core's queues hold an instruction back while its operands overlap those of an older one, and execute in
// order otherwise (docs/timing-model.md): only the order within an engine and the order of operands that
// overlap matter. Nothing moves over sync, system DMA, device registers or icmov; pld instructions keep their
// order. Comes before npu-csrw-elim, so that every unit still has all the CSR writes that its instruction
// needs.
#include "Conversion/TileToNpu/InstructionOrder.h"
#include "Conversion/TileToNpu/TileToNpu.h"
#include "Dialect/Npu/Npu.h"
#include "Dialect/Tile/Tile.h"
#include "Target/Target.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace tensorturbo::tile {
namespace {

constexpr int64_t half = halfBytes, most16 = 0xFFFF;

/// One instruction with its CSR writes.
class UnitReader {
public:
  explicit UnitReader(ValueBounds &bounds) : bounds(&bounds) {}

  void addWrite(npu::CsrwOp write) {
    csrs[write.getCsr()] = write.getValue();
    ops.push_back(write);
  }
  /// True if everything that `insn` reads is written directly in front of it.
  bool isComplete(npu::Instruction insn) const {
    const target::Instruction &row = *target::p920().find(insn.instructionName());
    return llvm::all_of(row.csrs, [&](uint16_t number) {
      StringRef name = target::p920().csrName(number);
      // Folds to one result per column leave dense results.
      bool unused = name == "stride_d" && insn.dmcBit() && !insn.dmBit();
      return unused || csrs.contains(name);
    });
  }
  /// The unit that `insn` completes; nothing if it may not move.
  std::optional<InstructionUnit> finish(npu::Instruction insn) {
    row = target::p920().find(insn.instructionName());
    if (insn->getNumResults() != 0)
      return std::nullopt;
    ops.push_back(insn);
    unit.ops.append(ops.begin(), ops.end());
    unit.issue = 2 * double(ops.size());
    return read(insn) ? std::optional(std::move(unit)) : std::nullopt;
  }

private:
  //===-- fields of CSRs -------------------------------------------------------------------------------===//

  /// Bounds of the 16-bit fields.
  int64_t low(StringRef csr) { return lowOf(csrs.lookup(csr)); }
  int64_t high(StringRef csr) { return highOf(csrs.lookup(csr)); }
  int64_t byte(StringRef csr, unsigned shift) {
    APInt bits;
    if (matchPattern(csrs.lookup(csr), m_ConstantInt(&bits)))
      return bits.getZExtValue() >> shift & 0xFF;
    return 0xFF;
  }
  int64_t lowOf(Value value) {
    if (!value)
      return 0;
    APInt bits;
    if (matchPattern(value, m_ConstantInt(&bits)))
      return bits.getZExtValue() & most16;
    if (auto either = value.getDefiningOp<arith::OrIOp>())
      return std::min(lowOf(either.getLhs()) + lowOf(either.getRhs()), most16);
    if (auto shifted = value.getDefiningOp<arith::ShLIOp>())
      if (matchPattern(shifted.getRhs(), m_ConstantInt(&bits)) && bits.uge(16))
        return 0;
    Interval range = bounds->of(value);
    return range.low >= 0 ? std::min(range.high, most16) : most16;
  }
  int64_t highOf(Value value) {
    if (!value)
      return 0;
    APInt bits;
    if (matchPattern(value, m_ConstantInt(&bits)))
      return bits.getZExtValue() >> 16;
    if (auto either = value.getDefiningOp<arith::OrIOp>())
      return std::min(highOf(either.getLhs()) + highOf(either.getRhs()), most16);
    if (auto shifted = value.getDefiningOp<arith::ShLIOp>())
      if (matchPattern(shifted.getRhs(), m_ConstantInt(&bits)) && bits == 16)
        return lowOf(shifted.getLhs());
    Interval range = bounds->of(value);
    return range.low >= 0 ? range.high >> 16 : most16;
  }

  //===-- operands -------------------------------------------------------------------------------------===//

  /// Rows of elements; a stride of 0 stands for dense rows.
  static int64_t matrix(int64_t rows, int64_t columns, int64_t stride, int64_t element = half) {
    return (rows - 1) * std::max(columns * element, stride) + columns * element;
  }
  void add(Value address, int64_t bytes, bool isWrite, bool isShared = false) {
    // Addresses tell memories and buffers apart.
    unit.accesses.push_back({&target::p920(), address, bytes, isWrite, isShared});
  }
  bool read(npu::Instruction insn) {
    switch (row->engine) {
    case target::Engine::Mte:
      return readMove(insn);
    case target::Engine::Mme:
      return readMatrix(insn);
    case target::Engine::Vme:
      return readVector(insn);
    default:
      return false;
    }
  }
  bool readMove(npu::Instruction insn) {
    const target::Costs costs = *target::p920().costs();
    bool isStore = isa<npu::MovLlbL1Op>(insn);
    if (!isStore && !isa<npu::MovL1LlbOp, npu::PldOp>(insn))
      return false;
    int64_t rows = low("mte_shape"), columns = high("mte_shape");
    int64_t strided = matrix(rows, columns, low("mte_stride_llb")), dense = rows * columns * half;
    unit.engine = MoveEngine::Mte;
    unit.isTogether = isa<npu::PldOp>(insn);
    unit.cycles = unit.isTogether ? costs.pldFixed + double(dense) / costs.mteBytesPerCycle
                                  : costs.mteFixed + double(dense) / moveRate(bounds->cores());
    add(insn->getOperand(0), isStore ? strided : dense, true, isStore);
    add(insn->getOperand(1), isStore ? dense : strided, false, !isStore);
    return true;
  }
  bool readMatrix(npu::Instruction insn) {
    const target::Costs costs = *target::p920().costs();
    unit.engine = MoveEngine::Mme;
    if (isa<npu::MeconvMMOp>(insn)) {
      auto image = [&](StringRef size, StringRef depth) {
        return high(size) * low(size) * std::max(high(depth), half * low(depth));
      };
      int64_t taps = byte("conv_kernel", 24) * byte("conv_kernel", 16), channels = low("conv_Depth_in");
      add(insn->getOperand(0), image("conv_FM_out", "conv_Depth_out"), true);
      add(insn->getOperand(1), image("conv_FM_in", "conv_Depth_in"), false);
      add(insn->getOperand(2), taps * channels * std::max(low("conv_S_kernel"), half * low("conv_Depth_out")),
          false);
      unit.cycles = costs.matmulCycles(uint64_t(high("conv_FM_out") * low("conv_FM_out")),
                                       uint64_t(low("conv_Depth_out")), uint64_t(taps * channels), false);
      return true;
    }
    int64_t rows = low("m_shape_s1"), columns = high("m_shape_s1");
    if (isa<npu::MetrMOp>(insn)) {
      add(insn->getOperand(0), matrix(columns, rows, low("m_stride_d")), true);
      add(insn->getOperand(1), matrix(rows, columns, low("m_stride_s")), false);
      unit.cycles = costs.transposeCycles(uint64_t(rows), uint64_t(columns));
      return true;
    }
    if (!isa<npu::MemulMMOp>(insn))
      return false;
    int64_t m = insn.dmBit() ? columns : rows, k = low("m_shape_s2"), n = high("m_shape_s2");
    add(insn->getOperand(0), matrix(m, n, low("m_stride_d")), true);
    add(insn->getOperand(1), matrix(rows, columns, low("m_stride_s")), false);
    add(insn->getOperand(2), matrix(k, n, high("m_stride_s")), false);
    unit.cycles = costs.matmulCycles(uint64_t(m), uint64_t(n), uint64_t(k), false);
    return true;
  }
  bool readVector(npu::Instruction insn) {
    unit.engine = MoveEngine::Vme;
    int64_t rows = low("shape_s1"), columns = high("shape_s1");
    unit.cycles = target::p920().costs()->vectorCycles(uint64_t(rows), uint64_t(columns), row->cost);
    StringRef name = row->mnemonic;
    // Other elements than halves: at most 4 bytes each.
    int64_t element = name.contains(".x32") || name.contains(".x8") ? 4 : half;
    int64_t vector = std::max(rows, columns) * half;
    bool folds = insn.dmcBit();
    add(insn->getOperand(0),
        folds ? std::max(rows * std::max(low("stride_d"), half), columns * half)
              : matrix(rows, columns, low("stride_d"), element),
        true);
    if (insn->getNumOperands() > 1 && insn->getOperand(1).getType().isInteger(32))
      add(insn->getOperand(1), name == "mov.v" ? vector : matrix(rows, columns, low("stride_s"), element),
          false);
    if (insn->getNumOperands() > 2 && insn->getOperand(2).getType().isInteger(32))
      add(insn->getOperand(2),
          name == "velut.m"       ? tableBytes
          : name.ends_with(".mv") ? vector
                                  : matrix(rows, columns, high("stride_s"), element),
          false);
    return true;
  }

  ValueBounds *bounds;
  llvm::StringMap<Value> csrs;
  SmallVector<Operation *, 8> ops;
  const target::Instruction *row = nullptr;
  InstructionUnit unit;
};

/// Calls `visit` for each op with effects, with the CSR writes directly in front of it.
void forEachUnit(Block &block, ValueBounds &bounds,
                 llvm::function_ref<void(Operation *, UnitReader &)> visit) {
  UnitReader reader(bounds);
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (isMemoryEffectFree(&op) && op.getNumRegions() == 0)
      continue;
    if (auto write = dyn_cast<npu::CsrwOp>(op)) {
      reader.addWrite(write);
      continue;
    }
    visit(&op, reader);
    reader = UnitReader(bounds);
  }
}

/// CSR state that reaches an instruction from further up forbids any other order.
bool dependsOnOlderWrites(func::FuncOp kernel, ValueBounds &bounds) {
  bool depends = false;
  kernel.walk([&](Block *block) {
    forEachUnit(*block, bounds, [&](Operation *op, UnitReader &reader) {
      auto insn = dyn_cast<npu::Instruction>(op);
      depends |= insn && !reader.isComplete(insn);
    });
  });
  return depends;
}

void scheduleBlock(Block &block, ValueBounds &bounds) {
  // The ops are collected first: the scheduler moves them.
  SmallVector<std::optional<InstructionUnit>> units;
  forEachUnit(block, bounds, [&](Operation *op, UnitReader &reader) {
    auto insn = dyn_cast<npu::Instruction>(op);
    units.push_back(insn ? reader.finish(insn) : std::nullopt);
  });
  PieceScheduler scheduler(block, bounds);
  for (std::optional<InstructionUnit> &unit : units) {
    if (unit)
      scheduler.add(std::move(*unit));
    else
      scheduler.fence();
  }
  scheduler.fence();
}

class PostInsnSchedulePass : public PassWrapper<PostInsnSchedulePass, OperationPass<func::FuncOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PostInsnSchedulePass)
  explicit PostInsnSchedulePass(int cores = 8) { ncore = cores; }
  PostInsnSchedulePass(const PostInsnSchedulePass &other) : PassWrapper(other) {
    ncore = other.ncore.getValue();
  }
  StringRef getArgument() const override { return "npu-post-insn-schedule"; }
  StringRef getDescription() const override { return "order instructions by the bytes that they touch"; }
  void runOnOperation() override {
    ValueBounds bounds(ncore);
    if (dependsOnOlderWrites(getOperation(), bounds))
      return;
    getOperation().walk([&](Block *block) { scheduleBlock(*block, bounds); });
  }

private:
  Option<int> ncore{*this, "ncore", llvm::cl::desc("cores that run the kernels"), llvm::cl::init(8)};
};

} // namespace

std::unique_ptr<Pass> createPostInsnSchedulePass(int ncore) {
  return std::make_unique<PostInsnSchedulePass>(ncore);
}

} // namespace tensorturbo::tile
