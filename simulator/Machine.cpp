#include "simulator/Machine.h"
#include "Target/Target.h"
#include "simulator/Barrier.h"
#include "simulator/Decode.h"
#include "simulator/Messages.h"
#include "simulator/SystemDma.h"
#include "simulator/isa/Access.h"
#include "simulator/isa/Transfer.h"
#include <algorithm>
#include <cstring>

namespace tensorturbo::sim {

namespace {
// Instructions that a core retires in one round.
constexpr uint64_t quantum = 20'000;
// The chip's reset value of the barrier time-out.
constexpr uint64_t defaultSyncTimeout = 0x2C000000;
} // namespace

struct Machine::Impl final : DeviceBus {
  MachineOptions options;
  std::string error;
  Memory memory;
  std::unique_ptr<CodeCache> code;
  std::vector<Hart> harts;
  BarrierUnit barrier;
  /// Cores that wait at a pld.
  uint32_t rendezvous = 0;
  std::vector<SystemDma> dma;
  std::optional<TrapRecord> lastTrap;
  mutable std::vector<CoreCounters> published;

  explicit Impl(const MachineOptions &options);

  // Devices, seen from a core.
  Step loadDevice(Hart &hart, uint32_t address, uint32_t &value) override;
  Step storeDevice(Hart &hart, uint32_t address, uint32_t value) override;
  MemoryRegion *remoteL1(uint32_t core) override {
    return core < memory.l1.size() ? &memory.l1[core] : nullptr;
  }
  std::string whyUnwritten(const MemoryRegion &region, uint32_t offset) const override;

