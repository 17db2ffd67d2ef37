// What the conformance vectors leave open: memory safety for any registers, the description of operands, and
// cases in which the chip's behaviour is undefined.
#include "simulator/insn/Insn.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <sys/mman.h>
#include <vector>

using namespace tensorturbo;
using namespace tensorturbo::sim;
using target::Engine;
using target::Instruction;

namespace {

constexpr uint32_t kL1 = 0xC0000000, kL1Bytes = 0x140000, kIm = 0xC0400000, kImBytes = 0x40000;

/// Memory between two inaccessible pages, so that a stray access ends the test.
class GuardedMemory {
public:
  explicit GuardedMemory(size_t size) : size(size) {
    whole = static_cast<uint8_t *>(
        mmap(nullptr, size + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(whole + kPage, size, PROT_READ | PROT_WRITE);
  }
  ~GuardedMemory() { munmap(whole, size + 2 * kPage); }
  uint8_t *data() { return whole + kPage; }
  size_t size;

private:
  static constexpr size_t kPage = 1 << 16;
  uint8_t *whole;
};

struct TestCore {
  GuardedMemory l1{kL1Bytes}, im{kImBytes};
  Core core;
  TestCore() { core.l1 = l1.data(), core.im = im.data(); }
  uint8_t *at(uint32_t address) {
    return address < kIm ? l1.data() + (address - kL1) : im.data() + (address - kIm);
  }
  std::optional<Trap> run(uint32_t word) {
    const Instruction *insn = target::p920().decode(word);
    return insn->engine == Engine::Vme ? executeVme(core, word, *insn) : executeMme(core, word, *insn);
  }
  std::optional<Trap> run(const char *mnemonic, bool dm = false, bool dmc = false) {
    return run(*target::p920().encode(mnemonic, 10, 11, 12, dm, dmc));
  }
};

std::vector<const Instruction *> bodies() {
  std::vector<const Instruction *> list;
  for (const Instruction &i : target::p920().instructions())
    if (i.engine == Engine::Vme || i.engine == Engine::Mme)
      list.push_back(&i);
  return list;
}

/// Mostly sensible values, so that many instructions execute, mixed with edges.
class RandomState {
public:
  explicit RandomState(unsigned seed) : random(seed) {}
  uint32_t bits() { return uint32_t(random()); }
  uint32_t small(uint32_t limit) { return 1 + bits() % limit; }
  uint32_t address() {
    uint32_t offset = bits() % 0x8000 & ~3u;
    switch (bits() % 16) {
    case 0:
      return kL1 + kL1Bytes - (bits() % 64 & ~1u);
    case 1:
      return kIm + kImBytes - (bits() % 64 & ~1u);
    case 2:
      return bits();
    case 3:
      return kL1 + (bits() % kL1Bytes);
    default:
      return (bits() % 3 ? kL1 : kIm) + offset;
    }
  }
  uint32_t stride() {
    switch (bits() % 4) {
    case 0:
      return bits() & 0xFFFF;
    case 1:
      return (bits() % 128) * 4;
    default:
      return 0;
    }
  }
  uint32_t shape() {
    if (bits() % 16 == 0)
      return bits() % 8 ? small(2000) << 16 | small(3000) : bits();
    return small(40) << 16 | small(40);
  }
  void fill(Core &core) {
    for (uint32_t i = 1; i < 32; ++i) {
      core.x[i] = address();
      core.f[i] = 0xFFFFFFFF00000000ull | (bits() % 8 ? 0x3F000000u + bits() % 0x1000000u : bits());
    }
    for (uint32_t n = 0x400; n <= 0x426; ++n)
      core.csr[n] = bits();
    core.csr[0x400] = shape();
    core.csr[0x402] = stride();
    core.csr[0x403] = stride() << 16 | stride();
    core.csr[0x404] = shape();
    core.csr[0x405] =
        bits() % 2 ? small(40) << 16 | core.csr[0x404] >> 16 : small(40) << 16 | (core.csr[0x404] & 0xFFFF);
    core.csr[0x406] = stride();
    core.csr[0x407] = stride() << 16 | stride();
    uint32_t h = small(9), w = small(9), c = small(8), kh = small(3), kw = small(3), d = small(2),
             t = small(2);
    uint32_t top = bits() % 5, bottom = bits() % 5, left = bits() % 5, right = bits() % 5;
    core.csr[0x408] = w << 16 | h;
    core.csr[0x409] = stride() << 16 | c;
    core.csr[0x40A] = ((w + left + right - d * (kw - 1) - 1) / t + 1) << 16 |
                      (((h + top + bottom - d * (kh - 1) - 1) / t + 1) & 0xFFFF);
    core.csr[0x40B] = stride() << 16 | small(20);
    core.csr[0x40C] = stride();
    core.csr[0x40D] = kw << 24 | kh << 16 | d << 8 | t;
    core.csr[0x40E] = top << 24 | bottom << 16 | left << 8 | right;
    if (bits() % 32 == 0)
      core.csr[0x408 + bits() % 7] = bits();
  }

private:
  std::mt19937 random;
};

uint32_t randomWord(RandomState &random, const Instruction &insn) {
  return insn.match | (random.bits() & ~insn.mask);
}

/// Work of an instruction, to leave out those that would take seconds.
uint64_t work(const Regions &regions) {
  uint64_t product = 1;
  for (const Region &r : regions)
    product *= std::max<uint64_t>(1, uint64_t(r.rows) * r.rowBytes);
  return product;
}

TEST(Insn, NeverLeavesTheMemories) {
  TestCore t;
  RandomState random(1);
  size_t executed = 0, trapped = 0;
  std::vector<const Instruction *> insns = bodies();
  for (int i = 0; i < 60000; ++i) {
    random.fill(t.core);
    const Instruction &insn = *insns[i % insns.size()];
    uint32_t word = randomWord(random, insn);
    if (insn.engine == Engine::Mme && work(describeOperands(t.core, word, insn)) > 1ull << 32)
      continue;
    ++(t.run(word) ? trapped : executed);
  }
  EXPECT_GT(executed, 10000u);
  EXPECT_GT(trapped, 10000u);
}

bool covered(const Regions &regions, bool writes, uint32_t address) {
  for (const Region &r : regions)
    if (r.isWrite == writes)
      for (uint32_t row = 0; row < r.rows; ++row)
        if (address - (r.address + row * r.stride) < r.rowBytes)
          return true;
  return false;
}

TEST(Insn, DescribedRegionsAreWhatIsTouched) {
  // Two runs that agree in the described sources only must agree in the described destination, and differ
  // from before nowhere else.
  TestCore a, b;
  RandomState random(2);
  std::vector<uint8_t> pool(kL1Bytes);
  for (uint8_t &x : pool)
    x = uint8_t(random.bits());
  size_t executed = 0;
  std::vector<const Instruction *> insns = bodies();
  constexpr uint32_t kWindow = 0x10000;
  for (int i = 0; i < 1500; ++i) {
    random.fill(a.core);
    const Instruction &insn = *insns[i % insns.size()];
    uint32_t word = randomWord(random, insn);
    // Small operands near the start of the memories, sources and destination apart.
    a.core.x[target::rs1Field(word)] = kL1 + (random.bits() % 64) * 4;
    a.core.x[target::rs2Field(word)] = kL1 + 0x4000 + (random.bits() % 64) * 4;
    a.core.x[target::rdField(word)] = kIm + 0x1000 + (random.bits() % 64) * 4;
    a.core.x[0] = 0;
    if (insn.mnemonic == "velut.m") // its reads depend on the data
      continue;
    b.core.x = a.core.x, b.core.f = a.core.f, b.core.csr = a.core.csr;
    Regions regions = describeOperands(a.core, word, insn);
    uint64_t end = 0;
    for (const Region &r : regions)
      end = std::max(end, r.end() - (r.address < kIm ? kL1 : kIm));
    if (end > kWindow)
      continue;
    std::memcpy(a.l1.data(), pool.data(), kWindow);
    std::memcpy(a.im.data(), pool.data() + kWindow, kWindow);
    for (uint32_t base : {kL1, kIm})
      for (uint32_t address = base; address < base + kWindow; ++address)
        *b.at(address) = uint8_t(~*a.at(address));
    for (const Region &r : regions)
      if (!r.isWrite)
        for (uint32_t row = 0; row < r.rows; ++row)
          std::memcpy(b.at(r.address + row * r.stride), a.at(r.address + row * r.stride), r.rowBytes);
    std::optional<Trap> first = a.run(word), second = b.run(word);
    ASSERT_EQ(first.has_value(), second.has_value());
    if (first)
      continue;
    ++executed;
    for (uint32_t base : {kL1, kIm})
      for (uint32_t address = base; address < base + kWindow; ++address) {
        uint8_t before = base == kL1 ? pool[address - kL1] : pool[kWindow + address - kIm];
        if (*a.at(address) != before) {
          ASSERT_TRUE(covered(regions, true, address)) << insn.mnemonic << std::hex << ' ' << address;
        }
      }
    for (const Region &r : regions)
      if (r.isWrite)
        for (uint32_t row = 0; row < r.rows; ++row)
          ASSERT_EQ(
              std::memcmp(a.at(r.address + row * r.stride), b.at(r.address + row * r.stride), r.rowBytes), 0)
              << insn.mnemonic;
    EXPECT_EQ(a.core.f, b.core.f) << insn.mnemonic;
  }
  EXPECT_GT(executed, 300u);
}

TEST(Insn, UndefinedCasesTrap) {
  TestCore t;
  auto reset = [&] {
    t.core.csr = {};
    t.core.x.fill(0);
    t.core.x[10] = kIm, t.core.x[11] = kL1, t.core.x[12] = kL1 + 0x8000;
  };
  // The chip checks 2 * rows bytes of the coefficient vector and reads 2 * cols.
  reset();
  t.core.csr[0x400] = 64 << 16 | 1;
  t.core.x[12] = kL1 + kL1Bytes - 2;
  std::optional<Trap> trap = t.run("veemul.x32.mv");
  ASSERT_TRUE(trap);
  EXPECT_EQ(trap->cause, kTrapAccess);
  EXPECT_EQ(trap->value, kL1 + kL1Bytes - 2);
  // Row results with a stride: the chip checks them as if dense.
  reset();
  t.core.csr[0x400] = 4 << 16 | 10;
  t.core.csr[0x402] = 0x8000;
  ASSERT_TRUE(t.run("veacc.m", true, true));
  // A table index beyond 64 KiB works while there is memory.
  reset();
  t.core.csr[0x400] = 1 << 16 | 1;
  uint16_t index = 0xFFFF, value = 0x1234;
  std::memcpy(t.at(kL1), &index, 2);
  std::memcpy(t.at(kL1 + 0x8000 + 2 * 0xFFFF), &value, 2);
  EXPECT_FALSE(t.run("velut.m"));
  EXPECT_EQ(std::memcmp(t.at(kIm), &value, 2), 0);
  t.core.x[12] = kL1 + kL1Bytes - 65536;
  trap = t.run("velut.m");
  ASSERT_TRUE(trap);
  EXPECT_EQ(trap->cause, kTrapAccess);
  // A convolution whose stated output size is wrong.
  reset();
  t.core.csr[0x408] = 4 << 16 | 4;
  t.core.csr[0x409] = t.core.csr[0x40B] = 2;
  t.core.csr[0x40A] = 3 << 16 | 3;
  t.core.csr[0x40D] = 3 << 24 | 3 << 16 | 1 << 8 | 1;
  trap = t.run("meconv.mm");
  ASSERT_TRUE(trap);
  EXPECT_EQ(trap->cause, kTrapParameter);
  t.core.csr[0x40A] = 2 << 16 | 2;
  EXPECT_FALSE(t.run("meconv.mm"));
}

TEST(Insn, OperandsOfTransfersAndMismatchedProducts) {
  Core core;
  core.csr[0x422] = 4 << 16 | 3;
  core.csr[0x423] = 100;
  core.x[10] = kL1, core.x[11] = 0xF8000000, core.x[12] = 0;
  uint32_t word = *target::p920().encode("mov.l1.llb", 10, 11, 0);
  Regions moved = describeOperands(core, word, *target::p920().decode(word));
  ASSERT_EQ(moved.size(), 2u);
  EXPECT_EQ(moved.begin()[0].stride, 100u);
  EXPECT_EQ(moved.begin()[0].end(), 0xF8000000u + 208);
  EXPECT_EQ(moved.begin()[1].stride, 8u);
  EXPECT_TRUE(moved.begin()[1].isWrite);
  core.csr[0x421] = 5;
  word = *target::p920().encode("icmov", 10, 11, 12);
  Regions exchanged = describeOperands(core, word, *target::p920().decode(word));
  EXPECT_EQ(exchanged.begin()[1].core, 5u);
  EXPECT_EQ(exchanged.begin()[1].rowBytes, 524288u);
  core.csr[0x404] = 3 << 16 | 2;
  core.csr[0x405] = 2 << 16 | 4;
  word = *target::p920().encode("memul.mm", 10, 11, 12);
  EXPECT_EQ(describeOperands(core, word, *target::p920().decode(word)).size(), 0u);
}

} // namespace
