#include "Schedule/MemoryPlan.h"
#include "Schedule/PlanSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <numeric>

namespace tensorturbo::schedule {
namespace {

using Lifetime = std::pair<int64_t, int64_t>;

bool meet(const Lifetime &a, const Lifetime &b) {
  return a.first <= b.second && b.first <= a.second;
}

bool meets(const Lifetime &a, const MemoryBuffer &b) {
  return meet(a, {b.firstUse, b.lastUse}) ||
         std::any_of(b.moreUses.begin(), b.moreUses.end(), [&](const Lifetime &l) { return meet(a, l); });
}

bool lifetimesMeet(const MemoryBuffer &a, const MemoryBuffer &b) {
  return meets({a.firstUse, a.lastUse}, b) ||
         std::any_of(a.moreUses.begin(), a.moreUses.end(), [&](const Lifetime &l) { return meets(l, b); });
}

/// Places buffers one after the other, each at the lowest offset that is free during its life.
class Placer {
public:
  explicit Placer(const MemoryProblem &problem) : buffers(problem.buffers) {}

  /// Work done so far, in pairs of buffers looked at.
  uint64_t steps = 0;

  /// Gives up (peak = UINT64_MAX) once the plan is no better than `limit`.
  MemoryPlan place(const std::vector<uint32_t> &order, uint64_t limit = UINT64_MAX) {
    MemoryPlan plan;
    plan.offsets.assign(buffers.size(), 0);
    placed.clear();
    for (uint32_t index : order) {
      const MemoryBuffer &buffer = buffers[index];
      uint64_t offset = 0;
      // `placed` is sorted by offset: the first gap that is wide enough is the lowest.
      for (const Range &range : placed) {
        if (range.end <= offset || !lifetimesMeet(buffer, buffers[range.index]))
          continue;
        if (range.begin >= offset + buffer.bytes)
          break;
        offset = alignUp(range.end, buffer.alignment);
      }
      steps += placed.size() + 1;
      Range range{offset, offset + buffer.bytes, index};
      if (range.end >= limit)
        return {std::move(plan.offsets), UINT64_MAX};
      plan.peak = std::max(plan.peak, range.end);
      plan.offsets[index] = offset;
      placed.insert(std::upper_bound(placed.begin(), placed.end(), range,
                                     [](const Range &a, const Range &b) { return a.begin < b.begin; }),
                    range);
    }
    return plan;
  }

private:
  struct Range {
    uint64_t begin, end;
    uint32_t index;
  };
  const std::vector<MemoryBuffer> &buffers;
  std::vector<Range> placed;
};

/// A small generator with a fixed seed: the same problem gives the same plan everywhere.
class Random {
public:
  uint32_t below(uint32_t bound) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return uint32_t((state >> 33) % bound);
  }

private:
  uint64_t state = 920;
};

std::vector<uint32_t> orderBySize(const std::vector<MemoryBuffer> &buffers) {
  std::vector<uint32_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const MemoryBuffer &x = buffers[a], &y = buffers[b];
    if (x.bytes != y.bytes)
      return x.bytes > y.bytes;
    int64_t lifeX = x.lastUse - x.firstUse, lifeY = y.lastUse - y.firstUse;
    return lifeX != lifeY ? lifeX > lifeY : a < b;
  });
  return order;
}

std::string describe(const MemoryBuffer &buffer) {
  return quoteForMessage(buffer.name) + " (" + std::to_string(buffer.bytes) + " bytes, steps " +
         std::to_string(buffer.firstUse) + " to " + std::to_string(buffer.lastUse) + ")";
}

} // namespace

/// Largest sum of sizes alive at one step, in whole multiples of `unit`.
static uint64_t roundedBound(const MemoryProblem &problem, uint64_t unit) {
  // +size where a life begins, -size after its end; ends count before beginnings of the same step.
  std::vector<std::pair<int64_t, int64_t>> events;
  for (const MemoryBuffer &buffer : problem.buffers) {
    int64_t bytes = int64_t(alignUp(buffer.bytes, unit));
    auto alive = [&](int64_t first, int64_t last) {
      events.push_back({first, bytes});
      events.push_back({last + 1, -bytes});
    };
    alive(buffer.firstUse, buffer.lastUse);
    for (auto [first, last] : buffer.moreUses)
      alive(first, last);
  }
  std::sort(events.begin(), events.end());
  int64_t alive = 0, most = 0;
  for (auto [step, change] : events) {
    alive += change;
    most = std::max(most, alive);
  }
  return uint64_t(most);
}

/// Every offset is a multiple of this.
static uint64_t offsetUnit(const MemoryProblem &problem) {
  uint64_t unit = uint64_t(1) << 62;
  for (const MemoryBuffer &buffer : problem.buffers)
    unit = std::min(unit, std::max<uint64_t>(buffer.alignment, 1));
  return unit;
}

