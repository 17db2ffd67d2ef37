// The functional model of one cluster: 1 to 8 cores, their private memories, LLB, DDR, barrier unit, system
// DMA.
//
// Scheduling is deterministic: cores run in rounds, each until it waits for something or its quantum is used
// up; barriers, pld rendezvous and DMA transfers are served between the rounds, always in the same order.
#pragma once
#include "simulator/Core.h"
#include "simulator/Counters.h"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tensorturbo::sim {

class TraceRecorder;

struct MachineOptions {
  /// Number of cores, 1..8; core numbers are 0..cores-1.
  int cores = 8;
  /// Stop the run at reads of never-written memory, at destinations outside the memories, at accesses of two
  /// cores (or a core and a DMA transfer) to the same bytes that nothing orders, at overlapping barrier
  /// groups and at an end of the program before the end of its transfers.
  bool checks = true;
  /// Fill L1, IM and LLB with this half at reset. The memory still counts as never written.
  std::optional<uint16_t> fill;
  /// Total retired instructions of all cores after which a run stops with RunStatus::Limit.
  uint64_t maxInstructions = 200'000'000'000ull;
  /// Host threads for the cores. Results do not depend on it.
  int threads = 1;
  /// Retired instructions that a member of a barrier group may run while another one waits, before it takes
  /// trap 0x101. Not set: the chip's reset value, and a deadlock is reported without waiting for the
  /// time-out.
  std::optional<uint64_t> syncTimeout;
  /// Cores take turns of random length in a random order, and transfers are done at random times: for tests.
  /// A correct program gives the same results for every seed. Uses one host thread.
  std::optional<uint64_t> scheduleSeed;
  /// False: tensor instructions and transfers move and compute no data, and `checks` count as off. Scalar
  /// code, CSRs, addresses, barriers and the devices work as ever, so the run can still be recorded.
  bool arithmetic = true;
  /// Records what the timing model needs; must outlive the machine. Null: nothing is recorded.
  TraceRecorder *trace = nullptr;
};

enum class RunStatus {
  Exited,   ///< `tohost` became non-zero
  Trap,     ///< a trap without handler (mtvec is 0)
  Fault,    ///< a check failed, or the chip's behaviour is undefined there
  Deadlock, ///< no core can go on
  Limit,    ///< maxInstructions reached
  Stopped   ///< a breakpoint
};

/// A trap that a core took: where, and what.
struct TrapRecord {
  uint32_t core = 0, pc = 0, cause = 0, value = 0;
  /// "trap 0x35 (operand outside L1 and IM), mtval 0xF8000000, at 0x01400123 on core 0: veadd.mm (a0), (a1),
  /// (a2)".
  std::string text;
};

/// What a core waits for, or "running".
struct CoreStatus {
  uint32_t pc = 0;
  std::string text;
};

struct RunResult {
  RunStatus status = RunStatus::Exited;
  /// The 64-bit word at the tohost address (status Exited); 1 is success, 1337 an unexpected trap.
  uint64_t tohost = 0;
  /// Core and pc of the instruction that ended the run (statuses Trap, Fault).
  uint32_t core = 0;
  uint32_t pc = 0;
  /// Every instruction that the message names, by core and pc: both sides of a race, all cores of a deadlock.
  struct Place {
    uint32_t core = 0, pc = 0;
  };
  std::vector<Place> places;
  /// What happened, with instruction, addresses and core; empty after a good exit. Several lines for a
  /// deadlock.
  std::string message;
  /// The last trap of the run, also if the program handled it.
  std::optional<TrapRecord> lastTrap;
  bool good() const { return status == RunStatus::Exited && tohost == 1; }
};

/// Code, and the buffers that its tensor instructions and transfers may touch, in the view of a core.
struct PlannedCode {
  uint32_t address = 0, size = 0;
  struct Buffer {
    uint32_t address = 0, bytes = 0;
  };
  std::vector<Buffer> buffers;
};

/// What an instruction's operand must be: on core `core` (0xFFFF: on all) the register of field `field` (0
/// rd, 1 rs1, 2 rs2; 3: the value that a store to a device stores) is one of `low`, low + step, ... `high`.
/// Field 4: a run of the code executes the instructions of number `step`, all together, between `low` and
/// `high` times.
struct PlannedOperand {
  uint32_t pc = 0;
  uint16_t field = 0, core = 0xFFFF;
  uint32_t low = 0, high = 0, step = 1;
};

