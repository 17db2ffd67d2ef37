// Bytes that two strided blocks have in common.
#pragma once
#include "simulator/hazard/AccessLog.h"
#include <optional>

namespace tensorturbo::sim {

/// First byte (offset in the memory) that both blocks touch, exactly; nothing if they interleave without
/// touching. Both must lie in the same memory.
std::optional<uint64_t> firstCommonByte(const MemoryAccess &a, const MemoryAccess &b);

} // namespace tensorturbo::sim
