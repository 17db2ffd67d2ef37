// The planner of level 1 on small chains and on random graphs.
#include "Schedule/Stages.h"
#include <gtest/gtest.h>
#include <random>

using namespace tensorturbo::schedule;

namespace {
constexpr int64_t mib = 1024 * 1024;

/// A chain: tensor i is made by step i - 1 and read by step i; the first and the last lie in DDR.
StageProblem chain(int64_t batch, const std::vector<int64_t> &megabytes, int64_t weightBytes = 1000) {
  StageProblem p;
  p.batch = batch;
  int steps = static_cast<int>(megabytes.size()) - 1;
  for (int i = 0; i <= steps; ++i) {
    StageTensor t;
    t.name = "t" + std::to_string(i);
    t.bytes = megabytes[static_cast<size_t>(i)] * mib;
    t.producer = i - 1;
    t.lastUse = i;
    t.ddrOnly = i == 0 || i == steps;
    p.tensors.push_back(t);
    if (i < steps) {
      StageStep s;
      s.inputs = {i};
      s.outputs = {i + 1};
      s.weightBytes = weightBytes;
      p.steps.push_back(s);
    }
  }
  return p;
}

/// What must hold for every plan.
void check(const StageProblem &p, const StagePlan &plan) {
  int next = 0;
  for (const Stage &s : plan.stages) {
    EXPECT_EQ(s.first, next);
    EXPECT_GE(s.last, s.first);
    EXPECT_EQ(p.batch % s.parts, 0);
    next = s.last + 1;
    for (int k = s.first; k <= s.last; ++k) {
      const StageStep &step = p.steps[static_cast<size_t>(k)];
      if (s.parts > 1) {
        EXPECT_TRUE(step.splittable);
        for (int t : step.inputs)
          EXPECT_TRUE(p.tensors[static_cast<size_t>(t)].batched);
      }
    }
  }
  EXPECT_EQ(next, static_cast<int>(p.steps.size()));
  ASSERT_EQ(plan.resident.size(), p.tensors.size());
  for (size_t i = 0; i < p.tensors.size(); ++i)
    if (plan.resident[i]) {
      EXPECT_FALSE(p.tensors[i].ddrOnly);
      EXPECT_GE(p.tensors[i].producer, 0);
    }
  for (int k = 0; k < static_cast<int>(p.steps.size()); ++k)
    EXPECT_LE(plan.liveBytes(p, k), p.llbBytes);
}
} // namespace

TEST(Stages, SmallTensorsStayInOneStage) {
  StageProblem p = chain(1, {1, 1, 1, 1});
  StagePlan plan = planStages(p);
  check(p, plan);
  ASSERT_EQ(plan.stages.size(), 1u);
  EXPECT_EQ(plan.stages[0].parts, 1);
  EXPECT_TRUE(plan.resident[1] && plan.resident[2]);
  EXPECT_FALSE(plan.resident[0] || plan.resident[3]);
}

TEST(Stages, LargeBatchRunsInParts) {
  // 2 x 12 MiB never fit; an eighth of the batch does.
  StageProblem p = chain(16, {16, 12, 12, 12, 1});
  StagePlan plan = planStages(p);
  check(p, plan);
  ASSERT_EQ(plan.stages.size(), 1u);
  EXPECT_GE(plan.stages[0].parts, 4);
  EXPECT_TRUE(plan.resident[1] && plan.resident[2] && plan.resident[3]);
}

TEST(Stages, HeavyWeightsAreNotReadForEveryPart) {
  // The parts that the first layers need would read 40 MiB of weights again and again.
  StageProblem p = chain(16, {16, 12, 12, 1, 1, 1});
  p.steps[3].weightBytes = p.steps[4].weightBytes = 40 * mib;
  StagePlan plan = planStages(p);
  check(p, plan);
  EXPECT_GT(plan.stages[static_cast<size_t>(plan.stageOf(0))].parts, 1);
  EXPECT_EQ(plan.stages[static_cast<size_t>(plan.stageOf(4))].parts, 1);
}

TEST(Stages, StepThatCannotBeSplitRunsWhole) {
  StageProblem p = chain(16, {16, 12, 12, 12, 1});
  p.steps[1].splittable = false;
  StagePlan plan = planStages(p);
  check(p, plan);
  EXPECT_EQ(plan.stages[static_cast<size_t>(plan.stageOf(1))].parts, 1);
}

TEST(Stages, TensorLargerThanLlbStaysInDdr) {
  StageProblem p = chain(1, {1, 20, 1});
  StagePlan plan = planStages(p);
  check(p, plan);
  EXPECT_FALSE(plan.resident[1]);
}

TEST(Stages, RandomGraphs) {
  std::mt19937 random(7);
  auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int round = 0; round < 60; ++round) {
    StageProblem p;
    p.batch = int64_t(1) << pick(0, 4);
    int steps = pick(1, 20);
    StageTensor input;
    input.bytes = pick(1, 8) * mib;
    input.ddrOnly = true;
    p.tensors.push_back(input);
    for (int k = 0; k < steps; ++k) {
      StageStep s;
      s.splittable = pick(0, 4) != 0;
      s.weightBytes = pick(0, 4000) * 1000;
      for (int i = pick(1, 3); i > 0; --i) {
        int t =
            pick(std::max(0, static_cast<int>(p.tensors.size()) - 4), static_cast<int>(p.tensors.size()) - 1);
        s.inputs.push_back(t);
        p.tensors[static_cast<size_t>(t)].lastUse = std::max(p.tensors[static_cast<size_t>(t)].lastUse, k);
      }
      StageTensor t;
      t.bytes = pick(1, 20) * mib / 2 * p.batch;
      t.producer = t.lastUse = k;
      t.ddrOnly = pick(0, 9) == 0;
      s.outputs = {static_cast<int>(p.tensors.size())};
      p.tensors.push_back(t);
      p.steps.push_back(s);
    }
    p.tensors.back().lastUse = steps;
    p.tensors.back().ddrOnly = true;
    StagePlan plan = planStages(p);
    check(p, plan);
    StagePlan again = planStages(p);
    EXPECT_EQ(plan.resident, again.resident);
    EXPECT_EQ(plan.cycles, again.cycles);
  }
}
