// What one core did to memory that others can reach, in its own order, until the end of its turn. A core
// writes only its own log, so that cores may run on several host threads.
#pragma once
#include "simulator/Memory.h"
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tensorturbo::sim {

inline constexpr uint32_t maxCores = 8, dmaControllers = 2, dmaChannels = 2 * dmaControllers;
/// Everything that acts on its own: the cores, then the DMA channels.
inline constexpr uint32_t actors = maxCores + dmaChannels;
/// Number of a DMA channel among the actors.
inline constexpr uint32_t dmaActor(uint32_t controller, uint32_t channel) {
  return maxCores + 2 * controller + channel;
}

/// The memories that two actors can reach. L1 of core i is L1OfCore0 + i; IM is reached by its core alone.
enum SharedMemory : uint8_t {
  Ddr,
  UpperDdr,
  Llb,
  Descriptors0,
  Descriptors1,
  L1OfCore0,
  sharedMemories = 13
};

enum class AccessKind : uint8_t {
  Read,
  Write,
  ScalarRead,  ///< a load of the scalar core
  ScalarWrite, ///< a store of the scalar core
  SpinRead,    ///< a load in a loop that waits for the word to change: takes part in synchronisation
  Atomic,      ///< read-modify-write of the scalar core: synchronises both ways
  // No accesses, but events in the order of the core.
  DmaStart,   ///< the core starts transfers of `actor`; the accesses of that actor that follow are theirs
  DmaObserved ///< the core has seen that `actor` is done with what it completed so far
};
inline bool isWriteKind(AccessKind kind) {
  return kind == AccessKind::Write || kind == AccessKind::ScalarWrite || kind == AccessKind::Atomic;
}

/// `rows` runs of `rowBytes` bytes, `stride` apart, from offset `begin` of a memory.
struct MemoryAccess {
  /// Position among everything its actor did.
  uint64_t sequence = 0;
  /// Position among all accesses, and the clock that the actor had: set when the log is evaluated.
  uint64_t order = 0;
  uint32_t epoch = 0;
  uint32_t begin = 0, rows = 0, rowBytes = 0, stride = 0;
  /// The instruction; for a DMA transfer, the one that started it.
  uint32_t pc = 0;
  AccessKind kind = AccessKind::Read;
  SharedMemory memory = Ddr;
  uint8_t actor = 0;
  /// For a DMA transfer: the core that started it.
  uint8_t starter = 0;

  bool writes() const { return isWriteKind(kind); }
  uint64_t end() const { return begin + uint64_t(rows - 1) * stride + rowBytes; }
  /// Last byte's successor of row `row`.
  uint64_t rowBegin(uint64_t row) const { return begin + row * stride; }
};

class AccessLog {
public:
  /// `alone`: there is no other core, so that nobody else reaches this core's L1.
  AccessLog(const Memory &memory, uint32_t core, bool alone);

  /// A scalar load or store of 1 to 8 bytes.
  void scalar(SharedMemory where, uint32_t offset, uint32_t bytes, bool write, uint32_t pc) {
    uint64_t key = uint64_t(generation) << 48 | uint64_t(where) << 40 | uint64_t(bytes) << 36 |
                   uint64_t(write) << 35 | uint64_t(1) << 34 | offset;
    Recent &slot = recent[(offset >> 2 ^ uint32_t(where) << 5 ^ uint32_t(write) << 8) % recent.size()];
    sequence++;
    if (slot.key == key) { // nothing but its place in the core's order changes
      list[slot.index].sequence = sequence;
      return;
    }
    slot.key = key;
    slot.index = static_cast<uint32_t>(list.size());
    addScalar(where, offset, bytes, write, pc);
  }
  /// The same by address in the core's view; nothing for IM and devices.
  void scalarAt(uint32_t address, uint32_t bytes, bool write, uint32_t pc);
  void atomic(uint32_t address, uint32_t pc);
  /// A block in the core's own L1 or in LLB, by address. Others are ignored.
  void block(uint32_t address, uint32_t rows, uint32_t rowBytes, uint32_t stride, bool write, uint32_t pc);
  /// A dense block in the L1 of another core, by offset.
  void remoteWrite(uint32_t core, uint32_t offset, uint32_t bytes, uint32_t pc);
  void dmaStart(uint32_t actor, uint32_t pc);
  void dmaAccess(uint32_t actor, SharedMemory where, uint32_t offset, uint32_t rows, uint32_t rowBytes,
                 uint32_t stride, bool write, uint32_t pc);
  void dmaObserved(uint32_t actor);

  std::vector<MemoryAccess> &entries() { return list; }
  /// Empties the log. The sequence goes on.
  void clear() {
    list.clear();
    forgetRecent();
  }
  /// As new.
  void reset() {
    clear();
    sequence = 0;
    spinLoads.clear();
  }
  uint64_t lastSequence() const { return sequence; }

private:
  /// The last scalar accesses, so that repeated ones cost no memory.
  struct Recent {
    uint64_t key = 0;
    uint32_t index = 0;
  };
  void addScalar(SharedMemory where, uint32_t offset, uint32_t bytes, bool write, uint32_t pc);
  MemoryAccess &add(SharedMemory where, uint32_t offset, uint32_t rows, uint32_t rowBytes, uint32_t stride,
                    AccessKind kind, uint32_t pc);
  void forgetRecent();
  bool isSpin(uint32_t pc);

  const Memory &memory;
  uint32_t core;
  bool alone;
  uint64_t sequence = 0;
  uint32_t generation = 0;
  std::vector<MemoryAccess> list;
  std::array<Recent, 512> recent{};
  std::unordered_map<uint32_t, bool> spinLoads;
};

/// Whether the load at `pc` belongs to a loop that only waits: a short loop without stores that loads the
/// same address again and again.
bool isSpinLoad(const Memory &memory, uint32_t pc);

} // namespace tensorturbo::sim