  void resetCores();
  /// What happened between rounds.
  enum class Served { Nothing, Progress, Failed };
  Served service(bool force, RunResult &result);
  bool completeWait(Hart &hart, RunResult &result);
  bool runRound(RunResult &result, bool &ran);
  bool takeTrap(Hart &hart, RunResult &result);
  bool countBarrierTicks(RunResult &result, bool &expired);
  void stopAt(RunResult &result, RunStatus status, const Hart &hart, std::string message) const;
  void reportDeadlock(RunResult &result) const;
  uint64_t totalRetired() const;
  uint32_t wordAt(const Hart &hart) const;
  std::string place(const Hart &hart) const;
  std::string describeWait(const Hart &hart) const;
};

Machine::Impl::Impl(const MachineOptions &given) : options(given) {
  options.cores = std::clamp(options.cores, 1, 8);
  if (!memory.reserve(options.cores)) {
    error = "cannot reserve the address space of the simulated memories (about 5 GiB, mostly untouched)";
    return;
  }
  code = std::make_unique<CodeCache>(memory);
  harts.resize(options.cores);
  published.resize(options.cores);
  for (uint32_t base : dmaBase)
    dma.emplace_back(memory, base, options.checks);
  for (uint32_t i = 0; i < harts.size(); i++) {
    Hart &hart = harts[i];
    hart.id = i;
    hart.l1 = memory.l1[i].data();
    hart.im = memory.im[i].data();
    hart.memory = &memory;
    hart.bus = this;
    hart.code = code.get();
    hart.checks = options.checks;
  }
}

Step Machine::Impl::loadDevice(Hart &hart, uint32_t address, uint32_t &value) {
  if (address - hsyncBase < hsyncSize) {
    value = barrier.mask((address - hsyncBase) / 4);
    return Step::Next;
  }
  for (size_t i = 0; i < dma.size(); i++)
    if (address - dmaBase[i] < dmaSize)
      switch (dma[i].load(address - dmaBase[i], value)) {
      case SystemDma::Access::Done:
        return Step::Next;
      case SystemDma::Access::Pending:
        return Step::Yield;
      default:
        return hart.raise(5, address);
      }
  return hart.raise(5, address);
}

Step Machine::Impl::storeDevice(Hart &hart, uint32_t address, uint32_t value) {
  if (address - hsyncBase < hsyncSize) {
    barrier.setMask((address - hsyncBase) / 4, value);
    return Step::Next;
  }
  std::string message;
  for (size_t i = 0; i < dma.size(); i++)
    if (address - dmaBase[i] < dmaSize)
      switch (dma[i].store(address - dmaBase[i], value, hart.id, hart.pc, message)) {
      case SystemDma::Access::Done:
        return Step::Next;
      case SystemDma::Access::Failed:
        return hart.fail(message);
      default:
        return hart.raise(7, address);
      }
  return hart.raise(7, address);
}

std::string Machine::Impl::whyUnwritten(const MemoryRegion &region, uint32_t offset) const {
  for (const SystemDma &controller : dma)
    if (std::string writer = controller.pendingWriter(region, offset); !writer.empty())
      return "which is still to be written by the transfer of " + writer;
  return "which was never written";
}

void Machine::Impl::resetCores() {
  for (Hart &hart : harts)
    hart.reset();
  barrier.reset(options.cores);
  rendezvous = 0;
  for (SystemDma &controller : dma)
    controller.reset();
  lastTrap.reset();
  code->clear();
}

uint64_t Machine::Impl::totalRetired() const {
  uint64_t total = 0;
  for (const Hart &hart : harts)
    total += hart.retired;
  return total;
}

uint32_t Machine::Impl::wordAt(const Hart &hart) const {
  uint32_t word = 0;
  size_t bytes = std::min<size_t>(4, hart.pc < ddrSize ? ddrSize - hart.pc : 0);
  std::memcpy(&word, memory.ddr.data() + (bytes ? hart.pc : 0), bytes);
  return word;
}

std::string Machine::Impl::place(const Hart &hart) const {
  return "core " + std::to_string(hart.id) + " at " + hexText(hart.pc);
}

std::string Machine::Impl::describeWait(const Hart &hart) const {
  switch (hart.wait) {
  case WaitKind::None:
    return "running";
  case WaitKind::Parked:
    return "is parked in an endless loop";
  case WaitKind::Barrier:
    return barrier.describe(hart.id);
  case WaitKind::Rendezvous:
    break;
  }
  std::string text = "waits at a pld for cores";
  uint32_t missing = hart.csr[0x420] & ~rendezvous;
  const char *separator = " ";
  for (uint32_t i = 0; i < 32; i++)
    if (missing >> i & 1) {
      text += separator + std::to_string(i);
      separator = ", ";
    }
  return missing ? text : "waits at a pld whose core map lacks this core itself";
}

void Machine::Impl::stopAt(RunResult &result, RunStatus status, const Hart &hart, std::string message) const {
  result.status = status;
  result.core = hart.id;
  result.pc = hart.pc;
  result.message = std::move(message);
}

void Machine::Impl::reportDeadlock(RunResult &result) const {
  stopAt(result, RunStatus::Deadlock, harts[0], "deadlock: no core can go on");
  for (const Hart &hart : harts)
    result.message += "\n  " + place(hart) + " " + describeWait(hart);
}

/// False if nobody handles the trap.
bool Machine::Impl::takeTrap(Hart &hart, RunResult &result) {
  TrapRecord record{hart.id, hart.pc, hart.trap.cause, hart.trap.value, {}};
  char cause[16];
  std::snprintf(cause, sizeof cause, "0x%X", record.cause);
  record.text = std::string("trap ") + cause + " (" + causeName(record.cause) + "), mtval " +
                hexText(record.value) + ", " + place(hart) + ": " +
                (record.cause == 1 ? "(no instruction)" : disassemble(wordAt(hart)));
  lastTrap = record;
  if (hart.mtvec == 0) {
    stopAt(result, RunStatus::Trap, hart, "unhandled " + record.text);
    return false;
  }
  hart.enterTrap();
  return true;
}

/// The instruction at which the core waits is done. False if it failed.
bool Machine::Impl::completeWait(Hart &hart, RunResult &result) {
  if (hart.wait == WaitKind::Rendezvous && completeBroadcast(hart, hart.waitWord) == Step::Fail) {
    stopAt(result, RunStatus::Fault, hart,
           place(hart) + ": " + disassemble(hart.waitWord) + ": " + hart.failure);
    return false;
  }
  hart.wait = WaitKind::None;
  hart.pc += 4;
  hart.retired++;
  return true;
}

Machine::Impl::Served Machine::Impl::service(bool force, RunResult &result) {
  bool progress = false;
  for (Hart &hart : harts)
    if (hart.flushCode) {
      for (Hart &other : harts) {
        other.flushCode = false;
        other.page = nullptr;
        other.pageNumber = ~0u;
      }
      code->clear();
    }
  for (Hart &hart : harts) {
    uint32_t released = 0;
    if (hart.wait == WaitKind::Barrier && !barrier.isWaiting(hart.id)) {
      released = barrier.arrive(hart.id);
    } else if (hart.wait == WaitKind::Rendezvous && !(rendezvous >> hart.id & 1)) {
      rendezvous |= 1u << hart.id;
      uint32_t map = hart.csr[0x420];
      released = (map & ~rendezvous) ? 0 : map;
      rendezvous &= ~released;
    }
    for (Hart &other : harts)
      if (released >> other.id & 1) {
        progress = true;
        other.barrierTicks = 0;
        if (!completeWait(other, result))
          return Served::Failed;
      }
  }
  for (SystemDma &controller : dma) {
    std::string message;
    if (!controller.step(force, progress, message)) {
      stopAt(result, RunStatus::Fault, harts[0], message);
      return Served::Failed;
    }
  }
  return progress ? Served::Progress : Served::Nothing;
}

/// One turn of every core that does not wait. False if the run has ended.
bool Machine::Impl::runRound(RunResult &result, bool &ran) {
  for (Hart &hart : harts) {
    if (hart.wait != WaitKind::None)
      continue;
    ran = true;
    uint64_t begin = hart.retired, limit = begin + quantum;
    Step step;
    while ((step = hart.run(limit)) == Step::Trap) {
      if (!takeTrap(hart, result))
        return false;
      // A handler that traps itself must not run for ever.
      if (++hart.retired >= limit)
        break;
    }
    if (step == Step::Fail) {
      stopAt(result, RunStatus::Fault, hart,
             place(hart) + ": " + disassemble(wordAt(hart)) + ": " + hart.failure);
      return false;
    }
    if (step == Step::Park)
      hart.wait = WaitKind::Parked;
    if (barrier.isAwaited(hart.id))
      hart.barrierTicks += hart.retired - begin;
  }
  return true;
}

/// The time-out of barriers: it hits the core that lets others wait too long. False if the run has ended.
bool Machine::Impl::countBarrierTicks(RunResult &result, bool &expired) {
  uint64_t threshold = options.syncTimeout.value_or(defaultSyncTimeout);
  for (Hart &hart : harts) {
    if (!barrier.isAwaited(hart.id))
      continue;
    // Only if a time-out was asked for, time passes for a parked core; otherwise this is a deadlock to
    // report.
    if (hart.wait == WaitKind::Parked && options.syncTimeout)
      hart.barrierTicks += quantum;
    if (hart.barrierTicks <= threshold)
      continue;
    hart.wait = WaitKind::None;
    hart.barrierTicks = 0;
    hart.trap = {0x101, 0};
    expired = true;
    if (!takeTrap(hart, result))
      return false;
    uint32_t released = barrier.releaseAll();
    for (Hart &other : harts)
      if (released >> other.id & 1 && !completeWait(other, result))
        return false;
    break;
  }
  return true;
}

Machine::Machine(const MachineOptions &options) : impl(std::make_unique<Impl>(options)) {
  if (impl->error.empty())
    reset();
}
Machine::~Machine() = default;

const std::string &Machine::error() const {
  return impl->error;
}
int Machine::cores() const {
  return impl->options.cores;
}

void Machine::reset() {
  Memory &memory = impl->memory;
  memory.llb.reset(impl->options.fill);
  memory.upperDdr.reset(std::nullopt);
  for (MemoryRegion &region : memory.l1)
    region.reset(impl->options.fill);
  for (MemoryRegion &region : memory.im)
    region.reset(impl->options.fill);
  impl->resetCores();
}

void Machine::clearDdr() {
  impl->memory.ddr.reset(std::nullopt);
}

uint8_t *Machine::ddr(uint32_t address, size_t bytes) {
  if (!impl->error.empty() || address > ddrSize || bytes > ddrSize - address)
    return nullptr;
  return impl->memory.ddr.data() + address;
}

void Machine::markWritten(uint32_t address, size_t bytes) {
  if (MemorySpan span = impl->memory.find(0, address, bytes))
    span.region->markWritten(span.offset, bytes);
}

void Machine::markUnwritten(uint32_t address, size_t bytes) {
  if (MemorySpan span = impl->memory.find(0, address, bytes))
    span.region->markUnwritten(span.offset, bytes);
}

bool Machine::isWritten(uint32_t core, uint32_t address, size_t bytes) const {
  MemorySpan span = impl->memory.find(core, address, bytes);
  return span && !span.region->firstUnwritten(span.offset, bytes);
}

bool Machine::writeMemory(uint32_t core, uint32_t address, const void *bytes, size_t count) {
  MemorySpan span = impl->memory.find(core, address, count);
  if (!span)
    return false;
  std::memcpy(span.data(), bytes, count);
  span.region->markWritten(span.offset, count);
  return true;
}

bool Machine::readMemory(uint32_t core, uint32_t address, void *bytes, size_t count) const {
  MemorySpan span = impl->memory.find(core, address, count);
  if (span)
    std::memcpy(bytes, span.data(), count);
  return static_cast<bool>(span);
}

RunResult Machine::run(uint32_t entry, uint32_t tohostAddress) {
  RunResult result;
  const uint8_t *tohost = ddr(tohostAddress, 8);
  if (!tohost) {
    result.status = RunStatus::Fault;
    result.message =
        impl->error.empty() ? "tohost at " + hexText(tohostAddress) + " is not in DDR" : impl->error;
    return result;
  }
  impl->resetCores();
  uint64_t word = 0;
  writeMemory(0, tohostAddress, &word, 8);
  for (Hart &hart : impl->harts)
    hart.pc = entry;
  auto finished = [&] {
    std::memcpy(&word, tohost, 8);
    result.tohost = word;
    return word != 0;
  };
  // Rounds count as well, so that a DMA chain without end meets the limit.
  for (uint64_t rounds = 0;; rounds++) {
    bool ran = false;
    if (!impl->runRound(result, ran) || finished())
      break;
    Impl::Served served = impl->service(!ran, result);
    if (served == Impl::Served::Failed)
      break;
    bool mayTimeOut = false;
    if (!impl->countBarrierTicks(result, mayTimeOut))
      break;
    for (Hart &hart : impl->harts)
      mayTimeOut |=
          impl->options.syncTimeout && hart.wait == WaitKind::Parked && impl->barrier.isAwaited(hart.id);
    if (!ran && served == Impl::Served::Nothing && !mayTimeOut) {
      impl->reportDeadlock(result);
      break;
    }
    if (impl->totalRetired() + rounds >= impl->options.maxInstructions) {
      impl->stopAt(result, RunStatus::Limit, impl->harts[0],
                   "no end after " + std::to_string(impl->options.maxInstructions) + " instructions");
      for (const Hart &hart : impl->harts)
        result.message += "\n  " + impl->place(hart) + " " + impl->describeWait(hart);
      break;
    }
  }
  result.lastTrap = impl->lastTrap;
  return result;
}

const CoreCounters &Machine::counters(int core) const {
  const Hart &hart = impl->harts[core];
  CoreCounters &out = impl->published[core];
  out = {};
  out.retired = hart.retired;
  for (const target::Instruction &insn : target::p920().instructions())
    if (uint64_t count = hart.counters.executed[insn.index])
      out.instructions[insn.mnemonic] = count;
  out.trapped = hart.counters.trapped;
  out.csrWrites = hart.counters.csrWrites;
  out.csrWritesSameValue = hart.counters.csrWritesSameValue;
  out.mmeCycles = hart.counters.mmeCycles;
  out.vmeCycles = hart.counters.vmeCycles;
  out.mteBytes = hart.counters.mteBytes;
  return out;
}

CoreStatus Machine::status(int core) const {
  const Hart &hart = impl->harts[core];
  return {hart.pc, impl->describeWait(hart)};
}

Core &Machine::core(int index) {
  return impl->harts[index];
}

void Machine::setVectorType(int core, uint32_t vtype, uint32_t vl) {
  impl->harts[core].setVectorType(vtype, vl);
}

static StepResult stepResult(const Hart &hart, Step step) {
  StepResult result;
  switch (step) {
  case Step::Trap:
    result.kind = StepResult::Trapped;
    result.trap = hart.trap;
    break;
  case Step::Wait:
    result.kind = StepResult::Waiting;
    break;
  case Step::Fail:
    result.kind = StepResult::Failed;
    result.message = hart.failure;
    break;
  default:
    break;
  }
  return result;
}

StepResult Machine::execute(int core, uint32_t word) {
  Hart &hart = impl->harts[core];
  hart.fpEnabled = true;
  hart.mstatus |= 0x6600; // float and vector units on
  return stepResult(hart, hart.executeWord(word));
}

StepResult Machine::load(int core, uint32_t address, uint32_t &value) {
  return stepResult(impl->harts[core], loadFrom(impl->harts[core], address, value));
}

StepResult Machine::store(int core, uint32_t address, uint32_t value) {
  return stepResult(impl->harts[core], storeTo(impl->harts[core], address, value));
}

bool Machine::service(std::string *message) {
  RunResult result;
  bool good = impl->service(true, result) != Impl::Served::Failed;
  if (message)
    *message = result.message;
  return good;
}

bool Machine::waiting(int core) const {
  return impl->harts[core].wait != WaitKind::None;
}

} // namespace tensorturbo::sim
