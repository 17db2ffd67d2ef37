#include "simulator/Memory.h"
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <utility>

namespace tensorturbo::sim {

// Inaccessible space on both sides: an access outside, which the callers have to prevent, cannot pass
// unnoticed.
static constexpr size_t guardBytes = 64 << 10;

SparseBytes::~SparseBytes() {
  if (bytes)
    munmap(bytes - guardBytes, length + 2 * guardBytes);
}

SparseBytes::SparseBytes(SparseBytes &&other) noexcept
    : bytes(std::exchange(other.bytes, nullptr)), length(std::exchange(other.length, 0)) {}

SparseBytes &SparseBytes::operator=(SparseBytes &&other) noexcept {
  std::swap(bytes, other.bytes);
  std::swap(length, other.length);
  return *this;
}

bool SparseBytes::reserve(size_t size) {
  void *address =
      mmap(nullptr, size + 2 * guardBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    return false;
  bytes = static_cast<uint8_t *>(address) + guardBytes;
  length = size;
  return mprotect(bytes, size, PROT_READ | PROT_WRITE) == 0;
}

void SparseBytes::clear() {
  // Dropping the pages is far cheaper than writing zeros when little was touched.
  if (bytes && madvise(bytes, length, MADV_DONTNEED) != 0)
    std::memset(bytes, 0, length);
}

bool MemoryRegion::reserve(uint32_t base, uint32_t size) {
  baseAddress = base;
  return contents.reserve(size) && written.reserve(size / 8);
}

void MemoryRegion::reset(std::optional<uint16_t> pattern) {
  written.clear();
  if (!pattern) {
    contents.clear();
    return;
  }
  for (size_t i = 0; i < contents.size(); i += 2)
    std::memcpy(contents.data() + i, &*pattern, 2);
}

bool MemoryRegion::beginFresh() {
  if (!fresh.size())
    return fresh.reserve(contents.size() / 8);
  fresh.clear();
  return true;
}

void MemoryRegion::setBits(const SparseBytes &of, uint32_t offset, size_t bytes, bool value) {
  uint8_t *bits = of.data();
  size_t begin = offset, end = begin + bytes;
  auto apply = [&](size_t byte, unsigned mask) {
    if (value)
      setWrittenBits(bits[byte], static_cast<uint8_t>(mask));
    else
      __atomic_fetch_and(&bits[byte], static_cast<uint8_t>(~mask), __ATOMIC_RELAXED);
  };
  size_t firstFull = (begin + 7) / 8, lastFull = end / 8;
  if (firstFull > lastFull) { // inside one byte of bits
    apply(begin / 8, ((1u << bytes) - 1) << (begin & 7));
    return;
  }
  if (begin & 7)
    apply(begin / 8, 0xFFu << (begin & 7) & 0xFF);
  std::memset(bits + firstFull, value ? 0xFF : 0, lastFull - firstFull);
  if (end & 7)
    apply(lastFull, (1u << (end & 7)) - 1);
}

std::optional<uint32_t> MemoryRegion::firstClear(const SparseBytes &of, uint32_t offset, size_t bytes) {
  const uint8_t *bits = of.data();
  if (!bits)
    return std::nullopt;
  size_t at = offset, end = at + bytes;
  auto isSet = [&](size_t i) { return bits[i / 8] >> (i & 7) & 1; };
  for (; at < end && (at & 63); at++)
    if (!isSet(at))
      return static_cast<uint32_t>(at);
  for (; at + 64 <= end; at += 64) {
    uint64_t word;
    std::memcpy(&word, bits + at / 8, 8);
    if (~word)
      return static_cast<uint32_t>(at + __builtin_ctzll(~word));
  }
  for (; at < end; at++)
    if (!isSet(at))
      return static_cast<uint32_t>(at);
  return std::nullopt;
}

bool Memory::reserve(int cores) {
  bool good = ddr.reserve(0, ddrSize) && upperDdr.reserve(upperDdrBase, upperDdrSize) &&
              llb.reserve(llbBase, llbSize);
  l1.resize(cores);
  im.resize(cores);
  for (int i = 0; i < cores; i++)
    good = good && l1[i].reserve(l1Base, l1Size) && im[i].reserve(imBase, imSize);
  return good;
}

static bool inside(uint32_t address, size_t bytes, uint32_t base, uint32_t size) {
  return address >= base && address - base <= size && bytes <= size - (address - base);
}

MemorySpan Memory::findShared(uint32_t address, size_t bytes) {
  if (inside(address, bytes, 0, ddrSize))
    return {&ddr, address};
  if (inside(address, bytes, llbBase, llbSize))
    return {&llb, address - llbBase};
  if (inside(address, bytes, llbAlias, llbSize))
    return {&llb, address - llbAlias};
  return {};
}

MemorySpan Memory::find(uint32_t core, uint32_t address, size_t bytes) {
  if (inside(address, bytes, l1Base, l1Size))
    return {&l1[core], address - l1Base};
  if (inside(address, bytes, imBase, imSize))
    return {&im[core], address - imBase};
  return findShared(address, bytes);
}

const char *memoryName(uint32_t address) {
  if (address < ddrSize)
    return "DDR";
  if (address - l1Base < l1Size)
    return "L1";
  if (address - imBase < imSize)
    return "IM";
  if (address - llbBase < llbSize || address - llbAlias < llbSize)
    return "LLB";
  return "no memory";
}

std::string hexText(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08X", value);
  return text;
}

} // namespace tensorturbo::sim
