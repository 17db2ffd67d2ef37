#include "simulator/timing/TimingModel.h"
#include "simulator/AddressMap.h"
#include "simulator/timing/Accounts.h"
#include "simulator/timing/Bandwidth.h"
#include "simulator/timing/InstructionCost.h"
#include "simulator/timing/MemoryUse.h"
#include "simulator/timing/Overlap.h"
#include <algorithm>
#include <cmath>

namespace tensorturbo::sim {

namespace {

using Kind = TraceEvent::Kind;
constexpr uint32_t channels = TraceRecorder::channels;

struct ChannelState {
  bool busy = false;
  size_t number = 0; ///< of the transfer under way or of the last one
  size_t piece = 0;
  bool flowing = false;
  double start = 0;
  uint32_t layer = 0;
};

class Model {
public:
  Model(const TraceRecorder &record, const TimingOptions &options)
      : record(record), options(options), costs(options.costs), cores(record.cores()),
        flows(slots(), capacities()), due(slots(), never), arrived(record.meetings().size()),
        memory(record.cores()) {
    result.cores.resize(cores.size());
    result.layers.resize(options.layers + 1);
    for (LayerTime &layer : result.layers)
      layer.begin = never;
    if (options.ddr == DdrSharing::Saturating)
      flows.setForeign(ddr, unsigned(channels * (costs.ddrClusters - 1)));
    for (const target::Instruction &insn : target::p920().instructions())
      engineOf.push_back(insn.engine == target::Engine::Mme   ? MmeEngine
                         : insn.engine == target::Engine::Vme ? VmeEngine
                                                              : MteEngine);
  }

  TimingResult run() {
    for (uint32_t i = 0; i < cores.size(); i++) {
      cores[i].id = i;
      cores[i].cursorLayer = cores[i].layer = options.layers;
      fetch(cores[i]);
    }
    while (true) {
      size_t slot = size_t(std::min_element(due.begin(), due.end()) - due.begin());
      if (flows.dirty() && due[slot] > now) {
        flows.solve(now, due);
        continue;
      }
      if (due[slot] == never)
        break;
      now = due[slot];
      due[slot] = never;
      process(slot);
    }
    finish();
    return std::move(result);
  }

private:
  // Resources of the flows: LLB, DDR, then four of each core.
  enum : uint16_t { llb, ddr, firstOfCore };
  enum : uint16_t { linkIn, linkOut, l1Port, imPort, perCore };
  uint16_t of(uint32_t core, uint16_t what) const { return uint16_t(firstOfCore + core * perCore + what); }

  size_t slots() const { return record.cores() * engineCount + channels; }
  size_t slotOf(const CoreState &core, unsigned engine) const { return core.id * engineCount + engine; }
  size_t slotOfChannel(uint32_t channel) const { return cores.size() * engineCount + channel; }

  std::vector<double> capacities() const {
    double chip = costs.ddrBytesPerCycle() * costs.ddrClusters;
    std::vector<double> list{costs.llbBytesPerCycle,
                             options.ddr == DdrSharing::SameModel ? costs.ddrBytesPerCycle() : chip};
    for (size_t i = 0; i < record.cores(); i++)
      list.insert(list.end(), {costs.mteBytesPerCycle, costs.mteBytesPerCycle, costs.l1BytesPerCycle,
                               costs.imBytesPerCycle});
    return list;
  }

  uint32_t layerAt(uint32_t pc) const {
    const auto &ranges = options.ranges;
    auto after = std::upper_bound(ranges.begin(), ranges.end(), pc,
                                  [](uint32_t at, const LayerRange &range) { return at < range.address; });
    if (after != ranges.begin() && pc - (after - 1)->address < (after - 1)->size)
      return std::min((after - 1)->layer, options.layers);
    return options.layers;
  }

  const TraceEvent &eventOf(const CoreState &core) const { return record.events(core.id)[core.cursor]; }

  void process(size_t slot) {
    if (slot >= cores.size() * engineCount) {
      advanceChannel(uint32_t(slot - cores.size() * engineCount));
      return;
    }
    CoreState &core = cores[slot / engineCount];
    accrue(core);
    if (slot % engineCount == ScalarEngine)
      stepFront(core);
    else
      advanceEngine(core, unsigned(slot % engineCount));
    updateLayer(core);
  }

