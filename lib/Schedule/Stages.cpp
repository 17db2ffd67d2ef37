#include "Schedule/Stages.h"
#include "Schedule/MemoryPlan.h"
#include <algorithm>
#include <functional>

using namespace tensorturbo::schedule;

// Room for alignment and for holes between buffers.
static constexpr int64_t slack = 1536 * 1024;
// A kernel streams larger weights and staged tensors through buffers of about this size.
static constexpr int64_t streamBytes = int64_t(1) << 20;
// What a byte too many costs, and what cutting a step that cannot be cut costs, in cycles: more than any
// traffic, so that the search leaves such plans.
static constexpr double overflowCycles = 1000, forbiddenCycles = 1e15;
// Weights come ahead of their use; this share of their transfers is taken to be exposed.
static constexpr double weightShare = 0.5;
// Bound of the search: plans that it looks at from one start, and the work of all of them together.
static constexpr int64_t mostPlans = 3000, mostWork = 20'000'000;

static size_t at(int index) {
  return static_cast<size_t>(index);
}

int StagePlan::stageOf(int step) const {
  auto behind = std::upper_bound(stages.begin(), stages.end(), step,
                                 [](int value, const Stage &s) { return value < s.first; });
  return static_cast<int>(behind - stages.begin()) - 1;
}

int StagePlan::nestOf(int stage) const {
  while (stage > 0 && stages[at(stage - 1)].parts >= stages[at(stage)].parts)
    --stage;
  return stage;
}

int64_t StagePlan::scope(const StageProblem &p, int tensor) const {
  const StageTensor &t = p.tensors[at(tensor)];
  if (t.producer < 0 || t.lastUse >= static_cast<int>(p.steps.size()))
    return 1;
  int from = stageOf(t.producer), to = stageOf(std::max(t.lastUse, t.producer));
  // Parts do not grow within a nest, so the last stage is the coarsest.
  return nestOf(from) == nestOf(to) ? stages[at(to)].parts : 1;
}

int64_t StagePlan::residentBytes(const StageProblem &p, int tensor) const {
  return p.tensors[at(tensor)].bytes / scope(p, tensor);
}

std::pair<int, int> StagePlan::lifetime(const StageProblem &p, int tensor) const {
  const StageTensor &t = p.tensors[at(tensor)];
  int64_t parts = scope(p, tensor);
  int count = static_cast<int>(p.steps.size());
  int first = std::max(t.producer, 0), last = std::clamp(t.lastUse, first, count - 1);
  // Inside a finer loop than its scope the tensor is filled, or read, over all rounds.
  int from = stageOf(first), to = stageOf(last);
  auto finer = [&](int stage) { return stages[at(stage)].parts > parts; };
  if (finer(from)) {
    while (from > nestOf(from) && finer(from - 1))
      --from;
    first = stages[at(from)].first;
  }
  if (finer(to)) {
    int nest = nestOf(to), end = static_cast<int>(stages.size());
    while (to + 1 < end && nestOf(to + 1) == nest && finer(to + 1))
      ++to;
    last = stages[at(to)].last;
  }
  return {first, last};
}

int StagePlan::placeOf(const StageProblem &p, int tensor) const {
  for (;;) {
    int step = p.tensors[at(tensor)].producer;
    int input = step < 0 || !resident[at(tensor)] ? -1 : p.steps[at(step)].inPlace;
    if (input < 0 || !resident[at(input)] || p.tensors[at(input)].lastUse != step ||
        p.tensors[at(input)].bytes != p.tensors[at(tensor)].bytes || scope(p, input) != scope(p, tensor))
      return tensor;
    // A loop that comes back to the input must not find the output there.
    if (lifetime(p, input).second != step || lifetime(p, tensor).first != step)
      return tensor;
    tensor = input;
  }
}

std::vector<int64_t> StagePlan::liveBytes(const StageProblem &p) const {
  size_t steps = p.steps.size();
  std::vector<int64_t> change(steps + 1);
  for (int i = 0; i < static_cast<int>(p.tensors.size()); ++i) {
    if (!resident[at(i)])
      continue;
    int64_t bytes = paddedBytes(residentBytes(p, i));
    auto [first, last] = lifetime(p, i);
    // Together with what it replaces it is counted once.
    if (placeOf(p, i) != i)
      ++first;
    change[at(first)] += bytes;
    change[at(last) + 1] -= bytes;
  }
  int64_t live = 0;
  std::vector<int64_t> result;
  for (size_t k = 0; k < steps; ++k)
    result.push_back(live += change[k]);
  return result;
}

static void forEachInDdr(const StageProblem &p, const StagePlan &plan, int step,
                         const std::function<void(int64_t)> &body) {
  for (const std::vector<int> *list : {&p.steps[at(step)].inputs, &p.steps[at(step)].outputs})
    for (int tensor : *list)
      if (!plan.resident[at(tensor)])
        body(p.tensors[at(tensor)].bytes);
}

