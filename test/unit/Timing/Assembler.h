// Straight-line programs for tests and benchmarks of the timing model: machine code for each core, put
// together here, so that every executed instruction is known.
#pragma once
#include "Target/Target.h"
#include "simulator/Machine.h"
#include "simulator/timing/TimingModel.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace tensorturbo::sim::test {

inline constexpr uint32_t l1 = 0xC0000000, im = 0xC0400000, llb = 0xF8000000, ddr = 0x02000000;

/// The program of one core. Every call counts as the number of instructions that it emits.
class Program {
public:
  std::vector<uint32_t> words;
  /// Scalar instructions (CSR writes included) and custom ones emitted so far: each takes a cycle of the
  /// front end.
  double issued() const { return double(words.size()) + prologue; }
  /// Instructions of the dispatcher in front of each program.
  static constexpr double prologue = 5;

  /// Loads a register with two instructions, whatever the value.
  void li(unsigned reg, uint32_t value) {
    uint32_t low = value & 0xFFF, high = value + 0x800;
    words.push_back((high & 0xFFFFF000) | reg << 7 | 0x37);
    words.push_back(low << 20 | reg << 15 | reg << 7 | 0x13);
  }
  void csr(uint32_t number, uint32_t value) {
    li(5, value);
    words.push_back(number << 20 | 5u << 15 | 1u << 12 | 0x73);
  }
  void insn(const char *mnemonic, uint32_t rd, uint32_t rs1, uint32_t rs2, bool dm = false,
            bool dmc = false) {
    li(10, rd);
    li(11, rs1);
    li(12, rs2);
    words.push_back(*target::p920().encode(mnemonic, 10, 11, 12, dm, dmc));
  }
  void nop(unsigned count) { words.insert(words.end(), count, 0x13); }
  void sync() { words.push_back(*target::p920().encode("sync", 0, 0, 0)); }

  void matmul(uint32_t m, uint32_t n, uint32_t k, uint32_t d, uint32_t a, uint32_t b,
              const char *mnemonic = "memul.mm") {
    csr(0x404, k << 16 | m);
    csr(0x405, n << 16 | k);
    insn(mnemonic, d, a, b);
  }
  void add(uint32_t rows, uint32_t cols, uint32_t d, uint32_t a, uint32_t b) {
    csr(0x400, cols << 16 | rows);
    insn("veadd.mm", d, a, b);
  }
  void move(const char *mnemonic, uint32_t rows, uint32_t cols, uint32_t d, uint32_t s) {
    csr(0x422, cols << 16 | rows);
    insn(mnemonic, d, s, 0);
  }
  void store(uint32_t address, uint32_t value) {
    li(6, address);
    li(7, value);
    words.push_back(7u << 20 | 6u << 15 | 2u << 12 | 0x23);
  }
  /// Starts a transfer of rows x bytes on a channel of a controller; the source's rows lie `stride` apart.
  void dmaStart(uint32_t controller, uint32_t channel, uint32_t d, uint32_t s, uint32_t rows, uint32_t bytes,
                uint32_t stride, uint32_t next = 0) {
    uint32_t base = controller ? 0xD1F00000 : 0xC9F00000, at = base + 0x1000 + 32 * channel;
    bool block = rows > 1;
    store(at, 0x80000000 | (block ? 0x20000000 : bytes));
    store(at + 4, s);
    store(at + 8, d);
    store(at + 12, rows << 16 | (bytes & 0xFFFF));
    store(at + 16, (bytes >> 16) << 24 | stride);
    store(at + 20, next);
    store(base, 1);
    store(base + 0x100 + 0x100 * channel, 0x80000000);
    store(base + 0x114 + 0x100 * channel, at);
    store(base + 4, 1u << channel);
  }
  void dmaWait(uint32_t controller, uint32_t channel) {
    uint32_t base = controller ? 0xD1F00000 : 0xC9F00000, bit = channel ? 4 : 1;
    li(6, base + 0x14);
    li(7, bit);
    words.push_back(6u << 15 | 2u << 12 | 28u << 7 | 0x03);             // lw t3, (t1)
    words.push_back(7u << 20 | 28u << 15 | 7u << 12 | 28u << 7 | 0x33); // and t3, t3, t2
    words.push_back(0xFE0E0CE3);                                        // beqz t3, -8
    words.push_back(7u << 20 | 6u << 15 | 2u << 12 | 0x23);             // sw t2, (t1)
  }
};

inline target::Costs baseCosts() {
  return *target::p920().costs();
}

/// A machine with the given programs, run once.
class Recorded {
public:
  explicit Recorded(const std::vector<Program> &programs, int threads = 1, bool arithmetic = true) {
    constexpr uint32_t entry = 0x01400000, code = 0x01500000, tohost = 0x01401000;
    MachineOptions options;
    options.cores = int(programs.size());
    options.threads = threads;
    options.arithmetic = arithmetic;
    options.checks = false;
    options.trace = &record;
    machine = std::make_unique<Machine>(options);
    // Jump to code + (core << 16).
    std::vector<uint32_t> start{0x424022F3, 0x01029293, code | 6u << 7 | 0x37, 0x006282B3, 0x00028067};
    put(entry, start);
    for (size_t i = 0; i < programs.size(); i++) {
      std::vector<uint32_t> words = programs[i].words;
      if (i == 0) {
        Program exit;
        exit.store(tohost, 1);
        words.insert(words.end(), exit.words.begin(), exit.words.end());
      }
      words.push_back(0x6F); // j .
      put(code + (uint32_t(i) << 16), words);
    }
    RunResult result = machine->run(entry, tohost);
    if (!result.good()) {
      std::fprintf(stderr, "%s\n", result.message.c_str());
      std::abort();
    }
  }
  TimingResult time(const target::Costs &costs = baseCosts(),
                    DdrSharing sharing = DdrSharing::SameModel) const {
    TimingOptions options;
    options.costs = costs;
    options.ddr = sharing;
    options.slices = true;
    return simulateTiming(record, options);
  }

  TraceRecorder record;
  std::unique_ptr<Machine> machine;

private:
  void put(uint32_t address, const std::vector<uint32_t> &words) {
    std::memcpy(machine->ddr(address, 4 * words.size()), words.data(), 4 * words.size());
    machine->markWritten(address, 4 * words.size());
  }
};

/// The slices of a core's engine in the order of their starts.
inline std::vector<Slice> slicesOf(const TimingResult &result, unsigned core, unsigned engine) {
  std::vector<Slice> list;
  for (const Slice &slice : result.slices)
    if (slice.kind == Slice::Instruction && slice.core == core && slice.engine == engine)
      list.push_back(slice);
  return list;
}

} // namespace tensorturbo::sim::test
