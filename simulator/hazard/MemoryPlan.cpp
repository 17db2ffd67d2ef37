#include "simulator/hazard/MemoryPlan.h"
#include "simulator/Memory.h"
#include <algorithm>

namespace tensorturbo::sim {

MemoryPlan::MemoryPlan(std::vector<PlannedCode> list, const std::vector<PlannedOperand> &operandList)
    : code(std::move(list)) {
  std::sort(code.begin(), code.end(),
            [](const PlannedCode &a, const PlannedCode &b) { return a.address < b.address; });
  std::unordered_map<uint64_t, size_t> known;
  for (const PlannedOperand &o : operandList)
    if (o.field == executionsField)
      addCounter(o, known);
    else
      operands.insert({o.pc, o});
}

void MemoryPlan::addCounter(const PlannedOperand &planned, std::unordered_map<uint64_t, size_t> &known) {
  const PlannedCode *c = find(planned.pc);
  if (!c)
    return;
  auto [it, isNew] = known.insert({uint64_t(c->address) << 32 | planned.step, counted.size()});
  if (isNew) {
    counted.push_back({planned.pc, {}});
    countersIn[c->address].push_back(it->second);
  }
  counterOf[planned.pc] = it->second;
  Counted &entry = counted[it->second];
  // A copy says the same again.
  if (entry.pc == planned.pc)
    entry.planned.push_back(planned);
}

void MemoryPlan::finishCode(uint32_t address, uint32_t core, std::vector<uint32_t> &executions,
                            const std::function<void(uint32_t, const std::string &)> &tell) const {
  auto found = countersIn.find(address);
  if (found == countersIn.end())
    return;
  for (size_t counter : found->second) {
    uint32_t is = executions[counter];
    executions[counter] = 0;
    for (const PlannedOperand &p : counted[counter].planned) {
      if ((p.core != core && p.core != everyCore) || (is >= p.low && is <= p.high))
        continue;
      std::string text = std::to_string(is) + " times in this run of its kernel, but by the plan ";
      text += std::to_string(p.low) + (p.low == p.high ? "" : " to " + std::to_string(p.high)) + " times";
      tell(counted[counter].pc, text);
    }
  }
}

const PlannedCode *MemoryPlan::find(uint32_t pc) const {
  auto after = std::upper_bound(code.begin(), code.end(), pc,
                                [](uint32_t at, const PlannedCode &c) { return at < c.address; });
  if (after == code.begin())
    return nullptr;
  const PlannedCode &c = *std::prev(after);
  return pc - c.address < c.size ? &c : nullptr;
}

std::string MemoryPlan::violation(uint32_t pc, uint32_t address, uint64_t bytes) const {
  const PlannedCode *c = bytes ? find(pc) : nullptr;
  if (!c)
    return {};
  for (const PlannedCode::Buffer &b : c->buffers)
    if (address >= b.address && address - b.address <= b.bytes && bytes <= b.bytes - (address - b.address))
      return {};
  return "touches " + std::string(memoryName(address)) + " from " + hexText(address) + " to " +
         hexText(static_cast<uint32_t>(address + bytes - 1)) +
         ", which does not lie in one buffer of the kernel's memory plan";
}

std::string MemoryPlan::describe(const PlannedOperand &planned, uint32_t is) {
  static const char *const names[] = {"rd", "rs1", "rs2", "the stored value"};
  std::string text = std::string(names[std::min<uint32_t>(planned.field, 3)]) + " is " + hexText(is) +
                     ", but by the plan it is ";
  if (planned.low == planned.high)
    return text + hexText(planned.low);
  text += "between " + hexText(planned.low) + " and " + hexText(planned.high);
  return planned.step == 1 ? text : text + " in steps of " + std::to_string(planned.step);
}

} // namespace tensorturbo::sim
