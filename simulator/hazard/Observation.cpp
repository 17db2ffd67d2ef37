// Whether a program acts on a bit of a status register that it has loaded: only then it has waited for
// anything.
#include "simulator/Cluster.h"
#include <cstring>
#include <map>

namespace tensorturbo::sim {

namespace {

/// Follows the code behind a load with one value in its register: integer arithmetic, jumps, and the words it
/// stores itself. Everything else yields 0.
class Follower {
public:
  Follower(const Memory &memory, const Hart &hart) : memory(memory), x(hart.x), pc(hart.pc) {}

  struct Insn {
    uint32_t word = 0, length = 4;
    uint32_t rd() const { return word >> 7 & 31; }
    uint32_t rs1() const { return word >> 15 & 31; }
    uint32_t rs2() const { return word >> 20 & 31; }
    uint32_t funct3() const { return word >> 12 & 7; }
    int32_t immediate() const { return static_cast<int32_t>(word) >> 20; }
  };

  Insn fetch() const {
    Insn insn;
    if (pc > ddrSize - 4)
      return {0, 0};
    std::memcpy(&insn.word, memory.ddr.data() + pc, 4);
    if ((insn.word & 3) != 3) {
      insn.word = expandCompressed(static_cast<uint16_t>(insn.word));
      insn.length = 2;
    }
    return insn;
  }

  /// Puts `value` where the load at the present place would.
  void load(uint32_t value) {
    Insn insn = fetch();
    set(insn.rd(), value);
    pc += insn.length;
  }

  /// Executes up to the next conditional branch, which it executes as well. Where the program goes from
  /// there, or 0 if there is no branch for long.
  uint32_t toBranch(int &budget) {
    while (budget-- > 0) {
      Insn insn = fetch();
      if (insn.length == 0)
        return 0;
      if ((insn.word & 0x7F) == 0x63) {
        pc += taken(insn) ? branchOffset(insn.word) : insn.length;
        return pc;
      }
      step(insn);
    }
    return 0;
  }

private:
  void set(uint32_t reg, uint32_t value) {
    if (reg)
      x[reg] = value;
  }
  static uint32_t branchOffset(uint32_t w) {
    return (static_cast<int32_t>(w) >> 31) * 4096u +
           ((w >> 7 & 1) << 11 | (w >> 25 & 63) << 5 | (w >> 8 & 15) << 1);
  }
  static uint32_t jumpOffset(uint32_t w) {
    return (static_cast<int32_t>(w) >> 31) * (1u << 20) +
           ((w >> 12 & 0xFF) << 12 | (w >> 20 & 1) << 11 | (w >> 21 & 0x3FF) << 1);
  }
  bool taken(const Insn &insn) const {
    uint32_t a = x[insn.rs1()], b = x[insn.rs2()];
    bool isLess = insn.funct3() & 2 ? a < b : static_cast<int32_t>(a) < static_cast<int32_t>(b);
    bool holds = insn.funct3() & 4 ? isLess : a == b;
    return holds != static_cast<bool>(insn.funct3() & 1);
  }
  uint32_t arithmetic(const Insn &insn, uint32_t a, uint32_t b, bool alternative) const {
    switch (insn.funct3()) {
    case 0:
      return alternative ? a - b : a + b;
    case 1:
      return a << (b & 31);
    case 2:
      return static_cast<int32_t>(a) < static_cast<int32_t>(b);
    case 3:
      return a < b;
    case 4:
      return a ^ b;
    case 5:
      return alternative ? static_cast<uint32_t>(static_cast<int32_t>(a) >> (b & 31)) : a >> (b & 31);
    case 6:
      return a | b;
    default:
      return a & b;
    }
  }
  void step(const Insn &insn) {
    uint32_t a = x[insn.rs1()], next = pc + insn.length;
    switch (insn.word & 0x7F) {
    case 0x13:
      set(insn.rd(), arithmetic(insn, a, static_cast<uint32_t>(insn.immediate()),
                                insn.funct3() == 5 && insn.word >> 30 & 1));
      break;
    case 0x33:
      set(insn.rd(), insn.word >> 25 & 1 ? 0 : arithmetic(insn, a, x[insn.rs2()], insn.word >> 30 & 1));
      break;
    case 0x37:
      set(insn.rd(), insn.word & 0xFFFFF000);
      break;
    case 0x17:
      set(insn.rd(), pc + (insn.word & 0xFFFFF000));
      break;
    case 0x6F:
      set(insn.rd(), next);
      next = pc + jumpOffset(insn.word);
      break;
    case 0x67:
      next = (a + static_cast<uint32_t>(insn.immediate())) & ~1u;
      set(insn.rd(), pc + insn.length);
      break;
    case 0x03: {
      auto found = stored.find(a + static_cast<uint32_t>(insn.immediate()));
      set(insn.rd(), found == stored.end() ? 0 : found->second);
      break;
    }
    case 0x23:
      stored[a + ((insn.word >> 25) << 5 | insn.rd()) - (insn.word >> 31) * 4096] = x[insn.rs2()];
      break;
    case 0x73:
      set(insn.rd(), 0);
      break;
    default:
      break;
    }
    pc = next;
  }

  const Memory &memory;
  std::array<uint32_t, 32> x;
  uint32_t pc;
  std::map<uint32_t, uint32_t> stored;
};

} // namespace

bool Cluster::actsOn(const Hart &hart, uint32_t value, uint32_t bit) const {
  constexpr int longest = 40; // instructions
  Follower one(memory, hart), other(memory, hart);
  one.load(value);
  other.load(value ^ bit);
  int budget = longest, otherBudget = longest;
  while (uint32_t to = one.toBranch(budget))
    if (other.toBranch(otherBudget) != to)
      return true;
  return false;
}

} // namespace tensorturbo::sim