/// Bytes by which a step and what is resident beside it exceed LLB.
static int64_t overflow(const StageProblem &p, const StagePlan &plan, int step, int64_t held) {
  int64_t parts = plan.stages[at(plan.stageOf(step))].parts;
  int64_t own = std::min(p.steps[at(step)].weightBytes, streamBytes) + slack;
  forEachInDdr(p, plan, step, [&](int64_t bytes) { own += std::min(bytes / parts, streamBytes); });
  // A step with nothing resident always fits: its kernel cuts what it stages as it needs.
  return held > 0 ? std::max<int64_t>(held + own - p.llbBytes, 0) : 0;
}

namespace {
/// Plans under the rule "a tensor that leaves its stage stays in LLB if it takes at most `threshold` bytes
/// there".
class Search {
public:
  Search(const StageProblem &p, int64_t threshold) : p(p), threshold(threshold) {}

  StagePlan best(const std::vector<std::vector<Stage>> &starts) {
    StagePlan result;
    for (const std::vector<Stage> &start : starts) {
      StagePlan plan = climb(planOf(start));
      if (result.stages.empty() || plan.cycles < result.cycles)
        result = std::move(plan);
    }
    return result;
  }

private:
  const StageProblem &p;
  int64_t threshold;

  int count() const { return static_cast<int>(p.steps.size()); }

  bool wholeAt(int step) const {
    const StageStep &s = p.steps[at(step)];
    auto whole = [&](int t) { return !p.tensors[at(t)].batched; };
    return !s.splittable || std::any_of(s.inputs.begin(), s.inputs.end(), whole) ||
           std::any_of(s.outputs.begin(), s.outputs.end(), whole);
  }

  StagePlan planOf(std::vector<Stage> stages) const {
    StagePlan plan;
    // Neighbours of the same number of parts are one stage.
    for (const Stage &s : stages) {
      if (s.first > s.last)
        continue;
      if (!plan.stages.empty() && plan.stages.back().parts == s.parts)
        plan.stages.back().last = s.last;
      else
        plan.stages.push_back(s);
    }
    for (int i = 0; i < static_cast<int>(p.tensors.size()); ++i) {
      const StageTensor &t = p.tensors[at(i)];
      bool stays = !t.ddrOnly && t.producer >= 0;
      if (stays) {
        bool inside = t.lastUse < count() && plan.stageOf(t.producer) == plan.stageOf(t.lastUse);
        stays = plan.residentBytes(p, i) <= (inside ? p.llbBytes : threshold);
      }
      plan.resident.push_back(stays);
    }
    price(plan);
    return plan;
  }

  void price(StagePlan &plan) const {
    std::vector<int64_t> live = plan.liveBytes(p);
    double cycles = 0;
    for (size_t s = 0; s < plan.stages.size(); ++s)
      for (int k = plan.stages[s].first; k <= plan.stages[s].last; ++k) {
        const StageStep &step = p.steps[at(k)];
        int64_t parts = plan.stages[s].parts, staged = 0, held = live[at(k)];
        if (parts > 1 && wholeAt(k))
          cycles += forbiddenCycles;
        forEachInDdr(p, plan, k, [&](int64_t bytes) { staged += bytes; });
        cycles += overflowCycles * double(overflow(p, plan, k, held));
        // Weights that do not fit beside the rest are read again for each piece of the staged tensors.
        double room = std::max(double(p.llbBytes - held - slack), 65536.0), reads = 1;
        if (double(step.weightBytes) > room / 2)
          reads = std::max(1.0, double(staged / parts) / (room / 2));
        cycles += (weightShare * double(parts) * reads * double(step.weightBytes) + double(staged)) /
                      p.ddrBytesPerCycle +
                  double(parts) * p.kernelCycles;
      }
    plan.cycles = cycles;
  }

  /// The first improvement that each round of moves finds, until there is none.
  StagePlan climb(StagePlan plan) const {
    auto work = static_cast<int64_t>(p.steps.size() + p.tensors.size());
    int64_t left = std::min(mostPlans, std::max<int64_t>(mostWork / std::max<int64_t>(work, 1), 200));
    bool better = true;
    while (better && left > 0) {
      better = false;
      auto consider = [&](std::vector<Stage> stages) {
        auto uneven = [&](const Stage &s) { return p.batch % s.parts != 0; };
        if (std::any_of(stages.begin(), stages.end(), uneven) || left-- <= 0)
          return;
        StagePlan other = planOf(std::move(stages));
        if (other.cycles < plan.cycles) {
          plan = std::move(other);
          better = true;
        }
      };
      for (size_t s = 0; s < plan.stages.size(); ++s) {
        for (int by : {-16, -4, -1, 1, 4, 16})
          moveBoundary(plan, s, by, consider);
        for (int64_t parts = 1; parts <= p.batch; parts *= 2)
          if (p.batch % parts == 0 && s < plan.stages.size() && parts != plan.stages[s].parts) {
            std::vector<Stage> stages = plan.stages;
            stages[s].parts = parts;
            consider(stages);
          }
        for (int cut = 1; s < plan.stages.size() && cut <= plan.stages[s].last - plan.stages[s].first; ++cut)
          for (bool front : {true, false})
            split(plan, s, cut, front, consider);
      }
    }
    return plan;
  }

