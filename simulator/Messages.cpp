#include "simulator/Messages.h"
#include "Target/Target.h"
#include "simulator/Decode.h"

namespace tensorturbo::sim {

static const char *const xNames[32] = {"zero", "ra", "sp", "gp", "tp",  "t0",  "t1", "t2", "s0", "s1", "a0",
                                       "a1",   "a2", "a3", "a4", "a5",  "a6",  "a7", "s2", "s3", "s4", "s5",
                                       "s6",   "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};

static std::string memoryAccess(const char *name, char bank, uint32_t reg, int32_t offset, uint32_t base) {
  std::string value = bank == 'x' ? xNames[reg] : bank + std::to_string(reg);
  return std::string(name) + " " + value + ", " + std::to_string(offset) + "(" + xNames[base] + ")";
}

std::string disassemble(uint32_t word) {
  static const char *const loads[8] = {"lb", "lh", "lw", nullptr, "lbu", "lhu", nullptr, nullptr};
  static const char *const stores[8] = {"sb", "sh", "sw"};
  static const char *const floatLoads[8] = {nullptr, nullptr, "flw", "fld"};
  static const char *const floatStores[8] = {nullptr, nullptr, "fsw", "fsd"};
  if ((word & 3) != 3)
    if (uint32_t full = expandCompressed(static_cast<uint16_t>(word)))
      return disassemble(full);
  uint32_t rd = word >> 7 & 31, funct3 = word >> 12 & 7, rs1 = word >> 15 & 31, rs2 = word >> 20 & 31;
  int32_t signedWord = static_cast<int32_t>(word);
  int32_t loadOffset = signedWord >> 20, storeOffset = (signedWord >> 25) * 32 + static_cast<int32_t>(rd);
  switch (word & 0x7F) {
  case 0x03:
    if (loads[funct3])
      return memoryAccess(loads[funct3], 'x', rd, loadOffset, rs1);
    break;
  case 0x23:
    if (stores[funct3])
      return memoryAccess(stores[funct3], 'x', rs2, storeOffset, rs1);
    break;
  case 0x07:
    if (floatLoads[funct3])
      return memoryAccess(floatLoads[funct3], 'f', rd, loadOffset, rs1);
    break;
  case 0x27:
    if (floatStores[funct3])
      return memoryAccess(floatStores[funct3], 'f', rs2, storeOffset, rs1);
    break;
  case 0x5B:
  case 0x7B:
    return target::p920().disassemble(word);
  }
  if (word == 0x30200073)
    return "mret";
  return ".insn " + hexText(word);
}

const char *causeName(uint32_t cause) {
  switch (cause) {
  case 0x00:
    return "misaligned instruction address";
  case 0x01:
    return "no code memory";
  case 0x02:
    return "illegal instruction";
  case 0x03:
    return "breakpoint";
  case 0x04:
    return "misaligned load";
  case 0x05:
    return "load outside the memories";
  case 0x06:
    return "misaligned store";
  case 0x07:
    return "store outside the memories";
  case 0x0B:
    return "environment call";
  case 0x29:
    return "illegal vector type";
  case 0x2D:
    return "misaligned vector base";
  case 0x2E:
    return "misaligned vector stride";
  case 0x2F:
    return "vector access outside L1 and IM";
  case 0x30:
    return "vector register used twice";
  case 0x32:
    return "misaligned operand base";
  case 0x33:
    return "zero shape or bad parameter";
  case 0x34:
    return "bad operand stride";
  case 0x35:
    return "operand outside its memory";
  case 0x38:
    return "pld source outside LLB";
  case 0x39:
    return "core number out of range";
  case 0x3A:
    return "start address outside L1 or LLB";
  case 0x3B:
    return "icmov destination outside L1";
  case 0x3C:
    return "end address outside L1";
  case 0x3D:
    return "end address outside LLB";
  case 0x3E:
    return "bad transfer shape or stride";
  case 0x101:
    return "barrier time-out";
  default:
    return "unknown cause";
  }
}

} // namespace tensorturbo::sim
