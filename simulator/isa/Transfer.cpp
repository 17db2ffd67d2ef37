#include "simulator/isa/Transfer.h"
#include "simulator/hazard/AccessLog.h"
#include <cstring>

namespace tensorturbo::sim {

namespace {

constexpr uint32_t csrIcDest = 0x421, csrShape = 0x422, csrStride = 0x423;
// Causes.
constexpr uint32_t badVtype = 0x29, pldSource = 0x38, badCore = 0x39, badStart = 0x3A, icmovStart = 0x3B,
                   endInL1 = 0x3C, endInLlb = 0x3D, badParameter = 0x3E;

/// A block as the shape registers describe it: dense in L1, rows `stride` apart in LLB.
struct Block {
  uint32_t rows, rowBytes, stride;
  explicit Block(const Hart &h)
      : rows(h.csr[csrShape] & 0xFFFF), rowBytes((h.csr[csrShape] >> 16) * 2),
        stride(h.csr[csrStride] & 0xFFFF) {}
  bool legal() const { return rows && rowBytes && (stride == 0 || stride >= rowBytes); }
  uint64_t bytes() const { return uint64_t(rows) * rowBytes; }
  uint32_t step() const { return stride ? stride : rowBytes; }
  /// What the legality check takes for the LLB side: a full stride for the last row as well.
  uint64_t checkedBytes() const { return stride ? uint64_t(stride) * rows : bytes(); }
};

// A start may be exactly the end of the memory; the end check catches it unless nothing is moved.
// Ends are 64 bits wide, so that senseless shapes cannot wrap around.
bool isL1(uint64_t address) {
  return address >= l1Base && address <= l1Base + l1Size;
}
bool isLlbStart(uint64_t address) {
  return address >= llbBase && address < llbBase + llbSize;
}
bool isLlbEnd(uint64_t address) {
  return address >= llbBase && address <= llbBase + llbSize;
}
uint64_t end(uint32_t start, uint64_t bytes) {
  return start + bytes;
}

/// Copies the block. Only the rows themselves count as read or written, not the gaps between them.
Step copyBlock(Hart &h, uint32_t l1, uint32_t llb, const Block &block, bool toL1) {
  MemoryRegion &privateRegion = h.memory->l1[h.id], &shared = h.memory->llb;
  uint32_t privateOffset = l1 - l1Base, sharedOffset = llb - llbBase;
  const MemoryRegion &source = toL1 ? shared : privateRegion;
  h.counters.mteBytes += block.bytes();
  if (!h.arithmetic)
    return Step::Next;
  for (uint32_t row = 0; row < block.rows; row++) {
    uint32_t inL1 = privateOffset + row * block.rowBytes, inLlb = sharedOffset + row * block.step();
    if (h.checks)
      if (auto bad = source.firstUnwritten(toL1 ? inLlb : inL1, block.rowBytes))
        return h.fail("reads " + std::string(toL1 ? "LLB" : "L1") + " at " + hexText(source.base() + *bad) +
                      ", " + h.bus->whyUnwritten(source, *bad) + " (row " + std::to_string(row) +
                      " of the block at " + hexText(toL1 ? llb : l1) + ")");
    if (toL1)
      std::memcpy(privateRegion.data() + inL1, shared.data() + inLlb, block.rowBytes);
    else
      std::memcpy(shared.data() + inLlb, privateRegion.data() + inL1, block.rowBytes);
  }
  if (h.accesses) {
    h.accesses->block(l1, block.rows, block.rowBytes, block.rowBytes, toL1, h.pc);
    h.accesses->block(llb, block.rows, block.rowBytes, block.step(), !toL1, h.pc);
  }
  if (toL1)
    privateRegion.markWritten(privateOffset, block.bytes());
  else
    for (uint32_t row = 0; row < block.rows; row++)
      shared.markWritten(sharedOffset + row * block.step(), block.rowBytes);
  return Step::Next;
}

Step loadL1(Hart &h, uint32_t l1, uint32_t llb) {
  Block block(h);
  if (!block.legal())
    return h.raise(badParameter, 0);
  if (!isLlbStart(llb))
    return h.raise(badStart, llb);
  if (!isL1(l1))
    return h.raise(badStart, l1);
  if (!isLlbEnd(end(llb, block.checkedBytes())))
    return h.raise(endInLlb, static_cast<uint32_t>(end(llb, block.checkedBytes())));
  if (!isL1(end(l1, block.bytes())))
    return h.raise(endInL1, static_cast<uint32_t>(end(l1, block.bytes())));
  if (h.vectorTypeIllegal())
    return h.raise(badVtype, 0);
  return copyBlock(h, l1, llb, block, true);
}

Step storeLlb(Hart &h, uint32_t llb, uint32_t l1) {
  Block block(h);
  if (!block.legal())
    return h.raise(badParameter, 0);
  if (!isL1(l1))
    return h.raise(badStart, l1);
  if (!isLlbStart(llb))
    return h.raise(badStart, llb);
  if (!isL1(end(l1, block.bytes())))
    return h.raise(endInL1, static_cast<uint32_t>(end(l1, block.bytes())));
  if (!isLlbEnd(end(llb, block.checkedBytes())))
    return h.raise(endInLlb, static_cast<uint32_t>(end(llb, block.checkedBytes())));
  if (h.vectorTypeIllegal())
    return h.raise(badVtype, 0);
  return copyBlock(h, l1, llb, block, false);
}

Step arriveAtBroadcast(Hart &h, uint32_t l1, uint32_t llb) {
  Block block(h);
  if (!block.legal())
    return h.raise(badParameter, 0);
  if (!isL1(l1))
    return h.raise(badStart, l1);
  if (!isLlbStart(llb))
    return h.raise(pldSource, 0);
  if (!isL1(end(l1, block.bytes())))
    return h.raise(endInL1, static_cast<uint32_t>(end(l1, block.bytes())));
  if (!isLlbEnd(end(llb, block.checkedBytes())))
    return h.raise(endInLlb, static_cast<uint32_t>(end(llb, block.checkedBytes())));
  if (h.vectorTypeIllegal())
    return h.raise(badVtype, 0);
  return Step::Wait;
}

Step copyToCore(Hart &h, uint32_t destination, uint32_t source, uint32_t count) {
  uint32_t core = h.csr[csrIcDest] & 63;
  if (core > 32)
    return h.raise(badCore, 0);
  if (!isL1(source))
    return h.raise(badStart, source);
  if (!isL1(destination))
    return h.raise(icmovStart, destination);
  if (!isL1(end(source, count)))
    return h.raise(endInL1, source + count);
  if (!isL1(end(destination, count)))
    return h.raise(endInL1, destination + count);
  MemoryRegion *remote = h.bus->remoteL1(core);
  if (!remote)
    return h.fail("destination core " + std::to_string(core) + " does not exist");
  uint32_t bytes = count ? count : 512 * 1024;
  MemoryRegion &own = h.memory->l1[h.id];
  uint32_t from = source - l1Base, to = destination - l1Base;
  // Only the coded 0 can get here with a block that leaves L1: its end is not checked by the chip.
  if (from > l1Size - bytes || to > l1Size - bytes)
    return h.fail("moves 524288 bytes from " + hexText(source) + " to " + hexText(destination) +
                  ", outside L1");
  if (h.checks)
    if (auto bad = own.firstUnwritten(from, bytes))
      return h.fail("reads L1 at " + hexText(l1Base + *bad) + ", " + h.bus->whyUnwritten(own, *bad));
  if (h.accesses) {
    h.accesses->block(source, 1, bytes, bytes, false, h.pc);
    h.accesses->remoteWrite(core, to, bytes, h.pc);
  }
  if (h.arithmetic) {
    std::memmove(remote->data() + to, own.data() + from, bytes);
    remote->markWritten(to, bytes);
  }
  h.counters.mteBytes += bytes;
  return Step::Next;
}

} // namespace

Step executeTransfer(Hart &h, uint32_t word, const target::Instruction &insn) {
  uint32_t rd = h.x[target::rdField(word)], rs1 = h.x[target::rs1Field(word)];
  switch (insn.match) {
  case 0x2C20107B:
    return loadL1(h, rd, rs1);
  case 0x2C10107B:
    return storeLlb(h, rd, rs1);
  case 0x3C00107B:
    return arriveAtBroadcast(h, rd, rs1);
  default:
    return copyToCore(h, rd, rs1, h.x[target::rs2Field(word)]);
  }
}

Step completeBroadcast(Hart &h, uint32_t word) {
  return copyBlock(h, h.x[target::rdField(word)], h.x[target::rs1Field(word)], Block(h), true);
}

} // namespace tensorturbo::sim
