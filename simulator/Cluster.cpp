#include "simulator/Cluster.h"
#include "simulator/Messages.h"
#include "simulator/isa/Transfer.h"
#include "simulator/timing/Recorder.h"
#include <algorithm>
#include <cstring>

namespace tensorturbo::sim {

namespace {
// Instructions that a core retires in one round.
constexpr uint64_t quantum = 20'000;
// The chip's reset value of the barrier time-out.
constexpr uint64_t defaultSyncTimeout = 0x2C000000;
// How often, in rounds, cores that never end a turn early are examined for endless polling, and how long
// their loop may be.
constexpr uint64_t spinCheckInterval = 16, longestSpin = 4096;

void stopAt(RunResult &result, RunStatus status, uint32_t core, uint32_t pc, std::string message) {
  result.status = status;
  result.core = core;
  result.pc = pc;
  result.message = std::move(message);
}
} // namespace

Cluster::Cluster(const MachineOptions &options, Memory &memory)
    : harts(static_cast<size_t>(options.cores)), options(options), memory(memory), code(memory),
      pool(options.scheduleSeed ? 1 : std::min(options.threads, options.cores)) {
  if (options.checks)
    hazards = std::make_unique<HazardDetector>(memory, options.cores);
  for (uint32_t base : dmaBase)
    dma.emplace_back(memory, base, options.checks, options.arithmetic);
  for (uint32_t i = 0; i < harts.size(); i++) {
    Hart &hart = harts[i];
    hart.id = i;
    hart.l1 = memory.l1[i].data();
    hart.im = memory.im[i].data();
    hart.memory = &memory;
    hart.bus = this;
    hart.code = &code;
    hart.checks = options.checks;
    if (hazards)
      hart.accesses = &hazards->log(i);
    hart.arithmetic = options.arithmetic;
    hart.trace = options.trace;
  }
}

void Cluster::reset() {
  for (Hart &hart : harts)
    hart.reset();
  barrier.reset(options.cores);
  rendezvous = 0;
  for (SystemDma &controller : dma)
    controller.reset();
  if (hazards)
    hazards->reset();
  freedOnChip = false;
  random.seed(options.scheduleSeed.value_or(0));
  turnOrder.clear();
  for (const Hart &hart : harts)
    turnOrder.push_back(hart.id);
  lastTrap.reset();
  code.clear();
}

Step Cluster::loadDevice(Hart &hart, uint32_t address, uint32_t &value) {
  std::lock_guard lock(devices);
  if (address - hsyncBase < hsyncSize) {
    value = barrier.mask((address - hsyncBase) / 4);
    return Step::Next;
  }
  for (size_t i = 0; i < dma.size(); i++)
    if (address - dmaBase[i] < dmaSize)
      switch (dma[i].load(address - dmaBase[i], value)) {
      case SystemDma::Access::Done:
        if (hart.accesses)
          logCompletion(hart, i, address - dmaBase[i], value);
        if (hart.trace)
          recordLoad(hart, i, address - dmaBase[i], value);
        return Step::Next;
      case SystemDma::Access::Pending:
        if (hart.accesses)
          logCompletion(hart, i, address - dmaBase[i], value);
        if (hart.trace)
          hart.trace->dmaStillBusy(hart);
        return Step::Yield;
      default:
        return hart.raise(5, address);
      }
  return hart.raise(5, address);
}

Step Cluster::storeDevice(Hart &hart, uint32_t address, uint32_t value) {
  std::lock_guard lock(devices);
  hart.stores++;
  if (hart.plan)
    if (std::string text =
            hart.plan->execute(hart.pc, hart.id, hart.executions, [&](uint32_t) { return value; });
        !text.empty())
      return hart.fail(text);
  if (address - hsyncBase < hsyncSize) {
    uint32_t group = (address - hsyncBase) / 4;
    if (uint32_t affected = (~value | ~barrier.mask(group)) & barrier.waitingCores();
        options.checks && affected)
      return hart.fail("changes barrier group " + std::to_string(group) + " while core " +
                       std::to_string(__builtin_ctz(affected)) + ", a member of it, waits at a barrier");
    barrier.setMask(group, value);
    return Step::Next;
  }
  std::string message;
  for (size_t i = 0; i < dma.size(); i++)
    if (address - dmaBase[i] < dmaSize)
      switch (dma[i].store(address - dmaBase[i], value, hart.id, hart.pc, message)) {
      case SystemDma::Access::Done:
        if (hart.accesses && address - dmaBase[i] == SystemDma::startOffset)
          for (uint32_t channel = 0; channel < 2; channel++)
            if (value >> channel & 1) {
              logStart(hart, i, channel);
              if (std::string text = planViolation(hart, i, channel); !text.empty())
                return hart.fail(text);
              dma[i].useDescriptors(channel);
            }
        if (hart.accesses && address - dmaBase[i] >= SystemDma::bufferOffset)
          hart.accesses->scalar(static_cast<SharedMemory>(Descriptors0 + i),
                                address - dmaBase[i] - SystemDma::bufferOffset, 4, true, hart.pc);
        if (hart.trace)
          recordStore(hart, i, address - dmaBase[i], value);
        return Step::Next;
      case SystemDma::Access::Failed:
        return hart.fail(message);
      default:
        return hart.raise(7, address);
      }
  return hart.raise(7, address);
}

void Cluster::recordLoad(const Hart &hart, size_t controller, uint32_t offset, uint32_t value) const {
  uint32_t ended = offset == SystemDma::statusOffset       ? ~value & 3
                   : offset == SystemDma::completionOffset ? (value & 1) | (value >> 1 & 2)
                                                           : 0;
  if (ended)
    hart.trace->dmaEnded(hart, ended << 2 * controller);
  else
    hart.trace->deviceLoad(hart);
}

void Cluster::recordStore(const Hart &hart, size_t controller, uint32_t offset, uint32_t value) const {
  if (offset == SystemDma::startOffset)
    for (uint32_t channel = 0; channel < 2; channel++)
      if (value >> channel & 1)
        hart.trace->dmaStart(hart, uint32_t(2 * controller + channel), dma[controller].describe(channel));
  if (offset == SystemDma::completionOffset)
    hart.trace->dmaCleared(hart, 3u << 2 * controller, ((value & 1) | (value >> 1 & 2)) << 2 * controller);
}

std::string Cluster::whyUnwritten(const MemoryRegion &region, uint32_t offset) const {
  std::lock_guard lock(devices);
  for (const SystemDma &controller : dma)
    if (std::string writer = controller.pendingWriter(region, offset); !writer.empty())
      return "which is still to be written by the transfer of " + writer;
  uint64_t address = uint64_t(region.base()) + offset;
  auto after = freed.upper_bound(static_cast<uint32_t>(address));
  if (after != freed.begin() && std::prev(after)->second > address)
    return "which belongs to a freed buffer";
  return freedOnChip && &region != &memory.ddr ? "which nothing has written since the last kernel ended"
                                               : "which was never written";
}

void Cluster::noteFreed(uint32_t address, size_t bytes) {
  uint64_t &end = freed[address];
  end = std::max<uint64_t>(end, uint64_t(address) + bytes);
}

/// All cores have met at `pc`. False if the run is to end.
bool Cluster::tellMeeting(uint32_t pc, RunResult &result) const {
  auto found = std::find(watched.begin(), watched.end(), pc);
  if (found == watched.end() || !met)
    return true;
  std::string problem = met(static_cast<size_t>(found - watched.begin()));
  if (problem.empty())
    return true;
  stopAt(result, RunStatus::Fault, 0, pc, std::move(problem));
  return false;
}

uint64_t Cluster::totalRetired() const {
  uint64_t total = 0;
  for (const Hart &hart : harts)
    total += hart.retired;
  return total;
}

uint32_t Cluster::wordAt(uint32_t pc) const {
  uint32_t word = 0;
  if (pc < ddrSize)
    std::memcpy(&word, memory.ddr.data() + pc, std::min<size_t>(4, ddrSize - pc));
  return word;
}

std::string Cluster::place(const Hart &hart) const {
  return "core " + std::to_string(hart.id) + " at " + hexText(hart.pc);
}

std::string Cluster::describe(const Hart &hart) const {
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

void Cluster::reportAll(RunResult &result, RunStatus status, const std::string &message) const {
  stopAt(result, status, 0, harts[0].pc, message);
  for (const Hart &hart : harts)
    result.message += "\n  " + place(hart) + " " +
                      (hart.wait == WaitKind::None && status == RunStatus::Deadlock
                           ? "polls memory that nobody is left to change"
                           : describe(hart));
  for (const Hart &hart : harts)
    result.places.push_back({hart.id, hart.pc});
}

TrapRecord Cluster::recordTrap(const Hart &hart) const {
  TrapRecord record{hart.id, hart.pc, hart.trap.cause, hart.trap.value, {}};
  char cause[16];
  std::snprintf(cause, sizeof cause, "0x%X", record.cause);
  record.text = std::string("trap ") + cause + " (" + causeName(record.cause) + "), mtval " +
                hexText(record.value) + ", " + place(hart) + ": " +
                (record.cause == 1 ? "(no instruction)" : disassemble(wordAt(hart)));
  return record;
}

/// The instruction at which the core waits is done. False if it failed.
bool Cluster::completeWait(Hart &hart, RunResult &result) {
  if (hart.wait == WaitKind::Rendezvous && completeBroadcast(hart, hart.waitWord) == Step::Fail) {
    stopAt(result, RunStatus::Fault, hart.id, hart.pc,
           place(hart) + ": " + disassemble(hart.waitWord) + ": " + hart.failure);
    return false;
  }
  hart.wait = WaitKind::None;
  hart.pc += 4;
  hart.retired++;
  return true;
}

/// The waits of these cores are over, for all at once. False if one of them failed.
bool Cluster::meet(uint32_t cores, RunResult &result) {
  if (cores && hazards)
    hazards->join(cores);
  for (Hart &hart : harts)
    if (cores >> hart.id & 1) {
      hart.barrierTicks = 0;
      if (!completeWait(hart, result))
        return false;
    }
  return true;
}

void Cluster::flushCode() {
  bool wanted = false;
  for (Hart &hart : harts) {
    wanted |= hart.flushCode;
    hart.flushCode = false;
  }
  if (!wanted)
    return;
  for (Hart &hart : harts)
    hart.forgetCode();
  code.clear();
}

Cluster::Served Cluster::service(bool force, RunResult &result) {
  bool progress = false, allMet = false;
  flushCode();
  if (hazards)
    hazards->collect(turnOrder, pool.size() > 1);
  for (Hart &hart : harts) {
    uint32_t released = 0;
    if (hart.wait == WaitKind::Barrier && !barrier.isWaiting(hart.id)) {
      if (std::string overlap = options.checks ? barrier.overlap(hart.id) : ""; !overlap.empty()) {
        stopAt(result, RunStatus::Fault, hart.id, hart.pc,
               place(hart) + ": sync: overlapping barrier groups: the core " + overlap +
                   "; either of them could release it");
        return Served::Failed;
      }
      released = barrier.arrive(hart.id);
    } else if (hart.wait == WaitKind::Rendezvous && !(rendezvous >> hart.id & 1)) {
      rendezvous |= 1u << hart.id;
      uint32_t map = hart.csr[0x420];
      released = (map & ~rendezvous) ? 0 : map;
      rendezvous &= ~released;
    }
    if (released && options.trace)
      options.trace->meeting(released);
    bool everybody = released && released == (1u << harts.size()) - 1;
    bool atOnePlace = std::all_of(harts.begin(), harts.end(), [&](const Hart &h) { return h.pc == hart.pc; });
    uint32_t pc = hart.pc;
    allMet |= everybody;
    progress |= released != 0;
    if (!meet(released, result))
      return Served::Failed;
    if (everybody && atOnePlace && !watched.empty()) {
      if ((hazards && !checkHazards(result)) || !tellMeeting(pc, result))
        return Served::Failed;
      allMet = false;
    }
  }
  if (hazards && (hazards->isLong() || allMet) && !checkHazards(result))
    return Served::Failed;
  if (options.scheduleSeed && !force && random() % 4)
    return progress ? Served::Progress : Served::Nothing;
  if (!runTransfers(force, progress, result))
    return Served::Failed;
  return progress ? Served::Progress : Served::Nothing;
}

bool Cluster::runTransfers(bool force, bool &progress, RunResult &result) {
  for (uint32_t i = 0; i < dma.size(); i++) {
    SystemDma &controller = dma[i];
    SystemDma::Failure failure;
    bool busy[2] = {controller.channelBusy(0), controller.channelBusy(1)};
    if (!controller.step(force, progress, failure)) {
      stopAt(result, RunStatus::Fault, failure.core, failure.pc, failure.message);
      return false;
    }
    for (uint32_t channel = 0; channel < 2; channel++)
      if (hazards && busy[channel] && !controller.channelBusy(channel))
        hazards->dmaDone(dmaActor(i, channel));
  }
  return true;
}

bool Cluster::freeBehindTransfer(const MemorySpan &span, size_t bytes) {
  return std::any_of(dma.begin(), dma.end(), [&](SystemDma &controller) {
    return controller.freeBehind(*span.region, span.offset, bytes);
  });
}

/// As Hart::run, but stops in front of breakpoints: then the step is Fail without a message.
Step Cluster::runTurn(Hart &hart, uint64_t limit) const {
  if (breakpoints.empty())
    return hart.run(limit);
  Step step = Step::Next;
  while (step == Step::Next && hart.retired < limit) {
    if (std::find(breakpoints.begin(), breakpoints.end(), hart.pc) != breakpoints.end()) {
      hart.failure.clear();
      return Step::Fail;
    }
    step = hart.run(hart.retired + 1);
  }
  return step;
}

/// One core until its turn ends. Touches nothing of other cores except through memory and devices.
void Cluster::takeTurn(Turn &turn) const {
  Hart &hart = *turn.hart;
  uint64_t begin = hart.retired, limit = begin + turn.length;
  while ((turn.end = runTurn(hart, limit)) == Step::Trap) {
    turn.trap = recordTrap(hart);
    if (hart.mtvec == 0)
      break;
    hart.enterTrap();
    // A handler that traps itself must not run for ever.
    if (++hart.retired >= limit) {
      turn.end = Step::Next;
      break;
    }
  }
  turn.retired = hart.retired - begin;
}

/// False if the run has ended.
bool Cluster::endTurn(Turn &turn, RunResult &result) {
  Hart &hart = *turn.hart;
  if (turn.trap)
    lastTrap = turn.trap;
  switch (turn.end) {
  case Step::Trap:
    stopAt(result, RunStatus::Trap, hart.id, hart.pc, "unhandled " + turn.trap->text);
    return false;
  case Step::Fail:
    if (hart.failure.empty()) {
      stopAt(result, RunStatus::Stopped, hart.id, hart.pc, "breakpoint: " + place(hart));
      return false;
    }
    stopAt(result, RunStatus::Fault, hart.id, hart.pc,
           place(hart) + ": " + disassemble(wordAt(hart)) + ": " + hart.failure);
    return false;
  case Step::Park:
    hart.wait = WaitKind::Parked;
    break;
  default:
    break;
  }
  if (barrier.isAwaited(hart.id))
    hart.barrierTicks += turn.retired;
  return true;
}

void Cluster::shuffle(std::vector<Turn> &turns) {
  std::shuffle(turns.begin(), turns.end(), random);
  // Some cores are left out.
  if (turns.size() > 1)
    turns.resize(1 + random() % turns.size());
  static constexpr uint64_t lengths[] = {5, 50, 1000, quantum};
  for (Turn &turn : turns)
    turn.length = 1 + random() % lengths[random() % 4];
}

/// One turn of every core that does not wait. False if the run has ended.
bool Cluster::runRound(RunResult &result, bool &ran) {
  std::vector<Turn> turns;
  for (Hart &hart : harts)
    if (hart.wait == WaitKind::None) {
      turns.emplace_back();
      turns.back().hart = &hart;
      turns.back().length = quantum;
    }
  ran = !turns.empty();
  if (options.scheduleSeed)
    shuffle(turns);
  turnOrder.clear();
  for (const Turn &turn : turns)
    turnOrder.push_back(turn.hart->id);
  pool.run(turns.size(), [&](size_t i) { takeTurn(turns[i]); });
  // In the order of the core numbers, whatever the host did.
  for (Turn &turn : turns)
    if (!endTurn(turn, result))
      return false;
  return true;
}

/// The time-out of barriers: it hits the core that lets others wait too long. False if the run has ended.
bool Cluster::countBarrierTicks(RunResult &result, bool &expired) {
  uint64_t threshold = options.syncTimeout.value_or(defaultSyncTimeout);
  for (Hart &hart : harts) {
    if (!barrier.isAwaited(hart.id))
      continue;
    // Only if a time-out was asked for, time passes for a parked core; otherwise this is a deadlock to
    // report.
    if (hart.wait == WaitKind::Parked && options.syncTimeout) {
      hart.barrierTicks += quantum;
      expired = true;
    }
    if (hart.barrierTicks <= threshold)
      continue;
    expired = true;
    hart.wait = WaitKind::None;
    hart.barrierTicks = 0;
    hart.trap = {0x101, 0};
    lastTrap = recordTrap(hart);
    for (const Hart &other : harts)
      if (barrier.isWaiting(other.id))
        lastTrap->text += "\n  " + place(other) + " " + describe(other);
    if (hart.mtvec == 0) {
      stopAt(result, RunStatus::Trap, hart.id, hart.pc, "unhandled " + lastTrap->text);
      return false;
    }
    hart.enterTrap();
    uint32_t released = barrier.releaseAll();
    if (options.trace)
      options.trace->meeting(released);
    if (!meet(released, result))
      return false;
    break;
  }
  return true;
}

/// Whether the core comes back to exactly the state it is in without having stored anything.
bool Cluster::onlySpins(Hart &hart) const {
  const Core before = hart;
  uint64_t stores = hart.stores;
  for (uint64_t i = 0; i < longestSpin; i++) {
    if (hart.run(hart.retired + 1) > Step::Yield || hart.stores != stores)
      return false;
    if (hart.pc == before.pc && hart.x == before.x && hart.f == before.f &&
        hart.csr.value == before.csr.value)
      return true;
  }
  return false;
}

/// Whether every core waits or polls memory that only another core could change.
bool Cluster::nothingCanChange() {
  for (const SystemDma &controller : dma)
    if (controller.busy())
      return false;
  for (Hart &hart : harts)
    if (hart.wait == WaitKind::None && !onlySpins(hart))
      return false;
  return true;
}

RunResult Cluster::run(const uint8_t *tohost) {
  RunResult result;
  uint64_t quietRounds = 0;
  // Rounds count as well, so that a DMA chain without end meets the limit.
  for (uint64_t rounds = 0;; rounds++) {
    bool ran = false;
    bool goesOn = runRound(result, ran);
    std::memcpy(&result.tohost, tohost, 8);
    if (!goesOn || result.tohost != 0)
      break;
    Served served = service(!ran, result);
    bool expired = false;
    if (served == Served::Failed || !countBarrierTicks(result, expired))
      break;
    bool quiet = served == Served::Nothing && !expired;
    quietRounds = quiet ? quietRounds + 1 : 0;
    if (quiet && (!ran || (quietRounds % spinCheckInterval == 0 && nothingCanChange()))) {
      reportAll(result, RunStatus::Deadlock, "deadlock: no core can go on");
      break;
    }
    if (totalRetired() + rounds >= options.maxInstructions) {
      reportAll(result, RunStatus::Limit,
                "no end after " + std::to_string(options.maxInstructions) + " instructions");
      break;
    }
  }
  finishChecks(result);
  result.lastTrap = lastTrap;
  return result;
}

} // namespace tensorturbo::sim
