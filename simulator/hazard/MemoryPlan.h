// What a stretch of code may touch, what its operands must be and how often its instructions are executed:
// the plan of the program's kernels.
#pragma once
#include "simulator/Machine.h"
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tensorturbo::sim {

class MemoryPlan {
public:
  MemoryPlan(std::vector<PlannedCode> code, const std::vector<PlannedOperand> &operands);
  /// Whether the plan says anything about the code at `pc`.
  bool knows(uint32_t pc) const { return find(pc) != nullptr; }
  /// Why an instruction at `pc` must not touch [address, address + bytes): "touches ... outside the buffers
  /// of its kernel". Empty if it may, or if the plan does not know the code.
  std::string violation(uint32_t pc, uint32_t address, uint64_t bytes) const;

  /// Number of counters that a core needs.
  size_t counters() const { return counted.size(); }
  /// `core` executes the instruction at `pc`: counts that, and says what is wrong with its operands, or
  /// nothing. value(field) gives the contents of a field's register.
  template <class Value>
  std::string execute(uint32_t pc, uint32_t core, std::vector<uint32_t> &executions, Value value) const {
    if (auto counter = counterOf.find(pc); counter != counterOf.end())
      executions[counter->second]++;
    auto [begin, end] = operands.equal_range(pc);
    for (auto it = begin; it != end; ++it) {
      const PlannedOperand &planned = it->second;
      if (planned.core != core && planned.core != everyCore)
        continue;
      uint32_t is = value(planned.field);
      if (is < planned.low || is > planned.high || (is - planned.low) % planned.step != 0)
        return describe(planned, is);
    }
    return {};
  }
  /// Tells which instructions of the code that begins at `address` were executed less or more often than
  /// planned, and sets their counters to zero.
  void finishCode(uint32_t address, uint32_t core, std::vector<uint32_t> &executions,
                  const std::function<void(uint32_t pc, const std::string &text)> &tell) const;

private:
  static constexpr uint16_t everyCore = 0xFFFF, executionsField = 4;
  /// Instructions that count as one: copies that a compiler made.
  struct Counted {
    uint32_t pc = 0;
    /// By core.
    std::vector<PlannedOperand> planned;
  };
  const PlannedCode *find(uint32_t pc) const;
  static std::string describe(const PlannedOperand &planned, uint32_t is);
  void addCounter(const PlannedOperand &planned, std::unordered_map<uint64_t, size_t> &known);

  /// In the order of the addresses.
  std::vector<PlannedCode> code;
  std::unordered_multimap<uint32_t, PlannedOperand> operands;
  std::vector<Counted> counted;
  std::unordered_map<uint32_t, size_t> counterOf;
  /// Counters by the address of their code.
  std::unordered_map<uint32_t, std::vector<size_t>> countersIn;
};

} // namespace tensorturbo::sim
