#include "Schedule/ListSchedule.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace tensorturbo::schedule {
namespace {

/// Issues units one after the other and keeps the clocks.
class Machine {
public:
  Machine(const std::vector<ScheduleUnit> &units, const ScheduleModel &model)
      : units(units), model(model), engineFree(model.engines, 0), starts(model.engines),
        done(units.size(), 0) {}

  /// When the unit would start if it were issued next.
  double startOf(uint32_t index) const {
    const ScheduleUnit &unit = units[index];
    double start = std::max(issueTime(unit), engineFree[unit.engine]);
    for (uint32_t before : unit.after)
      start = std::max(start, done[before]);
    return start;
  }
  void issue(uint32_t index) {
    const ScheduleUnit &unit = units[index];
    double start = startOf(index);
    front = issueTime(unit);
    starts[unit.engine].push_back(start);
    done[index] = engineFree[unit.engine] = start + unit.cycles;
    finish = std::max(finish, done[index]);
  }
  double finish = 0;

private:
  /// A queue has room for a unit when the one `queueDepth` before it has started.
  double issueTime(const ScheduleUnit &unit) const {
    const std::vector<double> &queue = starts[unit.engine];
    double room = queue.size() < model.queueDepth ? 0 : queue[queue.size() - model.queueDepth];
    return std::max(front + unit.issue, room);
  }

  const std::vector<ScheduleUnit> &units;
  const ScheduleModel &model;
  double front = 0;
  std::vector<double> engineFree;
  std::vector<std::vector<double>> starts;
  std::vector<double> done;
};

} // namespace

double finishTime(const std::vector<ScheduleUnit> &units, const std::vector<uint32_t> &order,
                  const ScheduleModel &model) {
  Machine machine(units, model);
  for (uint32_t index : order)
    machine.issue(index);
  return machine.finish;
}

std::vector<uint32_t> listSchedule(const std::vector<ScheduleUnit> &units, const ScheduleModel &model) {
  std::vector<uint32_t> given(units.size()), order;
  std::iota(given.begin(), given.end(), 0);
  // Longest way from the end of a unit to the end of the code. Who waits for the last ones is not known.
  std::vector<double> height(units.size(), 0);
  std::vector<uint32_t> missing(units.size(), 0);
  std::vector<std::vector<uint32_t>> followers(units.size());
  for (uint32_t i = uint32_t(units.size()); i-- > 0;) {
    for (uint32_t before : units[i].after) {
      height[before] = std::max(height[before], height[i] + units[i].cycles);
      followers[before].push_back(i);
    }
    missing[i] = uint32_t(units[i].after.size());
  }
  std::vector<uint32_t> ready;
  for (uint32_t i : given)
    if (missing[i] == 0)
      ready.push_back(i);
  Machine machine(units, model);
  while (!ready.empty()) {
    size_t best = 0;
    double bestStart = machine.startOf(ready[0]);
    for (size_t k = 1; k < ready.size(); ++k) {
      double start = machine.startOf(ready[k]);
      bool together = std::abs(start - bestStart) < model.negligible;
      bool higher = height[ready[k]] > height[ready[best]] ||
                    (height[ready[k]] == height[ready[best]] && ready[k] < ready[best]);
      if (together ? higher : start < bestStart) {
        best = k;
        bestStart = start;
      }
    }
    uint32_t chosen = ready[best];
    ready.erase(ready.begin() + std::ptrdiff_t(best));
    machine.issue(chosen);
    order.push_back(chosen);
    for (uint32_t follower : followers[chosen])
      if (--missing[follower] == 0)
        ready.push_back(follower);
  }
  return machine.finish + model.negligible < finishTime(units, given, model) ? order : given;
}

} // namespace tensorturbo::schedule
