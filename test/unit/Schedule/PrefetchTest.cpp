// The planner of transfers beside the program: plans of random programs are executed step by step.
#include "Schedule/Prefetch.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>
#include <string>

using namespace tensorturbo::schedule;

namespace {
constexpr int64_t mib = 1024 * 1024;

struct Kernel {
  int64_t weightBytes = 0, liveBytes = 0;
};

/// Kernels one after the other, each with weights.
PrefetchProblem straight(const std::vector<Kernel> &kernels) {
  PrefetchProblem p;
  for (int k = 0; k < static_cast<int>(kernels.size()); ++k) {
    PrefetchKernel kernel;
    kernel.liveBytes = kernels[static_cast<size_t>(k)].liveBytes;
    kernel.loopLast = static_cast<int>(kernels.size()) - 1;
    p.kernels.push_back(kernel);
    PrefetchItem item;
    item.kernel = k;
    item.bytes = kernels[static_cast<size_t>(k)].weightBytes;
    if (item.bytes)
      p.items.push_back(item);
    p.runs.push_back({k, 0});
  }
  return p;
}

PrefetchItem tensor(int kernel, bool outgoing, std::vector<int> partners, int64_t bytes = mib / 2) {
  PrefetchItem item;
  item.kernel = kernel;
  item.bytes = bytes;
  item.outgoing = outgoing;
  item.perPart = true;
  item.partners = std::move(partners);
  return item;
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

/// Runs the program: a channel carries one transfer at a time, bytes are there when their kernel runs and in
/// DDR when somebody wants them, and all that is in LLB at a time fits.
class Execution {
public:
  Execution(const PrefetchProblem &p, const std::vector<PrefetchTransfer> &plan)
      : p(p), plan(plan), onChannel(static_cast<size_t>(p.channels)) {
    for (size_t t = 0; t < p.runs.size(); ++t)
      step(static_cast<int>(t));
    for (const auto &user : onChannel)
      EXPECT_EQ(user.transfer, nullptr) << "nobody waits for it";
  }

private:
  struct Busy {
    const PrefetchTransfer *transfer = nullptr;
    int64_t part = 0;
  };
  const PrefetchProblem &p;
  const std::vector<PrefetchTransfer> &plan;
  std::vector<Busy> onChannel;
  /// By item: the part whose bytes lie in LLB (-1: none), and for outgoing ones the parts that have arrived
  /// in DDR.
  std::map<int, int64_t> inLlb;
  std::map<int, std::set<int64_t>> arrived;
  std::map<int, int64_t> runsSoFar;

  const PrefetchItem &itemOf(const PrefetchTransfer &x) const { return p.items[static_cast<size_t>(x.item)]; }

  static bool holds(const PrefetchTransfer &x, int kernel) {
    return std::find(x.kernels.begin(), x.kernels.end(), kernel) != x.kernels.end();
  }

  /// Every run of the partners so far must have arrived.
  void expectArrived(const PrefetchItem &item) {
    for (int partner : item.partners)
      for (size_t i = 0; i < p.items.size(); ++i)
        if (p.items[i].outgoing && p.items[i].kernel == partner)
          EXPECT_EQ(static_cast<int64_t>(arrived[static_cast<int>(i)].size()), runsSoFar[partner]);
  }

  void waitFor(const PrefetchTransfer &x, int now) {
    Busy &channel = onChannel[static_cast<size_t>(x.channel)];
    EXPECT_EQ(channel.transfer, &x);
    if (itemOf(x).outgoing) {
      EXPECT_EQ(inLlb[x.item], channel.part) << "overwritten on its way";
      arrived[x.item].insert(channel.part);
      // Cores that run ahead may not touch it in this run.
      EXPECT_NE(itemOf(x).kernel, now);
    } else {
      inLlb[x.item] = channel.part;
    }
    channel.transfer = nullptr;
  }

  void start(const PrefetchTransfer &x, int64_t part, int now) {
    EXPECT_EQ(onChannel[static_cast<size_t>(x.channel)].transfer, nullptr);
    EXPECT_TRUE(holds(x, now));
    onChannel[static_cast<size_t>(x.channel)] = {&x, part};
    if (itemOf(x).outgoing)
      EXPECT_EQ(inLlb[x.item], part);
    else
      expectArrived(itemOf(x));
  }

  void step(int t) {
    auto [now, part] = p.runs[static_cast<size_t>(t)];
    SCOPED_TRACE("run " + std::to_string(t) + " of kernel " + std::to_string(now));
    PartMask bit = PartMask(1) << part;
    if (std::find(p.breaks.begin(), p.breaks.end(), t) != p.breaks.end())
      for (const Busy &user : onChannel)
        EXPECT_EQ(user.transfer, nullptr) << "a transfer over a break";
    std::vector<bool> listed(p.items.size());
    for (const PrefetchTransfer &x : plan) {
      listed[static_cast<size_t>(x.item)] = true;
      // While others run its place may be overwritten.
      if (!holds(x, now))
        inLlb[x.item] = -1;
      for (const PrefetchTransfer::Point &w : x.waits)
        if (w.kernel == now && (w.parts & bit))
          waitFor(x, now);
    }
    for (const PrefetchTransfer &x : plan)
      for (const PrefetchTransfer::Point &s : x.starts)
        if (s.kernel == now && (s.parts & bit))
          start(x, itemOf(x).perPart ? part * s.times / s.over + s.plus : 0, now);
    int64_t bytes = p.kernels[static_cast<size_t>(now)].liveBytes;
    std::vector<bool> onTheSpot(p.items.size());
    for (const PrefetchTransfer &x : plan) {
      bytes += holds(x, now) ? itemOf(x).bytes : 0;
      int64_t whose = itemOf(x).perPart ? part : 0;
      if (itemOf(x).kernel != now)
        continue;
      onTheSpot[static_cast<size_t>(x.item)] = x.onTheSpot & bit;
      if (itemOf(x).outgoing || (x.onTheSpot & bit))
        inLlb[x.item] = whose;
      EXPECT_EQ(inLlb[x.item], whose);
    }
    for (size_t i = 0; i < p.items.size(); ++i)
      if (p.items[i].kernel == now && !p.items[i].outgoing && (onTheSpot[i] || !listed[i]))
        expectArrived(p.items[i]);
    runsSoFar[now]++;
    for (size_t i = 0; i < p.items.size(); ++i)
      if (p.items[i].kernel == now) {
        bytes += listed[i] ? 0 : p.items[i].bytes;
        if (p.items[i].outgoing && (onTheSpot[i] || !listed[i]))
          arrived[static_cast<int>(i)].insert(part);
      }
    EXPECT_LE(bytes, p.llbBytes);
  }
};

void execute(const PrefetchProblem &p, const std::vector<PrefetchTransfer> &plan) {
  Execution(p, plan);
}
} // namespace

TEST(Prefetch, EveryKernelButTheFirstFindsItsWeights) {
  PrefetchProblem p = straight({{mib}, {mib}, {mib}, {mib}, {mib}});
  auto plan = planPrefetch(p);
  execute(p, plan);
  ASSERT_EQ(plan.size(), 4u);
  // As far ahead as there are channels.
  EXPECT_EQ(plan.back().item, 4);
  ASSERT_EQ(plan.back().starts.size(), 1u);
  EXPECT_EQ(plan.back().starts[0].kernel, 1);
}

TEST(Prefetch, WhatDoesNotFitBesideOthersComesLate) {
  PrefetchProblem p = straight({{0, 7 * mib}, {2 * mib}, {2 * mib}, {4 * mib}});
  auto plan = planPrefetch(p);
  execute(p, plan);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].item, 1);
  EXPECT_EQ(plan[1].item, 2);
}

