// Accounts of several runs together.
#include "simulator/timing/Report.h"
#include "test/unit/Timing/Assembler.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace tensorturbo;
using namespace tensorturbo::sim;
using namespace tensorturbo::sim::test;

TEST(Utilisation, KeepsSumsWhenItCoarsens) {
  Utilisation use;
  double total = 0;
  for (double begin = 0; begin < 1e6; begin += 1000) {
    use.add(MmeEngine, begin, begin + 300.5);
    total += 300.5;
  }
  const auto &bins = use.bins[MmeEngine];
  EXPECT_LE(bins.size(), Utilisation::most);
  EXPECT_GE(bins.size(), Utilisation::most / 2);
  EXPECT_NEAR(std::accumulate(bins.begin(), bins.end(), 0.0), total, 1e-6);
  for (size_t i = 0; i + 1 < bins.size(); i++)
    EXPECT_NEAR(bins[i] / use.width, 0.3, 0.05);
}

static TimingResult someRun() {
  Program program;
  for (int i = 0; i < 3; i++) {
    program.matmul(64, 64, 500, im, l1, l1 + 0x80000);
    program.add(64, 64, l1 + 0x40000, im, im + 0x20000);
  }
  return Recorded({program}).time();
}

TEST(TimingResult, RunsOneAfterTheOther) {
  TimingResult one = someRun(), both = one;
  both.append(one);
  EXPECT_DOUBLE_EQ(both.cycles, 2 * one.cycles);
  EXPECT_DOUBLE_EQ(both.cores[0][MmeEngine].busy, 2 * one.cores[0][MmeEngine].busy);
  EXPECT_EQ(both.instructions, 12u);
  ASSERT_EQ(both.slices.size(), 2 * one.slices.size());
  EXPECT_DOUBLE_EQ(both.slices[one.slices.size()].begin, one.slices[0].begin + one.cycles);
  EXPECT_DOUBLE_EQ(both.layers[0].begin, one.layers[0].begin);
  EXPECT_DOUBLE_EQ(both.layers[0].end, one.layers[0].end + one.cycles);
  EXPECT_EQ(both.l1Used, one.l1Used);
  const auto &a = one.utilisation.bins[MmeEngine], &b = both.utilisation.bins[MmeEngine];
  EXPECT_NEAR(std::accumulate(b.begin(), b.end(), 0.0), 2 * std::accumulate(a.begin(), a.end(), 0.0), 1e-6);
}

TEST(Report, NamesAreHarmless) {
  RunReport report;
  report.costs = baseCosts();
  report.timing = someRun();
  report.timing.layers.insert(report.timing.layers.begin(), report.timing.layers[0]);
  report.layers = {{"kernel", {"evil\x1b[31m\n\"node\"", "\xff"}}};
  EXPECT_EQ(report.table().find('\x1b'), std::string::npos);
  auto parsed = llvm::json::parse(report.perfetto());
  ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError());
  EXPECT_GT(parsed->getAsObject()->getArray("traceEvents")->size(), 6u);
}
