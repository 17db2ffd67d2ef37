// Recognises loads that wait for a word to change, by looking at the instructions around them.
#include "simulator/Decode.h"
#include "simulator/hazard/AccessLog.h"
#include <cstring>
#include <optional>

namespace tensorturbo::sim {

namespace {

constexpr uint32_t longestSearch = 16; // instructions behind the load
constexpr uint32_t longestLoop = 64;   // bytes

struct Insn {
  uint32_t word = 0, length = 4;
  uint32_t opcode() const { return word & 0x7F; }
  uint32_t rd() const { return word >> 7 & 31; }
  uint32_t rs1() const { return word >> 15 & 31; }
  bool isLoad() const { return opcode() == 0x03; }
  bool isBranch() const { return opcode() == 0x63; }
  bool isJump() const { return opcode() == 0x6F && rd() == 0; }
  /// Register, offset and width of a load.
  uint32_t address() const { return word & 0xFFFFF000; }
  int32_t target() const {
    int32_t w = static_cast<int32_t>(word);
    if (isBranch())
      return (w >> 31) * 4096 +
             int32_t((word >> 7 & 1) << 11 | (word >> 25 & 63) << 5 | (word >> 8 & 15) << 1);
    return (w >> 31) * (1 << 20) +
           int32_t((word >> 12 & 0xFF) << 12 | (word >> 20 & 1) << 11 | (word >> 21 & 0x3FF) << 1);
  }
};

std::optional<Insn> fetch(const Memory &memory, uint32_t pc) {
  if (pc & 1 || pc > ddrSize - 4)
    return std::nullopt;
  Insn insn;
  std::memcpy(&insn.word, memory.ddr.data() + pc, 4);
  if ((insn.word & 3) != 3) {
    insn.word = expandCompressed(static_cast<uint16_t>(insn.word));
    insn.length = 2;
  }
  return insn;
}

/// Loads, arithmetic, branches, fences, CSR reads and waits: nothing that anybody else could see.
bool isHarmless(const Insn &insn) {
  switch (insn.opcode()) {
  case 0x03:
  case 0x13:
  case 0x33:
  case 0x37:
  case 0x17:
  case 0x63:
  case 0x0F:
  case 0x73:
    return true;
  default:
    return insn.isJump();
  }
}

bool isWaitingLoop(const Memory &memory, uint32_t begin, uint32_t end, const Insn &load) {
  bool same = false, setsBase = false, changesBase = false;
  for (uint32_t at = begin; at <= end;) {
    auto insn = fetch(memory, at);
    if (!insn || !isHarmless(*insn))
      return false;
    same |= insn->isLoad() && insn->address() == load.address();
    bool writesBase = !insn->isBranch() && insn->opcode() != 0x0F && insn->rd() == load.rs1() && load.rs1();
    // An address that is set to a constant each time is as good as one that stays.
    bool constant = insn->opcode() == 0x37 || insn->opcode() == 0x17;
    setsBase |= writesBase && constant;
    changesBase |= writesBase && !constant;
    at += insn->length;
  }
  return same && (!changesBase || setsBase);
}

} // namespace

bool isSpinLoad(const Memory &memory, uint32_t pc) {
  auto load = fetch(memory, pc);
  if (!load || !load->isLoad())
    return false;
  uint32_t at = pc;
  for (uint32_t i = 0; i < longestSearch; i++) {
    auto insn = fetch(memory, at);
    if (!insn || !isHarmless(*insn))
      return false;
    if (insn->isBranch() || insn->isJump()) {
      int32_t distance = insn->target();
      if (distance <= 0 && distance >= -int32_t(longestLoop))
        return isWaitingLoop(memory, at + uint32_t(distance), at, *load);
      if (insn->isJump())
        return false;
    }
    at += insn->length;
  }
  return false;
}

} // namespace tensorturbo::sim
