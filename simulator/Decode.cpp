#include "simulator/Decode.h"
#include <cstring>

namespace tensorturbo::sim {

static Step illegal(Hart &hart, const Decoded &) {
  return hart.raiseIllegal();
}

Decoded decode(uint32_t word) {
  Decoded d{};
  d.immediate = static_cast<int32_t>(word);
  d.rd = word >> 7 & 31;
  d.rs1 = word >> 15 & 31;
  d.rs2 = word >> 20 & 31;
  d.length = 4;
  bool known = false;
  switch (word & 0x7F) {
  case 0x13:
  case 0x33:
  case 0x17:
  case 0x37:
  case 0x63:
  case 0x67:
  case 0x6F:
    known = decodeInteger(word, d);
    break;
  case 0x03:
  case 0x23:
  case 0x5B:
    known = decodeLoadStore(word, d);
    break;
  case 0x07:
  case 0x27: // scalar and vector accesses share the opcode
    known = decodeLoadStore(word, d) || decodeVector(word, d);
    break;
  case 0x2F:
    known = decodeAtomic(word, d);
    break;
  case 0x43:
  case 0x47:
  case 0x4B:
  case 0x4F:
  case 0x53:
    known = decodeFloat(word, d);
    break;
  case 0x0F:
  case 0x73:
    known = decodeSystem(word, d);
    break;
  case 0x57:
    known = decodeVector(word, d);
    break;
  case 0x7B:
    known = decodeCustom(word, d);
    break;
  default:
    break;
  }
  if (!known)
    d.execute = illegal;
  return d;
}

CodeCache::CodeCache(Memory &memory) : memory(memory), pages(ddrSize / CodePage::size) {}

void CodeCache::clear() {
  for (uint32_t number : numbers)
    pages[number] = nullptr;
  numbers.clear();
  owned.clear();
}

const CodePage *CodeCache::page(uint32_t number) {
  if (number >= pages.size())
    return nullptr;
  if (const CodePage *known = pages[number].load(std::memory_order_acquire))
    return known;
  std::lock_guard lock(mutex);
  if (const CodePage *known = pages[number].load(std::memory_order_acquire))
    return known;
  auto page = std::make_unique<CodePage>();
  uint32_t base = number * CodePage::size;
  const uint8_t *bytes = memory.ddr.data() + base;
  // The second half of the page's last instruction may lie in the next page (or nowhere).
  bool isLast = number + 1 == pages.size();
  for (uint32_t offset = 0; offset < CodePage::size; offset += 2) {
    uint16_t low, high = 0;
    std::memcpy(&low, bytes + offset, 2);
    Decoded &d = page->instructions[offset / 2];
    if ((low & 3) != 3) {
      d = decode(expandCompressed(low));
      d.length = 2;
      continue;
    }
    if (offset + 2 < CodePage::size || !isLast)
      std::memcpy(&high, bytes + offset + 2, 2);
    d = decode(low | static_cast<uint32_t>(high) << 16);
  }
  pages[number].store(page.get(), std::memory_order_release);
  numbers.push_back(number);
  owned.push_back(std::move(page));
  return owned.back().get();
}

} // namespace tensorturbo::sim
