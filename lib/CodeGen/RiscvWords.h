// Encodings of the few RV32 instructions that appear between custom instructions in straight runs.
#pragma once
#include <cstdint>

namespace tensorturbo::codegen::rv {

/// Register numbers.
enum Register : uint8_t { zero = 0, t0 = 5, a0 = 10 };

inline bool fitsImmediate(int64_t value) {
  return value >= -2048 && value <= 2047;
}

inline uint32_t iType(uint32_t opcode, uint32_t funct3, uint32_t rd, uint32_t rs1, int32_t immediate) {
  return opcode | rd << 7 | funct3 << 12 | rs1 << 15 | uint32_t(immediate & 0xFFF) << 20;
}
inline uint32_t addi(uint32_t rd, uint32_t rs1, int32_t immediate) {
  return iType(0x13, 0, rd, rs1, immediate);
}
/// Upper 20 bits of `value` (bits 31:12), which the caller has rounded for the following addi.
inline uint32_t lui(uint32_t rd, uint32_t value) {
  return 0x37 | rd << 7 | (value & 0xFFFFF000);
}
inline uint32_t lw(uint32_t rd, uint32_t rs1, int32_t offset) {
  return iType(0x03, 2, rd, rs1, offset);
}
inline uint32_t sw(uint32_t rs2, uint32_t rs1, int32_t offset) {
  return 0x23 | uint32_t(offset & 0x1F) << 7 | 2 << 12 | rs1 << 15 | rs2 << 20 |
         uint32_t(offset & 0xFE0) << 20;
}
inline uint32_t andReg(uint32_t rd, uint32_t rs1, uint32_t rs2) {
  return 0x33 | rd << 7 | 7 << 12 | rs1 << 15 | rs2 << 20;
}
/// Branch backwards by 4 to 4096 bytes if rs1 equals rs2.
inline uint32_t beqBack(uint32_t rs1, uint32_t rs2, uint32_t bytes) {
  uint32_t offset = 0u - bytes;
  return 0x63 | (offset >> 11 & 1) << 7 | (offset >> 1 & 0xF) << 8 | rs1 << 15 | rs2 << 20 |
         (offset >> 5 & 0x3F) << 25 | (offset >> 12 & 1) << 31;
}
inline uint32_t csrw(uint32_t csr, uint32_t rs1) {
  return iType(0x73, 1, 0, rs1, int32_t(csr));
}
/// `value` below 32.
inline uint32_t csrwi(uint32_t csr, uint32_t value) {
  return iType(0x73, 5, 0, value, int32_t(csr));
}
/// f[rd] = the 32 bits of x[rs1], NaN-boxed.
inline uint32_t fmvWX(uint32_t rd, uint32_t rs1) {
  return 0xF0000053 | rd << 7 | rs1 << 15;
}

} // namespace tensorturbo::codegen::rv
