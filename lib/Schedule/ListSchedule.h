// Order of instructions for engines that run side by side, each in the order in which it is given work.
#pragma once
#include <cstdint>
#include <vector>

namespace tensorturbo::schedule {

/// One instruction of a straight piece of code.
struct ScheduleUnit {
  /// Number of the engine that executes it, from 0.
  uint32_t engine = 0;
  /// Time on the engine, and time that the front end needs to issue it, in cycles.
  double cycles = 0, issue = 1;
  /// Earlier units that must stay in front of it. Its engine holds it back until they are done.
  std::vector<uint32_t> after;
};

/// The chip's rules in short: the front end issues in order; an engine has a queue of `queueDepth`
/// instructions and starts them in order, each when those in `after` are done; a full queue stops the front
/// end.
struct ScheduleModel {
  uint32_t engines = 3;
  uint32_t queueDepth = 8;
  /// Times that differ by less count as equal: the model is not that exact.
  double negligible = 20;
};

/// Cycles until all units are done, in the given order (a permutation of their indices).
double finishTime(const std::vector<ScheduleUnit> &units, const std::vector<uint32_t> &order,
                  const ScheduleModel &model = {});

/// An order that respects `after`: at each point the unit that can start first, among equals the one with the
/// longest way to the end. The given order (0, 1, 2 ...) is kept if no time is won. At most quadratic.
std::vector<uint32_t> listSchedule(const std::vector<ScheduleUnit> &units, const ScheduleModel &model = {});

} // namespace tensorturbo::schedule
