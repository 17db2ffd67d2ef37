#include "Schedule/ListSchedule.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace tensorturbo::schedule;

namespace {

constexpr uint32_t vme = 1, mte = 2;

/// Load, compute, store, twice, in two slots.
std::vector<ScheduleUnit> twoTurns() {
  return {{mte, 100, 1, {}}, {vme, 150, 1, {0}}, {mte, 100, 1, {1}},
          {mte, 100, 1, {}}, {vme, 150, 1, {3}}, {mte, 100, 1, {4}}};
}

TEST(ListSchedule, TimeFollowsTheQueues) {
  // The second load stands behind the first store: 1 + 100 + 150 + 100 + 100 + 150 + 100.
  EXPECT_DOUBLE_EQ(finishTime(twoTurns(), {0, 1, 2, 3, 4, 5}), 701);
  // In front of it: the loads take 200, the second compute 150 after the first one, then a store.
  EXPECT_DOUBLE_EQ(finishTime(twoTurns(), {0, 1, 3, 2, 4, 5}), 501);
}

TEST(ListSchedule, LoadGoesInFrontOfStore) {
  std::vector<uint32_t> order = listSchedule(twoTurns());
  auto place = [&](uint32_t unit) { return std::find(order.begin(), order.end(), unit) - order.begin(); };
  EXPECT_LT(place(3), place(2));
  EXPECT_DOUBLE_EQ(finishTime(twoTurns(), order), 501);
}

TEST(ListSchedule, FullQueueStopsTheFrontEnd) {
  std::vector<ScheduleUnit> units(4);
  for (ScheduleUnit &unit : units)
    unit.engine = vme, unit.cycles = 100;
  units.emplace_back();
  units[4].cycles = 10;
  std::vector<uint32_t> order = {0, 1, 2, 3, 4};
  ScheduleModel shallow;
  shallow.queueDepth = 2;
  // The fourth vector instruction can be issued when the second one starts, the product after it.
  EXPECT_DOUBLE_EQ(finishTime(units, order, shallow), 401);
  units[4].cycles = 400;
  EXPECT_DOUBLE_EQ(finishTime(units, order), 405);
  EXPECT_DOUBLE_EQ(finishTime(units, order, shallow), 502);
}

TEST(ListSchedule, NothingToWinKeepsTheOrder) {
  std::vector<ScheduleUnit> units = {{mte, 10, 1, {}}, {vme, 10, 1, {0}}, {mte, 10, 1, {1}}};
  EXPECT_EQ(listSchedule(units), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_TRUE(listSchedule({}).empty());
}

TEST(ListSchedule, RandomCodeKeepsItsOrderAndNeverBecomesSlower) {
  uint64_t state = 7;
  auto next = [&](uint64_t bound) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (state >> 33) % bound;
  };
  size_t faster = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<ScheduleUnit> units(5 + next(40));
    for (uint32_t i = 0; i < units.size(); ++i) {
      units[i].engine = uint32_t(next(3));
      units[i].cycles = double(1 + next(300));
      for (uint32_t k = 0; k < i; ++k)
        if (next(8) == 0)
          units[i].after.push_back(k);
    }
    std::vector<uint32_t> given(units.size());
    std::iota(given.begin(), given.end(), 0);
    std::vector<uint32_t> order = listSchedule(units), sorted = order;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(sorted, given);
    std::vector<size_t> place(units.size());
    for (size_t p = 0; p < order.size(); ++p)
      place[order[p]] = p;
    for (uint32_t i = 0; i < units.size(); ++i)
      for (uint32_t before : units[i].after)
        ASSERT_LT(place[before], place[i]);
    ASSERT_LE(finishTime(units, order), finishTime(units, given));
    faster += finishTime(units, order) < finishTime(units, given);
  }
  EXPECT_GT(faster, 100u);
}

} // namespace
