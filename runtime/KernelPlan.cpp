#include "runtime/KernelPlan.h"
#include "simulator/AddressMap.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

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
  if (kernelAt.empty())
    return ends;
  for (const Segment &s : object.segments) {
    if (!s.executable)
      continue;
    for (size_t at = 0; at + 4 <= s.bytes.size(); at += 2) {
      uint32_t word;
      std::memcpy(&word, s.bytes.data() + at, 4);
      if (word != syncWord)
        continue;
      uint32_t pc = s.address + static_cast<uint32_t>(at);
      auto kernel = kernelAt.find(calledBefore(s.bytes, s.address, pc));
      if (kernel != kernelAt.end())
        ends.push_back({pc, kernel->second, kernel->first});
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
    for (const PlannedBuffer &b : k.buffers)
      planned.buffers.push_back({b.address, b.bytes});
    code.push_back(std::move(planned));
  }
  return code;
}

std::vector<sim::PlannedOperand> plannedOperands(const ObjectFile &object) {
  std::vector<sim::PlannedOperand> operands;
  std::string_view bytes = object.sectionText(section::operands);
  for (size_t at = 0; at + sizeof(OperandBounds) <= bytes.size(); at += sizeof(OperandBounds)) {
    OperandBounds b;
    std::memcpy(&b, bytes.data() + at, sizeof b);
    if (b.field > OperandBounds::executions || b.low > b.high)
      continue;
    if (b.field != OperandBounds::executions)
      b.step = std::max(b.step, 1u);
    operands.push_back({b.pc, b.field, b.core, b.low, b.high, b.step});
  }
  return operands;
}

static bool isInDdr(uint32_t address) {
  return address < sim::ddrSize;
}
static bool isInLlb(uint32_t address) {
  return address - sim::llbBase < sim::llbSize;
}

static bool overlaps(uint32_t a, uint32_t aBytes, uint32_t b, uint32_t bBytes) {
  return a < uint64_t(b) + bBytes && b < uint64_t(a) + aBytes;
}

/// Whether kernel i goes on with what the one before does: both together make one result.
static bool continues(const Metadata &meta, size_t i) {
  const KernelInfo &k = meta.kernels[i], &before = meta.kernels[i - 1];
  auto same = [](const KernelBuffer &a, const KernelBuffer &b) {
    return a.buffer.address == b.buffer.address && a.buffer.bytes == b.buffer.bytes;
  };
  return !k.onHost && k.nodes == before.nodes &&
         std::equal(k.outputs.begin(), k.outputs.end(), before.outputs.begin(), before.outputs.end(), same);
}

size_t completeBehind(const Metadata &meta, size_t index, const KernelBuffer &output) {
  const Buffer &b = output.buffer;
  auto meets = [&](const auto &other) {
    return overlaps(b.address, b.bytes, other.buffer.address, other.buffer.bytes);
  };
  if (!isInDdr(b.address))
    return index;
  size_t last = index;
  for (size_t i = index + 1; i < meta.kernels.size(); ++i) {
    const KernelInfo &k = meta.kernels[i];
    if (std::any_of(k.inputs.begin(), k.inputs.end(), meets))
      last = i;
    if (!continues(meta, i) && std::any_of(k.outputs.begin(), k.outputs.end(), meets))
      return last;
  }
  return std::any_of(meta.outputs.begin(), meta.outputs.end(), meets) ? meta.kernels.size() : last;
}

/// Tensors in DDR, backwards: what is live behind a kernel is what the user or a later kernel still reads.
static void freeTensors(const Metadata &meta, std::vector<FreedBuffers> &freed) {
  std::vector<Buffer> live;
  for (const TensorSpec &t : meta.outputs)
    live.push_back(t.buffer);
  auto isLive = [&](const Buffer &b) {
    return std::any_of(live.begin(), live.end(),
                       [&](const Buffer &l) { return overlaps(l.address, l.bytes, b.address, b.bytes); });
  };
  for (size_t i = meta.kernels.size(); i-- > 0;) {
    const KernelInfo &k = meta.kernels[i];
    for (const auto *list : {&k.inputs, &k.outputs})
      for (const KernelBuffer &b : *list)
        if (isInDdr(b.buffer.address) && !isLive(b.buffer))
          freed[i].push_back({b.buffer.address, b.buffer.bytes, k.parts});
    if (i == 0 || !continues(meta, i))
      for (const KernelBuffer &b : k.outputs)
        live.erase(std::remove_if(live.begin(), live.end(),
                                  [&](const Buffer &l) { return l.address == b.buffer.address; }),
                   live.end());
    for (const KernelBuffer &b : k.inputs)
      if (isInDdr(b.buffer.address) && !isLive(b.buffer))
        live.push_back(b.buffer);
  }
}

