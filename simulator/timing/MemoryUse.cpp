#include "simulator/timing/MemoryUse.h"
#include "simulator/AddressMap.h"
#include <algorithm>

namespace tensorturbo::sim {

MemoryUse::MemoryUse(size_t cores) : l1(cores), im(cores) {
  for (Track &track : l1)
    track.blocks.resize(l1Size / blockBytes);
  for (Track &track : im)
    track.blocks.resize(imSize / blockBytes);
  llb.blocks.resize(llbSize / blockBytes);
}

void MemoryUse::Track::close(const Block &block) {
  if (change.size() < block.last + size_t(2))
    change.resize(block.last + size_t(2));
  change[block.first]++;
  change[block.last + 1]--;
}

void MemoryUse::Track::touch(uint64_t begin, uint64_t end, uint32_t phase, bool isWrite) {
  end = std::min<uint64_t>((end + blockBytes - 1) / blockBytes, blocks.size());
  for (uint64_t i = begin / blockBytes; i < end; i++) {
    Block &block = blocks[i];
    if (block.inUse && isWrite && phase > block.last) {
      close(block);
      block.inUse = false;
    }
    if (!block.inUse)
      block = {phase, phase, true};
    block.last = std::max(block.last, phase);
  }
}

uint64_t MemoryUse::Track::peak() {
  for (Block &block : blocks) {
    if (block.inUse)
      close(block);
    block.inUse = false;
  }
  int64_t now = 0, most = 0;
  for (int64_t step : change)
    most = std::max(most, now += step);
  return static_cast<uint64_t>(most) * blockBytes;
}

void MemoryUse::touch(uint32_t core, const Region &region) {
  // A run without data may have senseless operands.
  uint32_t base = region.address;
  Track *track = nullptr;
  if (region.address - l1Base < l1Size && region.core < l1.size()) {
    track = &l1[region.core];
    base = l1Base;
  } else if (region.address - imBase < imSize) {
    track = &im[core];
    base = imBase;
  } else if (region.address - llbBase < llbSize || region.address - llbAlias < llbSize) {
    track = &llb;
    base = region.address - llbBase < llbSize ? llbBase : llbAlias;
  }
  if (!track || !region.rows || !region.rowBytes)
    return;
  uint64_t begin = region.address - base, bytes = region.rowBytes;
  uint32_t rows = region.rows;
  // Rows that leave no whole block between them are as good as one.
  if (region.stride < region.rowBytes + 2 * blockBytes) {
    bytes = region.end() - region.address;
    rows = 1;
  }
  for (uint32_t row = 0; row < rows; row++, begin += region.stride)
    track->touch(begin, begin + bytes, phase, region.isWrite);
}

MemoryUse::Peak MemoryUse::peak() {
  Peak most;
  for (Track &track : l1)
    most.l1 = std::max(most.l1, track.peak());
  for (Track &track : im)
    most.im = std::max(most.im, track.peak());
  most.llb = llb.peak();
  return most;
}

} // namespace tensorturbo::sim
