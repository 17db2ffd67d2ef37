// The cores of a machine with the devices that they share, and the order in which everything happens.
#pragma once
#include "simulator/Barrier.h"
#include "simulator/Decode.h"
#include "simulator/Hart.h"
#include "simulator/Machine.h"
#include "simulator/SystemDma.h"
#include "simulator/WorkerPool.h"
#include "simulator/hazard/HazardDetector.h"
#include "simulator/hazard/MemoryPlan.h"
#include <map>
#include <mutex>
#include <random>

namespace tensorturbo::sim {

class Cluster final : public DeviceBus {
public:
  /// `memory` must have been reserved for options.cores cores.
  Cluster(const MachineOptions &options, Memory &memory);

  std::vector<Hart> harts;

  /// What Machine::watchBarriers and Machine::setBreakpoints say.
  std::vector<uint32_t> watched, breakpoints;
  std::function<std::string(size_t)> met;
  void setMemoryPlan(std::vector<PlannedCode> code, std::vector<PlannedOperand> operands);
  std::string finishCode(uint32_t address);
  bool freeBehindTransfer(const MemorySpan &span, size_t bytes);
  /// Does the transfers that somebody asked about or that are old, or all. False if one failed.
  bool runTransfers(bool force, bool &progress, RunResult &result);
  /// Whether on-chip memory was declared as freed during this run.
  bool freedOnChip = false;
  /// Remembers a freed range for messages.
  void noteFreed(uint32_t address, size_t bytes);
  void forgetFreed() { freed.clear(); }

  /// Power-on state of cores and devices; memories stay.
  void reset();
  /// Runs all cores from their pc until the word at `tohost` is non-zero.
  RunResult run(const uint8_t *tohost);
  /// What happened between two rounds. Failed: `result` says why.
  enum class Served { Nothing, Progress, Failed };
  /// Barriers and pld rendezvous, then DMA: transfers that somebody asked about, or all if `force`.
  Served service(bool force, RunResult &result);
  /// "running" or what the core waits for.
  std::string describe(const Hart &hart) const;

  // Devices, seen from a core. Cores may run on several host threads.
  Step loadDevice(Hart &hart, uint32_t address, uint32_t &value) override;
  Step storeDevice(Hart &hart, uint32_t address, uint32_t value) override;
  MemoryRegion *remoteL1(uint32_t core) override {
    return core < memory.l1.size() ? &memory.l1[core] : nullptr;
  }
  std::string whyUnwritten(const MemoryRegion &region, uint32_t offset) const override;

private:
  /// How a core's turn ended.
  struct Turn {
    Hart *hart = nullptr;
    uint64_t length = 0;
    Step end = Step::Next;
    uint64_t retired = 0;
    std::optional<TrapRecord> trap;
  };

  void recordLoad(const Hart &hart, size_t controller, uint32_t offset, uint32_t value) const;
  void recordStore(const Hart &hart, size_t controller, uint32_t offset, uint32_t value) const;
  bool checkHazards(RunResult &result);
  bool tellMeeting(uint32_t pc, RunResult &result) const;
  Step runTurn(Hart &hart, uint64_t limit) const;
  void finishChecks(RunResult &result);
  void logStart(Hart &hart, uint32_t controller, uint32_t channel);
  std::string planViolation(const Hart &hart, uint32_t controller, uint32_t channel);
  void logCompletion(Hart &hart, uint32_t controller, uint32_t offset, uint32_t value);
  /// Whether the program, behind a load of `value` at the hart's pc, would go another way with `bit` flipped.
  bool actsOn(const Hart &hart, uint32_t value, uint32_t bit) const;
  bool meet(uint32_t cores, RunResult &result);
  std::string describeAccess(const MemoryAccess &access) const;
  uint32_t wordAt(uint32_t pc) const;
  void takeTurn(Turn &turn) const;
  bool runRound(RunResult &result, bool &ran);
  void shuffle(std::vector<Turn> &turns);
  bool endTurn(Turn &turn, RunResult &result);
  bool completeWait(Hart &hart, RunResult &result);
  bool countBarrierTicks(RunResult &result, bool &expired);
  bool onlySpins(Hart &hart) const;
  bool nothingCanChange();
  void flushCode();
  TrapRecord recordTrap(const Hart &hart) const;
  void reportAll(RunResult &result, RunStatus status, const std::string &message) const;
  uint64_t totalRetired() const;
  uint32_t wordAt(const Hart &hart) const { return wordAt(hart.pc); }
  std::string place(const Hart &hart) const;

  MachineOptions options;
  Memory &memory;
  /// For random schedules.
  std::mt19937_64 random;
  /// The cores in the order of their last turns.
  std::vector<uint32_t> turnOrder;
  CodeCache code;
  WorkerPool pool;
  BarrierUnit barrier;
  /// Cores that wait at a pld.
  uint32_t rendezvous = 0;
  std::vector<SystemDma> dma;
  std::optional<TrapRecord> lastTrap;
  /// Freed ranges of memory: end by begin.
  std::map<uint32_t, uint64_t> freed;
  /// Null without checks.
  std::unique_ptr<HazardDetector> hazards;
  std::unique_ptr<MemoryPlan> plan;
  /// Protects barrier and dma while cores run.
  mutable std::mutex devices;
};

} // namespace tensorturbo::sim
