#include "CodeGen/StraightRun.h"
#include "CodeGen/RiscvWords.h"
#include "Target/Target.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tensorturbo::codegen {
namespace {

// a0-a7, s2-s6: enough for any loop body, and leaves LLVM registers of its own.
constexpr std::array<uint8_t, 13> intInputRegisters = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22};
// fa0-fa7
constexpr std::array<uint8_t, 8> floatInputRegisters = {10, 11, 12, 13, 14, 15, 16, 17};

std::optional<uint32_t> constantBits(Value value) {
  Attribute attribute;
  if (!matchPattern(value, m_Constant(&attribute)))
    return std::nullopt;
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return uint32_t(integer.getValue().getZExtValue());
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return uint32_t(real.getValue().bitcastToAPInt().getZExtValue());
  return std::nullopt;
}

} // namespace

bool isRunOp(Operation *op) {
  return isa_and_nonnull<npu::NpuDialect>(op->getDialect()) && !isa<npu::CoreIdOp>(op);
}

bool StraightRun::append(Operation *op) {
  if (result)
    return false;
  size_t newInts = 0, newFloats = 0;
  for (Value operand : op->getOperands()) {
    if (constantBits(operand))
      continue;
    if (operand.getType().isF32())
      newFloats += !floatInputs.contains(operand);
    else
      newInts += !intInputs.contains(operand);
  }
  if (intInputs.size() + newInts > intInputRegisters.size() ||
      floatInputs.size() + newFloats > floatInputRegisters.size())
    return false;
  ops.push_back(op);
  encode(op);
  if (op->getNumResults() == 1)
    result = op->getResult(0);
  return true;
}

StraightRun::Scratch &StraightRun::victim(llvm::MutableArrayRef<Scratch> pool) {
  Scratch *oldest = &pool.front();
  for (Scratch &s : pool)
    if (s.lastUse < oldest->lastUse)
      oldest = &s;
  oldest->valid = true;
  oldest->lastUse = ++clock;
  return *oldest;
}

uint32_t StraightRun::constantRegister(uint32_t value) {
  if (value == 0)
    return rv::zero;
  Scratch *near = nullptr;
  for (Scratch &s : ints) {
    if (s.valid && s.value == value) {
      s.lastUse = ++clock;
      return s.number;
    }
    if (s.valid && rv::fitsImmediate(int32_t(value - s.value)))
      near = &s;
  }
  // What is near must be read before its register may be chosen for the new value.
  uint32_t nearRegister = near ? near->number : 0;
  int32_t nearOffset = near ? int32_t(value - near->value) : 0;
  Scratch &s = victim(ints);
  s.value = value;
  int32_t low = int32_t(value << 20) >> 20;
  uint32_t high = value - uint32_t(low);
  if (rv::fitsImmediate(int32_t(value))) {
    emit(rv::addi(s.number, rv::zero, int32_t(value)));
  } else if (low == 0) {
    emit(rv::lui(s.number, high));
  } else if (near) {
    emit(rv::addi(s.number, nearRegister, nearOffset));
  } else {
    emit(rv::lui(s.number, high));
    emit(rv::addi(s.number, s.number, low));
  }
  return s.number;
}

uint32_t StraightRun::intRegister(Value value) {
  if (std::optional<uint32_t> bits = constantBits(value))
    return constantRegister(*bits);
  auto [it, isNew] = intInputs.insert({value, 0});
  if (isNew)
    it->second = intInputRegisters[intInputs.size() - 1];
  return it->second;
}

uint32_t StraightRun::floatRegister(Value value) {
  std::optional<uint32_t> bits = constantBits(value);
  if (!bits) {
    auto [it, isNew] = floatInputs.insert({value, 0});
    if (isNew)
      it->second = floatInputRegisters[floatInputs.size() - 1];
    return it->second;
  }
  for (Scratch &s : floats)
    if (s.valid && s.value == *bits) {
      s.lastUse = ++clock;
      return s.number;
    }
  uint32_t source = constantRegister(*bits);
  Scratch &s = victim(floats);
  s.value = *bits;
  emit(rv::fmvWX(s.number, source));
  return s.number;
}

std::pair<uint32_t, int32_t> StraightRun::memoryOperand(Value address) {
  if (std::optional<uint32_t> bits = constantBits(address))
    for (Scratch &s : ints)
      if (s.valid && rv::fitsImmediate(int32_t(*bits - s.value))) {
        s.lastUse = ++clock;
        return {s.number, int32_t(*bits - s.value)};
      }
  return {intRegister(address), 0};
}

void StraightRun::noteBounds(Operation *op, size_t from, uint16_t field) {
  auto attribute = op->getAttrOfType<DenseI32ArrayAttr>("npu.bounds");
  if (!attribute)
    return;
  ArrayRef<int32_t> list = attribute;
  size_t stride = 3 * (op->getNumOperands() + 1), cores = list.size() / stride;
  bool same = true;
  for (size_t core = 1; core < cores; ++core)
    same &= list.slice(3 * from, 3) == list.slice(core * stride + 3 * from, 3);
  for (size_t core = 0; core < (same ? 1 : cores); ++core) {
    ArrayRef<int32_t> known = list.slice(core * stride + 3 * from, 3);
    if (known[0] <= known[1])
      notes.push_back({words.size(),
                       {0, field, same ? runtime::OperandBounds::everyCore : static_cast<uint16_t>(core),
                        static_cast<uint32_t>(known[0]), static_cast<uint32_t>(known[1]),
                        static_cast<uint32_t>(known[2])}});
  }
}

