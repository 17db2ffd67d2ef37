#include "simulator/hazard/AccessLog.h"

namespace tensorturbo::sim {

AccessLog::AccessLog(const Memory &memory, uint32_t core, bool alone)
    : memory(memory), core(core), alone(alone) {}

void AccessLog::forgetRecent() {
  generation = (generation + 1) & 0xFFFF;
  if (generation == 0)
    recent.fill({});
}

bool AccessLog::isSpin(uint32_t pc) {
  auto [found, isNew] = spinLoads.try_emplace(pc, false);
  if (isNew)
    found->second = isSpinLoad(memory, pc);
  return found->second;
}

MemoryAccess &AccessLog::add(SharedMemory where, uint32_t offset, uint32_t rows, uint32_t rowBytes,
                             uint32_t stride, AccessKind kind, uint32_t pc) {
  MemoryAccess &access = list.emplace_back();
  access.sequence = sequence;
  access.begin = offset;
  access.rows = rows;
  access.rowBytes = rowBytes;
  access.stride = stride;
  access.pc = pc;
  access.kind = kind;
  access.memory = where;
  access.actor = access.starter = static_cast<uint8_t>(core);
  return access;
}

void AccessLog::addScalar(SharedMemory where, uint32_t offset, uint32_t bytes, bool write, uint32_t pc) {
  AccessKind kind = write        ? AccessKind::ScalarWrite
                    : isSpin(pc) ? AccessKind::SpinRead
                                 : AccessKind::ScalarRead;
  if (kind == AccessKind::SpinRead) {
    // It changes what the core knows: later accesses are not like earlier ones. Polling costs one entry.
    forgetRecent();
    if (!list.empty() && list.back().kind == kind && list.back().memory == where &&
        list.back().begin == offset) {
      list.back().sequence = sequence;
      return;
    }
  }
  add(where, offset, 1, bytes, bytes, kind, pc);
}

void AccessLog::scalarAt(uint32_t address, uint32_t bytes, bool write, uint32_t pc) {
  if (address < ddrSize)
    scalar(Ddr, address, bytes, write, pc);
  else if (address - llbBase < llbSize || address - llbAlias < llbSize)
    scalar(Llb, (address - llbBase) % llbSize, bytes, write, pc);
  else if (!alone && address - l1Base < l1Size)
    scalar(static_cast<SharedMemory>(L1OfCore0 + core), address - l1Base, bytes, write, pc);
}

void AccessLog::atomic(uint32_t address, uint32_t pc) {
  SharedMemory where = Ddr;
  if (address - llbBase < llbSize || address - llbAlias < llbSize) {
    where = Llb;
    address = (address - llbBase) % llbSize;
  } else if (address >= ddrSize) {
    return;
  }
  sequence++;
  add(where, address, 1, 4, 4, AccessKind::Atomic, pc);
  forgetRecent();
}

void AccessLog::block(uint32_t address, uint32_t rows, uint32_t rowBytes, uint32_t stride, bool write,
                      uint32_t pc) {
  if (!rows || !rowBytes)
    return;
  SharedMemory where;
  uint32_t offset;
  if (address - l1Base < l1Size) {
    if (alone)
      return;
    where = static_cast<SharedMemory>(L1OfCore0 + core);
    offset = address - l1Base;
  } else if (address - llbBase < llbSize) {
    where = Llb;
    offset = address - llbBase;
  } else {
    return;
  }
  sequence++;
  bool dense = rows == 1 || stride == rowBytes;
  add(where, offset, dense ? 1 : rows, dense ? rows * rowBytes : rowBytes, dense ? rows * rowBytes : stride,
      write ? AccessKind::Write : AccessKind::Read, pc);
}

void AccessLog::remoteWrite(uint32_t target, uint32_t offset, uint32_t bytes, uint32_t pc) {
  sequence++;
  add(static_cast<SharedMemory>(L1OfCore0 + target), offset, 1, bytes, bytes, AccessKind::Write, pc);
}

void AccessLog::dmaStart(uint32_t actor, uint32_t pc) {
  sequence++;
  add(Ddr, 0, 1, 0, 0, AccessKind::DmaStart, pc).actor = static_cast<uint8_t>(actor);
  forgetRecent();
}

void AccessLog::dmaAccess(uint32_t actor, SharedMemory where, uint32_t offset, uint32_t rows,
                          uint32_t rowBytes, uint32_t stride, bool write, uint32_t pc) {
  bool dense = rows == 1 || stride == rowBytes;
  add(where, offset, dense ? 1 : rows, dense ? rows * rowBytes : rowBytes, dense ? rows * rowBytes : stride,
      write ? AccessKind::Write : AccessKind::Read, pc)
      .actor = static_cast<uint8_t>(actor);
}

void AccessLog::dmaObserved(uint32_t actor) {
  // A loop that polls sees the same again and again.
  if (!list.empty() && list.back().kind == AccessKind::DmaObserved && list.back().actor == actor)
    return;
  sequence++;
  add(Ddr, 0, 1, 0, 0, AccessKind::DmaObserved, 0).actor = static_cast<uint8_t>(actor);
  forgetRecent();
}

} // namespace tensorturbo::sim
