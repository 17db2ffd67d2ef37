#include "Schedule/MemoryPlan.h"
#include <gtest/gtest.h>

using namespace tensorturbo;
using namespace tensorturbo::schedule;

namespace {

MemoryProblem randomProblem(uint32_t seed, size_t count) {
  MemoryProblem problem{"L1", uint64_t(1) << 40, {}};
  uint64_t state = seed * 2654435761u + 1;
  auto next = [&](uint64_t bound) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (state >> 33) % bound;
  };
  for (size_t i = 0; i < count; ++i) {
    int64_t first = int64_t(next(40));
    problem.buffers.push_back({"b" + std::to_string(i), 1 + next(100000), uint64_t(2) << next(6), first,
                               first + int64_t(next(12))});
  }
  return problem;
}

TEST(MemoryPlan, DisjointLivesShareBytes) {
  MemoryProblem problem{"L1", 4096, {{"a", 4096, 64, 0, 1}, {"b", 4096, 64, 2, 3}, {"c", 1000, 64, 4, 5}}};
  MemoryPlan plan = planMemory(problem);
  EXPECT_EQ(plan.peak, 4096u);
  EXPECT_EQ(plan.offsets, (std::vector<uint64_t>{0, 0, 0}));
  Diagnostics diags;
  EXPECT_TRUE(checkMemoryPlan(problem, plan, diags));
}

TEST(MemoryPlan, LivesThatMeetInOneStepAreApart) {
  MemoryProblem problem{"L1", 8192, {{"a", 4096, 64, 0, 2}, {"b", 4096, 64, 2, 3}}};
  MemoryPlan plan = planMemory(problem);
  EXPECT_EQ(plan.peak, 8192u);
  EXPECT_NE(plan.offsets[0], plan.offsets[1]);
}

TEST(MemoryPlan, OffsetsAreAligned) {
  MemoryProblem problem{"L1", 4096, {{"a", 100, 64, 0, 1}, {"b", 99, 128, 0, 1}, {"c", 1, 2, 0, 1}}};
  MemoryPlan plan = planMemory(problem);
  Diagnostics diags;
  EXPECT_TRUE(checkMemoryPlan(problem, plan, diags)) << diags.render();
  EXPECT_EQ(plan.offsets[1] % 128, 0u);
}

TEST(MemoryPlan, SearchImprovesOnTheGreedyPlan) {
  size_t improved = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    MemoryProblem problem = randomProblem(seed, 40);
    uint64_t greedy = planMemory(problem, {0}).peak;
    MemoryPlan plan = planMemory(problem);
    EXPECT_LE(plan.peak, greedy);
    EXPECT_GE(plan.peak, problem.lowerBound());
    improved += plan.peak < greedy;
  }
  EXPECT_GE(improved, 5u);
}

TEST(MemoryPlan, RandomPlansPassTheChecker) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    MemoryProblem problem = randomProblem(seed + 100, 1 + seed);
    MemoryPlan plan = planMemory(problem, {20000});
    Diagnostics diags;
    EXPECT_TRUE(checkMemoryPlan(problem, plan, diags)) << "seed " << seed << "\n" << diags.render();
  }
}

TEST(MemoryPlan, SameProblemSamePlan) {
  MemoryProblem problem = randomProblem(7, 60);
  EXPECT_EQ(planMemory(problem).offsets, planMemory(problem).offsets);
}

TEST(MemoryPlan, EmptyProblem) {
  MemoryProblem problem{"IM", 0, {}};
  MemoryPlan plan = planMemory(problem);
  EXPECT_EQ(plan.peak, 0u);
  Diagnostics diags;
  EXPECT_TRUE(checkMemoryPlan(problem, plan, diags));
}

