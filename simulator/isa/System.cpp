// CSRs of machine mode and of the chip, traps, fences.
#include "simulator/Decode.h"

namespace tensorturbo::sim {

namespace {

constexpr uint32_t statusMie = 1u << 3, statusMpie = 1u << 7, statusVs = 3u << 9, statusMpp = 3u << 11,
                   statusFs = 3u << 13, statusSd = 1u << 31;
constexpr uint32_t misaValue = 1u << 30 | 1u << ('I' - 'A') | 1u << ('M' - 'A') | 1u << ('A' - 'A') |
                               1u << ('F' - 'A') | 1u << ('D' - 'A') | 1u << ('C' - 'A') | 1u << ('V' - 'A');

/// Bit i: the chip has CSR 0x400 + i.
constexpr uint64_t customCsrs = 0x7FFFull | 3ull << 0x10 | 1ull << 0x1F | 0x7Full << 0x20;
constexpr uint32_t csrBusy = 0x41F, csrTid = 0x424;
bool isCustom(uint32_t number) {
  return number - 0x400 < 0x30 && customCsrs >> (number - 0x400) & 1;
}

bool readCsr(const Hart &h, uint32_t number, uint32_t &value) {
  if (isCustom(number)) {
    value = number == csrBusy ? 0 : number == csrTid ? h.id : h.csr[number];
    return true;
  }
  uint64_t cycles = h.retired + h.cycleOffset, instructions = h.retired + h.retiredOffset;
  switch (number) {
  case 0x001:
    value = h.fflags;
    return h.fpEnabled;
  case 0x002:
    value = h.frm;
    return h.fpEnabled;
  case 0x003:
    value = h.frm << 5 | h.fflags;
    return h.fpEnabled;
  case 0x008:
    value = h.vstart;
    return true;
  case 0x009:
    value = h.vxsat;
    return true;
  case 0x00A:
    value = h.vxrm;
    return true;
  case 0x300:
    value = h.mstatus | statusMpp | (h.mstatus & (statusFs | statusVs) ? statusSd : 0);
    return true;
  case 0x301:
    value = misaValue;
    return true;
  case 0x304:
    value = h.mie;
    return true;
  case 0x305:
    value = h.mtvec;
    return true;
  case 0x306:
    value = h.mcounteren;
    return true;
  case 0x340:
    value = h.mscratch;
    return true;
  case 0x341:
    value = h.mepc;
    return true;
  case 0x342:
    value = h.mcause;
    return true;
  case 0x343:
    value = h.mtval;
    return true;
  case 0x310:
  case 0x320:
  case 0x344: // mstatush, mcountinhibit, mip: nothing to show
    value = 0;
    return true;
  case 0xB00:
  case 0xC00:
  case 0xC01:
    value = static_cast<uint32_t>(cycles);
    return true;
  case 0xB80:
  case 0xC80:
  case 0xC81:
    value = static_cast<uint32_t>(cycles >> 32);
    return true;
  case 0xB02:
  case 0xC02:
    value = static_cast<uint32_t>(instructions);
    return true;
  case 0xB82:
  case 0xC82:
    value = static_cast<uint32_t>(instructions >> 32);
    return true;
  case 0xC20:
    value = h.vl;
    return true;
  case 0xC21:
    value = h.vtype;
    return true;
  case 0xC22:
    value = 128;
    return true;
  case 0xF11:
  case 0xF12:
  case 0xF13: // vendor, architecture and implementation are not identified
    value = 0;
    return true;
  case 0xF14:
    value = h.id;
    return true;
  default:
    return false;
  }
}

void writeCustomCsr(Hart &h, uint32_t number, uint32_t value) {
  std::optional<uint32_t> &last = h.lastCsrWrite[number - 0x400];
  h.counters.csrWrites++;
  h.counters.csrWritesSameValue += last == value;
  last = value;
  if (number != csrBusy && number != csrTid)
    h.csr[number] = value;
}

/// Replaces one half of a 64-bit counter that shows `clock` + offset.
void setCounterHalf(uint64_t clock, uint64_t &offset, bool high, uint32_t value) {
  uint64_t now = clock + offset;
  now = high ? (now & 0xFFFFFFFFu) | static_cast<uint64_t>(value) << 32 : (now >> 32 << 32) | value;
  offset = now - clock;
}

bool writeCsr(Hart &h, uint32_t number, uint32_t value) {
  if (isCustom(number)) {
    writeCustomCsr(h, number, value);
    return true;
  }
  switch (number) {
  case 0x001:
    h.fflags = value & 31;
    return h.fpEnabled;
  case 0x002:
    h.frm = value & 7;
    return h.fpEnabled;
  case 0x003:
    h.fflags = value & 31;
    h.frm = value >> 5 & 7;
    return h.fpEnabled;
  case 0x008:
    h.vstart = value & 127;
    return true;
  case 0x009:
    h.vxsat = value & 1;
    return true;
  case 0x00A:
    h.vxrm = value & 3;
    return true;
  case 0x300:
    // A unit that is not off counts as dirty.
    h.mstatus = (value & (statusMie | statusMpie)) | (value & statusFs ? statusFs : 0) |
                (value & statusVs ? statusVs : 0);
    h.fpEnabled = h.mstatus & statusFs;
    return true;
  case 0x301:
  case 0x310:
  case 0x320:
  case 0x344:
    return true; // fixed values
  case 0x304:
    h.mie = value & 0x888;
    return true;
  case 0x305:
    h.mtvec = value & ~2u;
    return true;
  case 0x306:
    h.mcounteren = value;
    return true;
  case 0x340:
    h.mscratch = value;
    return true;
  case 0x341:
    h.mepc = value & ~1u;
    return true;
  case 0x342:
    h.mcause = value;
    return true;
  case 0x343:
    h.mtval = value;
    return true;
  case 0xB00:
  case 0xB80:
    setCounterHalf(h.retired, h.cycleOffset, number == 0xB80, value);
    return true;
  case 0xB02:
  case 0xB82:
    setCounterHalf(h.retired, h.retiredOffset, number == 0xB82, value);
    return true;
  default:
    return false;
  }
}

enum class CsrOp { Write, Set, Clear };

template <CsrOp operation, bool isImmediate> Step csr(Hart &h, const Decoded &d) {
  uint32_t number = static_cast<uint32_t>(d.immediate) >> 20;
  uint32_t operand = isImmediate ? d.rs1 : h.x[d.rs1];
  bool writes = operation == CsrOp::Write || d.rs1 != 0;
  uint32_t old;
  if (!readCsr(h, number, old) || (writes && number >> 10 == 3))
    return h.raiseIllegal();
  if (writes) {
    uint32_t value = operation == CsrOp::Write ? operand
                     : operation == CsrOp::Set ? old | operand
                                               : old & ~operand;
    if (!writeCsr(h, number, value))
      return h.raiseIllegal();
  }
  h.x[d.rd] = old;
  return Step::Next;
}

Step fence(Hart &, const Decoded &) {
  return Step::Next;
}
Step fenceI(Hart &h, const Decoded &) {
  h.flushCode = true;
  return Step::Yield;
}
Step ecall(Hart &h, const Decoded &) {
  return h.raise(11, 0);
}
Step ebreak(Hart &h, const Decoded &) {
  return h.raise(3, h.pc);
}
Step waitForInterrupt(Hart &, const Decoded &) {
  return Step::Yield;
}

Step mret(Hart &h, const Decoded &) {
  if (h.vectorTypeIllegal())
    return h.raise(0x29, 0);
  h.next = h.mepc;
  h.mstatus = (h.mstatus & ~statusMie) | (h.mstatus & statusMpie ? statusMie : 0) | statusMpie;
  return Step::Next;
}

} // namespace

void Hart::enterTrap() {
  mepc = pc;
  mcause = trap.cause;
  mtval = trap.value;
  mstatus = (mstatus & ~(statusMie | statusMpie)) | (mstatus & statusMie ? statusMpie : 0);
  pc = mtvec & ~3u;
}

bool decodeSystem(uint32_t word, Decoded &d) {
  static constexpr Handler csrForms[8] = {
      nullptr, csr<CsrOp::Write, false>, csr<CsrOp::Set, false>, csr<CsrOp::Clear, false>,
      nullptr, csr<CsrOp::Write, true>,  csr<CsrOp::Set, true>,  csr<CsrOp::Clear, true>};
  uint32_t funct3 = word >> 12 & 7;
  d.execute = nullptr;
  if ((word & 0x7F) == 0x0F)
    d.execute = funct3 == 0 ? fence : funct3 == 1 ? fenceI : nullptr;
  else if (funct3 != 0)
    d.execute = csrForms[funct3];
  else
    switch (word) {
    case 0x00000073:
      d.execute = ecall;
      break;
    case 0x00100073:
      d.execute = ebreak;
      break;
    case 0x10500073:
      d.execute = waitForInterrupt;
      break;
    case 0x30200073:
      d.execute = mret;
      break;
    default:
      break;
    }
  return d.execute != nullptr;
}

} // namespace tensorturbo::sim
