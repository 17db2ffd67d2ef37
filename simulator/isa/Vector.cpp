// The part of the vector unit (RVV 0.8, VLEN 1024, SEW 16, LMUL 1) that the chip's programs use: type
// setting, unit-stride and strided loads and stores, the chip's post-increment forms, vcompress.
#include "Target/Target.h"
#include "simulator/Decode.h"
#include "simulator/hazard/AccessLog.h"
#include <cstring>

namespace tensorturbo::sim {

namespace {

constexpr uint32_t badVtype = 0x29, oddBase = 0x2D, oddStride = 0x2E, outside = 0x2F, sameRegister = 0x30;

bool unitOff(const Hart &h) {
  return !(h.mstatus & 0x600);
}

/// Sets vl and vtype; an x0 source asks for the longest vector.
Step setType(Hart &h, const Decoded &d, uint32_t type) {
  if (unitOff(h))
    return h.raiseIllegal();
  h.setVectorType(type, d.rs1 ? h.x[d.rs1] : 64);
  h.x[d.rd] = h.vl;
  return Step::Next;
}
Step vsetvli(Hart &h, const Decoded &d) {
  return setType(h, d, static_cast<uint32_t>(d.immediate) >> 20 & 0x7FF);
}
Step vsetvl(Hart &h, const Decoded &d) {
  return setType(h, d, h.x[d.rs2]);
}

struct Access {
  uint32_t base;
  uint32_t step;    ///< bytes from element to element
  uint32_t checked; ///< length that the range check looks at
  bool isStore, masked;
};

/// vm (bit 25) = 0: only elements whose mask bit, bit 0 of the element of v0, is set.
Step moveElements(Hart &h, uint32_t reg, const Access &access) {
  uint32_t last = access.base + access.checked - 1;
  auto isInside = [&](uint32_t base, uint32_t size) {
    return access.base - base < size && last - base < size;
  };
  if (access.checked && !isInside(l1Base, l1Size) && !isInside(imBase, imSize))
    return h.raise(outside, access.base);
  // The chip's range check does not see every stride; what it lets through must still be memory.
  for (uint32_t i = 0; i < h.vl; i++)
    if (!h.memory->find(h.id, access.base + i * access.step, 2))
      return h.raise(outside, access.base);
  if (h.accesses)
    h.accesses->block(access.base, h.vl, 2, access.step, access.isStore, h.pc);
  for (uint32_t i = 0; i < h.vl; i++) {
    if (access.masked && !(h.v[0][i] & 1))
      continue;
    MemorySpan span = h.memory->find(h.id, access.base + i * access.step, 2);
    if (access.isStore) {
      std::memcpy(span.data(), &h.v[reg][i], 2);
      span.region->markWritten(span.offset, 2);
      h.stores++;
      continue;
    }
    if (h.checks && span.region->firstUnwritten(span.offset, 2))
      return h.fail("reads " + std::string(memoryName(access.base)) + " at " +
                    hexText(access.base + i * access.step) + ", " +
                    h.bus->whyUnwritten(*span.region, span.offset));
    std::memcpy(&h.v[reg][i], span.data(), 2);
  }
  return Step::Next;
}

template <bool isStore, bool isStrided, bool postIncrement> Step access(Hart &h, const Decoded &d) {
  if (unitOff(h) && !postIncrement)
    return h.raiseIllegal();
  if (h.vectorTypeIllegal())
    return h.raise(badVtype, 0);
  uint32_t base = h.x[d.rs1], stride = h.x[d.rs2];
  if (base & 1)
    return h.raise(oddBase, base);
  if (isStrided && (stride & 1))
    return h.raise(oddStride, stride);
  Access what{base, isStrided ? stride : 2, 2 * h.vl * (isStrided ? stride : 1), isStore,
              !(static_cast<uint32_t>(d.immediate) >> 25 & 1)};
  Step step = moveElements(h, d.rd, what);
  if (step == Step::Next && postIncrement)
    h.x[d.rs1] = base + (isStrided ? h.vl * stride : stride);
  return step;
}

Step vcompress(Hart &h, const Decoded &d) {
  if (unitOff(h))
    return h.raiseIllegal();
  if (h.vectorTypeIllegal())
    return h.raise(badVtype, 0);
  if (d.rd == d.rs1 || d.rd == d.rs2)
    return h.raise(sameRegister, 0);
  uint32_t to = 0;
  for (uint32_t i = 0; i < h.vl; i++)
    if (h.v[d.rs1][i] & 1)
      h.v[d.rd][to++] = h.v[d.rs2][i];
  return Step::Next;
}

/// Post-increment forms count as custom instructions.
template <bool isStore, bool isStrided> Step postIncrement(Hart &h, const Decoded &d) {
  Step step = access<isStore, isStrided, true>(h, d);
  const target::Instruction *insn = target::p920().decode(static_cast<uint32_t>(d.immediate));
  if (step == Step::Trap)
    h.counters.trapped++;
  else if (insn)
    h.counters.executed[insn->index]++;
  return step;
}

Handler memoryForm(uint32_t word) {
  // Only the SEW-wide forms without segments exist here; loads and stores share the layout of the fields.
  bool isStore = (word & 0x7F) == 0x27;
  uint32_t mode = word >> 26 & 7, segments = word >> 29;
  if ((word >> 12 & 7) != 7 || segments != 0)
    return nullptr;
  if (mode == 0 && (word >> 20 & 31) == 0)
    return isStore ? access<true, false, false> : access<false, false, false>;
  if (mode == 2)
    return isStore ? access<true, true, false> : access<false, true, false>;
  return nullptr;
}

} // namespace

bool decodeVector(uint32_t word, Decoded &d) {
  uint32_t funct3 = word >> 12 & 7;
  d.execute = nullptr;
  switch (word & 0x7F) {
  case 0x07:
  case 0x27:
    d.execute = memoryForm(word);
    break;
  case 0x57:
    if (funct3 == 7)
      d.execute = word >> 31 == 0 ? vsetvli : word >> 25 == 0x40 ? vsetvl : nullptr;
    else if (funct3 == 2 && word >> 25 == 0x2F)
      d.execute = vcompress;
    break;
  case 0x7B:
    switch (word & 0xFC00707F) {
    case 0xFC00007B:
      d.execute = postIncrement<false, false>;
      break;
    case 0xFC00107B:
      d.execute = postIncrement<false, true>;
      break;
    case 0xF800007B:
      d.execute = postIncrement<true, false>;
      break;
    case 0xF800107B:
      d.execute = postIncrement<true, true>;
      break;
    }
    break;
  }
  return d.execute != nullptr;
}

} // namespace tensorturbo::sim
