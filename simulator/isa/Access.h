// Scalar accesses to memory and devices, shared by the load, store and atomic instructions.
#pragma once
#include "simulator/Hart.h"
#include "simulator/hazard/AccessLog.h"
#include <cstring>

namespace tensorturbo::sim {

/// Accesses outside DDR: private memories, LLB, devices. `value` has room for `bytes`.
Step loadSlow(Hart &hart, uint32_t address, uint32_t bytes, void *value);
Step storeSlow(Hart &hart, uint32_t address, uint32_t bytes, const void *value);

/// Traps: 4 misaligned, 5 access fault.
template <class T> inline Step loadFrom(Hart &hart, uint32_t address, T &value) {
  if (address & (sizeof(T) - 1))
    return hart.raise(4, address);
  if (address < ddrSize) {
    if (hart.accesses)
      hart.accesses->scalar(Ddr, address, sizeof(T), false, hart.pc);
    std::memcpy(&value, hart.memory->ddr.data() + address, sizeof(T));
    return Step::Next;
  }
  return loadSlow(hart, address, sizeof(T), &value);
}

/// Traps: 6 misaligned, 7 access fault.
template <class T> inline Step storeTo(Hart &hart, uint32_t address, T value) {
  if (address & (sizeof(T) - 1))
    return hart.raise(6, address);
  if (address < ddrSize) {
    if (hart.accesses)
      hart.accesses->scalar(Ddr, address, sizeof(T), true, hart.pc);
    MemoryRegion &ddr = hart.memory->ddr;
    std::memcpy(ddr.data() + address, &value, sizeof(T));
    setWrittenBits(ddr.writtenBits()[address >> 3],
                   static_cast<uint8_t>(((1u << sizeof(T)) - 1) << (address & 7)));
    hart.stores++;
    return Step::Next;
  }
  return storeSlow(hart, address, sizeof(T), &value);
}

} // namespace tensorturbo::sim
