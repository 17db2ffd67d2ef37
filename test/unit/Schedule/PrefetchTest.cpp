// The planner of weight transfers: plans of random programs are executed step by step.
#include "Schedule/Prefetch.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace tensorturbo::schedule;

namespace {
constexpr int64_t mib = 1024 * 1024;

PrefetchKernel kernel(int64_t weights, int64_t live = 0) {
  PrefetchKernel k;
  k.weightBytes = weights;
  k.liveBytes = live;
  return k;
}

/// Kernels one after the other.
PrefetchProblem straight(const std::vector<PrefetchKernel> &kernels) {
  PrefetchProblem p;
  p.kernels = kernels;
  for (int k = 0; k < static_cast<int>(kernels.size()); ++k) {
    p.kernels[static_cast<size_t>(k)].loopLast = static_cast<int>(kernels.size()) - 1;
    p.runs.push_back({k, 0});
  }
  return p;
}

/// Puts kernels first .. last of a straight program into a loop.
void makeLoop(PrefetchProblem &p, int first, int last, int64_t rounds) {
  std::vector<KernelRun> runs;
  for (const KernelRun &r : p.runs) {
    if (r.kernel < first || r.kernel > last)
      runs.push_back(r);
    else if (r.kernel == first)
      for (int64_t i = 0; i < rounds; ++i)
        for (int k = first; k <= last; ++k)
          runs.push_back({k, i});
  }
  for (int k = first; k <= last; ++k) {
    PrefetchKernel &kernel = p.kernels[static_cast<size_t>(k)];
    kernel.parts = kernel.rounds = rounds;
    kernel.loopFirst = first;
    kernel.loopLast = last;
  }
  p.runs = std::move(runs);
}

/// Runs the program: channels are used by one transfer at a time, weights are there when their kernel runs,
/// and all that is in LLB at a time fits.
void execute(const PrefetchProblem &p, const std::vector<PrefetchTransfer> &plan) {
  std::vector<int> onChannel(static_cast<size_t>(p.channels), -1);
  std::map<int, bool> present;
  for (size_t t = 0; t < p.runs.size(); ++t) {
    auto [now, part] = p.runs[t];
    PartMask bit = PartMask(1) << part;
    if (std::find(p.breaks.begin(), p.breaks.end(), static_cast<int>(t)) != p.breaks.end())
      for (int user : onChannel)
        EXPECT_EQ(user, -1) << "a transfer over a break";
    for (const PrefetchTransfer &x : plan) {
      // What lies outside its range may have been overwritten.
      if (now < x.first || now > x.last)
        present[x.kernel] = false;
      if (x.kernel != now)
        continue;
      EXPECT_EQ(x.waits & x.brings, 0u);
      if (x.waits & bit) {
        EXPECT_EQ(onChannel[static_cast<size_t>(x.channel)], now);
        onChannel[static_cast<size_t>(x.channel)] = -1;
        present[now] = true;
      }
      if (x.brings & bit)
        present[now] = true;
      EXPECT_TRUE(present[now]) << "kernel " << now << " part " << part;
    }
    for (const PrefetchTransfer &x : plan)
      for (const PrefetchTransfer::Start &s : x.starts)
        if (s.kernel == now && (s.parts & bit)) {
          EXPECT_EQ(onChannel[static_cast<size_t>(x.channel)], -1);
          onChannel[static_cast<size_t>(x.channel)] = x.kernel;
          EXPECT_GE(now, x.first);
          EXPECT_LE(now, x.last);
        }
    int64_t bytes = p.kernels[static_cast<size_t>(now)].liveBytes;
    bool listed = false;
    for (const PrefetchTransfer &x : plan) {
      listed |= x.kernel == now;
      if (x.first <= now && now <= x.last)
        bytes += p.kernels[static_cast<size_t>(x.kernel)].weightBytes;
    }
    bytes += listed ? 0 : p.kernels[static_cast<size_t>(now)].weightBytes;
    EXPECT_LE(bytes, p.llbBytes);
  }
  for (int user : onChannel)
    EXPECT_EQ(user, -1) << "nobody waits for it";
}
} // namespace

