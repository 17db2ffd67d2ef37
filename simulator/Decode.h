// From instruction words to Decoded, one function per family, and the cache of decoded pages.
#pragma once
#include "simulator/Hart.h"
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace tensorturbo::sim {

/// The 32-bit instruction that a compressed one abbreviates; 0 (illegal) if there is none.
uint32_t expandCompressed(uint16_t half);

/// Any 32-bit word. Never fails: what is no instruction decodes to one that raises the illegal-instruction
/// trap.
Decoded decode(uint32_t word);

// The families. Each returns false for a word that is none of its instructions; the registers of `d` are set.
bool decodeInteger(uint32_t word, Decoded &d);
bool decodeLoadStore(uint32_t word, Decoded &d);
bool decodeAtomic(uint32_t word, Decoded &d);
bool decodeFloat(uint32_t word, Decoded &d);
bool decodeSystem(uint32_t word, Decoded &d);
bool decodeVector(uint32_t word, Decoded &d);
bool decodeCustom(uint32_t word, Decoded &d);

/// A page of code: one entry for every even address, because code may start at each.
struct CodePage {
  static constexpr uint32_t size = 4096;
  std::array<Decoded, size / 2> instructions;
};

/// Decoded pages of DDR, shared by all cores (and host threads) and immutable once made.
class CodeCache {
public:
  explicit CodeCache(Memory &memory);
  /// The page with this number (address / 4096), or null if it is not DDR.
  const CodePage *page(uint32_t number);
  /// Forgets everything. No core may hold a page any more.
  void clear();

private:
  Memory &memory;
  std::vector<std::atomic<CodePage *>> pages;
  std::mutex mutex;
  /// The pages made so far.
  std::vector<std::unique_ptr<CodePage>> owned;
  std::vector<uint32_t> numbers;
};

} // namespace tensorturbo::sim
