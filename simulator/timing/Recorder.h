// Records what the timing model needs to know of a run: for every core, in program order, its tensor
// instructions with their operands, the scalar work between them, and where it met other cores or the system
// DMA. Functional order and host threads leave no mark in the record.
#pragma once
#include "Target/Target.h"
#include "simulator/insn/Insn.h"
#include <array>
#include <cstdint>
#include <vector>

namespace tensorturbo::sim {

struct Hart;

/// One entry of a core's record.
struct TraceEvent {
  enum class Kind : uint8_t {
    Instruction, ///< goes to the queue of an engine; pld has a meeting
    Barrier,     ///< sync; has a meeting
    DmaStart,    ///< starts the transfer `meeting` (a TransferId)
    DmaWait,     ///< has seen the end of the transfer `meeting`; 0: of none
    End          ///< nothing more happens on this core
  };
  Kind kind = Kind::End;
  /// The result is an f register: the scalar core waits for it.
  bool toRegister = false;
  uint8_t regionCount = 0;
  uint16_t instruction = 0; ///< row in the instruction table
  uint32_t pc = 0;
  // What the scalar core did since the entry before.
  uint32_t scalarInstructions = 0; ///< without CSR writes
  uint32_t csrWrites = 0;
  uint32_t deviceLoads = 0;
  /// Number of the meeting (index into meetings(), from 1), or the transfer.
  uint32_t meeting = 0;
  /// MME: a product of m x k by k x n (metr: m x n). VME: m rows of n columns.
  uint32_t m = 0, n = 0, k = 0;
  std::array<Region, 3> regions;
};

/// One descriptor of a system-DMA transfer. A side is in DDR or in LLB.
struct TransferPiece {
  bool fromDdr = false, toDdr = false;
  uint32_t rows = 0, rowBytes = 0;
  /// Bytes between rows of the source; the destination is dense.
  uint32_t sourceStride = 0;
  uint32_t source = 0, destination = 0;

  uint64_t bytes() const { return uint64_t(rows) * rowBytes; }
};

struct Transfer {
  uint32_t core = 0, pc = 0;
  std::vector<TransferPiece> pieces;
};

/// Channel (0 to 3: two of each controller) and number of a transfer on it, from 1.
struct TransferId {
  static uint32_t make(uint32_t channel, size_t number) { return channel << 28 | uint32_t(number); }
  static uint32_t channel(uint32_t id) { return id >> 28; }
  static size_t number(uint32_t id) { return id & 0xFFFFFFF; }
};

class TraceRecorder {
public:
  static constexpr uint32_t channels = 4;

  // The record.

  size_t cores() const { return tracks.size(); }
  const std::vector<TraceEvent> &events(size_t core) const { return tracks[core].events; }
  /// The cores that met, as a mask. Entry 0 stands for no meeting.
  const std::vector<uint32_t> &meetings() const { return meetingList; }
  const std::vector<Transfer> &transfers(uint32_t channel) const { return transferList[channel]; }

  // Called by the simulator. instruction, barrier and the polls: by the host thread of that core.

  void begin(size_t cores);
  void end(const std::vector<Hart> &harts);
  void instruction(const Hart &hart, uint32_t word, const target::Instruction &insn, const Regions &regions);
  void barrier(const Hart &hart, const target::Instruction &insn);
  /// The cores in the mask met; the last entry of each is the place.
  void meeting(uint32_t cores);
  /// Under the lock of the devices.
  void dmaStart(const Hart &hart, uint32_t channel, Transfer transfer);
  void deviceLoad(const Hart &hart) { tracks[index(hart)].deviceLoads++; }
  /// A status register was read while a transfer that it shows was under way.
  void dmaStillBusy(const Hart &hart);
  /// A status register showed the end of the newest transfer of these channels.
  void dmaEnded(const Hart &hart, uint32_t channelMask);
  /// The core clears the completion bits of `channelMask` of the controller with channels `controllerMask`:
  /// only these it had waited for, whatever else its last look had shown.
  void dmaCleared(const Hart &hart, uint32_t controllerMask, uint32_t channelMask);

private:
  struct Track {
    std::vector<TraceEvent> events;
    uint64_t retired = 0, csrWrites = 0;
    uint32_t deviceLoads = 0;
    /// Where the present polling began.
    bool polling = false;
    uint64_t pollRetired = 0, pollCsrWrites = 0;
    /// The newest transfer of each channel whose end the core has seen, and what it had seen before its last
    /// look, which led to the last `looked` entries.
    std::array<uint32_t, channels> seen{}, seenBefore{};
    size_t looked = 0;
  };
  static size_t index(const Hart &hart);
  TraceEvent &add(const Hart &hart, TraceEvent::Kind kind);

  std::vector<Track> tracks;
  std::vector<uint32_t> meetingList;
  std::array<std::vector<Transfer>, channels> transferList;
};

} // namespace tensorturbo::sim
