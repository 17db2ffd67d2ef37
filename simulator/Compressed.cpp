// The C extension of RV32FD: every 16-bit instruction as the 32-bit one it stands for.
#include "simulator/Decode.h"

namespace tensorturbo::sim {

namespace {

struct Half {
  uint32_t bits;
  uint32_t field(int low, int count) const { return bits >> low & ((1u << count) - 1); }
  /// Bits [low, low + count) moved to position `to`.
  uint32_t move(int low, int count, int to) const { return field(low, count) << to; }
  uint32_t rd() const { return field(7, 5); }
  uint32_t rs2() const { return field(2, 5); }
  uint32_t rdShort() const { return 8 + field(2, 3); }
  uint32_t rs1Short() const { return 8 + field(7, 3); }
};

uint32_t signExtend(uint32_t value, int bits) {
  uint32_t sign = 1u << (bits - 1);
  return (value ^ sign) - sign;
}

uint32_t iType(uint32_t opcode, uint32_t funct3, uint32_t rd, uint32_t rs1, uint32_t immediate) {
  return (immediate & 0xFFF) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}
uint32_t sType(uint32_t opcode, uint32_t funct3, uint32_t rs1, uint32_t rs2, uint32_t immediate) {
  return (immediate >> 5 & 0x7F) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | (immediate & 31) << 7 |
         opcode;
}
uint32_t rType(uint32_t opcode, uint32_t funct3, uint32_t funct7, uint32_t rd, uint32_t rs1, uint32_t rs2) {
  return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}
uint32_t bType(uint32_t funct3, uint32_t rs1, uint32_t immediate) {
  return (immediate >> 12 & 1) << 31 | (immediate >> 5 & 0x3F) << 25 | rs1 << 15 | funct3 << 12 |
         (immediate >> 1 & 15) << 8 | (immediate >> 11 & 1) << 7 | 0x63;
}
uint32_t jType(uint32_t rd, uint32_t immediate) {
  return (immediate >> 20 & 1) << 31 | (immediate >> 1 & 0x3FF) << 21 | (immediate >> 11 & 1) << 20 |
         (immediate >> 12 & 0xFF) << 12 | rd << 7 | 0x6F;
}

constexpr uint32_t opImm = 0x13, op = 0x33, load = 0x03, store = 0x23, loadFp = 0x07, storeFp = 0x27,
                   lui = 0x37;

uint32_t quadrant0(Half h) {
  uint32_t wordOffset = h.move(10, 3, 3) | h.move(6, 1, 2) | h.move(5, 1, 6);
  uint32_t doubleOffset = h.move(10, 3, 3) | h.move(5, 2, 6);
  switch (h.field(13, 3)) {
  case 0: { // c.addi4spn
    uint32_t immediate = h.move(11, 2, 4) | h.move(7, 4, 6) | h.move(6, 1, 2) | h.move(5, 1, 3);
    return immediate ? iType(opImm, 0, h.rdShort(), 2, immediate) : 0;
  }
  case 1:
    return iType(loadFp, 3, h.rdShort(), h.rs1Short(), doubleOffset);
  case 2:
    return iType(load, 2, h.rdShort(), h.rs1Short(), wordOffset);
  case 3:
    return iType(loadFp, 2, h.rdShort(), h.rs1Short(), wordOffset);
  case 5:
    return sType(storeFp, 3, h.rs1Short(), h.rdShort(), doubleOffset);
  case 6:
    return sType(store, 2, h.rs1Short(), h.rdShort(), wordOffset);
  case 7:
    return sType(storeFp, 2, h.rs1Short(), h.rdShort(), wordOffset);
  default:
    return 0;
  }
}

uint32_t quadrant1(Half h) {
  uint32_t immediate = signExtend(h.move(12, 1, 5) | h.field(2, 5), 6);
  uint32_t jump = signExtend(h.move(12, 1, 11) | h.move(11, 1, 4) | h.move(9, 2, 8) | h.move(8, 1, 10) |
                                 h.move(7, 1, 6) | h.move(6, 1, 7) | h.move(3, 3, 1) | h.move(2, 1, 5),
                             12);
  uint32_t branch = signExtend(
      h.move(12, 1, 8) | h.move(10, 2, 3) | h.move(5, 2, 6) | h.move(3, 2, 1) | h.move(2, 1, 5), 9);
  switch (h.field(13, 3)) {
  case 0: // c.addi, c.nop
    return iType(opImm, 0, h.rd(), h.rd(), immediate);
  case 1: // c.jal
    return jType(1, jump);
  case 2: // c.li
    return iType(opImm, 0, h.rd(), 0, immediate);
  case 3:
    if (immediate == 0)
      return 0;
    if (h.rd() == 2) { // c.addi16sp
      uint32_t step = signExtend(
          h.move(12, 1, 9) | h.move(6, 1, 4) | h.move(5, 1, 6) | h.move(3, 2, 7) | h.move(2, 1, 5), 10);
      return iType(opImm, 0, 2, 2, step);
    }
    return immediate << 12 | h.rd() << 7 | lui;
  case 4: {
    uint32_t rd = h.rs1Short();
    switch (h.field(10, 2)) {
    case 0: // c.srli; a shift of 32 and more does not exist here
      return h.field(12, 1) ? 0 : iType(opImm, 5, rd, rd, h.field(2, 5));
    case 1: // c.srai
      return h.field(12, 1) ? 0 : iType(opImm, 5, rd, rd, h.field(2, 5) | 0x400);
    case 2: // c.andi
      return iType(opImm, 7, rd, rd, immediate);
    default: {
      if (h.field(12, 1))
        return 0;
      static constexpr uint32_t funct3[4] = {0, 4, 6, 7}; // sub, xor, or, and
      uint32_t which = h.field(5, 2);
      return rType(op, funct3[which], which == 0 ? 0x20 : 0, rd, rd, h.rdShort());
    }
    }
  }
  case 5: // c.j
    return jType(0, jump);
  case 6: // c.beqz
    return bType(0, h.rs1Short(), branch);
  default: // c.bnez
    return bType(1, h.rs1Short(), branch);
  }
}

uint32_t quadrant2(Half h) {
  uint32_t wordLoad = h.move(12, 1, 5) | h.move(4, 3, 2) | h.move(2, 2, 6);
  uint32_t doubleLoad = h.move(12, 1, 5) | h.move(5, 2, 3) | h.move(2, 3, 6);
  uint32_t wordStore = h.move(9, 4, 2) | h.move(7, 2, 6);
  uint32_t doubleStore = h.move(10, 3, 3) | h.move(7, 3, 6);
  switch (h.field(13, 3)) {
  case 0: // c.slli
    return h.field(12, 1) ? 0 : iType(opImm, 1, h.rd(), h.rd(), h.field(2, 5));
  case 1:
    return iType(loadFp, 3, h.rd(), 2, doubleLoad);
  case 2:
    return h.rd() ? iType(load, 2, h.rd(), 2, wordLoad) : 0;
  case 3:
    return iType(loadFp, 2, h.rd(), 2, wordLoad);
  case 4:
    if (h.field(12, 1) == 0) {
      if (h.rs2())
        return rType(op, 0, 0, h.rd(), 0, h.rs2());     // c.mv
      return h.rd() ? iType(0x67, 0, 0, h.rd(), 0) : 0; // c.jr
    }
    if (h.rs2())
      return rType(op, 0, 0, h.rd(), h.rd(), h.rs2());       // c.add
    return h.rd() ? iType(0x67, 0, 1, h.rd(), 0) : 0x100073; // c.jalr, c.ebreak
  case 5:
    return sType(storeFp, 3, 2, h.rs2(), doubleStore);
  case 6:
    return sType(store, 2, 2, h.rs2(), wordStore);
  default:
    return sType(storeFp, 2, 2, h.rs2(), wordStore);
  }
}

} // namespace

uint32_t expandCompressed(uint16_t half) {
  Half h{half};
  switch (half & 3) {
  case 0:
    return quadrant0(h);
  case 1:
    return quadrant1(h);
  default:
    return quadrant2(h);
  }
}

} // namespace tensorturbo::sim
