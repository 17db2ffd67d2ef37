// How much of the on-chip memories is in use at once. Blocks of some bytes are followed through the phases of
// a run, which go from one barrier of all cores to the next.
#pragma once
#include "simulator/insn/Insn.h"
#include <array>
#include <cstdint>
#include <vector>

namespace tensorturbo::sim {

class MemoryUse {
public:
  static constexpr uint32_t blockBytes = 256;

  explicit MemoryUse(size_t cores);
  /// All cores have met at a barrier.
  void nextPhase() { phase++; }
  /// The core touches the region in the present phase, or lets a transfer do so. What a block holds is in use
  /// from the phase in which it is written to the last one in which it is touched before it is written again.
  void touch(uint32_t core, const Region &region);

  /// Most bytes in use in any phase.
  struct Peak {
    /// Of the core that uses most.
    uint64_t l1 = 0, im = 0;
    uint64_t llb = 0;
  };
  Peak peak();

private:
  struct Block {
    uint32_t first = 0, last = 0;
    bool inUse = false;
  };
  struct Track {
    std::vector<Block> blocks;
    /// How many blocks more are in use from each phase on.
    std::vector<int64_t> change;
    void close(const Block &block);
    void touch(uint64_t begin, uint64_t end, uint32_t phase, bool isWrite);
    uint64_t peak();
  };
  std::vector<Track> l1, im;
  Track llb;
  uint32_t phase = 0;
};

} // namespace tensorturbo::sim
