// The checks of a cluster for accesses that nothing orders: when they are made and what they say.
#include "simulator/Cluster.h"
#include "simulator/Messages.h"

namespace tensorturbo::sim {

static std::optional<SharedMemory> sharedMemoryOf(const MemoryRegion *region, const Memory &memory) {
  if (region == &memory.ddr)
    return Ddr;
  if (region == &memory.upperDdr)
    return UpperDdr;
  if (region == &memory.llb)
    return Llb;
  return std::nullopt;
}

/// The transfers that a store to the start register has started: they read their sources and descriptors and
/// write their destinations from now on.
void Cluster::logStart(Hart &hart, uint32_t controller, uint32_t channel) {
  constexpr uint32_t descriptorBytes = 24;
  uint32_t actor = dmaActor(controller, channel);
  AccessLog &log = *hart.accesses;
  log.dmaStart(actor, hart.pc);
  for (const SystemDma::Copy &copy : dma[controller].planned(channel)) {
    log.dmaAccess(actor, static_cast<SharedMemory>(Descriptors0 + controller), copy.descriptor, 1,
                  descriptorBytes, descriptorBytes, false, hart.pc);
    if (auto from = sharedMemoryOf(copy.from.region, memory))
      log.dmaAccess(actor, *from, copy.from.offset, copy.rows, copy.rowBytes, copy.stride, false, hart.pc);
    if (auto to = sharedMemoryOf(copy.to.region, memory))
      log.dmaAccess(actor, *to, copy.to.offset, 1, static_cast<uint32_t>(copy.bytes()), 0, true, hart.pc);
  }
}

void Cluster::setMemoryPlan(std::vector<PlannedCode> code, std::vector<PlannedOperand> operands) {
  plan = code.empty() && operands.empty()
             ? nullptr
             : std::make_unique<MemoryPlan>(std::move(code), std::move(operands));
  for (Hart &hart : harts) {
    hart.plan = plan.get();
    hart.executions.assign(plan ? plan->counters() : 0, 0);
  }
}

std::string Cluster::finishCode(uint32_t address) {
  std::string problem;
  for (Hart &hart : harts)
    if (plan)
      plan->finishCode(address, hart.id, hart.executions, [&](uint32_t pc, const std::string &text) {
        if (problem.empty())
          problem = "core " + std::to_string(hart.id) + " has executed the instruction at " +
                    sim::hexText(pc) + ", " + disassemble(wordAt(pc)) + ", " + text;
      });
  return problem;
}

/// What the memory plan has against the transfers that a core has just started.
std::string Cluster::planViolation(const Hart &hart, uint32_t controller, uint32_t channel) {
  if (!plan)
    return {};
  if (std::optional<uint32_t> stale = dma[controller].staleWord(channel); stale && plan->knows(hart.pc))
    return "the transfer that it starts uses the descriptor word at " + sim::hexText(*stale) +
           ", which was not written since the transfer before";
  auto check = [&](const MemorySpan &span, uint64_t bytes) {
    // Upper DDR has addresses of its own, which no plan knows.
    if (!span || span.region == &memory.upperDdr)
      return std::string();
    return plan->violation(hart.pc, span.region->base() + span.offset, bytes);
  };
  for (const SystemDma::Copy &copy : dma[controller].planned(channel)) {
    std::string text = check(copy.from, copy.sourceBytes());
    if (text.empty())
      text = check(copy.to, copy.bytes());
    if (!text.empty())
      return "the transfer that it starts " + text;
  }
  return {};
}

/// A load of a status register tells the core which channels are done, if it cares.
void Cluster::logCompletion(Hart &hart, uint32_t controller, uint32_t offset, uint32_t value) {
  bool isStatus = offset == SystemDma::statusOffset;
  if (!isStatus && offset != SystemDma::completionOffset)
    return;
  for (uint32_t channel = 0; channel < 2; channel++) {
    uint32_t bit = isStatus ? 1u << channel : 1u << 2 * channel;
    if (static_cast<bool>(value & bit) != isStatus && actsOn(hart, value, bit))
      hart.accesses->dmaObserved(dmaActor(controller, channel));
  }
}

static std::string hexText(uint64_t value) {
  return sim::hexText(static_cast<uint32_t>(value));
}

static std::string channelName(uint32_t channel) {
  return "system DMA " + sim::hexText(dmaBase[channel / 2]) + " channel " + std::to_string(channel % 2);
}

/// The last place is where the run ends. If something else has ended it, this is told in addition.
static void report(RunResult &result, const std::string &text, const std::vector<RunResult::Place> &places) {
  bool isFirst = result.message.empty();
  if (isFirst) {
    result.status = RunStatus::Fault;
    result.core = places.back().core;
    result.pc = places.back().pc;
  }
  result.message += (isFirst ? "" : "\n") + text;
  result.places.insert(result.places.end(), places.begin(), places.end());
}

std::string Cluster::describeAccess(const MemoryAccess &access) const {
  static constexpr uint32_t bases[] = {0, upperDdrBase, llbBase, dmaBase[0] + SystemDma::bufferOffset,
                                       dmaBase[1] + SystemDma::bufferOffset};
  static const char *const names[] = {"DDR", "upper DDR", "LLB", "descriptors", "descriptors"};
  bool isPrivate = access.memory >= L1OfCore0;
  uint32_t owner = access.memory - L1OfCore0;
  std::string text;
  if (access.actor >= maxCores) {
    text = channelName(access.actor - maxCores) + ", started at " + sim::hexText(access.pc) + " on core " +
           std::to_string(access.starter);
  } else {
    text = "core " + std::to_string(access.actor) + " at " + sim::hexText(access.pc) + ": " +
           disassemble(wordAt(access.pc));
  }
  text += access.writes() ? ": writes " : ": reads ";
  text += access.rows == 1 ? std::to_string(access.rowBytes) + " bytes"
                           : std::to_string(access.rows) + " rows of " + std::to_string(access.rowBytes) +
                                 " bytes, " + std::to_string(access.stride) + " apart,";
  text += std::string(" of ") + (isPrivate ? "L1 of core " + std::to_string(owner) : names[access.memory]);
  return text + " at " + hexText(uint64_t(isPrivate ? l1Base : bases[access.memory]) + access.begin);
}

/// False if a race was found.
bool Cluster::checkHazards(RunResult &result) {
  if (auto restart = hazards->restart()) {
    std::string text = "core " + std::to_string(restart->second.core) + " at " +
                       sim::hexText(restart->second.pc) + " starts a transfer on " +
                       channelName(restart->channel) + " without having waited for the one that core " +
                       std::to_string(restart->first.core) + " started at " + sim::hexText(restart->first.pc);
    report(result, text,
           {{restart->first.core, restart->first.pc}, {restart->second.core, restart->second.pc}});
    return false;
  }
  auto race = hazards->check();
  if (!race)
    return true;
  auto isDma = [](const MemoryAccess &a) { return a.actor >= maxCores; };
  std::string what = "race between two cores";
  if (isDma(race->first) != isDma(race->second)) {
    const MemoryAccess &transfer = isDma(race->first) ? race->first : race->second;
    what = transfer.writes() ? "buffer used while a system DMA transfer still writes it"
                             : "buffer overwritten while a system DMA transfer still reads it";
  } else if (isDma(race->first)) {
    what = "race between two system DMA transfers";
  }
  std::string text = what + ": nothing orders these accesses to " + hexText(race->address) + ":\n  " +
                     describeAccess(race->first) + "\n  " + describeAccess(race->second);
  report(result, text, {{race->first.starter, race->first.pc}, {race->second.starter, race->second.pc}});
  return false;
}

/// After the last round. What races is told in addition to whatever else ended the run.
void Cluster::finishChecks(RunResult &result) {
  if (!hazards)
    return;
  hazards->collect(turnOrder, pool.size() > 1);
  bool good = result.status == RunStatus::Exited && result.tohost == 1;
  if (!checkHazards(result) || !good)
    return;
  for (uint32_t actor = maxCores; actor < actors; actor++) {
    if (hazards->isKnownDone(actor))
      continue;
    HazardDetector::Start start = hazards->lastStart(actor);
    report(result,
           "core " + std::to_string(start.core) + " at " + sim::hexText(start.pc) +
               ": the program ends without having waited for this transfer of " +
               channelName(actor - maxCores),
           {{start.core, start.pc}});
    return;
  }
}

} // namespace tensorturbo::sim
