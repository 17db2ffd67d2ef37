#include "simulator/timing/Recorder.h"
#include "simulator/Hart.h"
#include <algorithm>

namespace tensorturbo::sim {

using Kind = TraceEvent::Kind;

size_t TraceRecorder::index(const Hart &hart) {
  return hart.id;
}

void TraceRecorder::begin(size_t cores) {
  tracks.assign(cores, {});
  meetingList.assign(1, 0);
  for (auto &list : transferList)
    list.clear();
}

void TraceRecorder::end(const std::vector<Hart> &harts) {
  for (const Hart &hart : harts)
    add(hart, Kind::End);
}

TraceEvent &TraceRecorder::add(const Hart &hart, Kind kind) {
  Track &track = tracks[index(hart)];
  uint64_t retired = track.polling ? track.pollRetired : hart.retired;
  uint64_t csrWrites = track.polling ? track.pollCsrWrites : hart.counters.csrWrites;
  track.polling = false;
  TraceEvent &event = track.events.emplace_back();
  event.kind = kind;
  event.pc = hart.pc;
  event.csrWrites = uint32_t(csrWrites - track.csrWrites);
  // The entry's own instruction is not part of the scalar work. Two entries may stem from one instruction.
  uint64_t between = retired > track.retired ? retired - track.retired : 0;
  event.scalarInstructions = uint32_t(between - std::min<uint64_t>(between, event.csrWrites));
  event.deviceLoads = track.deviceLoads;
  track.retired = hart.retired + 1;
  track.csrWrites = hart.counters.csrWrites;
  track.deviceLoads = 0;
  track.looked = 0;
  return event;
}

void TraceRecorder::instruction(const Hart &hart, uint32_t word, const target::Instruction &insn,
                                const Regions &regions) {
  TraceEvent &event = add(hart, Kind::Instruction);
  event.instruction = insn.index;
  event.toRegister =
      insn.rd == target::OperandKind::Reduction && !target::dmField(word) && !target::dmcField(word);
  if (insn.engine == target::Engine::Mme) {
    MatrixWork work = matrixWork(hart, word, insn);
    event.m = uint32_t(work.m), event.n = uint32_t(work.n), event.k = uint32_t(work.k);
  } else if (insn.engine == target::Engine::Vme) {
    event.m = hart.csr[0x400] & 0xFFFF, event.n = hart.csr[0x400] >> 16;
  }
  for (const Region &region : regions)
    event.regions[event.regionCount++] = region;
}

void TraceRecorder::barrier(const Hart &hart, const target::Instruction &insn) {
  add(hart, Kind::Barrier).instruction = insn.index;
}

void TraceRecorder::meeting(uint32_t cores) {
  for (size_t i = 0; i < tracks.size(); i++)
    if (cores >> i & 1 && !tracks[i].events.empty())
      tracks[i].events.back().meeting = uint32_t(meetingList.size());
  meetingList.push_back(cores);
}

void TraceRecorder::dmaStart(const Hart &hart, uint32_t channel, Transfer transfer) {
  transfer.core = hart.id;
  transfer.pc = hart.pc;
  transferList[channel].push_back(std::move(transfer));
  add(hart, Kind::DmaStart).meeting = TransferId::make(channel, transferList[channel].size());
}

void TraceRecorder::dmaStillBusy(const Hart &hart) {
  Track &track = tracks[index(hart)];
  if (track.polling)
    return;
  track.polling = true;
  track.pollRetired = hart.retired;
  track.pollCsrWrites = hart.counters.csrWrites;
}

void TraceRecorder::dmaEnded(const Hart &hart, uint32_t channelMask) {
  Track &track = tracks[index(hart)];
  std::array<uint32_t, channels> before = track.seen;
  size_t added = 0;
  for (uint32_t i = 0; i < channels; i++) {
    uint32_t newest = TransferId::make(i, transferList[i].size());
    if (!(channelMask >> i & 1) || transferList[i].empty() || track.seen[i] == newest)
      continue;
    track.seen[i] = newest;
    add(hart, Kind::DmaWait).meeting = newest;
    added++;
  }
  if (!added)
    return;
  track.looked = added;
  track.seenBefore = before;
}

void TraceRecorder::dmaCleared(const Hart &hart, uint32_t controllerMask, uint32_t channelMask) {
  Track &track = tracks[index(hart)];
  for (size_t i = 0; i < track.looked; i++) {
    TraceEvent &event = track.events[track.events.size() - 1 - i];
    uint32_t channel = TransferId::channel(event.meeting);
    if (!event.meeting || !(controllerMask >> channel & 1) || channelMask >> channel & 1)
      continue;
    track.seen[channel] = track.seenBefore[channel];
    event.meeting = 0;
  }
  track.looked = 0;
}

} // namespace tensorturbo::sim
