#include "runtime/Executor.h"
#include "runtime/Convert.h"
#include "runtime/HostLibrary.h"
#include "simulator/AddressMap.h"
#include <chrono>
#include <cstring>

using namespace tensorturbo;
using namespace tensorturbo::runtime;

static double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

static std::string hexText(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08X", value);
  return text;
}

Executor::~Executor() = default;

std::unique_ptr<Executor> Executor::load(const std::string &path, Diagnostics &diags,
                                         const ExecutorOptions &options) {
  auto object = ObjectFile::read(path, diags);
  if (!object)
    return nullptr;
  if (object->sections.count(section::core)) {
    diags.userError(quoteForMessage(path) + " is a core dump, no compiled model", {},
                    "'tensorturbo inspect' shows what is in it");
    return nullptr;
  }
  auto meta = Metadata::fromJson(object->sectionText(section::meta), diags);
  if (!meta)
    return nullptr;
  std::unique_ptr<Executor> executor(new Executor);
  executor->object = std::move(*object);
  executor->meta = std::move(*meta);
  executor->options = options;
  executor->options.checks &= !options.timingOnly;
  if (!executor->prepare(diags))
    return nullptr;
  return executor;
}

bool Executor::prepare(Diagnostics &diags) {
  provenance = provenanceFromJson(object.sectionText(section::provenance));
  kernelEnds = findKernelEnds(object, meta);
  freed = freedBuffers(meta);
  if (options.timing && !(timer = RunTimer::create(*options.timing, provenance, diags)))
    return false;
  inputData.resize(meta.inputs.size());
  for (const auto *list : {&meta.inputs, &meta.outputs})
    for (const TensorSpec &t : *list)
      if (!canConvert(t.dtype, t.buffer.dtype)) {
        diags.userError(std::string("the object file's metadata is damaged: tensor ") +
                        quoteForMessage(t.name) + " is " + dtypeName(t.dtype) + " for the user and " +
                        dtypeName(t.buffer.dtype) + " in memory");
        return false;
      }
  bool onNpu = false, onHost = false;
  for (const RunSegment &s : meta.segments)
    (s.onHost ? onHost : onNpu) = true;
  if (onNpu) {
    const Symbol *exit = object.findSymbol("tohost"), *word = object.findSymbol("tt_segment");
    if (!exit || !word) {
      diags.userError("the object file is damaged: its program has no symbol " +
                      std::string(exit ? "tt_segment" : "tohost"));
      return false;
    }
    tohost = exit->address;
    segmentWord = word->address;
  }
  if (onHost) {
    auto image = object.sections.find(section::host);
    if (image == object.sections.end()) {
      diags.userError(std::string("the object file is damaged: it has host segments, but no section ") +
                      section::host);
      return false;
    }
    library = HostLibrary::load(image->second, diags);
    if (!library)
      return false;
    for (const RunSegment &s : meta.segments)
      if (s.onHost && !library->function(s.symbol)) {
        diags.userError("the object file is damaged: its host part has no function " +
                        quoteForMessage(s.symbol));
        return false;
      }
  }
  return true;
}

bool Executor::setInputs(const std::map<std::string, TensorView> &inputs, Diagnostics &diags) {
  auto converted = convertInputs(meta.inputs, inputs, false, diags);
  if (!converted)
    return false;
  for (size_t i = 0; i < converted->size(); ++i)
    if ((*converted)[i])
      inputData[i] = std::move((*converted)[i]);
  return true;
}

bool Executor::loadMemory(Diagnostics &diags) {
  if (!machine) {
    sim::MachineOptions machineOptions;
    machineOptions.cores = meta.ncore;
    machineOptions.checks = options.checks;
    machineOptions.fill = options.fill;
    machineOptions.threads = options.threads;
    if (options.maxInstructions)
      machineOptions.maxInstructions = *options.maxInstructions;
    machineOptions.arithmetic = !options.timingOnly;
    machineOptions.trace = timer ? &timer->record : nullptr;
    machine = std::make_unique<sim::Machine>(machineOptions);
    if (!machine->error().empty()) {
      diags.resourceError("cannot set up the simulated chip: " + machine->error());
      machine.reset();
      return false;
    }
  } else {
    machine->clearDdr();
  }
  auto put = [&](uint32_t address, const uint8_t *bytes, size_t size, size_t memorySize,
                 const std::string &what) {
    uint8_t *to = machine->ddr(address, memorySize);
    if (!to) {
      diags.userError("the object file is damaged: " + what + " at " + hexText(address) +
                      " leaves the memory");
      return false;
    }
    std::memcpy(to, bytes, size);
    machine->markWritten(address, memorySize);
    return true;
  };
  for (const Segment &s : object.segments)
    if (!put(s.address, s.bytes.data(), s.bytes.size(), s.memorySize, "segment " + quoteForMessage(s.name)))
      return false;
  for (size_t i = 0; i < meta.inputs.size() && !options.timingOnly; ++i)
    if (!put(meta.inputs[i].buffer.address, inputData[i]->data(), inputData[i]->size(), inputData[i]->size(),
             "input " + quoteForMessage(meta.inputs[i].name)))
      return false;
  return true;
}