  void accrue(CoreState &core) { chargeTime(result, core, now, waitersForDma > 0); }

  /// The layer of the core's oldest unfinished work.
  void updateLayer(CoreState &core) {
    uint64_t oldest = core.cursor;
    uint32_t layer = core.layer;
    bool found = false;
    for (const EngineState &engine : core.engines) {
      const Entry *entry = engine.running         ? &engine.current
                           : engine.queue.empty() ? nullptr
                                                  : &engine.queue.front();
      if (entry && (!found || entry->order < oldest)) {
        found = true;
        oldest = entry->order;
        layer = entry->layer;
      }
    }
    core.layer = found ? layer : core.cursorLayer;
  }

  void addSlice(Slice slice) {
    if (options.slices && slice.end > slice.begin)
      result.slices.push_back(slice);
  }

  // Front end.

  /// While a core waits for a transfer, the cores that wait at a barrier wait for it as well.
  void setFront(CoreState &core, Front front) {
    if ((core.front == Front::Dma) != (front == Front::Dma)) {
      for (CoreState &other : cores)
        if (other.front == Front::Barrier)
          accrue(other);
      waitersForDma += front == Front::Dma ? 1 : -1;
    }
    core.front = front;
  }

  /// The scalar work up to and with the entry at the cursor.
  void fetch(CoreState &core) {
    const TraceEvent &event = eventOf(core);
    if (uint32_t layer = layerAt(event.pc); layer != options.layers)
      core.cursorLayer = layer;
    double time = event.scalarInstructions * costs.scalarInstruction + event.csrWrites * costs.csrWrite +
                  event.deviceLoads * costs.scalarDeviceLoad;
    if (event.kind == Kind::Instruction || event.kind == Kind::Barrier)
      time += costs.scalarIssue;
    else if (event.kind == Kind::DmaStart)
      time += costs.scalarInstruction;
    setFront(core, Front::Run);
    core.leaving = false;
    due[slotOf(core, ScalarEngine)] = now + time;
  }

  void proceed(CoreState &core) {
    core.cursor++;
    fetch(core);
  }

  /// The entry is done, its cost runs.
  void leave(CoreState &core, double time) {
    setFront(core, Front::Run);
    core.leaving = true;
    due[slotOf(core, ScalarEngine)] = now + time;
  }

  void wait(CoreState &core, Front front, unsigned engine = 0) {
    if (core.front == Front::Run)
      core.waitStart = now;
    setFront(core, front);
    core.waitsFor = uint8_t(engine);
  }

  void stepFront(CoreState &core) {
    if (core.leaving) {
      proceed(core);
      return;
    }
    const TraceEvent &event = eventOf(core);
    switch (event.kind) {
    case Kind::Instruction:
      issue(core, event);
      break;
    case Kind::Barrier:
      arriveAtBarrier(core, event);
      break;
    case Kind::DmaStart: {
      uint32_t channel = TransferId::channel(event.meeting);
      size_t number = TransferId::number(event.meeting);
      if (channelState[channel].busy) {
        wait(core, Front::Dma);
        break;
      }
      if (holdsBack(core.engines[MteEngine], record.transfers(channel)[number - 1])) {
        wait(core, Front::Conflict);
        break;
      }
      startChannel(channel, number, core.cursorLayer);
      proceed(core);
      break;
    }
    case Kind::DmaWait: {
      const ChannelState &channel = channelState[TransferId::channel(event.meeting)];
      size_t number = TransferId::number(event.meeting);
      if (event.meeting == 0)
        proceed(core);
      else if (channel.number > number || (channel.number == number && !channel.busy)) {
        addSlice({Slice::DmaWait, uint8_t(core.id), ScalarEngine, 0, core.cursorLayer, event.pc,
                  event.meeting, core.front == Front::Dma ? core.waitStart : now, now});
        leave(core, costs.scalarDeviceLoad);
      } else
        wait(core, Front::Dma);
      break;
    }
    case Kind::End:
      setFront(core, Front::End);
      ended++;
      break;
    }
  }

