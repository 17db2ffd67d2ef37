#include "VectorRunner.h"
#include "Target/Target.h"
#include <array>
#include <cstdarg>
#include <cstdio>

namespace tensorturbo::vectors {

using sim::Machine;
using sim::StepResult;

namespace {

/// Rounds of a record of several cores after which it counts as stuck.
constexpr int kRounds = 200000;

std::string text(const char *format, ...) __attribute__((format(printf, 1, 2)));
std::string text(const char *format, ...) {
  char buffer[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(buffer, sizeof buffer, format, args);
  va_end(args);
  return buffer;
}

/// Executes a set-up instruction that cannot fail on a sane model.
std::string setUp(Machine &m, int core, uint32_t word) {
  StepResult r = m.execute(core, word);
  return r.kind == StepResult::Done ? "" : text("set-up instruction %08x does not execute", word);
}

uint32_t csrWrite(uint32_t number, uint32_t reg) {
  return number << 20 | reg << 15 | 1u << 12 | 0x73;
}
uint32_t csrRead(uint32_t number, uint32_t reg) {
  return number << 20 | 2u << 12 | reg << 7 | 0x73;
}

std::string load(Machine &m, int core, const std::vector<Piece> &pieces) {
  for (const Piece &p : pieces)
    if (!m.writeMemory(uint32_t(core), p.address, p.bytes.data(), p.bytes.size()))
      return text("the record's memory at %08x is no memory", p.address);
  return {};
}

std::string compareMemory(const Machine &m, int core, const std::vector<Piece> &pieces) {
  std::string got;
  for (const Piece &p : pieces) {
    got.resize(p.bytes.size());
    if (!m.readMemory(uint32_t(core), p.address, got.data(), got.size()))
      return text("memory at %08x cannot be read", p.address);
    size_t wrong = 0, first = 0;
    for (size_t i = got.size(); i-- > 0;)
      if (got[i] != p.bytes[i])
        ++wrong, first = i;
    if (!wrong)
      continue;
    // Shown as a half, which is what most records hold.
    size_t at = first & ~size_t(1);
    auto half = [&](const std::string &s) {
      return unsigned(uint8_t(s[at])) | (at + 1 < s.size() ? unsigned(uint8_t(s[at + 1])) << 8 : 0);
    };
    return text("%zu of %zu bytes at %08x differ, first at +%zu: %04x instead of %04x", wrong, got.size(),
                p.address, first, half(got), half(p.bytes));
  }
  return {};
}

} // namespace

Machine &VectorRunner::machine(int cores) {
  std::unique_ptr<Machine> &m = machines[cores];
  if (!m) {
    sim::MachineOptions options;
    options.cores = cores ? cores : 1;
    options.checks = false;
    m = std::make_unique<Machine>(options);
  }
  return *m;
}

std::string VectorRunner::prepare(Machine &m, int core, const Exec &exec) {
  sim::Core &c = m.core(core);
  uint32_t vtype = 4, fcsr = 0;
  for (uint32_t number = 0x400; number <= 0x426; ++number)
    c.csr[number] = 0;
  for (const Numbered &n : exec.csr)
    if (n.number == 0x003)
      fcsr = uint32_t(n.value);
    else if (n.number == 0xC21)
      vtype = uint32_t(n.value);
    else if (n.number >= 0x400 && n.number <= 0x426)
      c.csr[n.number] = uint32_t(n.value);
    else
      return text("the record sets CSR %03x", n.number);
  // Floating point and vectors on, rounding mode and flags as wanted.
  c.x[5] = 0x01806600;
  c.x[6] = fcsr;
  for (uint32_t word : {csrWrite(0x300, 5), csrWrite(0x003, 6)})
    if (std::string error = setUp(m, core, word); !error.empty())
      return error;
  m.setVectorType(core, vtype);
  c.x.fill(0);
  c.f.fill(0);
  for (const Numbered &n : exec.x)
    if (n.number < 32)
      c.x[n.number] = uint32_t(n.value);
  for (const Numbered &n : exec.f)
    if (n.number < 32)
      c.f[n.number] = n.value;
  return load(m, core, exec.memory);
}

std::string VectorRunner::compare(Machine &m, int core, const Exec &exec, const StepResult &result) {
  if (result.kind == StepResult::Failed)
    return result.message;
  if (result.kind == StepResult::Trapped) {
    if (!exec.trap)
      return text("trap %x(%08x)", result.trap.cause, result.trap.value);
    if (result.trap.cause != exec.trap->cause || result.trap.value != exec.trap->value)
      return text("trap %x(%08x) instead of %x(%08x)", result.trap.cause, result.trap.value, exec.trap->cause,
                  exec.trap->value);
  } else if (exec.trap) {
    return text("no trap instead of %x(%08x)", exec.trap->cause, exec.trap->value);
  }
  sim::Core &c = m.core(core);
  std::array<uint32_t, 32> x{};
  std::array<uint64_t, 32> f{};
  for (const auto *list : {&exec.x, &exec.xAfter})
    for (const Numbered &n : *list)
      if (n.number && n.number < 32)
        x[n.number] = uint32_t(n.value);
  for (const auto *list : {&exec.f, &exec.fAfter})
    for (const Numbered &n : *list)
      if (n.number < 32)
        f[n.number] = n.value;
  for (int i = 0; i < 32; ++i) {
    if (c.x[i] != x[i])
      return text("x%d is %08x instead of %08x", i, c.x[i], x[i]);
    if (c.f[i] != f[i])
      return text("f%d is %016llx instead of %016llx", i, (unsigned long long)c.f[i],
                  (unsigned long long)f[i]);
  }
  if ((exec.word & 0x7F) != 0x73) // the custom CSRs belong to the program alone
    for (uint32_t number = 0x400; number <= 0x426; ++number) {
      uint32_t expected = 0;
      for (const Numbered &n : exec.csr)
        expected = n.number == number ? uint32_t(n.value) : expected;
      if (c.csr[number] != expected)
        return text("CSR %03x is %08x instead of %08x", number, c.csr[number], expected);
    }
  if (std::string error = compareMemory(m, core, exec.memoryAfter); !error.empty())
    return error;
  uint32_t saved = c.x[5];
  if (std::string error = setUp(m, core, csrRead(0x001, 5)); !error.empty())
    return error;
  uint32_t flags = c.x[5];
  c.x[5] = saved;
  return flags ? text("fflags are %x", flags) : "";
}

std::string VectorRunner::run(const Record &record) {
  return record.systemCores ? runCores(record) : runSingle(record);
}

std::string VectorRunner::runSingle(const Record &record) {
  // Memory that a record does not name holds whatever earlier records left: it must not matter.
  Machine &m = machine(0);
  if (!m.error().empty())
    return m.error();
  if (std::string error = prepare(m, 0, record.exec); !error.empty())
    return error;
  StepResult result = m.execute(0, record.exec.word);
  for (int round = 0; result.kind == StepResult::Waiting; ++round) {
    std::string message;
    if (!m.service(&message))
      return message;
    if (!m.waiting(0))
      result.kind = StepResult::Done;
    else if (round == kRounds)
      return "waits for ever";
  }
  return compare(m, 0, record.exec, result);
}

std::string VectorRunner::runCores(const Record &record) {
  Machine &m = machine(record.systemCores);
  if (!m.error().empty())
    return m.error();
  m.reset();
  m.clearDdr();
  for (const CoreRecord &c : record.cores)
    if (std::string error = load(m, int(c.core), c.memory); !error.empty())
      return error;

  struct Progress {
    size_t step = 0;
    bool waiting = false;
    bool atBarrier = false;
  };
  std::vector<Progress> progress(record.cores.size());
  size_t barrierCores = 0;
  for (const CoreRecord &c : record.cores)
    for (const StepRecord &s : c.steps)
      if (s.kind == StepRecord::Barrier) {
        ++barrierCores;
        break;
      }

  for (int round = 0;; ++round) {
    bool finished = true;
    size_t arrived = 0;
    for (size_t i = 0; i < record.cores.size(); ++i) {
      const CoreRecord &c = record.cores[i];
      Progress &p = progress[i];
      if (p.step == c.steps.size())
        continue;
      finished = false;
      const StepRecord &s = c.steps[p.step];
      std::string where = text("core %u step %zu: ", c.core, p.step);
      StepResult result;
      uint32_t value = 0;
      switch (s.kind) {
      case StepRecord::Execute:
        if (p.waiting) {
          if (m.waiting(int(c.core)))
            continue;
          p.waiting = false;
        } else {
          if (std::string error = prepare(m, int(c.core), s.exec); !error.empty())
            return where + error;
          result = m.execute(int(c.core), s.exec.word);
          if (result.kind == StepResult::Waiting) {
            p.waiting = true;
            continue;
          }
        }
        if (std::string error = compare(m, int(c.core), s.exec, result); !error.empty())
          return where + error;
        break;
      case StepRecord::Barrier:
        p.atBarrier = true;
        ++arrived;
        continue;
      case StepRecord::Store:
        result = m.store(int(c.core), s.address, s.value);
        if (result.kind != StepResult::Done)
          return where + text("store to %08x fails: ", s.address) + result.message;
        break;
      case StepRecord::Load:
      case StepRecord::Poll:
        result = m.load(int(c.core), s.address, value);
        if (result.kind != StepResult::Done)
          return where + text("load from %08x fails: ", s.address) + result.message;
        if (s.kind == StepRecord::Load && value != s.value)
          return where + text("load from %08x gives %08x instead of %08x", s.address, value, s.value);
        if (s.kind == StepRecord::Poll && (value & s.mask) != s.value)
          continue;
        break;
      case StepRecord::Delay:
        break;
      }
      ++p.step;
    }
    if (finished)
      break;
    if (arrived && arrived == barrierCores)
      for (Progress &p : progress)
        if (p.atBarrier) {
          p.atBarrier = false;
          ++p.step;
        }
    std::string message;
    if (!m.service(&message))
      return message;
    if (round == kRounds)
      return "the cores wait for ever";
  }
  for (const CoreRecord &c : record.cores)
    if (std::string error = compareMemory(m, int(c.core), c.memoryAfter); !error.empty())
      return text("core %u: ", c.core) + error;
  return {};
}

std::string VectorRunner::run(const ProgramRecord &record) {
  sim::MachineOptions options;
  options.cores = record.systemCores;
  options.syncTimeout = record.syncTimeout;
  options.maxInstructions = 50'000'000;
  Machine m(options);
  if (!m.error().empty())
    return m.error();
  if (std::string error = load(m, 0, record.load); !error.empty())
    return error;
  sim::RunResult result = m.run(record.entry, record.exitAddress);
  if (result.status != sim::RunStatus::Exited)
    return "the program does not end: " + result.message;
  return compareMemory(m, 0, record.memoryAfter);
}

std::string VectorRunner::runSweep(const std::string &mnemonic, const std::vector<uint16_t> &expected) {
  const target::Instruction *insn = target::p920().find(mnemonic);
  if (!insn)
    return "no such instruction";
  if (expected.size() != 65536)
    return text("%zu results instead of 65536", expected.size());
  constexpr uint32_t kSource = 0xC0000000, kResult = 0xC0040000;
  size_t resultBytes = mnemonic == "vecvt.x8.hf.m" ? 1 : 2;
  Record record;
  record.exec.word = target::Target::encode(*insn, 10, 11, 0);
  record.exec.csr = {{0x400, 64u << 16 | 1024}};
  record.exec.x = {{10, kResult}, {11, kSource}};
  Piece source{kSource, {}}, result{kResult, {}};
  for (uint32_t i = 0; i < 65536; ++i) {
    source.bytes += char(i & 255);
    source.bytes += char(i >> 8);
    result.bytes += char(expected[i] & 255);
    if (resultBytes == 2)
      result.bytes += char(expected[i] >> 8);
  }
  record.exec.memory.push_back(std::move(source));
  record.exec.memoryAfter.push_back(std::move(result));
  return runSingle(record);
}

} // namespace tensorturbo::vectors
