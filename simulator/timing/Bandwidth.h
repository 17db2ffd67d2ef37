// Bandwidth servers with max-min fair sharing. A flow moves `remaining` units at up to `maxRate` units per
// cycle and takes `weight` bytes of each of its resources per unit. While a resource is wanted by more than
// it can serve, all flows on it grow alike in bytes per cycle until each is stopped by its own limit or by a
// resource that is used up.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tensorturbo::sim {

inline constexpr double never = std::numeric_limits<double>::infinity();

struct FlowUse {
  uint16_t resource;
  double weight;
};

class FlowSet {
public:
  /// `slots` flows at most, each known by its slot.
  FlowSet(size_t slots, std::vector<double> capacities);

  /// Flows that are not ours and want as much of a resource as they can get.
  void setForeign(size_t resource, unsigned count) { foreign[resource] = count; }

  struct Flow {
    bool active = false;
    double remaining = 0, maxRate = 1;
    std::vector<FlowUse> uses;
    // Kept by the set.
    double rate = 0, since = 0, growth = 1;
    bool open = false;
  };

  /// Starts a flow with the given uses; its rate is set by the next solve().
  void start(size_t slot, double now, double units, double maxRate, const std::vector<FlowUse> &uses);
  void finish(size_t slot);
  bool dirty() const { return changed; }
  /// Shares the resources anew. `due` gets the time at which each active flow ends.
  void solve(double now, std::vector<double> &due);

private:
  void share();
  std::vector<Flow> flows;
  std::vector<double> capacity, left, wanted;
  std::vector<unsigned> foreign;
  std::vector<double> newRate;
  std::vector<size_t> contending;
  bool changed = false;
};

} // namespace tensorturbo::sim