  void issue(CoreState &core, const TraceEvent &event) {
    unsigned e = engineOf[event.instruction];
    EngineState &engine = core.engines[e];
    Entry entry{&event, core.cursor, core.cursorLayer};
    if (costs.blockingFrontEnd && heldBack(core, e, entry, true)) {
      wait(core, Front::Conflict);
      return;
    }
    if (double(engine.queue.size()) >= costs.queueDepth) {
      wait(core, Front::Queue, e);
      return;
    }
    engine.queue.push_back(entry);
    startHead(core, e);
    if (event.toRegister)
      wait(core, Front::Result, e);
    else
      proceed(core);
  }

  void arriveAtBarrier(CoreState &core, const TraceEvent &event) {
    for (const EngineState &engine : core.engines)
      if (engine.running || !engine.queue.empty()) {
        wait(core, Front::Drain);
        return;
      }
    wait(core, Front::Barrier);
    uint32_t members = arrive(core, event.meeting);
    if (members == (1u << cores.size()) - 1)
      memory.nextPhase();
    for (CoreState &other : cores)
      if (members >> other.id & 1) {
        if (&other != &core)
          accrue(other);
        addSlice({Slice::BarrierWait, uint8_t(other.id), ScalarEngine, event.instruction, other.cursorLayer,
                  eventOf(other).pc, event.meeting, other.waitStart, now + costs.syncFixed});
        // The cost of the barrier itself counts as waiting.
        other.front = Front::Barrier;
        other.leaving = true;
        due[slotOf(other, ScalarEngine)] = now + costs.syncFixed;
      }
  }

  /// All cores of the meeting if this one was the last, else nobody.
  uint32_t arrive(const CoreState &core, uint32_t meeting) {
    if (meeting == 0)
      return 0;
    arrived[meeting] |= 1u << core.id;
    return arrived[meeting] == record.meetings()[meeting] ? arrived[meeting] : 0;
  }

  // Engines.

  /// Whether an older unfinished instruction has overlapping operands. `queued`: those of the same engine
  /// count as well.
  bool heldBack(const CoreState &core, unsigned e, const Entry &entry, bool queued) const {
    for (unsigned other = MmeEngine; other < engineCount; other++) {
      if (other == e && !queued)
        continue;
      const EngineState &engine = core.engines[other];
      if (engine.running && engine.current.order < entry.order &&
          conflicts(*entry.event, *engine.current.event, costs.exactOverlap))
        return true;
      for (const Entry &older : engine.queue) {
        if (older.order >= entry.order)
          break;
        if (conflicts(*entry.event, *older.event, costs.exactOverlap))
          return true;
      }
    }
    return false;
  }

  /// Whether an unfinished move of the core overlaps with a transfer that it wants to start.
  static bool holdsBack(const EngineState &engine, const Transfer &transfer) {
    if (engine.running && conflicts(transfer, *engine.current.event))
      return true;
    return std::any_of(engine.queue.begin(), engine.queue.end(),
                       [&](const Entry &entry) { return conflicts(transfer, *entry.event); });
  }

  void startHead(CoreState &core, unsigned e) {
    EngineState &engine = core.engines[e];
    if (engine.running || engine.queue.empty() || heldBack(core, e, engine.queue.front(), false))
      return;
    engine.current = engine.queue.front();
    engine.queue.pop_front();
    engine.running = true;
    engine.meeting = engine.flowing = false;
    engine.start = now;
    if (core.front == Front::Queue && core.waitsFor == e)
      due[slotOf(core, ScalarEngine)] = now;
    const TraceEvent &event = *engine.current.event;
    const target::Instruction &insn = target::p920().instructions()[event.instruction];
    count(core, event, insn, engine.current.layer);
    if (e != MteEngine) {
      InstructionCost cost = computeCost(costs, event, insn);
      engine.alone = cost.cycles;
      engine.flowing = true;
      uses.assign({{of(core.id, l1Port), cost.l1Bytes / cost.cycles},
                   {of(core.id, imPort), cost.imBytes / cost.cycles}});
      flows.start(slotOf(core, e), now, cost.cycles, 1, uses);
      return;
    }
    if (insn.cost != target::CostClass::Broadcast) {
      due[slotOf(core, e)] = now + latency(core.id, insn);
      return;
    }
    engine.meeting = true;
    uint32_t members = arrive(core, event.meeting);
    if (!members)
      return;
    // All have come: the core with the lowest number stands for all of them.
    double far = 0;
    const CoreState *leader = nullptr;
    for (CoreState &other : cores)
      if (members >> other.id & 1) {
        accrue(other);
        leader = leader ? leader : &other;
        far = std::max(far, costs.meshHops[other.id]);
        other.engines[e].meeting = false;
        other.engines[e].start = now;
      }
    due[slotOf(*leader, e)] = now + costs.pldFixed + far * costs.meshHop;
  }

