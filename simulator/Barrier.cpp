#include "simulator/Barrier.h"

namespace tensorturbo::sim {

void BarrierUnit::reset(int cores) {
  masks.fill(~0u);
  masks[0] = ~((1u << cores) - 1);
  waiting = 0;
}

uint32_t BarrierUnit::arrive(uint32_t core) {
  waiting |= 1u << core;
  for (uint32_t mask : masks) {
    uint32_t members = ~mask;
    if (members == 0 || (members & ~waiting))
      continue;
    waiting &= ~members;
    return members;
  }
  return 0;
}

uint32_t BarrierUnit::releaseAll() {
  uint32_t released = waiting;
  waiting = 0;
  return released;
}

static std::string groupText(uint32_t group, uint32_t members) {
  std::string text = std::to_string(group) + " (cores";
  const char *separator = " ";
  for (uint32_t core = 0; core < 32; core++)
    if (members >> core & 1) {
      text += separator + std::to_string(core);
      separator = ", ";
    }
  return text + ")";
}

std::string BarrierUnit::overlap(uint32_t core) const {
  const uint32_t *first = nullptr;
  for (const uint32_t &mask : masks) {
    if (mask >> core & 1)
      continue;
    if (!first)
      first = &mask;
    else if (*first != mask)
      return "is a member of groups " + groupText(uint32_t(first - masks.data()), ~*first) + " and " +
             groupText(uint32_t(&mask - masks.data()), ~mask);
  }
  return {};
}

bool BarrierUnit::isAwaited(uint32_t core) const {
  if (isWaiting(core))
    return false;
  for (uint32_t mask : masks)
    if ((~mask >> core & 1) && (~mask & waiting))
      return true;
  return false;
}

std::string BarrierUnit::describe(uint32_t core) const {
  std::string text;
  for (uint32_t group = 0; group < masks.size(); group++) {
    uint32_t members = ~masks[group];
    if (!(members >> core & 1))
      continue;
    text += text.empty() ? "waits at a barrier: group " : "; group ";
    text += std::to_string(group) + " lacks cores";
    const char *separator = " ";
    for (uint32_t other = 0; other < 32; other++)
      if (members >> other & 1 && !isWaiting(other)) {
        text += separator + std::to_string(other);
        separator = ", ";
      }
  }
  return text.empty() ? "waits at a barrier but is a member of no group" : text;
}

} // namespace tensorturbo::sim