bool Executor::run(Diagnostics &diags) {
  stats = {};
  stoppedAt.reset();
  partsDone.assign(meta.kernels.size(), 0);
  stats.cores.resize(static_cast<size_t>(meta.ncore));
  results.clear();
  bool complete = true;
  for (size_t i = 0; i < meta.inputs.size() && !options.timingOnly; ++i)
    if (!inputData[i]) {
      diags.userError("input " + quoteForMessage(meta.inputs[i].name) + " has not been set");
      complete = false;
    }
  if (!complete || !loadMemory(diags))
    return false;
  if (timer)
    timer->begin();
  for (const RunSegment &segment : meta.segments) {
    if (segment.onHost && options.timingOnly)
      continue;
    auto start = std::chrono::steady_clock::now();
    if (!(segment.onHost ? runHost(segment, diags) : runNpu(segment, diags)))
      return false;
    if (stoppedAt)
      return true;
    (segment.onHost ? stats.hostSeconds : stats.npuSeconds) += secondsSince(start);
  }
  tellResults(meta.kernels.size(), 0);
  if (timer) {
    stats.report = timer->report(object, meta);
    stats.report->cores = stats.cores;
    stats.report->simulationSeconds = stats.npuSeconds;
    stats.report->hostSeconds = stats.hostSeconds;
  }
  return options.timingOnly || readOutputs(diags);
}

bool Executor::runNpu(const RunSegment &segment, Diagnostics &diags) {
  machine->reset();
  if (!machine->writeMemory(0, segmentWord, &segment.index, sizeof segment.index)) {
    diags.userError("the object file is damaged: symbol tt_segment is no memory address");
    return false;
  }
  watchKernels();
  lastNpuResult = machine->run(object.entry, tohost);
  const sim::RunResult &result = lastNpuResult;
  addCounters();
  if (timer)
    timer->addSegment();
  if (result.status == sim::RunStatus::Stopped)
    stoppedAt = result;
  if (result.good() || stoppedAt)
    return true;
  reportFailure(result, diags);
  return false;
}

bool Executor::runHost(const RunSegment &segment, Diagnostics &diags) {
  std::vector<void *> pointers;
  size_t firstResult = segment.buffers.size() - static_cast<size_t>(segment.results);
  for (size_t i = 0; i < segment.buffers.size(); ++i) {
    uint32_t address = segment.buffers[i], bytes = segment.bufferBytes[i];
    pointers.push_back(machine->ddr(address, bytes));
    if (!pointers.back()) {
      diags.userError("the object file is damaged: a buffer of " + quoteForMessage(segment.symbol) + " at " +
                      hexText(address) + " leaves the memory");
      return false;
    }
    if (options.checks && i < firstResult && !machine->isWritten(0, address, bytes)) {
      diags.internalError("host function " + quoteForMessage(segment.symbol) + " reads the buffer at " +
                              hexText(address) + ", which nothing has written completely",
                          segment.nodes.empty() ? "" : segment.nodes.front());
      return false;
    }
  }
  library->function(segment.symbol)(pointers.data());
  for (size_t i = firstResult; i < segment.buffers.size(); ++i)
    machine->markWritten(segment.buffers[i], segment.bufferBytes[i]);
  for (size_t i = 0; i < meta.kernels.size(); ++i)
    if (meta.kernels[i].onHost && meta.kernels[i].symbol == segment.symbol)
      finishKernel({0, i, 0});
  return true;
}

/// Lets the machine tell when a kernel of the program is done.
void Executor::watchKernels() {
  machine->setBreakpoints(breakpoints);
  if (options.checks) {
    machine->setMemoryPlan(plannedCode(object, meta), plannedOperands(object));
    machine->beginFresh();
  }
  if (!options.checks && !options.onResult)
    return;
  std::vector<uint32_t> barriers;
  for (const KernelEnd &end : kernelEnds)
    barriers.push_back(end.barrier);
  machine->watchBarriers(std::move(barriers), [this](size_t i) { return finishKernel(kernelEnds[i]); });
}

/// Tells of the results that are complete behind part `part` of kernel `behind`, or of the whole run.
void Executor::tellResults(size_t behind, int part) {
  if (!options.onResult)
    return;
  for (size_t i = 0; i < meta.kernels.size(); ++i) {
    const KernelInfo &kernel = meta.kernels[i];
    for (const KernelBuffer &output : kernel.outputs) {
      if (completeBehind(meta, i, output) != behind)
        continue;
      bool isLast = behind == meta.kernels.size() || part + 1 == meta.kernels[behind].parts;
      if (output.buffer.address >= sim::ddrSize)
        options.onResult(kernel, output, part);
      else if (isLast)
        options.onResult(kernel, output, kernel.parts - 1);
    }
  }
}