TEST(Prefetch, EveryKernelButTheFirstFindsItsWeights) {
  PrefetchProblem p = straight({kernel(mib), kernel(mib), kernel(mib), kernel(mib), kernel(mib)});
  auto plan = planPrefetch(p);
  execute(p, plan);
  ASSERT_EQ(plan.size(), 4u);
  // As far ahead as there are channels.
  EXPECT_EQ(plan.back().kernel, 4);
  ASSERT_EQ(plan.back().starts.size(), 1u);
  EXPECT_EQ(plan.back().starts[0].kernel, 1);
}

TEST(Prefetch, WhatDoesNotFitBesideOthersComesLate) {
  PrefetchProblem p = straight({kernel(0, 7 * mib), kernel(2 * mib), kernel(2 * mib), kernel(4 * mib)});
  auto plan = planPrefetch(p);
  execute(p, plan);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].kernel, 2);
  EXPECT_EQ(plan[1].kernel, 3);
}

TEST(Prefetch, FirstWeightsOfALoopStay) {
  PrefetchProblem p = straight({kernel(mib), kernel(mib), kernel(mib), kernel(mib)});
  makeLoop(p, 1, 2, 4);
  auto plan = planPrefetch(p);
  execute(p, plan);
  ASSERT_EQ(plan.size(), 3u);
  EXPECT_EQ(plan[0].kernel, 1);
  EXPECT_EQ(plan[0].waits, 1u);
  EXPECT_EQ(plan[0].brings, 0u);
  EXPECT_EQ(plan[0].last, 2);
  // The kernel behind the loop: started in its last round.
  EXPECT_EQ(plan[2].starts[0].parts & ~PartMask(0xC), 0u);
}

TEST(Prefetch, NothingIsUnderWayWhereTheHostTakesOver) {
  PrefetchProblem p = straight({kernel(mib), kernel(mib), kernel(mib)});
  p.breaks = {1};
  auto plan = planPrefetch(p);
  execute(p, plan);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].kernel, 2);
}

TEST(Prefetch, RandomPrograms) {
  std::mt19937 random(11);
  auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  size_t ahead = 0;
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(round);
    std::vector<PrefetchKernel> kernels;
    int count = pick(1, 14);
    for (int k = 0; k < count; ++k)
      kernels.push_back(
          kernel(pick(0, 3) ? pick(1, 2000) * 1000 : 0, pick(0, 5) ? pick(0, 4) * mib : 5 * mib));
    PrefetchProblem p = straight(kernels);
    p.channels = pick(1, 4);
    for (int at = 0; at < count;) {
      int last = std::min(count - 1, at + pick(0, 4));
      if (pick(0, 1))
        makeLoop(p, at, last, 1 << pick(1, 4));
      at = last + 1;
    }
    // A loop around everything, twice.
    if (pick(0, 2) == 0) {
      std::vector<KernelRun> once = p.runs;
      for (KernelRun r : once)
        p.runs.push_back({r.kernel, r.part + p.kernels[static_cast<size_t>(r.kernel)].parts});
      for (PrefetchKernel &k : p.kernels) {
        bool alone = k.parts == 1;
        k.parts *= 2;
        if (alone) {
          k.loopFirst = 0;
          k.loopLast = count - 1;
          k.rounds = 2;
        }
      }
    }
    if (pick(0, 3) == 0 && p.runs.size() == kernels.size())
      p.breaks = {pick(0, count)};
    auto plan = planPrefetch(p);
    ahead += plan.size();
    execute(p, plan);
    if (testing::Test::HasFailure())
      return;
  }
  EXPECT_GT(ahead, 1000u);
}
