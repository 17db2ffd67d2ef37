#include "Schedule/PlanSearch.h"
#include <algorithm>
#include <tuple>

namespace tensorturbo::schedule {
namespace {

constexpr uint64_t nowhere = UINT64_MAX;

/// The problem in sections: pieces of time between which no life begins or ends.
struct Sections {
  explicit Sections(const MemoryProblem &problem) {
    std::vector<int64_t> times;
    for (const MemoryBuffer &buffer : problem.buffers) {
      times.push_back(buffer.firstUse);
      times.push_back(buffer.lastUse + 1);
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    auto sectionOf = [&](int64_t time) {
      return uint32_t(std::lower_bound(times.begin(), times.end(), time) - times.begin());
    };
    members.resize(times.size());
    for (uint32_t i = 0; i < problem.buffers.size(); ++i) {
      const MemoryBuffer &buffer = problem.buffers[i];
      ranges.push_back({sectionOf(buffer.firstUse), sectionOf(buffer.lastUse + 1)});
      for (uint32_t s = ranges[i].first; s < ranges[i].second && buffer.bytes; ++s)
        members[s].push_back(i);
    }
    neighbours.resize(problem.buffers.size());
    for (uint32_t i = 0; i < ranges.size(); ++i)
      for (uint32_t k = 0; k < ranges.size(); ++k)
        if (i != k && ranges[i].first < ranges[k].second && ranges[k].first < ranges[i].second)
          neighbours[i].push_back(k);
  }
  /// First section and the one behind the last, by buffer.
  std::vector<std::pair<uint32_t, uint32_t>> ranges;
  std::vector<std::vector<uint32_t>> members;    // buffers alive, by section
  std::vector<std::vector<uint32_t>> neighbours; // buffers that live at the same time, by buffer
};

/// What is hard to place comes first: which of life, life times size, and bytes still to come at the same
/// time decides first, second and third.
enum class Order { LifeAreaTotal, TotalAreaLife, TotalLifeArea };

/// One search with a fixed rule for the order of the candidates.
class Search {
public:
  enum Answer { Yes, No, OutOfSteps };

  Search(const MemoryProblem &problem, const Sections &sections, uint64_t capacity, Order order,
         uint64_t maxSteps)
      : buffers(problem.buffers), sections(sections), capacity(capacity), order(order), maxSteps(maxSteps),
        rank(buffers.size(), 0), solution(buffers.size(), 0), offsets(buffers.size(), nowhere),
        lowest(buffers.size(), 0), floor(sections.members.size(), 0), open(sections.members.size(), 0),
        crossing(sections.members.size() + 1, 0) {
    for (uint32_t i = 0; i < buffers.size(); ++i)
      for (uint32_t s = sections.ranges[i].first; s < sections.ranges[i].second && buffers[i].bytes; ++s) {
        open[s] += buffers[i].bytes;
        crossing[s + 1] += s + 1 < sections.ranges[i].second;
      }
  }

  Answer run() {
    Part all{0, uint32_t(open.size()), {}};
    for (uint32_t i = 0; i < buffers.size(); ++i)
      if (buffers[i].bytes != 0)
        all.list.push_back(i);
    return solveParts(all, 0, uint32_t(open.size()));
  }
  uint64_t steps = 0;
  /// Offsets after Yes.
  const std::vector<uint64_t> &result() const { return solution; }

private:
  /// Sections [begin, end) and the open buffers in them: nothing open crosses the ends.
  struct Part {
    uint32_t begin, end;
    std::vector<uint32_t> list;
  };
  struct Change {
    uint32_t index;
    uint64_t before;
  };

