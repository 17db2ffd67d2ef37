// The memories of a cluster, each with one bit per byte that tells whether the byte was ever written.
#pragma once
#include "simulator/AddressMap.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tensorturbo::sim {

/// Anonymous memory that costs nothing until it is touched.
class SparseBytes {
public:
  SparseBytes() = default;
  ~SparseBytes();
  SparseBytes(SparseBytes &&other) noexcept;
  SparseBytes &operator=(SparseBytes &&other) noexcept;
  /// False if the address space is exhausted.
  bool reserve(size_t bytes);
  /// All bytes zero and untouched again.
  void clear();
  uint8_t *data() const { return bytes; }
  size_t size() const { return length; }

private:
  uint8_t *bytes = nullptr;
  size_t length = 0;
};

/// Sets bits of a byte that several host threads may change at once.
inline void setWrittenBits(uint8_t &bits, uint8_t mask) {
  if ((bits & mask) != mask)
    __atomic_fetch_or(&bits, mask, __ATOMIC_RELAXED);
}

/// One contiguous memory. Offsets are the caller's to check: see Memory::find.
class MemoryRegion {
public:
  bool reserve(uint32_t base, uint32_t size);
  uint32_t base() const { return baseAddress; }
  uint32_t size() const { return static_cast<uint32_t>(contents.size()); }
  uint8_t *data() const { return contents.data(); }
  /// Bit i & 7 of byte i / 8 belongs to byte i of the memory.
  uint8_t *writtenBits() const { return written.data(); }

  void markWritten(uint32_t offset, size_t bytes) {
    setBits(written, offset, bytes, true);
    if (fresh.size())
      setBits(fresh, offset, bytes, true);
  }
  void markUnwritten(uint32_t offset, size_t bytes) { setBits(written, offset, bytes, false); }
  /// Offset of the first byte of the range that was never written.
  std::optional<uint32_t> firstUnwritten(uint32_t offset, size_t bytes) const {
    return firstClear(written, offset, bytes);
  }
  /// From now on, remembers which bytes are written after the last call.
  bool beginFresh();
  /// Offset of the first byte of the range that was not written since then.
  std::optional<uint32_t> firstNotFresh(uint32_t offset, size_t bytes) const {
    return firstClear(fresh, offset, bytes);
  }
  /// Contents zero (or `pattern` repeated), nothing written.
  void reset(std::optional<uint16_t> pattern);
  /// Nothing written; the contents stay.
  void forget() { written.clear(); }

private:
  static void setBits(const SparseBytes &of, uint32_t offset, size_t bytes, bool value);
  static std::optional<uint32_t> firstClear(const SparseBytes &of, uint32_t offset, size_t bytes);
  uint32_t baseAddress = 0;
  SparseBytes contents;
  SparseBytes written;
  /// Empty unless asked for.
  SparseBytes fresh;
};

/// A range that lies wholly inside one region.
struct MemorySpan {
  MemoryRegion *region = nullptr;
  uint32_t offset = 0;
  explicit operator bool() const { return region != nullptr; }
  uint8_t *data() const { return region->data() + offset; }
};

class Memory {
public:
  /// False if the address space cannot be reserved.
  bool reserve(int cores);

  MemoryRegion ddr;
  MemoryRegion upperDdr;
  MemoryRegion llb;
  std::vector<MemoryRegion> l1;
  std::vector<MemoryRegion> im;

  /// [address, address + bytes) in the view of `core`, or an empty span if it is not inside one memory.
  MemorySpan find(uint32_t core, uint32_t address, size_t bytes);
  /// The same without the private memories, as system DMA sees it.
  MemorySpan findShared(uint32_t address, size_t bytes);
};

/// "L1", "IM", "LLB", "DDR" or "no memory": where an address lies, for messages.
const char *memoryName(uint32_t address);
/// "0xC0001234".
std::string hexText(uint32_t value);

} // namespace tensorturbo::sim
