#include "simulator/hazard/MemoryPlan.h"
#include "simulator/Memory.h"
#include <algorithm>

namespace tensorturbo::sim {

MemoryPlan::MemoryPlan(std::vector<PlannedCode> list) : code(std::move(list)) {
  std::sort(code.begin(), code.end(),
            [](const PlannedCode &a, const PlannedCode &b) { return a.address < b.address; });
}

std::string MemoryPlan::violation(uint32_t pc, uint32_t address, uint64_t bytes) const {
  auto after = std::upper_bound(code.begin(), code.end(), pc,
                                [](uint32_t at, const PlannedCode &c) { return at < c.address; });
  if (bytes == 0 || after == code.begin())
    return {};
  const PlannedCode &c = *std::prev(after);
  if (pc - c.address >= c.size)
    return {};
  for (const PlannedCode::Buffer &b : c.buffers)
    if (address >= b.address && address - b.address <= b.bytes && bytes <= b.bytes - (address - b.address))
      return {};
  return "touches " + std::string(memoryName(address)) + " from " + hexText(address) + " to " +
         hexText(static_cast<uint32_t>(address + bytes - 1)) +
         ", which does not lie in one buffer of the kernel's memory plan";
}

} // namespace tensorturbo::sim