  using Consider = std::function<void(std::vector<Stage>)>;

  /// The stage's end moves; neighbours that it passes over vanish.
  static void moveBoundary(const StagePlan &plan, size_t s, int by, const Consider &consider) {
    if (s + 1 >= plan.stages.size())
      return;
    std::vector<Stage> stages = plan.stages;
    int last = std::clamp(stages[s].last + by, stages.front().first - 1, stages.back().last);
    for (size_t i = 0; i < stages.size(); ++i)
      if (i <= s)
        stages[i].last = std::min(stages[i].last, last);
      else
        stages[i].first = std::max(stages[i].first, last + 1);
    stages[s].last = last;
    stages[s + 1].first = last + 1;
    consider(std::move(stages));
  }

  /// Twice as many parts for the first `cut` steps of a stage, or half as many for the others.
  static void split(const StagePlan &plan, size_t s, int cut, bool front, const Consider &consider) {
    if (s >= plan.stages.size() || plan.stages[s].first + cut > plan.stages[s].last)
      return;
    int middle = plan.stages[s].first + cut;
    std::vector<Stage> stages = plan.stages;
    Stage a = stages[s], b = a;
    a.last = middle - 1;
    b.first = middle;
    if (!front && b.parts == 1)
      return;
    (front ? a : b).parts = front ? a.parts * 2 : b.parts / 2;
    stages[s] = a;
    stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(s) + 1, b);
    consider(std::move(stages));
  }

public:
  /// Parts that never grow where the batch can be cut: for each step the fewest with which what is alive
  /// there would fit if all steps were cut alike.
  std::vector<Stage> descending() const {
    int n = count();
    std::vector<int64_t> parts(at(n), 1);
    std::vector<int64_t> change(at(n) + 1);
    for (const StageTensor &t : p.tensors)
      if (!t.ddrOnly && t.producer >= 0) {
        change[at(t.producer)] += t.bytes;
        change[at(std::clamp(t.lastUse, t.producer, n - 1)) + 1] -= t.bytes;
      }
    int64_t live = 0;
    for (int k = 0; k < n; ++k) {
      live += change[at(k)];
      while (!wholeAt(k) && live / parts[at(k)] + streamBytes + slack > p.llbBytes &&
             p.batch % (2 * parts[at(k)]) == 0)
        parts[at(k)] *= 2;
    }
    for (int k = n - 2; k >= 0; --k)
      if (!wholeAt(k))
        parts[at(k)] = std::max(parts[at(k)], parts[at(k) + 1]);
    std::vector<Stage> stages;
    for (int k = 0; k < n; ++k)
      stages.push_back({k, k, parts[at(k)]});
    return stages;
  }

  std::vector<Stage> whole() const { return {{0, count() - 1, 1}}; }
};
} // namespace

StagePlan tensorturbo::schedule::planStages(const StageProblem &p) {
  StagePlan best;
  if (p.steps.empty()) {
    best.resident.assign(p.tensors.size(), false);
    return best;
  }
  for (int64_t threshold = 0; threshold <= p.llbBytes;
       threshold = std::max<int64_t>(threshold * 2, 1 << 19)) {
    Search search(p, threshold);
    StagePlan plan = search.best({search.descending(), search.whole()});
    if (best.stages.empty() || plan.cycles < best.cycles)
      best = std::move(plan);
  }
  // Where the search left too much, the largest tensors leave LLB until the rest fits.
  std::vector<int64_t> live = best.liveBytes(p);
  for (int k = 0; k < static_cast<int>(live.size()); ++k)
    while (overflow(p, best, k, live[at(k)]) > 0) {
      int largest = -1;
      for (int i = 0; i < static_cast<int>(p.tensors.size()); ++i) {
        if (!best.resident[at(i)])
          continue;
        auto [first, last] = best.lifetime(p, i);
        if (first <= k && last >= k &&
            (largest < 0 || best.residentBytes(p, i) > best.residentBytes(p, largest)))
          largest = i;
      }
      best.resident[at(largest)] = false;
      live = best.liveBytes(p);
    }
  return best;
}
