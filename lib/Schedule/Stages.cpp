#include "Schedule/Stages.h"
#include <algorithm>
#include <limits>

using namespace tensorturbo::schedule;

// Room for alignment and for holes between buffers.
static constexpr int64_t slack = 384 * 1024;
// A kernel streams larger weights and staged tensors through buffers of about this size.
static constexpr int64_t streamBytes = int64_t(1) << 20;
static constexpr int longestStage = 96;

int StagePlan::stageOf(int step) const {
  for (size_t i = 0; i < stages.size(); ++i)
    if (step >= stages[i].first && step <= stages[i].last)
      return static_cast<int>(i);
  return -1;
}

bool StagePlan::inside(const StageProblem &p, int tensor) const {
  const StageTensor &t = p.tensors[static_cast<size_t>(tensor)];
  return t.producer >= 0 && t.lastUse > t.producer && t.lastUse < static_cast<int>(p.steps.size()) &&
         stageOf(t.producer) == stageOf(t.lastUse);
}

int64_t StagePlan::residentBytes(const StageProblem &p, int tensor) const {
  const StageTensor &t = p.tensors[static_cast<size_t>(tensor)];
  return inside(p, tensor) ? t.bytes / stages[static_cast<size_t>(stageOf(t.producer))].parts : t.bytes;
}

int64_t StagePlan::liveBytes(const StageProblem &p, int step) const {
  int64_t live = 0;
  const Stage &stage = stages[static_cast<size_t>(stageOf(step))];
  for (size_t i = 0; i < p.tensors.size(); ++i) {
    if (!resident[i])
      continue;
    const StageTensor &t = p.tensors[i];
    // What crosses stages is kept while either of them runs, for each part comes back to it.
    bool alive = inside(p, static_cast<int>(i)) ? t.producer <= step && t.lastUse >= step
                                                : t.producer <= stage.last && t.lastUse >= stage.first;
    if (alive)
      live += residentBytes(p, static_cast<int>(i));
  }
  return live;
}

namespace {
/// Prices one stage under the rule "a tensor that crosses stages stays in LLB if it has at most `threshold`
/// bytes".
class StagePricer {
public:
  StagePricer(const StageProblem &p, int64_t threshold) : p(p), threshold(threshold) {}

  bool crossingResident(const StageTensor &t) const {
    return !t.ddrOnly && t.producer >= 0 && t.bytes <= threshold;
  }

  /// Cycles of the stage, infinite if it does not fit.
  double price(int first, int last, int64_t parts) const {
    double cycles = 0;
    for (int k = first; k <= last; ++k) {
      const StageStep &step = p.steps[static_cast<size_t>(k)];
      if (parts > 1 && !step.splittable)
        return infinite;
      int64_t staged = 0, stagedAtOnce = 0;
      auto use = [&](int tensor) {
        const StageTensor &t = p.tensors[static_cast<size_t>(tensor)];
        bool isInside = inside(t, first, last);
        if (parts > 1 && !t.batched)
          return false;
        if (isInside ? t.ddrOnly : !crossingResident(t)) {
          staged += t.bytes;
          stagedAtOnce += std::min(t.bytes / parts, streamBytes);
        }
        return true;
      };
      for (int t : step.inputs)
        if (!use(t))
          return infinite;
      for (int t : step.outputs)
        if (!use(t))
          return infinite;
      int64_t live = 0;
      for (const StageTensor &t : p.tensors)
        if (!t.ddrOnly) {
          if (inside(t, first, last))
            live += t.producer <= k && t.lastUse >= k ? t.bytes / parts : 0;
          else if (crossingResident(t) && t.producer <= last && t.lastUse >= first)
            live += t.bytes;
        }
      int64_t own = std::min(step.weightBytes, streamBytes) + stagedAtOnce;
      // A step on its own with nothing resident always fits: its kernel cuts what it stages as it needs.
      if (live + own + slack > p.llbBytes && (first != last || live > 0))
        return infinite;
      // Weights that do not fit beside the rest are read again for each piece of the staged tensors.
      double room = std::max(double(p.llbBytes - live - slack), 65536.0), reads = 1;
      if (double(step.weightBytes) > room / 2)
        reads = std::max(1.0, double(staged / parts) / (room / 2));
      cycles += (double(parts) * reads * double(step.weightBytes) + double(staged)) / p.ddrBytesPerCycle +
                double(parts) * p.kernelCycles;
    }
    return cycles;
  }

  static constexpr double infinite = std::numeric_limits<double>::infinity();
  /// Made and used up within the stage.
  static bool inside(const StageTensor &t, int first, int last) {
    return t.producer >= first && t.lastUse <= last && t.lastUse > t.producer;
  }

private:
  const StageProblem &p;
  int64_t threshold;
};
} // namespace

static StagePlan planUnder(const StageProblem &p, int64_t threshold) {
  StagePricer pricer(p, threshold);
  int n = static_cast<int>(p.steps.size());
  std::vector<double> best(static_cast<size_t>(n) + 1, StagePricer::infinite);
  std::vector<Stage> choice(static_cast<size_t>(n) + 1);
  best[0] = 0;
  for (int last = 0; last < n; ++last)
    for (int first = last; first >= std::max(0, last - longestStage); --first) {
      if (best[static_cast<size_t>(first)] == StagePricer::infinite)
        continue;
      for (int64_t parts = 1; parts <= p.batch; parts *= 2) {
        if (p.batch % parts != 0)
          break;
        double cycles = best[static_cast<size_t>(first)] + pricer.price(first, last, parts);
        if (cycles < best[static_cast<size_t>(last) + 1]) {
          best[static_cast<size_t>(last) + 1] = cycles;
          choice[static_cast<size_t>(last) + 1] = {first, last, parts};
        }
      }
    }
  StagePlan plan;
  plan.cycles = best[static_cast<size_t>(n)];
  if (plan.cycles == StagePricer::infinite)
    return plan;
  for (int at = n; at > 0; at = plan.stages.back().first)
    plan.stages.push_back(choice[static_cast<size_t>(at)]);
  std::reverse(plan.stages.begin(), plan.stages.end());
  for (size_t i = 0; i < p.tensors.size(); ++i) {
    const StageTensor &t = p.tensors[i];
    plan.resident.push_back(!t.ddrOnly && t.producer >= 0 &&
                            (plan.inside(p, static_cast<int>(i)) || pricer.crossingResident(t)));
  }
  return plan;
}

StagePlan tensorturbo::schedule::planStages(const StageProblem &p) {
  StagePlan best = planUnder(p, 0);
  for (int64_t threshold = int64_t(1) << 19; threshold <= p.llbBytes / 2; threshold *= 2) {
    StagePlan plan = planUnder(p, threshold);
    if (plan.cycles < best.cycles)
      best = std::move(plan);
  }
  return best;
}