uint64_t MemoryProblem::lowerBound() const {
  if (buffers.empty())
    return 0;
  uint64_t unit = offsetUnit(*this), bound = roundedBound(*this, unit);
  return std::max(roundedBound(*this, 1), bound - std::min(bound, unit - 1));
}

/// Buffers that are kept from their first to their last use: what fits then fits.
static MemoryProblem withOneLifetime(const MemoryProblem &problem) {
  MemoryProblem simple = problem;
  for (MemoryBuffer &buffer : simple.buffers) {
    if (!buffer.moreUses.empty())
      buffer.lastUse = buffer.moreUses.back().second;
    buffer.moreUses.clear();
  }
  return simple;
}

MemoryPlan planMemory(const MemoryProblem &problem, const MemoryPlanOptions &options) {
  Placer placer(problem);
  std::vector<uint32_t> order = orderBySize(problem.buffers);
  MemoryPlan best = placer.place(order);
  if (best.peak > problem.capacity && options.exactSteps > 0) {
    PlanSearchResult exact = searchPlan(withOneLifetime(problem), problem.capacity, options.exactSteps);
    if (exact.outcome == PlanSearchResult::Found)
      return std::move(exact.plan);
  }
  const uint64_t unit = offsetUnit(problem);
  const uint64_t bound = roundedBound(problem, unit);
  auto goodEnough = [&] {
    return alignUp(best.peak, unit) <= bound || (options.stopWhenFits && best.peak <= problem.capacity);
  };
  Random random;
  const uint64_t end = placer.steps + options.maxSteps;
  while (!goodEnough() && order.size() > 1 && placer.steps < end) {
    // What reaches the peak comes too late: move one of these buffers somewhere forward.
    std::vector<uint32_t> late;
    for (uint32_t position = 1; position < order.size(); ++position)
      if (best.offsets[order[position]] + problem.buffers[order[position]].bytes == best.peak)
        late.push_back(position);
    std::vector<uint32_t> candidate = order;
    uint32_t from = late.empty() || random.below(4) == 0 ? 1 + random.below(uint32_t(order.size() - 1))
                                                         : late[random.below(uint32_t(late.size()))];
    uint32_t to = random.below(from);
    std::rotate(candidate.begin() + to, candidate.begin() + from, candidate.begin() + from + 1);
    // Equal plans are taken too, to walk along plateaus.
    MemoryPlan plan = placer.place(candidate, best.peak + 1);
    if (plan.peak <= best.peak) {
      best = std::move(plan);
      order = std::move(candidate);
    }
  }
  return best;
}

bool checkMemoryPlan(const MemoryProblem &problem, const MemoryPlan &plan, Diagnostics &diags) {
  if (plan.offsets.size() != problem.buffers.size()) {
    diags.internalError("memory plan of " + problem.level + " has " + std::to_string(plan.offsets.size()) +
                        " offsets for " + std::to_string(problem.buffers.size()) + " buffers");
    return false;
  }
  bool good = true;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const MemoryBuffer &buffer = problem.buffers[i];
    uint64_t offset = plan.offsets[i];
    if (offset > problem.capacity || buffer.bytes > problem.capacity - offset) {
      diags.resourceError("buffer " + describe(buffer) + " does not fit in " + problem.level +
                          ": placed at " + std::to_string(offset) + ", capacity " +
                          std::to_string(problem.capacity) + " bytes, at least " +
                          std::to_string(problem.lowerBound()) + " needed at once");
      good = false;
    }
    if (buffer.alignment == 0 || offset % buffer.alignment != 0) {
      diags.internalError("buffer " + describe(buffer) + " in " + problem.level + " at " +
                          std::to_string(offset) + " is not aligned to " + std::to_string(buffer.alignment));
      good = false;
    }
    for (size_t k = 0; k < i; ++k) {
      const MemoryBuffer &other = problem.buffers[k];
      if (lifetimesMeet(buffer, other) && offset < plan.offsets[k] + other.bytes &&
          plan.offsets[k] < offset + buffer.bytes) {
        diags.internalError("buffers " + describe(other) + " at " + std::to_string(plan.offsets[k]) +
                            " and " + describe(buffer) + " at " + std::to_string(offset) + " overlap in " +
                            problem.level);
        good = false;
      }
    }
  }
  return good;
}

