// The interpreter of one core: machine-mode state around Core, and how decoded instructions are executed.
#pragma once
#include "simulator/Core.h"
#include "simulator/Memory.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace tensorturbo::sim {

struct Hart;
struct Decoded;
struct CodePage;
class CodeCache;
class AccessLog;
class MemoryPlan;
class TraceRecorder;

/// What an instruction handler tells the interpreter loop.
enum class Step : uint8_t {
  Next,  ///< retired; go on at Hart::next
  Yield, ///< retired; the other cores should have a turn first
  Park,  ///< a jump to itself: nothing will ever change here
  Trap,  ///< Hart::trap is set; nothing was changed
  Wait,  ///< waits at a barrier or rendezvous; completed by the machine
  Fail   ///< Hart::failure is set; the run ends
};

using Handler = Step (*)(Hart &, const Decoded &);

/// One decoded instruction. Fields that a form does not have are 0. Compressed instructions are decoded as
/// what they abbreviate, with length 2.
struct Decoded {
  Handler execute;
  /// Sign-extended immediate. For floating-point, CSR, vector and custom instructions the instruction word.
  int32_t immediate;
  uint8_t rd, rs1, rs2;
  uint8_t length;
};

/// What a core reaches outside its own state and the memories.
class DeviceBus {
public:
  virtual ~DeviceBus() = default;
  /// 32-bit device registers. Next, Yield (the value is still to change: let time pass), Fail, or Trap with
  /// the access-fault cause if no device is there.
  virtual Step loadDevice(Hart &hart, uint32_t address, uint32_t &value) = 0;
  virtual Step storeDevice(Hart &hart, uint32_t address, uint32_t value) = 0;
  /// Another core's private L1 for icmov; null if that core does not exist.
  virtual MemoryRegion *remoteL1(uint32_t core) = 0;
  /// Why a byte counts as never written: "which was never written", or by which transfer it is about to be.
  virtual std::string whyUnwritten(const MemoryRegion &region, uint32_t offset) const = 0;
};

enum class WaitKind : uint8_t { None, Barrier, Rendezvous, Parked };

/// Counters with the custom instructions by their row in the instruction table.
struct RawCounters {
  std::array<uint64_t, 160> executed{};
  uint64_t trapped = 0, csrWrites = 0, csrWritesSameValue = 0;
  uint64_t mmeCycles = 0, vmeCycles = 0, mteBytes = 0;
};

struct Hart : Core {
  // Machine-mode CSRs. mstatus keeps MIE, MPIE and the two unit states; MPP is always machine mode.
  uint32_t mstatus = 0, mtvec = 0, mepc = 0, mcause = 0, mtval = 0, mscratch = 0, mie = 0, mcounteren = 0;
  uint32_t vstart = 0, vxsat = 0, vxrm = 0;
  /// Retired instructions; also the clock of the cycle counters.
  uint64_t retired = 0;
  uint64_t retiredOffset = 0, cycleOffset = 0;
  /// Instructions that wrote memory or a device.
  uint64_t stores = 0;

  /// Address of the instruction after the running one.
  uint32_t next = 0;
  Trap trap{};
  std::string failure;
  WaitKind wait = WaitKind::None;
  /// The instruction that waits.
  uint32_t waitWord = 0;
  /// Instructions retired while another member of a barrier group waits.
  uint64_t barrierTicks = 0;
  bool fpEnabled = false;
  /// The last load-reserved: its address and what it read.
  struct Reservation {
    uint32_t address, value;
  };
  std::optional<Reservation> reservation;

  /// The value that the program last wrote to each custom CSR.
  std::array<std::optional<uint32_t>, 0x30> lastCsrWrite{};
  RawCounters counters;
  bool checks = true;
  /// Tensor instructions and transfers change memory; else only their bookkeeping happens.
  bool arithmetic = true;
  /// Where the run is recorded, or null.
  TraceRecorder *trace = nullptr;
  bool flushCode = false;

  Memory *memory = nullptr;
  /// What the core does to memory that others can reach; null without checks.
  AccessLog *accesses = nullptr;
  /// What the core's code may touch; null if nothing is planned.
  const MemoryPlan *plan = nullptr;
  /// How often the instructions that the plan counts were executed since their code was last finished.
  std::vector<uint32_t> executions;
  DeviceBus *bus = nullptr;
  CodeCache *code = nullptr;
  const CodePage *page = nullptr;
  uint32_t pageNumber = ~0u;

  /// Registers of a core after reset; memories and connections stay.
  void reset();
  /// Runs until `retired` reaches `limit` or an instruction does not simply retire.
  Step run(uint64_t limit);
  /// Decodes and executes one word without the code cache; pc advances if it retires.
  Step executeWord(uint32_t word);
  /// Lets go of the code cache's pages.
  void forgetCode() {
    page = nullptr;
    pageNumber = ~0u;
  }
  /// Enters the trap handler at mtvec with `trap` taken at pc.
  void enterTrap();
  /// Sets `trap` and returns Step::Trap.
  Step raise(uint32_t cause, uint32_t value) {
    trap = {cause, value};
    return Step::Trap;
  }
  Step raiseIllegal() { return raise(2, 0); }
  Step fail(std::string message) {
    failure = std::move(message);
    return Step::Fail;
  }
  /// SEW is not 16 or LMUL is not 1.
  bool vectorTypeIllegal() const { return (vtype & 0x1F) != 4; }
  /// As vsetvl does it: `requested` elements, an illegal type is recorded as such.
  void setVectorType(uint32_t type, uint32_t requested);
};

// Single precision values live NaN-boxed in the double registers.
inline constexpr uint32_t canonicalNan32 = 0x7FC00000;
inline constexpr uint64_t canonicalNan64 = 0x7FF8000000000000ull;
inline uint32_t unbox(uint64_t value) {
  return value >> 32 == 0xFFFFFFFFu ? static_cast<uint32_t>(value) : canonicalNan32;
}
inline uint64_t box(uint32_t value) {
  return 0xFFFFFFFF00000000ull | value;
}

} // namespace tensorturbo::sim
