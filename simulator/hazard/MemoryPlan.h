// Which on-chip buffers a stretch of code may touch: the memory plan of the program's kernels.
#pragma once
#include "simulator/Machine.h"
#include <string>
#include <vector>

namespace tensorturbo::sim {

class MemoryPlan {
public:
  explicit MemoryPlan(std::vector<PlannedCode> code);
  /// Why an instruction at `pc` must not touch [address, address + bytes): "touches ... outside the buffers
  /// of its kernel". Empty if it may, or if the plan does not know the code.
  std::string violation(uint32_t pc, uint32_t address, uint64_t bytes) const;

private:
  /// In the order of the addresses.
  std::vector<PlannedCode> code;
};

} // namespace tensorturbo::sim