std::string MemoryProblem::toJson() const {
  llvm::json::Array list;
  for (const MemoryBuffer &buffer : buffers) {
    llvm::json::Object object{{"name", buffer.name},
                              {"bytes", int64_t(buffer.bytes)},
                              {"alignment", int64_t(buffer.alignment)},
                              {"first_use", buffer.firstUse},
                              {"last_use", buffer.lastUse}};
    llvm::json::Array more;
    for (auto [first, last] : buffer.moreUses)
      more.push_back(llvm::json::Array{first, last});
    if (!more.empty())
      object["more_uses"] = std::move(more);
    list.push_back(std::move(object));
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(
      llvm::json::Object{{"level", level}, {"capacity", int64_t(capacity)}, {"buffers", std::move(list)}});
  return text;
}

std::optional<MemoryProblem> MemoryProblem::fromJson(std::string_view text, Diagnostics &diags) {
  constexpr int64_t most = int64_t(1) << 48;
  auto refuse = [&](const std::string &why) {
    diags.userError("memory problem: " + why);
    return std::nullopt;
  };
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(llvm::StringRef(text.data(), text.size()));
  if (!json)
    return refuse("not valid JSON: " + quoteForMessage(llvm::toString(json.takeError())));
  const llvm::json::Object *root = json->getAsObject();
  if (!root)
    return refuse("the file must hold an object");
  std::optional<llvm::StringRef> level = root->getString("level");
  std::optional<int64_t> capacity = root->getInteger("capacity");
  const llvm::json::Array *list = root->getArray("buffers");
  if (!level || !capacity || !list)
    return refuse("'level', 'capacity' and 'buffers' are required");
  if (*capacity < 0 || *capacity > most)
    return refuse("capacity must be between 0 and 2^48, got " + std::to_string(*capacity));
  MemoryProblem problem;
  problem.level = level->str();
  problem.capacity = uint64_t(*capacity);
  for (const llvm::json::Value &entry : *list) {
    std::string where = "buffer " + std::to_string(problem.buffers.size());
    const llvm::json::Object *object = entry.getAsObject();
    if (!object)
      return refuse(where + " must be an object");
    std::optional<llvm::StringRef> name = object->getString("name");
    std::optional<int64_t> bytes = object->getInteger("bytes"), alignment = object->getInteger("alignment"),
                           first = object->getInteger("first_use"), last = object->getInteger("last_use");
    if (!name || !bytes || !alignment || !first || !last)
      return refuse(where + " needs 'name', 'bytes', 'alignment', 'first_use' and 'last_use'");
    if (*bytes < 0 || *bytes > most)
      return refuse(where + ": bytes must be between 0 and 2^48, got " + std::to_string(*bytes));
    if (*alignment < 1 || *alignment > (int64_t(1) << 30) || (*alignment & (*alignment - 1)) != 0)
      return refuse(where + ": alignment must be a power of two, got " + std::to_string(*alignment));
    if (*first > *last || *first < -most || *last > most)
      return refuse(where + ": first_use must not lie after last_use, got " + std::to_string(*first) +
                    " and " + std::to_string(*last));
    problem.buffers.push_back({name->str(), uint64_t(*bytes), uint64_t(*alignment), *first, *last});
    int64_t before = *last;
    if (const llvm::json::Array *more = object->getArray("more_uses"))
      for (const llvm::json::Value &use : *more) {
        const llvm::json::Array *pair = use.getAsArray();
        std::optional<int64_t> from, to;
        if (pair && pair->size() == 2) {
          from = (*pair)[0].getAsInteger();
          to = (*pair)[1].getAsInteger();
        }
        if (!from || !to || *from <= before || *to < *from || *to > most)
          return refuse(where + ": 'more_uses' must be pairs of steps in ascending order");
        problem.buffers.back().moreUses.push_back({*from, *to});
        before = *to;
      }
  }
  return problem;
}

std::optional<MemoryProblem> MemoryProblem::fromCsv(std::string_view text, uint64_t capacity,
                                                    Diagnostics &diags) {
  constexpr int64_t most = int64_t(1) << 48;
  MemoryProblem problem{"memory", capacity, {}};
  llvm::SmallVector<llvm::StringRef> lines, fields;
  llvm::StringRef(text.data(), text.size()).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (auto [number, line] : llvm::enumerate(lines)) {
    fields.clear();
    line.trim().split(fields, ',');
    if (number == 0)
      continue;
    int64_t lower = 0, upper = 0, size = 0;
    bool good = fields.size() == 4 && !fields[1].getAsInteger(10, lower) &&
                !fields[2].getAsInteger(10, upper) && !fields[3].getAsInteger(10, size) && lower < upper &&
                lower > -most && upper < most && size >= 0 && size < most;
    if (!good) {
      diags.userError("memory problem: line " + std::to_string(number + 1) +
                      " must be 'id,lower,upper,size' with lower < upper, got " +
                      quoteForMessage(line.str()));
      return std::nullopt;
    }
    problem.buffers.push_back({fields[0].str(), uint64_t(size), 1, lower, upper - 1});
  }
  return problem;
}

} // namespace tensorturbo::schedule
