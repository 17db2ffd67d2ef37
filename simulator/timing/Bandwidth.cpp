#include "simulator/timing/Bandwidth.h"
#include <algorithm>

namespace tensorturbo::sim {

namespace {
// Demands that fill a resource exactly must not count as contention because of rounding.
constexpr double slack = 1e-9;
} // namespace

FlowSet::FlowSet(size_t slots, std::vector<double> capacities)
    : flows(slots), capacity(std::move(capacities)), left(capacity.size()), wanted(capacity.size()),
      foreign(capacity.size()), newRate(slots) {}

void FlowSet::start(size_t slot, double now, double units, double maxRate, const std::vector<FlowUse> &uses) {
  Flow &flow = flows[slot];
  flow.active = true;
  flow.remaining = units;
  flow.maxRate = maxRate;
  flow.uses = uses;
  flow.rate = 0;
  flow.since = now;
  double most = 0;
  for (const FlowUse &use : uses)
    most = std::max(most, use.weight);
  flow.growth = most > 0 ? 1 / most : 1;
  changed = true;
}

void FlowSet::finish(size_t slot) {
  flows[slot].active = false;
  changed = true;
}

/// Progressive filling over the flows in `contending`.
void FlowSet::share() {
  left = capacity;
  // Flows outside take their full rate.
  for (size_t i = 0; i < flows.size(); i++)
    if (flows[i].active && !flows[i].open)
      for (const FlowUse &use : flows[i].uses)
        left[use.resource] -= use.weight * flows[i].maxRate;
  double level = 0;
  while (!contending.empty()) {
    // `wanted`: bytes per cycle that one more unit of level costs each resource.
    std::fill(wanted.begin(), wanted.end(), 0.0);
    for (size_t i : contending)
      for (const FlowUse &use : flows[i].uses)
        wanted[use.resource] += use.weight * flows[i].growth;
    double step = never;
    for (size_t r = 0; r < capacity.size(); r++)
      if (wanted[r] > 0)
        step = std::min(step, std::max(0.0, left[r]) / (wanted[r] + foreign[r]));
    for (size_t i : contending)
      step = std::min(step, flows[i].maxRate / flows[i].growth - level);
    level += step;
    for (size_t r = 0; r < capacity.size(); r++)
      if (wanted[r] > 0)
        left[r] -= step * (wanted[r] + foreign[r]);
    auto stopped = [&](size_t i) {
      const Flow &flow = flows[i];
      bool stop = flow.maxRate / flow.growth - level <= slack * level;
      for (const FlowUse &use : flow.uses)
        stop |= use.weight > 0 && left[use.resource] <= slack * capacity[use.resource];
      if (stop)
        newRate[i] = std::min(flow.maxRate, level * flow.growth);
      return stop;
    };
    size_t before = contending.size();
    contending.erase(std::remove_if(contending.begin(), contending.end(), stopped), contending.end());
    // Foreign flows on a resource stay as hungry as ours on it; rounding alone must not keep the loop going.
    if (contending.size() == before && step <= 0) {
      for (size_t i : contending)
        newRate[i] = std::min(flows[i].maxRate, level * flows[i].growth);
      contending.clear();
    }
  }
}

void FlowSet::solve(double now, std::vector<double> &due) {
  changed = false;
  std::fill(wanted.begin(), wanted.end(), 0.0);
  for (const Flow &flow : flows)
    if (flow.active)
      for (const FlowUse &use : flow.uses)
        wanted[use.resource] += use.weight * flow.maxRate;
  contending.clear();
  for (size_t i = 0; i < flows.size(); i++) {
    Flow &flow = flows[i];
    if (!flow.active)
      continue;
    flow.open = false;
    for (const FlowUse &use : flow.uses)
      flow.open |= use.weight > 0 && (wanted[use.resource] > capacity[use.resource] * (1 + slack) ||
                                      foreign[use.resource] != 0);
    newRate[i] = flow.maxRate;
    if (flow.open)
      contending.push_back(i);
  }
  if (!contending.empty())
    share();
  for (size_t i = 0; i < flows.size(); i++) {
    Flow &flow = flows[i];
    if (!flow.active || newRate[i] == flow.rate)
      continue;
    flow.remaining = std::max(0.0, flow.remaining - flow.rate * (now - flow.since));
    flow.since = now;
    flow.rate = newRate[i];
    due[i] = now + flow.remaining / flow.rate;
  }
}

} // namespace tensorturbo::sim
