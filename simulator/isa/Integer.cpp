// RV32I without memory accesses, and M.
#include "simulator/Decode.h"

namespace tensorturbo::sim {

namespace {

// Arithmetic, each with a register and an immediate form.
struct Add {
  static uint32_t of(uint32_t a, uint32_t b) { return a + b; }
};
struct Sub {
  static uint32_t of(uint32_t a, uint32_t b) { return a - b; }
};
struct Sll {
  static uint32_t of(uint32_t a, uint32_t b) { return a << (b & 31); }
};
struct Slt {
  static uint32_t of(uint32_t a, uint32_t b) { return int32_t(a) < int32_t(b); }
};
struct Sltu {
  static uint32_t of(uint32_t a, uint32_t b) { return a < b; }
};
struct Xor {
  static uint32_t of(uint32_t a, uint32_t b) { return a ^ b; }
};
struct Srl {
  static uint32_t of(uint32_t a, uint32_t b) { return a >> (b & 31); }
};
struct Sra {
  static uint32_t of(uint32_t a, uint32_t b) { return uint32_t(int32_t(a) >> (b & 31)); }
};
struct Or {
  static uint32_t of(uint32_t a, uint32_t b) { return a | b; }
};
struct And {
  static uint32_t of(uint32_t a, uint32_t b) { return a & b; }
};
struct Mul {
  static uint32_t of(uint32_t a, uint32_t b) { return a * b; }
};
struct Mulh {
  static uint32_t of(uint32_t a, uint32_t b) { return uint32_t(int64_t(int32_t(a)) * int32_t(b) >> 32); }
};
struct Mulhsu {
  static uint32_t of(uint32_t a, uint32_t b) { return uint32_t(int64_t(int32_t(a)) * int64_t(b) >> 32); }
};
struct Mulhu {
  static uint32_t of(uint32_t a, uint32_t b) { return uint32_t(uint64_t(a) * b >> 32); }
};
// Division by zero and the overflow of -2^31 / -1 have defined results and never trap.
struct Div {
  static uint32_t of(uint32_t a, uint32_t b) {
    if (b == 0)
      return ~0u;
    if (a == 0x80000000u && b == ~0u)
      return a;
    return uint32_t(int32_t(a) / int32_t(b));
  }
};
struct Divu {
  static uint32_t of(uint32_t a, uint32_t b) { return b ? a / b : ~0u; }
};
struct Rem {
  static uint32_t of(uint32_t a, uint32_t b) {
    if (b == 0)
      return a;
    if (a == 0x80000000u && b == ~0u)
      return 0;
    return uint32_t(int32_t(a) % int32_t(b));
  }
};
struct Remu {
  static uint32_t of(uint32_t a, uint32_t b) { return b ? a % b : a; }
};

template <class Op> Step registers(Hart &h, const Decoded &d) {
  h.x[d.rd] = Op::of(h.x[d.rs1], h.x[d.rs2]);
  return Step::Next;
}
template <class Op> Step immediate(Hart &h, const Decoded &d) {
  h.x[d.rd] = Op::of(h.x[d.rs1], static_cast<uint32_t>(d.immediate));
  return Step::Next;
}

struct Equal {
  static bool of(uint32_t a, uint32_t b) { return a == b; }
};
struct NotEqual {
  static bool of(uint32_t a, uint32_t b) { return a != b; }
};
struct Less {
  static bool of(uint32_t a, uint32_t b) { return int32_t(a) < int32_t(b); }
};
struct NotLess {
  static bool of(uint32_t a, uint32_t b) { return int32_t(a) >= int32_t(b); }
};
struct LessUnsigned {
  static bool of(uint32_t a, uint32_t b) { return a < b; }
};
struct NotLessUnsigned {
  static bool of(uint32_t a, uint32_t b) { return a >= b; }
};

template <class Condition> Step branch(Hart &h, const Decoded &d) {
  if (Condition::of(h.x[d.rs1], h.x[d.rs2]))
    h.next = h.pc + static_cast<uint32_t>(d.immediate);
  return Step::Next;
}

Step lui(Hart &h, const Decoded &d) {
  h.x[d.rd] = static_cast<uint32_t>(d.immediate);
  return Step::Next;
}
Step auipc(Hart &h, const Decoded &d) {
  h.x[d.rd] = h.pc + static_cast<uint32_t>(d.immediate);
  return Step::Next;
}
Step jal(Hart &h, const Decoded &d) {
  h.x[d.rd] = h.next;
  h.next = h.pc + static_cast<uint32_t>(d.immediate);
  return Step::Next;
}
Step park(Hart &, const Decoded &) {
  return Step::Park;
}
Step jalr(Hart &h, const Decoded &d) {
  uint32_t target = (h.x[d.rs1] + static_cast<uint32_t>(d.immediate)) & ~1u;
  h.x[d.rd] = h.next;
  h.next = target;
  return Step::Next;
}

Handler registerForm(uint32_t funct7, uint32_t funct3) {
  static constexpr Handler base[8] = {registers<Add>, registers<Sll>, registers<Slt>, registers<Sltu>,
                                      registers<Xor>, registers<Srl>, registers<Or>,  registers<And>};
  static constexpr Handler multiply[8] = {registers<Mul>,   registers<Mulh>, registers<Mulhsu>,
                                          registers<Mulhu>, registers<Div>,  registers<Divu>,
                                          registers<Rem>,   registers<Remu>};
  switch (funct7) {
  case 0:
    return base[funct3];
  case 1:
    return multiply[funct3];
  case 0x20:
    return funct3 == 0 ? registers<Sub> : funct3 == 5 ? registers<Sra> : nullptr;
  default:
    return nullptr;
  }
}

Handler immediateForm(uint32_t funct7, uint32_t funct3) {
  static constexpr Handler base[8] = {immediate<Add>, immediate<Sll>, immediate<Slt>, immediate<Sltu>,
                                      immediate<Xor>, immediate<Srl>, immediate<Or>,  immediate<And>};
  if (funct3 == 1 && funct7 != 0)
    return nullptr;
  if (funct3 == 5 && funct7 != 0)
    return funct7 == 0x20 ? immediate<Sra> : nullptr;
  return base[funct3];
}

} // namespace

bool decodeInteger(uint32_t word, Decoded &d) {
  static constexpr Handler branches[8] = {
      branch<Equal>,        branch<NotEqual>,       nullptr, nullptr, branch<Less>, branch<NotLess>,
      branch<LessUnsigned>, branch<NotLessUnsigned>};
  uint32_t funct3 = word >> 12 & 7, funct7 = word >> 25;
  int32_t signedWord = static_cast<int32_t>(word);
  switch (word & 0x7F) {
  case 0x33:
    d.execute = registerForm(funct7, funct3);
    break;
  case 0x13:
    d.execute = immediateForm(funct7, funct3);
    d.immediate = funct3 == 1 || funct3 == 5 ? d.rs2 : signedWord >> 20;
    break;
  case 0x37:
    d.execute = lui;
    d.immediate = static_cast<int32_t>(word & 0xFFFFF000);
    break;
  case 0x17:
    d.execute = auipc;
    d.immediate = static_cast<int32_t>(word & 0xFFFFF000);
    break;
  case 0x63:
    d.execute = branches[funct3];
    d.immediate =
        (signedWord >> 31) * 4096 +
        static_cast<int32_t>((word >> 7 & 1) << 11 | (word >> 25 & 63) << 5 | (word >> 8 & 15) << 1);
    break;
  case 0x67:
    d.execute = funct3 == 0 ? jalr : nullptr;
    d.immediate = signedWord >> 20;
    break;
  case 0x6F:
    d.immediate = (signedWord >> 31) * (1 << 20) +
                  static_cast<int32_t>((word & 0xFF000) | (word >> 20 & 1) << 11 | (word >> 21 & 0x3FF) << 1);
    d.execute = d.immediate == 0 && d.rd == 0 ? park : jal;
    break;
  default:
    return false;
  }
  return d.execute != nullptr;
}

} // namespace tensorturbo::sim
