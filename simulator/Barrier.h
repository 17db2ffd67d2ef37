// HSYNC: sixteen groups of cores, and which group's barrier is complete.
#pragma once
#include <array>
#include <cstdint>
#include <string>

namespace tensorturbo::sim {

class BarrierUnit {
public:
  /// Group 0: all `cores` cores; the others: nobody.
  void reset(int cores);
  /// Mask register of a group; a 0 bit is a member.
  uint32_t mask(uint32_t group) const { return masks[group]; }
  void setMask(uint32_t group, uint32_t value) { masks[group] = value; }

  bool isWaiting(uint32_t core) const { return waiting >> core & 1; }
  /// A core arrives. The set of cores that go on because of it: the members of the first complete group.
  uint32_t arrive(uint32_t core);
  /// If the core is a member of two groups with different members: "is a member of groups 0 (cores 0, 1) and
  /// 3 (cores 0, 2)". Else "".
  std::string overlap(uint32_t core) const;
  /// The set of cores that wait.
  uint32_t waitingCores() const { return waiting; }
  /// Releases everybody (time-out). The set of cores that waited.
  uint32_t releaseAll();
  /// Whether a waiting core has this one in one of its groups.
  bool isAwaited(uint32_t core) const;
  /// "waits at a barrier: group 0 lacks cores 1, 3" or that it is in no group.
  std::string describe(uint32_t core) const;

private:
  std::array<uint32_t, 16> masks{};
  uint32_t waiting = 0;
};

} // namespace tensorturbo::sim