  /// Solves `part`, divided where no open buffer crosses a border between `begin` and `end`. The plans of the
  /// pieces do not depend on each other.
  Answer solveParts(const Part &part, uint32_t begin, uint32_t end) {
    std::vector<uint32_t> borders = {part.begin};
    for (uint32_t s = std::max(begin, part.begin) + 1; s < std::min(end, part.end); ++s)
      if (crossing[s] == 0)
        borders.push_back(s);
    borders.push_back(part.end);
    for (size_t piece = 0; piece + 1 < borders.size(); ++piece) {
      Part inner{borders[piece], borders[piece + 1], {}};
      for (uint32_t i : part.list)
        if (offsets[i] == nowhere && sections.ranges[i].first >= inner.begin &&
            sections.ranges[i].second <= inner.end)
          inner.list.push_back(i);
      if (inner.list.empty())
        continue;
      std::vector<Change> ranks = rankAll(inner);
      Answer answer = solve(inner, 0, 0);
      for (const Change &change : ranks)
        rank[change.index] = uint32_t(change.before);
      if (answer != Yes)
        return answer;
    }
    return Yes;
  }

  /// Ranks the buffers of a part by what is open now; gives back the ranks before.
  std::vector<Change> rankAll(const Part &part) {
    using Keys = std::tuple<double, double, double, uint32_t>;
    std::vector<Keys> keys;
    std::vector<Change> before;
    for (uint32_t i : part.list) {
      double life = double(buffers[i].lastUse - buffers[i].firstUse + 1);
      double area = life * double(buffers[i].bytes), total = 0;
      for (uint32_t s = sections.ranges[i].first; s < sections.ranges[i].second; ++s)
        total = std::max(total, double(open[s]));
      keys.push_back(order == Order::LifeAreaTotal   ? Keys{-life, -area, -total, i}
                     : order == Order::TotalAreaLife ? Keys{-total, -area, -life, i}
                                                     : Keys{-total, -life, -area, i});
      before.push_back({i, rank[i]});
    }
    std::sort(keys.begin(), keys.end());
    for (uint32_t k = 0; k < keys.size(); ++k)
      rank[std::get<3>(keys[k])] = k;
    return before;
  }

  /// Places the rest of a part above what is placed. Candidates below (`minOffset`, `minRank`) have had their
  /// turn.
  Answer solve(const Part &part, uint64_t minOffset, uint32_t minRank) {
    std::vector<uint32_t> candidates;
    uint64_t lowestTop = nowhere;
    for (uint32_t i : part.list)
      if (offsets[i] == nowhere) {
        candidates.push_back(i);
        lowestTop = std::min(lowestTop, lowest[i] + buffers[i].bytes);
      }
    steps += part.list.size();
    if (candidates.empty())
      return Yes;
    if (steps > maxSteps)
      return OutOfSteps;
    std::sort(candidates.begin(), candidates.end(), [&](uint32_t a, uint32_t b) {
      return lowest[a] != lowest[b] ? lowest[a] < lowest[b] : rank[a] < rank[b];
    });
    for (uint32_t i : candidates) {
      uint64_t offset = lowest[i];
      if (offset < minOffset || (offset == minOffset && rank[i] < minRank))
        continue;
      // An open buffer would fit completely below.
      if (offset >= lowestTop)
        break;
      bool alone = true;
      Answer answer = place(part, i, offset, alone);
      if (answer != No)
        return answer;
      // Nothing rests on it: another order of the same buffers would not help.
      if (alone)
        break;
    }
    return No;
  }