  double latency(uint32_t core, const target::Instruction &insn) const {
    return insn.cost == target::CostClass::Exchange ? costs.icmovFixed
                                                    : costs.mteFixed + costs.meshHops[core] * costs.meshHop;
  }

  /// The latency of a transfer is over, or the instruction.
  void advanceEngine(CoreState &core, unsigned e) {
    EngineState &engine = core.engines[e];
    const TraceEvent &event = *engine.current.event;
    if (engine.flowing) {
      flows.finish(slotOf(core, e));
      uint32_t members = e == MteEngine && event.meeting ? record.meetings()[event.meeting] : 1u << core.id;
      for (CoreState &other : cores)
        if (members >> other.id & 1)
          endInstruction(other, e);
      return;
    }
    engine.flowing = true;
    const target::Instruction &insn = target::p920().instructions()[event.instruction];
    double bytes = transferBytes(event), rate = costs.mteBytesPerCycle;
    uses.clear();
    if (insn.cost == target::CostClass::Exchange) {
      uint32_t to = event.regions[1].core;
      rate = costs.icmovBytesPerCycle;
      uses = {{of(core.id, linkOut), 1}, {of(core.id, l1Port), to == core.id ? 2.0 : 1.0}};
      if (to != core.id && to < cores.size()) {
        uses.push_back({of(to, linkIn), 1});
        uses.push_back({of(to, l1Port), 1});
      }
    } else {
      uses.push_back({llb, 1});
      uint32_t members = event.meeting ? record.meetings()[event.meeting] : 1u << core.id;
      uint16_t link = event.regions[1].address < llbBase ? linkIn : linkOut;
      for (uint32_t i = 0; i < cores.size(); i++)
        if (members >> i & 1) {
          uses.push_back({of(i, link), 1});
          uses.push_back({of(i, l1Port), 1});
        }
    }
    flows.start(slotOf(core, e), now, bytes, rate, uses);
    uint32_t members = event.meeting ? record.meetings()[event.meeting] : 1u << core.id;
    for (CoreState &other : cores)
      if (members >> other.id & 1)
        other.engines[e].alone = now - engine.start + bytes / rate;
  }

  void endInstruction(CoreState &core, unsigned e) {
    accrue(core);
    EngineState &engine = core.engines[e];
    double excess = now - engine.start - engine.alone;
    const TraceEvent &event = *engine.current.event;
    LayerTime &layer = result.layers[engine.current.layer];
    if (engine.alone > 0 && excess > 1e-6)
      for (EngineTime *account : {&result.cores[core.id][e], &layer.engines[e]}) {
        account->busy -= excess;
        account->stall[StallBandwidth] += excess;
      }
    engine.alone = 0;
    engine.running = engine.flowing = false;
    result.utilisation.add(e, engine.start, now);
    note(layer, engine.start);
    addSlice({Slice::Instruction, uint8_t(core.id), uint8_t(e), event.instruction, engine.current.layer,
              event.pc, event.meeting, engine.start, now});
    for (unsigned other = MmeEngine; other < engineCount; other++)
      startHead(core, other);
    bool wake = core.front == Front::Conflict || core.front == Front::Drain;
    if (core.front == Front::Result && core.waitsFor == e && engine.current.order == core.cursor &&
        !engine.running) {
      leave(core, 0);
    } else if (wake) {
      due[slotOf(core, ScalarEngine)] = now;
    }
    updateLayer(core);
  }

  void note(LayerTime &layer, double start) {
    layer.begin = std::min(layer.begin, start);
    layer.end = std::max(layer.end, now);
  }

  void count(const CoreState &core, const TraceEvent &event, const target::Instruction &insn,
             uint32_t layerIndex) {
    LayerTime &layer = result.layers[layerIndex];
    layer.instructions++;
    InstructionWork work = instructionWork(costs, event, insn);
    layer.macs += work.macs;
    layer.paddedMatrixCycles += work.paddedMatrixCycles;
    layer.vectorCycles += work.vectorCycles;
    // A pld reads LLB once for all; the first core of its map counts it.
    bool first = event.meeting == 0 || !(record.meetings()[event.meeting] & ((1u << core.id) - 1));
    layer.bytes.l1 += work.l1Bytes;
    layer.bytes.im += work.imBytes;
    layer.bytes.mesh += work.meshBytes;
    layer.bytes.llb += first ? work.llbBytes : 0;
    for (uint8_t i = 0; i < event.regionCount; i++)
      memory.touch(core.id, event.regions[i]);
  }

