#include "simulator/hazard/HazardDetector.h"
#include "simulator/hazard/Overlap.h"
#include <algorithm>

namespace tensorturbo::sim {

namespace {
constexpr size_t usualLimit = 1 << 17;

uint64_t wordKey(const MemoryAccess &access) {
  return uint64_t(access.memory) << 32 | (access.begin & ~3u);
}
} // namespace

HazardDetector::HazardDetector(const Memory &memory, uint32_t cores) : cores(cores) {
  for (uint32_t i = 0; i < cores; i++)
    logs.emplace_back(memory, i, cores == 1);
  reset();
}

void HazardDetector::reset() {
  for (AccessLog &log : logs)
    log.reset();
  clocks = {};
  done = {};
  dmaSequence = {};
  starts = {};
  earlyRestart.reset();
  current = {};
  epochs.clear();
  for (auto &list : history)
    list.clear();
  present = {};
  stores.clear();
  order = 0;
  collected = 0;
  limit = usualLimit;
}

uint32_t HazardDetector::epochOf(uint32_t actor) {
  if (!current[actor]) {
    current[actor] = static_cast<uint32_t>(epochs.size());
    epochs.push_back(clocks[actor]);
  }
  return *current[actor];
}

void HazardDetector::changeClock(uint32_t actor, const Clock &other) {
  for (uint32_t i = 0; i < actors; i++)
    if (clocks[actor][i] < other[i]) {
      clocks[actor][i] = other[i];
      current[actor].reset();
    }
}

void HazardDetector::join(uint32_t coreMask) {
  Clock all{};
  for (uint32_t i = 0; i < cores; i++)
    if (coreMask >> i & 1) {
      for (uint32_t j = 0; j < actors; j++)
        all[j] = std::max(all[j], clocks[i][j]);
      all[i] = logs[i].lastSequence();
    }
  for (uint32_t i = 0; i < cores; i++)
    if (coreMask >> i & 1)
      changeClock(i, all);
}

void HazardDetector::dmaDone(uint32_t actor) {
  uint32_t channel = actor - maxCores;
  done[channel] = clocks[actor];
  done[channel][actor] = dmaSequence[channel];
}

bool HazardDetector::isKnownDone(uint32_t actor) const {
  return clocks[0][actor] >= dmaSequence[actor - maxCores];
}

/// A waiting loop or an atomic sees the last store of the word, and with it all that the storing core did
/// before.
void HazardDetector::acquire(uint32_t core, const MemoryAccess &access, bool parallel) {
  if (auto found = stores.find(wordKey(access)); found != stores.end() && found->second.actor != core) {
    Clock seen = epochs[found->second.epoch];
    seen[found->second.actor] = std::max(seen[found->second.actor], found->second.sequence);
    changeClock(core, seen);
  }
  if (!parallel)
    return;
  for (uint32_t other = core + 1; other < cores; other++)
    for (const MemoryAccess &store : logs[other].entries())
      if ((store.kind == AccessKind::ScalarWrite || store.kind == AccessKind::Atomic) &&
          wordKey(store) == wordKey(access)) {
        Clock seen = clocks[other];
        seen[other] = store.sequence;
        changeClock(core, seen);
      }
}

void HazardDetector::evaluate(uint32_t core, MemoryAccess &access, bool parallel) {
  switch (access.kind) {
  case AccessKind::DmaStart: {
    Clock before = clocks[core];
    before[core] = access.sequence;
    changeClock(access.actor, before);
    uint32_t channel = access.actor - maxCores;
    if (clocks[core][access.actor] < dmaSequence[channel] && !earlyRestart)
      earlyRestart = Restart{channel, starts[channel], {core, access.pc}};
    dmaSequence[channel]++;
    current[access.actor].reset();
    starts[channel] = {core, access.pc};
    return;
  }
  case AccessKind::DmaObserved:
    changeClock(core, done[access.actor - maxCores]);
    return;
  case AccessKind::SpinRead:
  case AccessKind::Atomic:
    acquire(core, access, parallel);
    break;
  default:
    break;
  }
  if (access.actor >= maxCores)
    access.sequence = dmaSequence[access.actor - maxCores];
  access.epoch = epochOf(access.actor);
  access.order = order++;
  if ((access.kind == AccessKind::ScalarWrite || access.kind == AccessKind::Atomic) && access.memory <= Llb)
    stores[wordKey(access)] = {access.actor, access.sequence, access.epoch};
  history[access.memory].push_back(access);
  present[access.memory] |= 1u << access.actor;
  collected++;
}

void HazardDetector::collect(const std::vector<uint32_t> &turns, bool parallel) {
  // A pld that waits acts between the turns; what it does is ordered by the meeting.
  for (bool inTurns : {true, false})
    for (uint32_t i = 0; i < (inTurns ? turns.size() : cores); i++) {
      uint32_t core = inTurns ? turns[i] : i;
      for (MemoryAccess &access : logs[core].entries())
        evaluate(core, access, parallel);
      logs[core].clear();
    }
}

bool HazardDetector::conflicts(const MemoryAccess &a, const MemoryAccess &b) const {
  if (a.actor == b.actor || (!a.writes() && !b.writes()))
    return false;
  auto synchronises = [](AccessKind kind) {
    return kind == AccessKind::SpinRead || kind == AccessKind::Atomic;
  };
  auto isStore = [&](AccessKind kind) { return kind == AccessKind::ScalarWrite || synchronises(kind); };
  if ((synchronises(a.kind) && isStore(b.kind)) || (synchronises(b.kind) && isStore(a.kind)))
    return false;
  return !happensBefore(a, b) && !happensBefore(b, a);
}

/// A sweep over the blocks in the order of their begins: a read meets the open writes, a write all open ones.
void HazardDetector::checkMemory(std::vector<MemoryAccess> &list, std::optional<Race> &best) const {
  std::sort(list.begin(), list.end(), [](const MemoryAccess &a, const MemoryAccess &b) {
    return a.begin != b.begin ? a.begin < b.begin : a.order < b.order;
  });
  std::vector<const MemoryAccess *> reads, writes;
  auto meet = [&](std::vector<const MemoryAccess *> &open, const MemoryAccess &access) {
    size_t kept = 0;
    for (const MemoryAccess *other : open) {
      if (other->end() <= access.begin)
        continue;
      open[kept++] = other;
      if (!conflicts(*other, access))
        continue;
      const MemoryAccess &first = other->order < access.order ? *other : access;
      const MemoryAccess &second = other->order < access.order ? access : *other;
      if (best && std::pair(best->second.order, best->first.order) <= std::pair(second.order, first.order))
        continue;
      if (auto common = firstCommonByte(first, second))
        best = Race{first, second, static_cast<uint32_t>(*common)};
    }
    open.resize(kept);
  };
  for (const MemoryAccess &access : list) {
    meet(writes, access);
    if (access.writes())
      meet(reads, access);
    (access.writes() ? writes : reads).push_back(&access);
  }
}

/// Drops accesses that every core knows of: whatever comes later is ordered after them.
void HazardDetector::forget() {
  Clock known;
  known.fill(UINT64_MAX);
  for (uint32_t i = 0; i < cores; i++)
    for (uint32_t j = 0; j < actors; j++)
      if (i != j)
        known[j] = std::min(known[j], clocks[i][j]);
  collected = 0;
  std::vector<bool> used(epochs.size());
  for (uint32_t m = 0; m < sharedMemories; m++) {
    auto &list = history[m];
    list.erase(std::remove_if(list.begin(), list.end(),
                              [&](const MemoryAccess &a) { return a.sequence <= known[a.actor]; }),
               list.end());
    present[m] = 0;
    for (const MemoryAccess &a : list) {
      present[m] |= 1u << a.actor;
      used[a.epoch] = true;
    }
    collected += list.size();
  }
  for (auto it = stores.begin(); it != stores.end();)
    if (it->second.sequence <= known[it->second.actor]) {
      it = stores.erase(it);
    } else {
      used[it->second.epoch] = true;
      ++it;
    }
  std::vector<uint32_t> moved(epochs.size());
  std::vector<Clock> kept;
  for (size_t i = 0; i < epochs.size(); i++)
    if (used[i]) {
      moved[i] = static_cast<uint32_t>(kept.size());
      kept.push_back(epochs[i]);
    }
  epochs = std::move(kept);
  current = {};
  for (auto &list : history)
    for (MemoryAccess &a : list)
      a.epoch = moved[a.epoch];
  for (auto &[word, store] : stores)
    store.epoch = moved[store.epoch];
  limit = std::max(usualLimit, 2 * collected);
}

std::optional<Race> HazardDetector::check() {
  std::optional<Race> best;
  for (uint32_t m = 0; m < sharedMemories; m++)
    if (present[m] & (present[m] - 1)) // two actors at least
      checkMemory(history[m], best);
  if (best) {
    static constexpr uint32_t bases[] = {0, upperDdrBase, llbBase, dmaBase[0] + 0x1000, dmaBase[1] + 0x1000};
    best->address += best->first.memory < L1OfCore0 ? bases[best->first.memory] : l1Base;
  }
  forget();
  return best;
}

} // namespace tensorturbo::sim