/// What nothing needs behind a kernel counts as never written from then on, so that a read of it is found.
std::string Executor::finishKernel(const KernelEnd &end) {
  int part = partsDone[end.kernel]++;
  tellResults(end.kernel, part);
  return options.checks ? finishRun(*machine, meta, end, freed[end.kernel], part) : std::string();
}

const ProvenanceEntry *Executor::origin(uint32_t pc) const {
  for (const ProvenanceEntry &e : provenance)
    if (pc - e.address < e.size)
      return &e;
  return nullptr;
}

std::optional<NpyArray> Executor::read(const KernelBuffer &buffer, DType dtype) const {
  std::vector<uint8_t> bytes(buffer.buffer.bytes);
  if (!machine || !canConvert(buffer.buffer.dtype, dtype) ||
      !machine->readMemory(0, buffer.buffer.address, bytes.data(), bytes.size()))
    return std::nullopt;
  NpyArray array;
  array.dtype = dtype;
  array.shape = buffer.shape;
  if (buffer.parts > 1)
    array.shape[0] /= buffer.parts;
  size_t count = bytes.size() / dtypeSize(buffer.buffer.dtype);
  array.bytes.resize(count * dtypeSize(dtype));
  convertElements(bytes.data(), buffer.buffer.dtype, array.bytes.data(), dtype, count);
  return array;
}

bool Executor::readOutputs(Diagnostics &diags) {
  for (const TensorSpec &spec : meta.outputs) {
    const uint8_t *from = machine->ddr(spec.buffer.address, spec.buffer.bytes);
    if (!from) {
      diags.userError("the object file is damaged: output " + quoteForMessage(spec.name) +
                      " leaves the memory");
      return false;
    }
    if (options.checks && !machine->isWritten(0, spec.buffer.address, spec.buffer.bytes)) {
      diags.internalError("the program did not write all of output " + quoteForMessage(spec.name));
      return false;
    }
    NpyArray array;
    array.dtype = spec.dtype;
    array.shape = spec.shape;
    size_t count = static_cast<size_t>(spec.elements());
    array.bytes.resize(count * dtypeSize(spec.dtype));
    convertElements(from, spec.buffer.dtype, array.bytes.data(), spec.dtype, count);
    results.push_back(std::move(array));
  }
  return true;
}

void Executor::addCounters() {
  for (int i = 0; i < meta.ncore; ++i) {
    sim::CoreCounters &sum = stats.cores[static_cast<size_t>(i)];
    const sim::CoreCounters &now = machine->counters(i);
    sum.retired += now.retired;
    for (const auto &[name, count] : now.instructions)
      sum.instructions[name] += count;
    sum.trapped += now.trapped;
    sum.csrWrites += now.csrWrites;
    sum.csrWritesSameValue += now.csrWritesSameValue;
    sum.mmeCycles += now.mmeCycles;
    sum.vmeCycles += now.vmeCycles;
    sum.mteBytes += now.mteBytes;
  }
}

void Executor::reportFailure(const sim::RunResult &result, Diagnostics &diags) {
  uint32_t pc = result.pc;
  std::string message = result.message;
  if (result.status == sim::RunStatus::Exited) {
    // The program's own trap handler ended the run; what it saw lies in tt_trap_info.
    uint32_t info[4] = {};
    const Symbol *record = object.findSymbol("tt_trap_info");
    if (record && machine->readMemory(0, record->address, info, sizeof info))
      pc = info[2];
    message = result.lastTrap ? result.lastTrap->text
                              : "trap " + hexText(info[0]) + ", mtval " + hexText(info[1]) + ", at " +
                                    hexText(info[2]) + " on core " + std::to_string(info[3]);
    message += " (exit code " + std::to_string(result.tohost) + ")";
  }
  auto nodesOf = [](const ProvenanceEntry &e) {
    std::string list;
    for (const std::string &n : e.nodes)
      list += (list.empty() ? "" : ", ") + n;
    return list;
  };
  const ProvenanceEntry *here = origin(pc);
  std::string nodes = here ? nodesOf(*here) : "";
  if (result.places.empty() && here)
    message += ", in " + quoteForMessage(here->symbol);
  for (const sim::RunResult::Place &place : result.places) {
    const ProvenanceEntry *e = origin(place.pc);
    message +=
        "\n  " + hexText(place.pc) + " on core " + std::to_string(place.core) + " is in " +
        (e ? quoteForMessage(e->symbol) + (e->nodes.empty() ? "" : " (" + quoteForMessage(nodesOf(*e)) + ")")
           : "no kernel");
  }
  diags.internalError("the program on the simulated chip stopped: " + message, nodes,
                      "this is a fault of the compiler or the simulator; please report it with the model");
}