  // System DMA.

  const Transfer &transferOf(uint32_t channel) const {
    return record.transfers(channel)[channelState[channel].number - 1];
  }

  void startChannel(uint32_t channel, size_t number, uint32_t layer) {
    ChannelState &state = channelState[channel];
    state.busy = true;
    state.number = number;
    state.piece = 0;
    state.flowing = false;
    state.start = now;
    state.layer = layer;
    const Transfer &transfer = transferOf(channel);
    for (const TransferPiece &piece : transfer.pieces) {
      auto bytes = static_cast<uint32_t>(piece.bytes());
      if (!piece.fromDdr)
        memory.touch(transfer.core, {piece.source, piece.rows, piece.rowBytes, piece.sourceStride, false, 0});
      if (!piece.toDdr)
        memory.touch(transfer.core, {piece.destination, 1, bytes, bytes, true, 0});
    }
    due[slotOfChannel(channel)] = now + costs.dmaStart;
  }

  void advanceChannel(uint32_t channel) {
    ChannelState &state = channelState[channel];
    const Transfer &transfer = transferOf(channel);
    size_t slot = slotOfChannel(channel);
    if (state.flowing) {
      flows.finish(slot);
      state.flowing = false;
      if (++state.piece < transfer.pieces.size()) {
        due[slot] = now + costs.dmaDescriptor;
        return;
      }
    }
    if (state.piece < transfer.pieces.size()) {
      const TransferPiece &piece = transfer.pieces[state.piece];
      state.flowing = true;
      TransferCost cost = transferCost(costs, piece);
      uses.assign({{ddr, cost.ddrPerByte}, {llb, cost.llbPerByte}});
      flows.start(slot, now, double(piece.bytes()), costs.dmaBytesPerCycle, uses);
      MemoryBytes &bytes = result.layers[state.layer].bytes;
      bytes.ddr += double(piece.bytes()) * (piece.fromDdr + piece.toDdr);
      bytes.llb += double(piece.bytes()) * (!piece.fromDdr + !piece.toDdr);
      return;
    }
    state.busy = false;
    result.dmaBusy[channel] += now - state.start;
    result.utilisation.add(engineCount, state.start, now);
    note(result.layers[state.layer], state.start);
    addSlice({Slice::Transfer, uint8_t(transfer.core), uint8_t(channel), 0, state.layer, transfer.pc,
              TransferId::make(channel, state.number), state.start, now});
    for (CoreState &core : cores)
      if (core.front == Front::Dma)
        due[slotOf(core, ScalarEngine)] = now;
  }

  void finish() {
    result.cycles = now;
    result.complete = ended == cores.size();
    MemoryUse::Peak peak = memory.peak();
    result.l1Used = peak.l1;
    result.imUsed = peak.im;
    result.llbUsed = peak.llb;
    for (CoreState &core : cores)
      accrue(core);
    double share = 1.0 / double(std::max<size_t>(1, cores.size()));
    for (LayerTime &layer : result.layers) {
      layer.cycles *= share;
      result.bytes.add(layer.bytes);
      result.instructions += layer.instructions;
      if (layer.begin == never)
        layer.begin = 0;
    }
  }

  const TraceRecorder &record;
  const TimingOptions &options;
  const target::Costs &costs;
  std::vector<CoreState> cores;
  std::array<ChannelState, channels> channelState;
  FlowSet flows;
  /// When each engine, front end and channel acts next.
  std::vector<double> due;
  std::vector<uint32_t> arrived;
  std::vector<uint8_t> engineOf;
  std::vector<FlowUse> uses;
  TimingResult result;
  MemoryUse memory;
  double now = 0;
  size_t ended = 0;
  int waitersForDma = 0;
};

} // namespace

TimingResult simulateTiming(const TraceRecorder &record, const TimingOptions &options) {
  return Model(record, options).run();
}

} // namespace tensorturbo::sim
