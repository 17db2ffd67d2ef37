// Scalar loads and stores of RV32IFD, and the chip's half loads and stores.
#include "Numerics/Half.h"
#include "simulator/Decode.h"
#include "simulator/isa/Access.h"

namespace tensorturbo::sim {

Step loadSlow(Hart &h, uint32_t address, uint32_t bytes, void *value) {
  if (MemorySpan span = h.memory->find(h.id, address, bytes)) {
    if (h.checks)
      if (auto bad = span.region->firstUnwritten(span.offset, bytes))
        return h.fail("reads " + std::string(memoryName(address)) + " at " +
                      hexText(span.region->base() + *bad) + ", " + h.bus->whyUnwritten(*span.region, *bad));
    if (h.accesses)
      h.accesses->scalarAt(address, bytes, false, h.pc);
    std::memcpy(value, span.data(), bytes);
    return Step::Next;
  }
  if (bytes != 4)
    return h.raise(5, address);
  uint32_t word = 0;
  Step step = h.bus->loadDevice(h, address, word);
  std::memcpy(value, &word, 4);
  return step;
}

Step storeSlow(Hart &h, uint32_t address, uint32_t bytes, const void *value) {
  if (MemorySpan span = h.memory->find(h.id, address, bytes)) {
    if (h.accesses)
      h.accesses->scalarAt(address, bytes, true, h.pc);
    std::memcpy(span.data(), value, bytes);
    span.region->markWritten(span.offset, bytes);
    h.stores++;
    return Step::Next;
  }
  if (bytes != 4)
    return h.raise(7, address);
  uint32_t word;
  std::memcpy(&word, value, 4);
  return h.bus->storeDevice(h, address, word);
}

namespace {

uint32_t address(const Hart &h, const Decoded &d) {
  return h.x[d.rs1] + static_cast<uint32_t>(d.immediate);
}

/// T is the type in memory; its sign decides how it is extended.
template <class T> Step load(Hart &h, const Decoded &d) {
  T value;
  Step step = loadFrom(h, address(h, d), value);
  if (step == Step::Next || step == Step::Yield)
    h.x[d.rd] = static_cast<uint32_t>(static_cast<int32_t>(value));
  return step;
}
template <class T> Step store(Hart &h, const Decoded &d) {
  return storeTo(h, address(h, d), static_cast<T>(h.x[d.rs2]));
}

template <class T> Step loadFloat(Hart &h, const Decoded &d) {
  if (!h.fpEnabled)
    return h.raiseIllegal();
  T value;
  Step step = loadFrom(h, address(h, d), value);
  if (step == Step::Next || step == Step::Yield) {
    if constexpr (sizeof(T) == 4)
      h.f[d.rd] = box(value);
    else
      h.f[d.rd] = value;
  }
  return step;
}
template <class T> Step storeFloat(Hart &h, const Decoded &d) {
  if (!h.fpEnabled)
    return h.raiseIllegal();
  return storeTo(h, address(h, d), static_cast<T>(h.f[d.rs2]));
}

// The half forms take no offset; what a non-zero one would do is not defined.
Step loadHalf(Hart &h, const Decoded &d) {
  if (d.immediate != 0)
    return h.fail("flhw with an offset, which the chip does not define");
  uint16_t value;
  Step step = loadFrom(h, h.x[d.rs1], value);
  if (step == Step::Next)
    h.f[d.rd] = box(numerics::halfToFloatBits(value));
  return step;
}
Step storeHalf(Hart &h, const Decoded &d) {
  if (d.immediate != 0)
    return h.fail("fshw with an offset, which the chip does not define");
  return storeTo(h, h.x[d.rs1], numerics::truncateToHalf(static_cast<uint32_t>(h.f[d.rs2])));
}

} // namespace

bool decodeLoadStore(uint32_t word, Decoded &d) {
  static constexpr Handler loads[8] = {load<int8_t>,  load<int16_t>,  load<int32_t>, nullptr,
                                       load<uint8_t>, load<uint16_t>, nullptr,       nullptr};
  static constexpr Handler stores[8] = {store<uint8_t>, store<uint16_t>, store<uint32_t>};
  uint32_t funct3 = word >> 12 & 7;
  int32_t signedWord = static_cast<int32_t>(word);
  int32_t loadOffset = signedWord >> 20, storeOffset = (signedWord >> 25) * 32 + static_cast<int32_t>(d.rd);
  d.execute = nullptr;
  switch (word & 0x7F) {
  case 0x03:
    d.execute = loads[funct3];
    d.immediate = loadOffset;
    break;
  case 0x23:
    d.execute = stores[funct3];
    d.immediate = storeOffset;
    break;
  case 0x07:
    d.execute = funct3 == 2 ? loadFloat<uint32_t> : funct3 == 3 ? loadFloat<uint64_t> : nullptr;
    d.immediate = d.execute ? loadOffset : d.immediate;
    break;
  case 0x27:
    d.execute = funct3 == 2 ? storeFloat<uint32_t> : funct3 == 3 ? storeFloat<uint64_t> : nullptr;
    d.immediate = d.execute ? storeOffset : d.immediate;
    break;
  case 0x5B:
    d.execute = funct3 == 1 ? loadHalf : funct3 == 4 ? storeHalf : nullptr;
    d.immediate = funct3 == 1 ? loadOffset : storeOffset;
    break;
  }
  return d.execute != nullptr;
}

} // namespace tensorturbo::sim