/// LLB: a kernel's own buffers behind each run, tensors and weights behind the last kernel that names them,
/// unless another one has taken their place by then.
static void freeOnChip(const Metadata &meta, std::vector<FreedBuffers> &freed) {
  struct Uses {
    const PlannedBuffer *buffer;
    size_t first, last;
  };
  std::map<std::pair<std::string, uint32_t>, Uses> residents;
  for (const PlannedBuffer &r : meta.residents)
    residents.insert({{r.name, r.address}, {&r, meta.kernels.size(), 0}});
  for (size_t i = 0; i < meta.kernels.size(); ++i)
    for (const PlannedBuffer &b : meta.kernels[i].buffers) {
      auto resident = residents.find({b.name, b.address});
      if (resident != residents.end()) {
        resident->second.first = std::min(resident->second.first, i);
        resident->second.last = i;
      } else if (isInLlb(b.address)) {
        freed[i].push_back({b.address, b.bytes, 1});
      }
    }
  for (const auto &[key, uses] : residents) {
    const PlannedBuffer &b = *uses.buffer;
    size_t last = uses.last;
    bool taken = std::any_of(residents.begin(), residents.end(), [&](const auto &other) {
      const Uses &o = other.second;
      return o.first <= last && o.last > last &&
             overlaps(o.buffer->address, o.buffer->bytes, b.address, b.bytes);
    });
    if (uses.first <= last && !taken)
      freed[last].push_back({b.address, b.bytes, std::max(1, meta.kernels[last].parts / b.parts)});
  }
}

std::vector<FreedBuffers> freedBuffers(const Metadata &meta) {
  std::vector<FreedBuffers> freed(meta.kernels.size());
  freeTensors(meta, freed);
  freeOnChip(meta, freed);
  return freed;
}

/// A tensor made in the place of another one was written before, so that never-written memory says nothing.
static std::string missingResult(const sim::Machine &machine, const KernelInfo &kernel, int run) {
  for (const KernelBuffer &b : kernel.outputs) {
    auto pieces = static_cast<uint32_t>(std::max(1, kernel.parts / b.parts));
    uint32_t bytes = b.buffer.bytes / pieces;
    uint32_t address = b.buffer.address + bytes * (static_cast<uint32_t>(run) % pieces);
    if (auto missing = machine.firstNotFresh(address, bytes)) {
      char text[128];
      std::snprintf(text, sizeof text,
                    "it has not written all of its result at 0x%08X: not the byte at 0x%08X",
                    b.buffer.address, *missing);
      return "kernel " + quoteForMessage(kernel.symbol) + " has ended, but " + text;
    }
  }
  return {};
}

std::string finishRun(sim::Machine &machine, const Metadata &meta, const KernelEnd &end,
                      const FreedBuffers &freed, int run) {
  const KernelInfo &kernel = meta.kernels[end.kernel];
  std::string problem;
  if (!kernel.onHost) {
    problem = machine.finishCode(end.code);
    bool complete = end.kernel + 1 == meta.kernels.size() || !continues(meta, end.kernel + 1);
    if (problem.empty() && complete)
      problem = missingResult(machine, kernel, run);
    if (complete)
      machine.beginFresh();
  }
  for (const FreedRange &r : freed)
    if ((run + 1) % r.runs == 0)
      machine.markUnwritten(r.address, r.bytes);
  // L1 and IM are each core's own, and no kernel leaves anything there for the next.
  if (!kernel.onHost)
    machine.forgetPrivate();
  return problem;
}

} // namespace tensorturbo::runtime
