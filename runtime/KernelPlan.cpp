#include "runtime/KernelPlan.h"
#include <algorithm>
#include <cstring>

namespace tensorturbo::runtime {

static constexpr uint32_t syncWord = 0x3800007B;

/// Address that the call in front of `pc` goes to: "jal ra" or "auipc ra; jalr ra". 0 if there is no call.
static uint32_t calledBefore(const Bytes &code, uint32_t base, uint32_t pc) {
  auto word = [&](uint32_t address) {
    uint32_t value = 0;
    if (address >= base && address - base + 4 <= code.size())
      std::memcpy(&value, code.data() + (address - base), 4);
    return value;
  };
  uint32_t last = word(pc - 4), first = word(pc - 8);
  if ((last & 0xFFF) == 0x0EF) {
    int32_t offset = (static_cast<int32_t>(last) >> 31) * (1 << 20) +
                     int32_t((last >> 12 & 0xFF) << 12 | (last >> 20 & 1) << 11 | (last >> 21 & 0x3FF) << 1);
    return pc - 4 + static_cast<uint32_t>(offset);
  }
  if ((last & 0xFFFFF) == 0x080E7 && (first & 0xFFF) == 0x097)
    return pc - 8 + (first & 0xFFFFF000) + static_cast<uint32_t>(static_cast<int32_t>(last) >> 20);
  return 0;
}

std::vector<KernelEnd> findKernelEnds(const ObjectFile &object, const Metadata &meta) {
  std::map<uint32_t, size_t> kernelAt;
  for (size_t i = 0; i < meta.kernels.size(); ++i)
    if (const Symbol *symbol = object.findSymbol(meta.kernels[i].symbol))
      kernelAt[symbol->address] = i;
  std::vector<KernelEnd> ends;
  const Symbol *main = object.findSymbol("tt_main");
  if (!main || kernelAt.empty())
    return ends;
  for (const Segment &s : object.segments) {
    if (main->address < s.address || main->address - s.address >= s.bytes.size())
      continue;
    uint64_t end =
        std::min<uint64_t>(uint64_t(main->address) + main->size, uint64_t(s.address) + s.bytes.size());
    for (uint64_t pc = main->address; pc + 4 <= end; pc += 2) {
      uint32_t word;
      std::memcpy(&word, s.bytes.data() + (pc - s.address), 4);
      if (word != syncWord)
        continue;
      auto kernel = kernelAt.find(calledBefore(s.bytes, s.address, static_cast<uint32_t>(pc)));
      if (kernel != kernelAt.end())
        ends.push_back({static_cast<uint32_t>(pc), kernel->second});
    }
  }
  return ends;
}

std::vector<sim::PlannedCode> plannedCode(const ObjectFile &object, const Metadata &meta) {
  std::vector<sim::PlannedCode> code;
  for (const KernelInfo &k : meta.kernels) {
    const Symbol *symbol = k.buffers.empty() ? nullptr : object.findSymbol(k.symbol);
    if (!symbol)
      continue;
    sim::PlannedCode planned{symbol->address, symbol->size, {}};
    for (const auto *list : {&k.buffers, &meta.residents})
      for (const PlannedBuffer &b : *list)
        planned.buffers.push_back({b.address, b.bytes});
    code.push_back(std::move(planned));
  }
  return code;
}

std::vector<std::vector<Buffer>> freedBuffers(const Metadata &meta) {
  std::vector<std::vector<Buffer>> freed(meta.kernels.size());
  if (meta.graphScheduleLevel != 0)
    return freed;
  auto overlaps = [](const Buffer &a, const Buffer &b) {
    return a.address < uint64_t(b.address) + b.bytes && b.address < uint64_t(a.address) + a.bytes;
  };
  // Backwards: what is live behind a kernel is what the user or a later kernel still reads.
  std::vector<Buffer> live;
  for (const TensorSpec &t : meta.outputs)
    live.push_back(t.buffer);
  auto isLive = [&](const Buffer &b) {
    return std::any_of(live.begin(), live.end(), [&](const Buffer &l) { return overlaps(l, b); });
  };
  for (size_t i = meta.kernels.size(); i-- > 0;) {
    const KernelInfo &k = meta.kernels[i];
    for (const auto *list : {&k.inputs, &k.outputs})
      for (const KernelBuffer &b : *list)
        if (!isLive(b.buffer))
          freed[i].push_back(b.buffer);
    for (const KernelBuffer &b : k.outputs)
      live.erase(std::remove_if(live.begin(), live.end(),
                                [&](const Buffer &l) { return l.address == b.buffer.address; }),
                 live.end());
    for (const KernelBuffer &b : k.inputs)
      if (!isLive(b.buffer))
        live.push_back(b.buffer);
  }
  return freed;
}

} // namespace tensorturbo::runtime