  /// Places one buffer, solves the rest, and takes it back: the state is needed as it was if another part
  /// fails.
  Answer place(const Part &part, uint32_t index, uint64_t offset, bool &alone) {
    auto [first, last] = sections.ranges[index];
    offsets[index] = offset;
    std::vector<Change> lifted, raised;
    uint64_t top = offset + buffers[index].bytes;
    uint32_t touchedFirst = first, touchedLast = last;
    for (uint32_t k : sections.neighbours[index]) {
      if (offsets[k] != nowhere || buffers[k].bytes == 0)
        continue;
      alone = false;
      uint64_t least = alignUp(top, buffers[k].alignment);
      if (lowest[k] >= least)
        continue;
      lifted.push_back({k, lowest[k]});
      lowest[k] = least;
      touchedFirst = std::min(touchedFirst, sections.ranges[k].first);
      touchedLast = std::max(touchedLast, sections.ranges[k].second);
    }
    for (uint32_t s = first; s < last; ++s) {
      raised.push_back({s, floor[s]});
      floor[s] = top;
      open[s] -= buffers[index].bytes;
      crossing[s + 1] -= s + 1 < last;
    }
    steps += sections.neighbours[index].size() + (last - first);
    bool fits = raiseFloors(touchedFirst, touchedLast, raised);
    for (uint32_t s = part.begin; s < part.end && fits; ++s)
      fits = open[s] == 0 || std::max(floor[s], offset) + open[s] <= capacity;
    fits = fits && top <= capacity;
    steps += part.end - part.begin;
    Answer answer = No;
    if (fits) {
      bool splits = false;
      for (uint32_t s = first + 1; s < last; ++s)
        splits |= crossing[s] == 0;
      answer = splits ? solveParts(part, first, last) : solve(part, offset, rank[index]);
    }
    if (answer == Yes)
      solution[index] = offset;
    for (uint32_t s = first; s < last; ++s) {
      open[s] += buffers[index].bytes;
      crossing[s + 1] += s + 1 < last;
    }
    for (size_t n = raised.size(); n-- > 0;)
      floor[raised[n].index] = raised[n].before;
    for (const Change &change : lifted)
      lowest[change.index] = change.before;
    offsets[index] = nowhere;
    return answer;
  }

  /// Nothing more comes to lie below the lowest place of any open buffer of a section.
  bool raiseFloors(uint32_t begin, uint32_t end, std::vector<Change> &raised) {
    for (uint32_t s = begin; s < end; ++s) {
      if (open[s] == 0)
        continue;
      uint64_t least = nowhere;
      for (uint32_t k : sections.members[s])
        if (offsets[k] == nowhere)
          least = std::min(least, lowest[k]);
      steps += sections.members[s].size();
      if (least <= floor[s])
        continue;
      raised.push_back({s, floor[s]});
      floor[s] = least;
      if (least + open[s] > capacity)
        return false;
    }
    return true;
  }

  const std::vector<MemoryBuffer> &buffers;
  const Sections &sections;
  uint64_t capacity;
  Order order;
  uint64_t maxSteps;
  std::vector<uint32_t> rank;
  std::vector<uint64_t> solution, offsets;
  /// Lowest place of each open buffer.
  std::vector<uint64_t> lowest;
  /// By section: up to where it is filled, and the bytes that are still to come.
  std::vector<uint64_t> floor, open;
  /// Open buffers that live on both sides of the border in front of a section.
  std::vector<uint32_t> crossing;
};

} // namespace

PlanSearchResult searchPlan(const MemoryProblem &problem, uint64_t capacity, uint64_t maxSteps) {
  PlanSearchResult result;
  // Deeper searches would need too much stack.
  constexpr size_t mostBuffers = 4000;
  if (problem.buffers.size() > mostBuffers)
    return result;
  if (problem.lowerBound() > capacity) {
    result.outcome = PlanSearchResult::Impossible;
    return result;
  }
  Sections sections(problem);
  for (uint64_t budget = 64 * problem.buffers.size() * problem.buffers.size() + 1000; result.steps < maxSteps;
       budget *= 2)
    for (Order order : {Order::LifeAreaTotal, Order::TotalAreaLife, Order::TotalLifeArea}) {
      if (result.steps >= maxSteps)
        break;
      Search search(problem, sections, capacity, order, std::min(budget, maxSteps - result.steps));
      Search::Answer answer = search.run();
      result.steps += search.steps;
      if (answer == Search::OutOfSteps)
        continue;
      result.outcome = answer == Search::Yes ? PlanSearchResult::Found : PlanSearchResult::Impossible;
      if (answer == Search::No)
        return result;
      result.plan.offsets = search.result();
      for (size_t i = 0; i < problem.buffers.size(); ++i) {
        // Empty buffers may lie anywhere.
        if (problem.buffers[i].bytes == 0)
          result.plan.offsets[i] = 0;
        result.plan.peak = std::max(result.plan.peak, result.plan.offsets[i] + problem.buffers[i].bytes);
      }
      return result;
    }
  return result;
}

} // namespace tensorturbo::schedule
