// RV32A: load-reserved, store-conditional and the read-modify-write operations.
#include "simulator/Decode.h"
#include "simulator/isa/Access.h"
#include <algorithm>
#include <utility>

namespace tensorturbo::sim {

namespace {

/// The load of an atomic, which is no ordinary read for the checks.
Step loadAtomic(Hart &h, uint32_t address, uint32_t &value) {
  AccessLog *accesses = std::exchange(h.accesses, nullptr);
  Step step = loadFrom(h, address, value);
  h.accesses = accesses;
  if (step == Step::Next && accesses)
    accesses->atomic(address, h.pc);
  return step;
}

Step loadReserved(Hart &h, const Decoded &d) {
  uint32_t address = h.x[d.rs1], value;
  Step step = loadAtomic(h, address, value);
  if (step != Step::Next)
    return step;
  h.reservation = Hart::Reservation{address, value};
  h.x[d.rd] = value;
  return Step::Next;
}

/// The word as the host sees it, for an access that loadFrom has found good; null for a device register.
uint32_t *hostWord(Hart &h, uint32_t address) {
  MemorySpan span = h.memory->find(h.id, address, 4);
  if (!span)
    return nullptr;
  span.region->markWritten(span.offset, 4);
  h.stores++;
  return reinterpret_cast<uint32_t *>(span.data());
}

bool exchange(uint32_t *word, uint32_t &expected, uint32_t desired) {
  return __atomic_compare_exchange_n(word, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

// The reservation holds while the word keeps its value: stores of other cores need not look for reservations.
Step storeConditional(Hart &h, const Decoded &d) {
  uint32_t address = h.x[d.rs1];
  if (address & 3)
    return h.raise(6, address);
  bool good = h.reservation && h.reservation->address == address;
  if (good) {
    uint32_t *word = hostWord(h, address);
    if (!word)
      return h.raise(7, address);
    if (h.accesses)
      h.accesses->atomic(address, h.pc);
    uint32_t expected = h.reservation->value;
    good = exchange(word, expected, h.x[d.rs2]);
  }
  h.reservation.reset();
  h.x[d.rd] = good ? 0 : 1;
  return Step::Next;
}

struct Swap {
  static uint32_t of(uint32_t, uint32_t b) { return b; }
};
struct Add {
  static uint32_t of(uint32_t a, uint32_t b) { return a + b; }
};
struct Xor {
  static uint32_t of(uint32_t a, uint32_t b) { return a ^ b; }
};
struct And {
  static uint32_t of(uint32_t a, uint32_t b) { return a & b; }
};
struct Or {
  static uint32_t of(uint32_t a, uint32_t b) { return a | b; }
};
struct Min {
  static uint32_t of(uint32_t a, uint32_t b) { return uint32_t(std::min(int32_t(a), int32_t(b))); }
};
struct Max {
  static uint32_t of(uint32_t a, uint32_t b) { return uint32_t(std::max(int32_t(a), int32_t(b))); }
};
struct Minu {
  static uint32_t of(uint32_t a, uint32_t b) { return std::min(a, b); }
};
struct Maxu {
  static uint32_t of(uint32_t a, uint32_t b) { return std::max(a, b); }
};

template <class Op> Step amo(Hart &h, const Decoded &d) {
  uint32_t address = h.x[d.rs1], old;
  // Both halves of an atomic report store traps.
  if (address & 3)
    return h.raise(6, address);
  Step step = loadAtomic(h, address, old);
  if (step == Step::Trap)
    return h.raise(7, address);
  if (step != Step::Next)
    return step;
  uint32_t *word = hostWord(h, address), operand = h.x[d.rs2];
  if (!word)
    return h.raise(7, address);
  while (!exchange(word, old, Op::of(old, operand))) {
  }
  h.x[d.rd] = old;
  return Step::Next;
}

} // namespace

bool decodeAtomic(uint32_t word, Decoded &d) {
  if ((word >> 12 & 7) != 2)
    return false;
  switch (word >> 27) { // the ordering bits below need no action: accesses happen in program order
  case 0:
    d.execute = amo<Add>;
    break;
  case 1:
    d.execute = amo<Swap>;
    break;
  case 2:
    d.execute = d.rs2 == 0 ? loadReserved : nullptr;
    break;
  case 3:
    d.execute = storeConditional;
    break;
  case 4:
    d.execute = amo<Xor>;
    break;
  case 8:
    d.execute = amo<Or>;
    break;
  case 12:
    d.execute = amo<And>;
    break;
  case 16:
    d.execute = amo<Min>;
    break;
  case 20:
    d.execute = amo<Max>;
    break;
  case 24:
    d.execute = amo<Minu>;
    break;
  case 28:
    d.execute = amo<Maxu>;
    break;
  default:
    d.execute = nullptr;
    break;
  }
  return d.execute != nullptr;
}

} // namespace tensorturbo::sim
