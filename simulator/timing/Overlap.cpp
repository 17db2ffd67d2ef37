#include "simulator/timing/Overlap.h"
#include "simulator/AddressMap.h"

namespace tensorturbo::sim {

namespace {

/// Row by row. Both are known to overlap as intervals.
bool rowsOverlap(const Region &a, const Region &b) {
  const Region &few = a.rows <= b.rows ? a : b, &many = a.rows <= b.rows ? b : a;
  for (uint32_t i = 0; i < few.rows; i++) {
    uint64_t begin = few.address + uint64_t(i) * few.stride, end = begin + few.rowBytes;
    if (many.rows == 1 || many.stride <= many.rowBytes) {
      if (begin < many.end() && many.address < end)
        return true;
      continue;
    }
    if (end <= many.address)
      continue;
    // The last row that begins before `end`.
    uint64_t row = (end - 1 - many.address) / many.stride;
    row = row < many.rows ? row : many.rows - 1;
    if (many.address + row * many.stride + many.rowBytes > begin)
      return true;
  }
  return false;
}

} // namespace

bool conflicts(const TraceEvent &a, const TraceEvent &b, bool exact) {
  for (uint8_t i = 0; i < a.regionCount; i++)
    for (uint8_t j = 0; j < b.regionCount; j++) {
      const Region &x = a.regions[i], &y = b.regions[j];
      if (!(x.isWrite || y.isWrite) || x.core != y.core || x.address >= y.end() || y.address >= x.end())
        continue;
      if (!exact || rowsOverlap(x, y))
        return true;
    }
  return false;
}

bool conflicts(const Transfer &transfer, const TraceEvent &event) {
  auto overlaps = [&](uint32_t address, uint64_t bytes, bool isWrite) {
    // Both windows are one memory.
    uint64_t begin = llbBase + (address - llbBase) % llbSize;
    for (uint8_t i = 0; i < event.regionCount; i++) {
      const Region &region = event.regions[i];
      if ((isWrite || region.isWrite) && region.address >= llbBase && begin < region.end() &&
          region.address < begin + bytes)
        return true;
    }
    return false;
  };
  for (const TransferPiece &piece : transfer.pieces)
    if ((!piece.fromDdr &&
         overlaps(piece.source, uint64_t(piece.rows - 1) * piece.sourceStride + piece.rowBytes, false)) ||
        (!piece.toDdr && overlaps(piece.destination, piece.bytes(), true)))
      return true;
  return false;
}

} // namespace tensorturbo::sim