void StraightRun::encodeInstruction(npu::Instruction insn) {
  auto reg = [&](Value v) { return v.getType().isF32() ? floatRegister(v) : intRegister(v); };
  SmallVector<uint32_t, 3> registers;
  // A result is left in fa0; fshw is the only instruction without destination field but with sources.
  if (insn->getNumResults() == 1)
    registers.push_back(floatInputRegisters[0]);
  else if (isa<npu::FshwOp>(insn))
    registers.push_back(0);
  size_t firstField = registers.size();
  for (Value operand : insn->getOperands())
    registers.push_back(reg(operand));
  for (unsigned i = 0; i < insn->getNumOperands(); ++i)
    noteBounds(insn, i, static_cast<uint16_t>(firstField + i));
  noteBounds(insn, insn->getNumOperands(), runtime::OperandBounds::executions);
  registers.resize(3, 0);
  const target::Instruction *row = target::p920().find(insn.instructionName().str());
  emit(target::Target::encode(*row, registers[0], registers[1], registers[2], insn.dmBit(), insn.dmcBit()));
}

void StraightRun::encode(Operation *op) {
  if (auto insn = dyn_cast<npu::Instruction>(op))
    return encodeInstruction(insn);
  if (auto csrw = dyn_cast<npu::CsrwOp>(op)) {
    uint32_t number = *target::p920().csrNumber(csrw.getCsr().str());
    std::optional<uint32_t> bits = constantBits(csrw.getValue());
    if (bits && *bits < 32)
      return emit(rv::csrwi(number, *bits));
    return emit(rv::csrw(number, intRegister(csrw.getValue())));
  }
  if (auto store = dyn_cast<npu::Store32Op>(op)) {
    uint32_t value = intRegister(store.getValue());
    auto [base, offset] = memoryOperand(store.getAddress());
    noteBounds(op, store.getValueMutable().getOperandNumber(), runtime::OperandBounds::storedValue);
    noteBounds(op, op->getNumOperands(), runtime::OperandBounds::executions);
    return emit(rv::sw(value, base, offset));
  }
  if (auto load = dyn_cast<npu::Load32Op>(op)) {
    auto [base, offset] = memoryOperand(load.getAddress());
    return emit(rv::lw(intInputRegisters[0], base, offset));
  }
  auto wait = cast<npu::WaitOp>(op);
  uint32_t mask = intRegister(wait.getMask());
  auto [base, offset] = memoryOperand(wait.getAddress());
  Scratch &word = victim(ints);
  word.valid = false;
  emit(rv::lw(word.number, base, offset));
  emit(rv::andReg(word.number, word.number, mask));
  emit(rv::beqBack(word.number, rv::zero, 8));
}

void StraightRun::flush() {
  if (ops.empty())
    return;
  std::string text, constraints;
  llvm::raw_string_ostream asmText(text), list(constraints);
  if (!notes.empty()) {
    // LLVM guesses the size of the code from the number of lines.
    asmText << ".pushsection " << runtime::section::operands << ",\"\",@progbits\n.4byte ";
    llvm::interleave(
        notes, asmText,
        [&](const Note &n) {
          const runtime::OperandBounds &b = n.bounds;
          asmText << "1f+" << 4 * n.word << ',' << (b.field | uint32_t(b.core) << 16) << ',' << b.low << ','
                  << b.high << ',' << b.step;
        },
        ",");
    asmText << "\n.popsection\n1:\n";
  }
  for (uint32_t word : words)
    asmText << ".4byte " << word << '\n';
  if (result)
    list << (result.getType().isF32() ? "={f10}," : "={x10},");
  SmallVector<Value> inputs;
  for (auto [value, number] : intInputs) {
    inputs.push_back(value);
    list << "{x" << number << "},";
  }
  for (auto [value, number] : floatInputs) {
    inputs.push_back(value);
    list << "{f" << number << "},";
  }
  for (const Scratch &s : ints)
    if (s.lastUse)
      list << "~{x" << unsigned(s.number) << "},";
  for (const Scratch &s : floats)
    if (s.lastUse)
      list << "~{f" << unsigned(s.number) << "},";
  list << "~{memory}";

  Operation *last = ops.back();
  OpBuilder builder(last);
  auto asmOp = LLVM::InlineAsmOp::create(
      builder, last->getLoc(), result ? TypeRange(result.getType()) : TypeRange(), inputs, text, constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
      /*asm_dialect=*/nullptr, /*operand_attrs=*/nullptr);
  if (result)
    result.replaceAllUsesWith(asmOp.getRes());
  for (Operation *op : ops)
    op->erase();
  *this = StraightRun();
}

void lowerNpuOps(ModuleOp module) {
  module.walk([](npu::CoreIdOp op) {
    OpBuilder builder(op);
    auto asmOp = LLVM::InlineAsmOp::create(builder, op.getLoc(), TypeRange(op.getType()), ValueRange(),
                                           "csrr $0, 0x424", "=r", /*has_side_effects=*/false,
                                           /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                                           /*asm_dialect=*/nullptr, /*operand_attrs=*/nullptr);
    op.replaceAllUsesWith(asmOp.getRes());
    op.erase();
  });
  module.walk([](Block *block) {
    StraightRun run;
    for (Operation &op : llvm::make_early_inc_range(*block)) {
      if (!isRunOp(&op)) {
        // Scalar arithmetic may stay between the members: the asm goes to the place of the last one.
        if (!isMemoryEffectFree(&op) || op.getNumRegions() != 0)
          run.flush();
        continue;
      }
      if (!run.append(&op)) {
        run.flush();
        run.append(&op);
      }
    }
    run.flush();
  });
}

} // namespace tensorturbo::codegen
