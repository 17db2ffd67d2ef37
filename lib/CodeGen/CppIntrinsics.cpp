// The functions in front of the kernels: one per instruction and CSR that they use, made from the chip's
// table.
#include "CodeGen/CppText.h"
#include "Target/Target.h"

using namespace mlir;

namespace tensorturbo::codegen {

static std::string withUnderscores(StringRef mnemonic) {
  std::string name = mnemonic.str();
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

std::string intrinsicName(npu::Instruction insn) {
  return withUnderscores(insn->getName().stripDialect()) + (insn.dmBit() ? "_dm" : "");
}

std::string csrFunctionName(StringRef csr) {
  return "csr_" + csr.str();
}

UsedIntrinsics UsedIntrinsics::of(ModuleOp module) {
  UsedIntrinsics used;
  module.walk([&](Operation *op) {
    if (auto insn = dyn_cast<npu::Instruction>(op))
      used.instructions.insert({intrinsicName(insn), insn});
    else if (auto csrw = dyn_cast<npu::CsrwOp>(op))
      used.csrs.insert(csrw.getCsr());
  });
  return used;
}

/// The assembler's name of a register field: an operand, or a fixed register.
static std::string field(bool present, unsigned &operand, uint32_t fixed, const char *fixedPrefix) {
  return present ? "%" + std::to_string(operand++) : fixedPrefix + std::to_string(fixed);
}

static void printInstruction(llvm::raw_ostream &out, const std::string &name, npu::Instruction insn) {
  Operation *op = insn.getOperation();
  bool hasResult = op->getNumResults() == 1;
  out << "P920_FN " << (hasResult ? "float " : "void ") << name << '(';
  static const char *const names[] = {"rd", "rs1", "rs2"};
  // Without a destination in memory the first operand is rs1.
  unsigned first = hasResult || isa<npu::FshwOp>(op) ? 1 : 0;
  std::string inputs;
  for (auto [index, type] : llvm::enumerate(op->getOperandTypes())) {
    const char *operand = names[index + first];
    out << (index ? ", " : "") << (type.isF32() ? "float " : "u32 ") << operand;
    inputs += std::string(index ? ", " : "") + (type.isF32() ? "\"f\"(" : "\"r\"(") + operand + ")";
  }
  out << ") { ";
  if (hasResult)
    out << "float d; ";
  out << "asm volatile(\"";
  const target::Instruction &row = *target::p920().find(insn.instructionName());
  uint32_t word = target::Target::encode(row, 0, 0, 0, insn.dmBit(), insn.dmcBit());
  uint32_t funct3 = word >> 12 & 7, opcode = word & 0x7F;
  if (isa<npu::FlhwOp>(op)) {
    out << ".insn i " << opcode << ", " << funct3 << ", %0, 0(%1)";
  } else if (isa<npu::FshwOp>(op)) {
    out << ".insn s " << opcode << ", " << funct3 << ", %1, 0(%0)";
  } else {
    unsigned operand = 0;
    unsigned fields = op->getNumOperands() + op->getNumResults();
    out << ".insn r " << opcode << ", " << funct3 << ", " << (word >> 25);
    for (unsigned i = 0; i < 3; ++i) {
      uint32_t fixed = i == 0   ? target::rdField(word)
                       : i == 1 ? target::rs1Field(word)
                                : target::rs2Field(word);
      out << ", " << field(i < fields, operand, fixed, "x");
    }
  }
  out << "\" : " << (hasResult ? "\"=f\"(d) " : "") << ": " << inputs << " : \"memory\"); ";
  out << (hasResult ? "return d; }\n" : "}\n");
}

void UsedIntrinsics::print(llvm::raw_ostream &out) const {
  const target::Target &chip = target::p920();
  out << "typedef uint32_t u32;\n\n// Memory map\n";
  for (const target::MemoryRegion *region : {&chip.l1(), &chip.im(), &chip.llb()})
    out << "[[maybe_unused]] constexpr u32 " << region->name << " = 0x" << llvm::utohexstr(region->base)
        << "; // " << region->doc << '\n';
  out << "[[maybe_unused]] constexpr u32 SYSDMA = 0x" << llvm::utohexstr(*chip.address("sysdma0"))
      << "; // registers of the system-DMA controller, descriptors from 0x1000\n";
  out << "\n#define P920_FN [[maybe_unused]] static inline __attribute__((always_inline))\n";
  out << "\n// Instructions: addresses of the destination and of the sources\n";
  for (const auto &[name, insn] : instructions)
    printInstruction(out, name, insn);
  out << "\n// CSRs\n";
  for (StringRef csr : csrs)
    out << "P920_FN void " << csrFunctionName(csr) << "(u32 value) { asm volatile(\"csrw "
        << *chip.csrNumber(csr) << ", %0\" : : \"rK\"(value) : \"memory\"); } // "
        << llvm::find_if(chip.csrs(), [&](const target::Csr &c) { return c.name == csr; })->doc << '\n';
  out << R"(
// Scalar side
P920_FN u32 core_id() { u32 id; asm("csrr %0, 0x424" : "=r"(id)); return id; }
P920_FN u32 load32(u32 address) { return *(volatile u32 *)address; }
P920_FN void store32(u32 address, u32 value) { *(volatile u32 *)address = value; }
P920_FN void wait(u32 address, u32 mask) { while (!(load32(address) & mask)) {} }
P920_FN int32_t s(u32 value) { return (int32_t)value; }
P920_FN u32 smin(u32 x, u32 y) { return s(x) < s(y) ? x : y; }
P920_FN u32 smax(u32 x, u32 y) { return s(x) > s(y) ? x : y; }
P920_FN u32 umin(u32 x, u32 y) { return x < y ? x : y; }
P920_FN u32 umax(u32 x, u32 y) { return x > y ? x : y; }
)";
}

} // namespace tensorturbo::codegen
