#include "simulator/Machine.h"
#include "Target/Target.h"
#include "simulator/Cluster.h"
#include "simulator/isa/Access.h"
#include "simulator/timing/Recorder.h"
#include <algorithm>
#include <cstring>

namespace tensorturbo::sim {

struct Machine::Impl {
  MachineOptions options;
  std::string error;
  Memory memory;
  /// Null if the memories could not be reserved.
  std::unique_ptr<Cluster> cluster;
  std::vector<CoreCounters> counters;
};

Machine::Machine(const MachineOptions &options) : impl(std::make_unique<Impl>()) {
  impl->options = options;
  impl->options.cores = std::clamp(options.cores, 1, 8);
  impl->options.checks &= options.arithmetic;
  impl->counters.resize(impl->options.cores);
  if (impl->memory.reserve(impl->options.cores)) {
    impl->cluster = std::make_unique<Cluster>(impl->options, impl->memory);
    reset();
  } else {
    impl->error =
        "cannot reserve the address space of the simulated memories (about 5 GiB, mostly untouched)";
  }
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
  impl->cluster->reset();
}

void Machine::clearDdr() {
  impl->memory.ddr.reset(std::nullopt);
  if (impl->cluster)
    impl->cluster->forgetFreed();
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
  MemorySpan span = impl->memory.find(0, address, bytes);
  if (!span)
    return;
  if (!impl->cluster->freeBehindTransfer(span, bytes))
    span.region->markUnwritten(span.offset, bytes);
  impl->cluster->noteFreed(address, bytes);
}

void Machine::forgetPrivate() {
  for (auto *regions : {&impl->memory.l1, &impl->memory.im})
    for (MemoryRegion &region : *regions)
      region.forget();
  impl->cluster->freedOnChip = true;
}

void Machine::beginFresh() {
  impl->memory.llb.beginFresh();
}

std::optional<uint32_t> Machine::firstNotFresh(uint32_t address, size_t bytes) const {
  MemoryRegion &llb = impl->memory.llb;
  MemorySpan span = impl->memory.findShared(address, bytes);
  auto offset = span.region == &llb ? llb.firstNotFresh(span.offset, bytes) : std::nullopt;
  return offset ? std::optional(llb.base() + *offset) : std::nullopt;
}

void Machine::watchBarriers(std::vector<uint32_t> barriers, std::function<std::string(size_t)> met) {
  impl->cluster->watched = std::move(barriers);
  impl->cluster->met = std::move(met);
}

void Machine::setMemoryPlan(std::vector<PlannedCode> code, std::vector<PlannedOperand> operands) {
  impl->cluster->setMemoryPlan(std::move(code), std::move(operands));
}

std::string Machine::finishCode(uint32_t address) {
  return impl->cluster->finishCode(address);
}

void Machine::setBreakpoints(std::vector<uint32_t> addresses) {
  impl->cluster->breakpoints = std::move(addresses);
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
  const uint8_t *tohost = ddr(tohostAddress, 8);
  if (!tohost) {
    RunResult result;
    result.status = RunStatus::Fault;
    result.message =
        impl->error.empty() ? "tohost at " + hexText(tohostAddress) + " is not in DDR" : impl->error;
    return result;
  }
  impl->cluster->reset();
  uint64_t zero = 0;
  writeMemory(0, tohostAddress, &zero, 8);
  for (Hart &hart : impl->cluster->harts)
    hart.pc = entry;
  if (TraceRecorder *trace = impl->options.trace)
    trace->begin(impl->cluster->harts.size());
  RunResult result = impl->cluster->run(tohost);
  if (TraceRecorder *trace = impl->options.trace)
    trace->end(impl->cluster->harts);
  return result;
}

const CoreCounters &Machine::counters(int core) const {
  const Hart &hart = impl->cluster->harts[core];
  CoreCounters &out = impl->counters[core];
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
  const Hart &hart = impl->cluster->harts[core];
  return {hart.pc, impl->cluster->describe(hart)};
}

Core &Machine::core(int index) {
  return impl->cluster->harts[index];
}

void Machine::setVectorType(int core, uint32_t vtype, uint32_t vl) {
  impl->cluster->harts[core].setVectorType(vtype, vl);
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
  Hart &hart = impl->cluster->harts[core];
  hart.fpEnabled = true;
  hart.mstatus |= 0x6600; // float and vector units on
  return stepResult(hart, hart.executeWord(word));
}

StepResult Machine::load(int core, uint32_t address, uint32_t &value) {
  return stepResult(impl->cluster->harts[core], loadFrom(impl->cluster->harts[core], address, value));
}

StepResult Machine::store(int core, uint32_t address, uint32_t value) {
  return stepResult(impl->cluster->harts[core], storeTo(impl->cluster->harts[core], address, value));
}

bool Machine::service(std::string *message) {
  RunResult result;
  bool good = impl->cluster->service(true, result) != Cluster::Served::Failed;
  if (message)
    *message = result.message;
  return good;
}

bool Machine::waiting(int core) const {
  return impl->cluster->harts[core].wait != WaitKind::None;
}

} // namespace tensorturbo::sim