TEST(MemoryPlanChecker, ReportsEveryFinding) {
  MemoryProblem problem{
      "IM", 1000, {{"a", 600, 64, 0, 1}, {"b", 600, 64, 1, 2}, {"c", 600, 64, 0, 5}, {"d", 8, 64, 9, 9}}};
  MemoryPlan plan{{0, 64, 512, 4}, 1112};
  Diagnostics diags;
  EXPECT_FALSE(checkMemoryPlan(problem, plan, diags));
  size_t overlaps = 0, overflows = 0, misaligned = 0;
  for (const Diagnostic &d : diags.all()) {
    overlaps += d.message.find("overlap in IM") != std::string::npos;
    misaligned += d.message.find("not aligned to 64") != std::string::npos;
    if (d.message.find("does not fit in IM") != std::string::npos) {
      ++overflows;
      EXPECT_EQ(d.errorClass, ErrorClass::Resource);
      EXPECT_NE(d.message.find("'c' (600 bytes, steps 0 to 5)"), std::string::npos) << d.message;
      EXPECT_NE(d.message.find("capacity 1000"), std::string::npos) << d.message;
    }
  }
  EXPECT_EQ(overlaps, 3u);
  EXPECT_EQ(overflows, 1u);
  EXPECT_EQ(misaligned, 1u);
  EXPECT_FALSE(checkMemoryPlan(problem, {{0}, 0}, diags));
}

TEST(MemoryProblem, LowerBound) {
  MemoryProblem problem{"L1", 0, {{"a", 10, 1, 0, 2}, {"b", 20, 1, 2, 4}, {"c", 25, 1, 3, 3}}};
  EXPECT_EQ(problem.lowerBound(), 45u);
  // In units of 16 bytes 32 + 32, of which the last one may miss 15.
  for (MemoryBuffer &buffer : problem.buffers)
    buffer.alignment = 16;
  EXPECT_EQ(problem.lowerBound(), 49u);
}

TEST(MemoryPlan, StopsWhenItFits) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    MemoryProblem problem = randomProblem(seed, 40);
    MemoryPlanOptions fits;
    fits.stopWhenFits = true;
    EXPECT_EQ(planMemory(problem, fits).offsets, planMemory(problem, {0}).offsets) << "the level is large";
    problem.capacity = planMemory(problem).peak;
    EXPECT_LE(planMemory(problem, fits).peak, problem.capacity);
  }
}

TEST(MemoryProblem, JsonRoundTrip) {
  MemoryProblem problem = randomProblem(3, 10);
  Diagnostics diags;
  std::optional<MemoryProblem> again = MemoryProblem::fromJson(problem.toJson(), diags);
  ASSERT_TRUE(again) << diags.render();
  EXPECT_EQ(again->toJson(), problem.toJson());
  EXPECT_EQ(planMemory(*again).offsets, planMemory(problem).offsets);
}

TEST(MemoryProblem, BadJsonIsRefused) {
  const char *bad[] = {
      "",
      "[]",
      "{\"level\":\"L1\"}",
      R"({"level":"L1","capacity":-1,"buffers":[]})",
      R"({"level":"L1","capacity":1,"buffers":[3]})",
      R"({"level":"L1","capacity":1,"buffers":[{"name":"a"}]})",
      R"({"level":"L1","capacity":1,"buffers":[{"name":"a","bytes":1,"alignment":3,"first_use":0,"last_use":1}]})",
      R"({"level":"L1","capacity":1,"buffers":[{"name":"a","bytes":1,"alignment":0,"first_use":0,"last_use":1}]})",
      R"({"level":"L1","capacity":1,"buffers":[{"name":"a","bytes":-1,"alignment":2,"first_use":0,"last_use":1}]})",
      R"({"level":"L1","capacity":1,"buffers":[{"name":"a","bytes":1,"alignment":2,"first_use":2,"last_use":1}]})",
  };
  for (const char *text : bad) {
    Diagnostics diags;
    EXPECT_FALSE(MemoryProblem::fromJson(text, diags)) << text;
    EXPECT_EQ(diags.exitCode(), 1) << text;
  }
}

} // namespace
