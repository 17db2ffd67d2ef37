#include "simulator/hazard/Overlap.h"
#include <algorithm>

namespace tensorturbo::sim {

/// First byte of `block` inside [begin, end).
static std::optional<uint64_t> firstByteIn(const MemoryAccess &block, uint64_t begin, uint64_t end) {
  if (end <= block.begin)
    return std::nullopt;
  // The last row that begins at or before `begin`, and the one after it.
  uint64_t row = begin <= block.begin ? 0 : block.stride ? (begin - block.begin) / block.stride : 0;
  row = std::min<uint64_t>(row, block.rows - 1);
  for (uint64_t last = std::min<uint64_t>(row + 1, block.rows - 1); row <= last; row++) {
    uint64_t from = std::max(begin, block.rowBegin(row)),
             to = std::min(end, block.rowBegin(row) + block.rowBytes);
    if (from < to)
      return from;
  }
  return std::nullopt;
}

std::optional<uint64_t> firstCommonByte(const MemoryAccess &a, const MemoryAccess &b) {
  uint64_t begin = std::max<uint64_t>(a.begin, b.begin), end = std::min(a.end(), b.end());
  if (begin >= end)
    return std::nullopt;
  const MemoryAccess &outer = a.rows <= b.rows ? a : b;
  MemoryAccess inner = a.rows <= b.rows ? b : a;
  if (inner.stride < inner.rowBytes) { // rows that overlap leave no gap
    inner.rowBytes = static_cast<uint32_t>(inner.end() - inner.begin);
    inner.rows = 1;
  }
  uint64_t first = outer.stride ? (begin - outer.begin) / outer.stride : 0;
  std::optional<uint64_t> best;
  for (uint64_t row = std::min<uint64_t>(first, outer.rows - 1); row < outer.rows; row++) {
    uint64_t from = outer.rowBegin(row);
    if (from >= end)
      break;
    auto common = firstByteIn(inner, from, from + outer.rowBytes);
    if (common && (!best || *common < *best))
      best = common;
    if (best && outer.stride >= outer.rowBytes)
      break;
  }
  return best;
}

} // namespace tensorturbo::sim