TEST(Prefetch, FirstWeightsOfALoopStay) {
  PrefetchProblem p = straight({{mib}, {mib}, {mib}, {mib}});
  makeLoop(p, 1, 2, 4);
  auto plan = planPrefetch(p);
  execute(p, plan);
  ASSERT_EQ(plan.size(), 3u);
  EXPECT_EQ(plan[0].item, 1);
  ASSERT_EQ(plan[0].waits.size(), 1u);
  EXPECT_EQ(plan[0].waits[0].parts, 1u);
  EXPECT_EQ(plan[0].onTheSpot, 0u);
  EXPECT_EQ(plan[0].kernels, (std::vector<int>{0, 1, 2}));
  // The kernel behind the loop: started in its last round.
  EXPECT_EQ(plan[2].starts[0].parts & ~PartMask(0xC), 0u);
}

TEST(Prefetch, InputComesAndResultGoesWhileOthersRun) {
  // A loop whose first kernel reads a part of the input and whose last writes a part of a tensor; a later
  // kernel reads all of it.
  PrefetchProblem p = straight({{}, {}, {}, {}, {}});
  makeLoop(p, 0, 2, 4);
  p.items = {tensor(0, false, {}), tensor(2, true, {4}), tensor(4, false, {2})};
  auto plan = planPrefetch(p);
  execute(p, plan);
  ASSERT_EQ(plan.size(), 2u);
  // Only the first part of the input is brought on the spot.
  EXPECT_EQ(plan[0].onTheSpot, 1u);
  EXPECT_EQ(plan[1].item, 1);
  EXPECT_EQ(plan[1].onTheSpot, 0u);
  // From the loop's end over its beginning, and on behind it.
  EXPECT_EQ(plan[1].kernels, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(Prefetch, NothingIsUnderWayWhereTheHostTakesOver) {
  PrefetchProblem p = straight({{mib}, {mib}, {mib}});
  p.breaks = {1};
  auto plan = planPrefetch(p);
  execute(p, plan);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].item, 2);
}

TEST(Prefetch, RandomPrograms) {
  std::mt19937 random(11);
  auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  size_t ahead = 0;
  for (int round = 0; round < 600; ++round) {
    SCOPED_TRACE(round);
    std::vector<Kernel> kernels;
    int count = pick(1, 14);
    for (int k = 0; k < count; ++k)
      kernels.push_back({pick(0, 3) ? pick(1, 2000) * 1000 : 0, pick(0, 5) ? pick(0, 3) * mib : 5 * mib});
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
    // Tensors that go from one kernel to a later one by way of DDR.
    for (int i = pick(0, 3); i > 0 && count > 1; --i) {
      int from = pick(0, count - 2), to = pick(from + 1, count - 1);
      auto writes = [&](const PrefetchItem &item) { return item.outgoing && item.kernel == from; };
      if (std::any_of(p.items.begin(), p.items.end(), writes))
        continue;
      p.items.push_back(tensor(from, true, {to}, pick(1, 300) * 1000));
      p.items.push_back(tensor(to, false, {from}, pick(1, 300) * 1000));
    }
    auto plan = planPrefetch(p);
    ahead += plan.size();
    execute(p, plan);
    if (testing::Test::HasFailure())
      return;
  }
  EXPECT_GT(ahead, 1500u);
}
