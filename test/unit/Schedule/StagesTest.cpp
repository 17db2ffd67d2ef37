// The planner of level 1 on small chains and on random graphs.
#include "Schedule/Stages.h"
#include <gtest/gtest.h>
#include <map>
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

/// The loops of the plan, one call after the other: (step, number of the part).
void runLoops(const StagePlan &plan, int first, int last, int64_t outer, int64_t index,
              std::vector<std::pair<int, int64_t>> &calls) {
  int64_t coarsest = plan.stages[static_cast<size_t>(last)].parts;
  for (int64_t i = 0; i < coarsest / outer; ++i) {
    int64_t part = index * (coarsest / outer) + i;
    int begin = first;
    for (int s = first; s <= last; ++s) {
      const Stage &stage = plan.stages[static_cast<size_t>(s)];
      if (stage.parts > coarsest) {
        if (s == last || plan.stages[static_cast<size_t>(s) + 1].parts == coarsest)
          runLoops(plan, begin, s, coarsest, part, calls);
        continue;
      }
      for (int k = stage.first; k <= stage.last; ++k)
        calls.push_back({k, part});
      begin = s + 1;
    }
  }
}

/// Executes the plan on tokens: each resident place must still hold what a step wants to read.
void checkRun(const StageProblem &p, const StagePlan &plan) {
  std::vector<std::pair<int, int64_t>> calls;
  for (int s = 0, end = static_cast<int>(plan.stages.size()); s < end;) {
    int last = s;
    while (last + 1 < end && plan.nestOf(last + 1) == s)
      ++last;
    runLoops(plan, s, last, 1, 0, calls);
    s = last + 1;
  }
  // By place and slice of it: the tensor and the images that it holds. Slices are those of the finest parts.
  int64_t finest = 1;
  for (const Stage &s : plan.stages)
    finest = std::max(finest, s.parts);
  std::map<std::pair<int, int64_t>, std::pair<int, int64_t>> memory;
  auto access = [&](int step, int64_t part, int tensor, bool write) {
    const StageTensor &t = p.tensors[static_cast<size_t>(tensor)];
    if (!plan.resident[static_cast<size_t>(tensor)])
      return;
    auto [first, last] = plan.lifetime(p, tensor);
    EXPECT_LE(first, step);
    EXPECT_GE(last, step);
    int64_t parts = plan.stages[static_cast<size_t>(plan.stageOf(step))].parts;
    int64_t images = t.batched ? finest / parts : finest, from = t.batched ? part * images : 0;
    int64_t held = finest / plan.scope(p, tensor);
    for (int64_t i = from; i < from + images; ++i) {
      std::pair<int, int64_t> at{plan.placeOf(p, tensor), i % held}, what{tensor, i};
      if (write)
        memory[at] = what;
      else
        EXPECT_TRUE(memory.count(at) && memory[at] == what) << "step " << step << " tensor " << tensor;
    }
  };
  std::vector<int64_t> runs(p.steps.size());
  for (auto [step, part] : calls) {
    EXPECT_EQ(part, runs[static_cast<size_t>(step)]++) << "parts come in order";
    for (int t : p.steps[static_cast<size_t>(step)].inputs)
      access(step, part, t, false);
    for (int t : p.steps[static_cast<size_t>(step)].outputs)
      access(step, part, t, true);
  }
  for (size_t k = 0; k < runs.size(); ++k)
    EXPECT_EQ(runs[k], plan.stages[static_cast<size_t>(plan.stageOf(static_cast<int>(k)))].parts);
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
  for (int64_t live : plan.liveBytes(p))
    EXPECT_LE(live, p.llbBytes);
  checkRun(p, plan);
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

TEST(Stages, PartsGrowCoarserAsTensorsGrowSmaller) {
  // A quarter of the tensors each time, four times the weights: nested loops, and nothing between goes to
  // DDR.
  StageProblem p = chain(16, {8, 32, 32, 32, 8, 8, 1, 1, 1, 1, 1});
  for (size_t k = 0; k < p.steps.size(); ++k)
    p.steps[k].weightBytes = k < 3 ? mib / 8 : k < 6 ? 2 * mib : 20 * mib;
  StagePlan plan = planStages(p);
  check(p, plan);
  for (size_t i = 1; i + 1 < p.tensors.size(); ++i)
    EXPECT_TRUE(plan.resident[i]) << i;
  ASSERT_GE(plan.stages.size(), 3u);
  for (size_t s = 1; s < plan.stages.size(); ++s)
    EXPECT_LT(plan.stages[s].parts, plan.stages[s - 1].parts);
  EXPECT_EQ(plan.nestOf(static_cast<int>(plan.stages.size()) - 1), 0);
}

TEST(Stages, OutputTakesThePlaceOfAnInput) {
  StageProblem p = chain(1, {1, 5, 1, 5, 1});
  // Step 2 adds what step 0 made.
  p.steps[2].inputs.push_back(1);
  p.tensors[1].lastUse = 2;
  EXPECT_FALSE(planStages(p).resident[1] && planStages(p).resident[3]);
  p.steps[2].inPlace = 1;
  StagePlan plan = planStages(p);
  check(p, plan);
  EXPECT_TRUE(plan.resident[1] && plan.resident[3]);
  EXPECT_EQ(plan.placeOf(p, 3), 1);
  EXPECT_EQ(plan.placeOf(p, 1), 1);
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
      if (pick(0, 2) == 0)
        s.inPlace = s.inputs[0];
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
