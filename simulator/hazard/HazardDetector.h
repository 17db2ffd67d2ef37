// Finds accesses of two actors (cores, DMA channels) to the same bytes, at least one of them a write, that
// nothing orders: by happens-before with vector clocks.
//
// What orders: the own order of an actor; barriers and pld among those released together; the start of a
// transfer after what its core did before; what a core does after it has seen a transfer's completion; a
// store of a word and the loop of another core that waits for that word; atomics.
#pragma once
#include "simulator/hazard/AccessLog.h"
#include <optional>
#include <string>
#include <unordered_map>

namespace tensorturbo::sim {

/// Two accesses that race, the earlier one of the run first.
struct Race {
  MemoryAccess first, second;
  /// Where in the view of `first`'s core: first common byte.
  uint32_t address = 0;
};

class HazardDetector {
public:
  HazardDetector(const Memory &memory, uint32_t cores);
  void reset();
  AccessLog &log(uint32_t core) { return logs[core]; }

  /// Evaluates what the cores did in their turns, in the order of the turns; every core that did anything is
  /// in `order`. `parallel`: the turns ran at the same time, so that a waiting loop may have seen any store
  /// of them.
  void collect(const std::vector<uint32_t> &order, bool parallel);
  /// The cores of the mask have met.
  void join(uint32_t coreMask);
  /// A channel has finished everything that was started on it.
  void dmaDone(uint32_t actor);
  /// Whether core 0 knows that every transfer of this actor is done.
  bool isKnownDone(uint32_t actor) const;
  /// The instruction that started the last transfer of this actor.
  struct Start {
    uint32_t core = 0, pc = 0;
  };
  Start lastStart(uint32_t actor) const { return starts[actor - maxCores]; }
  /// A channel started by a core that does not know that the transfer before is done.
  struct Restart {
    uint32_t channel = 0;
    Start first, second;
  };
  const std::optional<Restart> &restart() const { return earlyRestart; }

  /// Looks for races among what was collected and forgets what can take part in none. The first one of the
  /// run, or nothing.
  std::optional<Race> check();
  /// Whether so much was collected that check() should not wait.
  bool isLong() const { return collected >= limit; }

private:
  using Clock = std::array<uint64_t, actors>;
  struct Store {
    uint8_t actor;
    uint64_t sequence;
    uint32_t epoch;
  };
  uint32_t epochOf(uint32_t actor);
  void changeClock(uint32_t actor, const Clock &other);
  void evaluate(uint32_t core, MemoryAccess &access, bool parallel);
  void acquire(uint32_t core, const MemoryAccess &access, bool parallel);
  bool happensBefore(const MemoryAccess &a, const MemoryAccess &b) const {
    return a.actor == b.actor || a.sequence <= epochs[b.epoch][a.actor];
  }
  bool conflicts(const MemoryAccess &a, const MemoryAccess &b) const;
  void checkMemory(std::vector<MemoryAccess> &list, std::optional<Race> &best) const;
  void forget();

  uint32_t cores;
  std::vector<AccessLog> logs;
  std::array<Clock, actors> clocks{};
  /// What a channel's last completed transfers had done and known.
  std::array<Clock, dmaChannels> done{};
  std::array<uint64_t, dmaChannels> dmaSequence{};
  std::array<Start, dmaChannels> starts{};
  std::optional<Restart> earlyRestart;
  /// Number of the present clock in `epochs`, or none.
  std::array<std::optional<uint32_t>, actors> current{};
  std::vector<Clock> epochs;
  /// Accesses by memory.
  std::array<std::vector<MemoryAccess>, sharedMemories> history;
  /// Actors that occur in each.
  std::array<uint32_t, sharedMemories> present{};
  /// The last scalar store to each word of DDR and LLB, by memory and offset.
  std::unordered_map<uint64_t, Store> stores;
  uint64_t order = 0;
  size_t collected = 0, limit = 0;
};

} // namespace tensorturbo::sim
