// One system-DMA controller: two channels that work through descriptor chains between DDR and LLB.
//
// A start only notes the chain. The copy happens in a later step, as late as nobody asked for its end, so
// that a program that forgets to wait sees (and, with checks, is told about) data that are not there yet.
#pragma once
#include "simulator/Memory.h"
#include "simulator/timing/Recorder.h"
#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

namespace tensorturbo::sim {

class SystemDma {
public:
  // Registers that the record of a run looks at.
  static constexpr uint32_t startOffset = 0x04, statusOffset = 0x10, completionOffset = 0x14,
                            bufferOffset = 0x1000;

  /// `moveData` false: transfers take their course without touching memory.
  SystemDma(Memory &memory, uint32_t base, bool checks, bool moveData = true);
  void reset();

  enum class Access { Done, Pending, NoRegister, Failed };
  /// Registers by offset from the controller's base. Pending: a transfer under way was asked about. Failed:
  /// `message` says what the controller does not define.
  Access load(uint32_t offset, uint32_t &value);
  Access store(uint32_t offset, uint32_t value, uint32_t core, uint32_t pc, std::string &message);

  /// The chain that the channel has just been started on.
  Transfer describe(uint32_t channel) const;
  bool busy() const { return channels[0].busy || channels[1].busy; }
  bool channelBusy(uint32_t index) const { return channels[index].busy; }
  /// One copy of a chain: source rows `stride` apart, dense destination. Spans may be empty.
  struct Copy {
    MemorySpan from, to;
    uint32_t rows = 0, rowBytes = 0, stride = 0;
    /// Offset of the descriptor in the controller's buffer.
    uint32_t descriptor = 0;
    uint64_t sourceBytes() const { return uint64_t(stride) * (rows - 1) + rowBytes; }
    uint64_t bytes() const { return uint64_t(rows) * rowBytes; }
  };
  /// What the chain of a channel would copy as its descriptors are now; at most some thousand copies.
  std::vector<Copy> planned(uint32_t index);
  /// The first word of a channel's chain that was not written since it was last used, by its address.
  std::optional<uint32_t> staleWord(uint32_t index) const;
  /// Its words count as used from now on.
  void useDescriptors(uint32_t index);
  /// A transfer that cannot be done, and the instruction that started it.
  struct Failure {
    uint32_t core = 0, pc = 0;
    std::string message;
  };
  /// Executes the chains that somebody asked about or that are old, or all if `force`. False if a transfer
  /// failed. `progress` is set if anything was done.
  bool step(bool force, bool &progress, Failure &failure);

  /// If a transfer under way reads from the range, it counts as never written when that is done: then true.
  bool freeBehind(MemoryRegion &region, uint32_t offset, uint64_t bytes);
  /// If a transfer under way will write this byte: who started it, else "".
  std::string pendingWriter(const MemoryRegion &region, uint32_t offset) const;

private:
  struct Descriptor {
    uint32_t control, source, destination, block0, block1, next;
    bool enabled() const { return control >> 31; }
    bool isBlock() const { return control >> 29 & 1; }
    uint32_t rows() const;
    uint32_t rowBytes() const;
    uint32_t stride() const;
  };
  struct Range {
    MemoryRegion *region;
    uint64_t begin, end;
    bool overlaps(const Range &other) const {
      return region == other.region && begin < other.end && other.begin < end;
    }
  };
  struct Channel {
    uint32_t control = 0, first = 0;
    bool busy = false, asked = false;
    uint32_t at = 0; ///< address of the next descriptor, 0 at the end
    uint32_t age = 0, core = 0, pc = 0;
    std::vector<Range> destinations, sources;
    /// What is to count as never written when the channel has read it.
    std::vector<Range> freed;
  };

  bool start(uint32_t index, uint32_t core, uint32_t pc, std::string &message);
  bool runChain(uint32_t index, std::string &message);
  bool copy(uint32_t index, const Descriptor &d, std::string &message);
  bool readDescriptor(uint32_t address, Descriptor &d) const;
  /// Calls visit(word of the buffer) for all that the channel's chain depends on.
  template <class Visit> void visitWords(uint32_t index, Visit visit) const;
  MemorySpan resolve(uint32_t address, uint64_t bytes, uint32_t upperByte);
  uint32_t upperByte(uint32_t index, bool destination) const {
    return upper >> (16 * index + 8 * destination) & 0xFF;
  }
  std::string name(uint32_t index) const;

  Memory &memory;
  uint32_t base;
  bool checks;
  bool moveData;
  uint32_t control = 0, completion = 0, interruptEnable = 0, upper = 0;
  std::array<Channel, 2> channels;
  std::array<uint32_t, 1024> buffer{};
  /// Words of the buffer that no started chain has used since they were written.
  std::bitset<1024> unused;
};

} // namespace tensorturbo::sim
