#include "simulator/SystemDma.h"
#include <cstring>

namespace tensorturbo::sim {

namespace {
// Descriptors that one step executes; a chain that closes on itself must not hang the simulator.
constexpr int descriptorsPerStep = 4096;
// Rounds after which a transfer is done although nobody asked.
constexpr uint32_t oldAge = 64;
constexpr uint32_t bufferSize = 0x1000, descriptorBytes = 24;
constexpr uint32_t maxBytes = 4 << 20;
uint32_t completionBit(uint32_t channel) {
  return channel ? 4 : 1;
}
} // namespace

uint32_t SystemDma::Descriptor::rows() const {
  return !isBlock() ? 1 : block0 >> 16 ? block0 >> 16 : 65536;
}
uint32_t SystemDma::Descriptor::rowBytes() const {
  uint32_t bytes = isBlock() ? (block0 & 0xFFFF) | (block1 >> 24 & 0x3F) << 16 : control & 0x3FFFFF;
  return bytes ? bytes : maxBytes;
}
uint32_t SystemDma::Descriptor::stride() const {
  uint32_t bytes = isBlock() ? block1 & 0xFFFFFF : 0;
  return bytes ? bytes : rowBytes();
}

SystemDma::SystemDma(Memory &memory, uint32_t base, bool checks, bool moveData)
    : memory(memory), base(base), checks(checks), moveData(moveData) {}

void SystemDma::reset() {
  control = completion = interruptEnable = upper = 0;
  channels = {};
  buffer.fill(0);
  unused.reset();
}

std::string SystemDma::name(uint32_t index) const {
  const Channel &c = channels[index];
  return "system DMA " + hexText(base) + " channel " + std::to_string(index) + ", started at " +
         hexText(c.pc) + " on core " + std::to_string(c.core);
}

SystemDma::Access SystemDma::load(uint32_t offset, uint32_t &value) {
  bool asked = offset == 0x10 || offset == 0x14;
  if (offset >= bufferOffset) {
    value = buffer[(offset - bufferOffset) / 4];
    return Access::Done;
  }
  switch (offset) {
  case 0x00:
    value = control;
    break;
  case 0x04:
    value = 0;
    break;
  case 0x10:
    value = channels[0].busy | channels[1].busy << 1;
    break;
  case 0x14:
    value = completion;
    break;
  case 0x18:
    value = interruptEnable;
    break;
  case 0x1C:
    value = upper;
    break;
  case 0x100:
  case 0x200:
    value = channels[offset / 0x100 - 1].control;
    break;
  case 0x114:
  case 0x214:
    value = channels[offset / 0x100 - 1].first;
    break;
  case 0x118:
  case 0x218:
    value = 0;
    break; // performance counters are not modelled
  default:
    return Access::NoRegister;
  }
  if (!asked || !busy())
    return Access::Done;
  for (Channel &c : channels)
    c.asked = c.busy;
  return Access::Pending;
}

SystemDma::Access SystemDma::store(uint32_t offset, uint32_t value, uint32_t core, uint32_t pc,
                                   std::string &message) {
  if (offset >= bufferOffset) {
    buffer[(offset - bufferOffset) / 4] = value;
    unused.set((offset - bufferOffset) / 4);
    return Access::Done;
  }
  switch (offset) {
  case 0x00:
    control = value;
    break;
  case 0x04:
    for (uint32_t i = 0; i < 2; i++)
      if (value >> i & 1 && !start(i, core, pc, message))
        return Access::Failed;
    break;
  case 0x10:
  case 0x118:
  case 0x218:
    break; // read only
  case 0x14:
    completion &= ~value;
    break;
  case 0x18:
    interruptEnable = value;
    break;
  case 0x1C:
    upper = value;
    break;
  case 0x100:
  case 0x200:
    channels[offset / 0x100 - 1].control = value;
    break;
  case 0x114:
  case 0x214:
    channels[offset / 0x100 - 1].first = value;
    break;
  default:
    return Access::NoRegister;
  }
  return Access::Done;
}

bool SystemDma::readDescriptor(uint32_t address, Descriptor &d) const {
  uint32_t offset = address - base - bufferOffset;
  if (address % 4 || offset > bufferSize - descriptorBytes)
    return false;
  std::memcpy(&d, &buffer.data()[offset / 4], descriptorBytes);
  return true;
}

MemorySpan SystemDma::resolve(uint32_t address, uint64_t bytes, uint32_t upperByte) {
  if (upperByte == 0)
    return memory.findShared(address, bytes);
  // 8 is this cluster's upper DDR; 9 to 11, those of other clusters, are not there.
  if (upperByte == 8 && address >= upperDdrBase && address - upperDdrBase < upperDdrSize &&
      bytes <= upperDdrSize - (address - upperDdrBase))
    return {&memory.upperDdr, address - upperDdrBase};
  return {};
}

std::vector<SystemDma::Copy> SystemDma::planned(uint32_t index) {
  std::vector<Copy> copies;
  Descriptor d;
  int count = 0;
  for (uint32_t at = channels[index].first; at && count < descriptorsPerStep && readDescriptor(at, d);
       at = d.next, count++) {
    if (!d.enabled())
      continue;
    Copy copy;
    copy.rows = d.rows();
    copy.rowBytes = d.rowBytes();
    copy.stride = d.stride();
    copy.descriptor = at - base - bufferOffset;
    copy.from = resolve(d.source, copy.sourceBytes(), upperByte(index, false));
    copy.to = resolve(d.destination, copy.bytes(), upperByte(index, true));
    copies.push_back(copy);
  }
  return copies;
}

template <class Visit> void SystemDma::visitWords(uint32_t index, Visit visit) const {
  Descriptor d;
  int count = 0;
  for (uint32_t at = channels[index].first; at && count < descriptorsPerStep && readDescriptor(at, d);
       at = d.next, count++)
    for (uint32_t word = 0; word < descriptorBytes / 4; word++)
      if (d.isBlock() || (word != 3 && word != 4)) // rows, widths and strides
        visit((at - base - bufferOffset) / 4 + word);
}

std::optional<uint32_t> SystemDma::staleWord(uint32_t index) const {
  std::optional<uint32_t> stale;
  visitWords(index, [&](uint32_t word) {
    if (!unused[word] && !stale)
      stale = base + bufferOffset + 4 * word;
  });
  return stale;
}

void SystemDma::useDescriptors(uint32_t index) {
  visitWords(index, [&](uint32_t word) { unused.reset(word); });
}

bool SystemDma::start(uint32_t index, uint32_t core, uint32_t pc, std::string &message) {
  Channel &c = channels[index];
  bool wasBusy = c.busy;
  c.core = core;
  c.pc = pc;
  if (wasBusy)
    message = name(index) + ": the channel is still busy";
  else if (!(control & 1))
    message = name(index) + ": the controller is not enabled";
  else if (!(c.control >> 31))
    message = name(index) + ": the channel is not in descriptor mode";
  if (!message.empty())
    return false;
  c.busy = true;
  c.asked = false;
  c.age = 0;
  c.at = c.first;
  c.destinations.clear();
  c.sources.clear();
  // Until the copy the destinations count as never written, unless the chain itself still has to read them.
  for (const Copy &copy : planned(index)) {
    const MemorySpan &from = copy.from, &to = copy.to;
    if (from)
      c.sources.push_back({from.region, from.offset, from.offset + copy.sourceBytes()});
    if (!to)
      continue; // reported when the chain gets there
    Range range{to.region, to.offset, to.offset + copy.bytes()};
    c.destinations.push_back(range);
    bool isSource = false;
    for (const Range &source : c.sources)
      isSource = isSource || source.overlaps(range);
    if (checks && !isSource)
      to.region->markUnwritten(to.offset, copy.bytes());
  }
  return true;
}

Transfer SystemDma::describe(uint32_t channel) const {
  Transfer transfer;
  Descriptor d;
  int count = 0;
  for (uint32_t at = channels[channel].first; at && count < descriptorsPerStep && readDescriptor(at, d);
       at = d.next, count++) {
    if (!d.enabled())
      continue;
    auto isDdr = [&](uint32_t address, bool destination) {
      return address < ddrSize || upperByte(channel, destination) != 0;
    };
    transfer.pieces.push_back({isDdr(d.source, false), isDdr(d.destination, true), d.rows(), d.rowBytes(),
                               d.stride(), d.source, d.destination});
  }
  return transfer;
}

bool SystemDma::copy(uint32_t index, const Descriptor &d, std::string &message) {
  uint32_t rows = d.rows(), rowBytes = d.rowBytes(), stride = d.stride();
  std::string where = name(index) + ", " + std::to_string(rows) + " rows of " + std::to_string(rowBytes) +
                      " bytes from " + hexText(d.source) + " to " + hexText(d.destination) + ": ";
  if (stride < rowBytes) {
    message = where + "source stride " + std::to_string(stride) + " is smaller than a row";
    return false;
  }
  uint64_t span = uint64_t(stride) * (rows - 1) + rowBytes, bytes = uint64_t(rows) * rowBytes;
  MemorySpan from = resolve(d.source, span, upperByte(index, false));
  MemorySpan to = resolve(d.destination, bytes, upperByte(index, true));
  if (!from || !to) {
    message = where + (from ? "destination" : "source") + " is not inside one of DDR and LLB";
    return false;
  }
  if (!moveData)
    return true;
  for (uint32_t row = 0; row < rows; row++) {
    uint32_t offset = from.offset + row * stride;
    if (checks)
      if (auto bad = from.region->firstUnwritten(offset, rowBytes)) {
        message = where + "reads " + memoryName(from.region->base()) + " at " +
                  hexText(from.region->base() + *bad) + ", which was never written";
        return false;
      }
    std::memmove(to.data() + size_t(row) * rowBytes, from.region->data() + offset, rowBytes);
  }
  to.region->markWritten(to.offset, bytes);
  return true;
}

bool SystemDma::runChain(uint32_t index, std::string &message) {
  Channel &c = channels[index];
  for (int i = 0; c.at && i < descriptorsPerStep; i++) {
    Descriptor d;
    if (!readDescriptor(c.at, d)) {
      message = name(index) + ": descriptor address " + hexText(c.at) + " is outside the descriptor buffer";
      return false;
    }
    if (d.enabled() && !copy(index, d, message))
      return false;
    c.at = d.next;
  }
  if (c.at)
    return true;
  c.busy = false;
  completion |= completionBit(index);
  for (const Range &range : c.freed)
    range.region->markUnwritten(static_cast<uint32_t>(range.begin), range.end - range.begin);
  c.freed.clear();
  return true;
}

bool SystemDma::step(bool force, bool &progress, Failure &failure) {
  for (uint32_t i = 0; i < 2; i++) {
    Channel &c = channels[i];
    if (!c.busy || !(force || c.asked || ++c.age >= oldAge))
      continue;
    progress = true;
    if (!runChain(i, failure.message)) {
      failure.core = c.core;
      failure.pc = c.pc;
      return false;
    }
  }
  return true;
}

bool SystemDma::freeBehind(MemoryRegion &region, uint32_t offset, uint64_t bytes) {
  Range freed{&region, offset, offset + bytes};
  for (Channel &c : channels)
    if (c.busy)
      for (const Range &range : c.sources)
        if (range.overlaps(freed)) {
          c.freed.push_back(freed);
          return true;
        }
  return false;
}

std::string SystemDma::pendingWriter(const MemoryRegion &region, uint32_t offset) const {
  for (uint32_t i = 0; i < 2; i++)
    if (channels[i].busy)
      for (const Range &range : channels[i].destinations)
        if (range.region == &region && range.begin <= offset && offset < range.end)
          return name(i);
  return {};
}

} // namespace tensorturbo::sim