/// What a single instruction or scalar access did (test access).
struct StepResult {
  enum Kind {
    Done,
    Trapped, ///< `trap` is set; the state is unchanged, nothing is vectored
    Waiting, ///< at a barrier or pld: call service() until waiting(core) is false
    Failed   ///< a check failed: `message`
  } kind = Done;
  Trap trap{};
  std::string message;
};

class Machine {
public:
  explicit Machine(const MachineOptions &options);
  ~Machine();
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;

  /// Why the machine is unusable (the address space could not be reserved), or empty. A run then ends with
  /// Fault, ddr() returns null.
  const std::string &error() const;
  int cores() const;

  /// Back to power-on: registers, devices, counters; L1, IM and LLB become never-written (and filled). DDR
  /// keeps its contents and its written-ness. Call it between two runs.
  void reset();
  /// Makes DDR zero and never-written again.
  void clearDdr();

  /// Host pointer to DDR, valid for the machine's life, or null if [address, address + bytes) leaves the DDR
  /// [0, 0xC0000000). Whoever writes through it calls markWritten.
  uint8_t *ddr(uint32_t address, size_t bytes);
  /// Declares memory (of core 0's view) as written, for data that the host stored through ddr().
  void markWritten(uint32_t address, size_t bytes);
  /// Declares memory as never written: a freed buffer. Its contents stay. If a transfer still reads it, it is
  /// freed behind that.
  void markUnwritten(uint32_t address, size_t bytes);
  bool isWritten(uint32_t core, uint32_t address, size_t bytes) const;

  /// Copies memory in the view of a core (DDR, its L1 and IM, LLB in both windows). False if the range is not
  /// memory. Writing counts as written.
  bool writeMemory(uint32_t core, uint32_t address, const void *bytes, size_t count);
  bool readMemory(uint32_t core, uint32_t address, void *bytes, size_t count) const;

  /// Everything in L1 and IM of all cores counts as never written: what a finished kernel left. The contents
  /// stay.
  void forgetPrivate();

  /// From now on, firstNotFresh() tells the first byte of a range in LLB that was not written since the last
  /// call. Nothing if all were, if the range is not in LLB or if beginFresh() was never called.
  void beginFresh();
  std::optional<uint32_t> firstNotFresh(uint32_t address, size_t bytes) const;

  /// Calls met(i) each time that all cores have met at the barrier instruction at barriers[i], between two
  /// turns: memory may be looked at and marked. If it returns a text, the run ends with it as a fault.
  void watchBarriers(std::vector<uint32_t> barriers, std::function<std::string(size_t)> met);
  /// With checks, a tensor instruction or a transfer of this code that touches memory other than inside one
  /// of its buffers ends the run; an operand that is not as planned; a transfer of this code whose descriptor
  /// was not written anew since the last transfer that used it.
  void setMemoryPlan(std::vector<PlannedCode> code, std::vector<PlannedOperand> operands = {});
  /// All cores have finished a run of the planned code that begins at `address`. Empty, or which instruction
  /// was executed less or more often than planned.
  std::string finishCode(uint32_t address);
  /// A run ends with RunStatus::Stopped when a core is about to execute an instruction at one of these
  /// addresses. Runs with breakpoints are slower.
  void setBreakpoints(std::vector<uint32_t> addresses);

  /// Starts all cores at `entry` with reset registers and runs until the 64-bit word at `tohostAddress` is
  /// non-zero (it is cleared first). Memories are kept; see reset().
  RunResult run(uint32_t entry, uint32_t tohostAddress);

  const CoreCounters &counters(int core) const;
  CoreStatus status(int core) const;

  // Test access: single instructions on cores that do not run a program.

  Core &core(int index);
  /// vtype as vsetvl would set it (an illegal value becomes 0x80000000), vl to `vl`.
  void setVectorType(int core, uint32_t vtype, uint32_t vl = 64);
  /// Executes one 32-bit instruction word on a core that is not waiting; core.pc advances by 4 if it is done.
  StepResult execute(int core, uint32_t word);
  /// One aligned 32-bit scalar access, device registers included.
  StepResult load(int core, uint32_t address, uint32_t &value);
  StepResult store(int core, uint32_t address, uint32_t value);
  /// Serves barriers, rendezvous and DMA once. False with a message if a transfer failed.
  bool service(std::string *message = nullptr);
  bool waiting(int core) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tensorturbo::sim
