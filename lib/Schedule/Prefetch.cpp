#include "Schedule/Prefetch.h"
#include "Schedule/MemoryPlan.h"
#include <algorithm>
#include <bitset>
#include <optional>

using namespace tensorturbo::schedule;

namespace {
/// A transfer in the order of the run: started before run `start`, waited for before run `wait`; the run of
/// the item's kernel that it serves.
struct Flight {
  int start, wait, run;
};

struct Candidate {
  PrefetchTransfer transfer;
  std::vector<Flight> flights;
};

class Planner {
public:
  explicit Planner(const PrefetchProblem &p)
      : p(p), taken(p.kernels.size()), chosen(p.items.size()), runsOf(p.kernels.size()),
        channels(static_cast<size_t>(p.channels)) {
    for (size_t k = 0; k < p.kernels.size(); ++k)
      taken[k] = p.kernels[k].liveBytes;
    for (size_t t = 0; t < p.runs.size(); ++t)
      runsOf[at(p.runs[t].kernel)].push_back(static_cast<int>(t));
    // Each kernel's own buffers, which have no other place yet.
    for (const PrefetchItem &item : p.items)
      taken[at(item.kernel)] += paddedBytes(item.bytes);
  }

  std::vector<PrefetchTransfer> run() {
    std::vector<int> order;
    for (int i = 0; i < static_cast<int>(p.items.size()); ++i)
      if (p.items[at(i)].bytes > 0 && p.items[at(i)].bytes <= p.largest)
        order.push_back(i);
    // Results first: they can only go behind their kernel, while what is brought has a choice.
    for (bool outgoing : {true, false})
      for (int i : order)
        if (p.items[at(i)].outgoing == outgoing)
          improve(i, 1);
    // Then more time for those that need it most.
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      int64_t x = p.items[at(a)].bytes, y = p.items[at(b)].bytes;
      return x != y ? x > y : a < b;
    });
    for (int distance = 2; distance <= p.distance; ++distance)
      for (int i : order)
        improve(i, distance);
    std::vector<PrefetchTransfer> result;
    for (const std::optional<Candidate> &c : chosen)
      if (c)
        result.push_back(c->transfer);
    return result;
  }

private:
  const PrefetchProblem &p;
  /// Bytes of LLB by kernel.
  std::vector<int64_t> taken;
  std::vector<std::optional<Candidate>> chosen;
  std::vector<std::vector<int>> runsOf;
  std::vector<std::vector<Flight>> channels;

  static size_t at(int index) { return static_cast<size_t>(index); }
  const PrefetchKernel &kernelOf(int item) const { return p.kernels[at(p.items[at(item)].kernel)]; }

  void improve(int item, int distance) {
    std::optional<Candidate> before = chosen[at(item)];
    // Only a transfer that already is beside the program may take longer.
    if (distance > 1 && !before)
      return;
    if (before)
      release(*before);
    std::vector<Candidate> candidates;
    auto offer = [&](std::optional<Candidate> candidate) {
      if (candidate)
        candidates.push_back(std::move(*candidate));
    };
    if (p.items[at(item)].outgoing) {
      offer(makeOutgoing(item, distance));
    } else {
      offer(makeIncoming(item, distance, /*keep=*/false));
      if (!p.items[at(item)].perPart)
        offer(makeIncoming(item, distance, /*keep=*/true));
    }
    // What stays over the rounds of a loop need not be brought in each of them.
    auto exposed = [](const Candidate &c) { return std::bitset<32>(c.transfer.onTheSpot).count(); };
    if (candidates.size() == 2 && exposed(candidates[1]) < exposed(candidates[0]))
      std::swap(candidates[0], candidates[1]);
    for (Candidate &candidate : candidates)
      if (take(candidate))
        return;
    if (before)
      take(*before);
  }

  /// The first break behind run `t`: no transfer may be under way there.
  int breakBehind(int t) const {
    int next = static_cast<int>(p.runs.size());
    for (int b : p.breaks)
      if (b > t)
        next = std::min(next, b);
    return next;
  }

  /// The first run from which on the partners' writes of the bytes for run `t` have arrived in DDR.
  int readyFor(const PrefetchItem &item, int t) const {
    int ready = 0;
    for (int partner : item.partners) {
      int run = -1;
      for (int r : runsOf[at(partner)])
        if (r < t)
          run = std::max(run, r);
      if (run < 0)
        continue;
      ready = std::max(ready, run + 1);
      for (const std::optional<Candidate> &c : chosen)
        if (c && p.items[at(c->transfer.item)].outgoing && p.items[at(c->transfer.item)].kernel == partner)
          for (const Flight &f : c->flights)
            if (f.run <= run)
              ready = std::max(ready, f.wait);
    }
    return ready;
  }

  /// Each transfer `distance` runs ahead. With `keep` the bytes stay over all rounds of their loop.
  std::optional<Candidate> makeIncoming(int number, int distance, bool keep) const {
    const PrefetchItem &item = p.items[at(number)];
    const PrefetchKernel &k = kernelOf(number);
    if (k.parts > 32 || (keep && k.rounds == 1))
      return std::nullopt;
    Candidate c;
    c.transfer.item = number;
    for (int other = keep ? k.loopFirst : item.kernel; other <= (keep ? k.loopLast : item.kernel); ++other)
      c.transfer.kernels.push_back(other);
    PartMask waits = 0;
    int before = -1;
    for (int t : runsOf[at(item.kernel)]) {
      int64_t part = p.runs[at(t)].part;
      if (keep && part % k.rounds != 0) {
        before = t;
        continue;
      }
      int start = std::max({t - distance, 0, before + 1, readyFor(item, t)});
      before = t;
      for (int b : p.breaks)
        if (b <= t)
          start = std::max(start, b);
      // Constants that would be on their way from one round to the next had better stay.
      if (!item.perPart)
        for (int s = t; s >= start; --s)
          if (p.runs[at(s)].kernel > item.kernel)
            start = s + 1;
      PartMask bit = PartMask(1) << part;
      if (start >= t) {
        c.transfer.onTheSpot |= bit;
        continue;
      }
      waits |= bit;
      c.flights.push_back({start, t, t});
      for (int s = start; s < t; ++s)
        cover(c.transfer, p.runs[at(s)].kernel);
    }
    if (c.flights.empty() || !setStarts(c, item))
      return std::nullopt;
    c.transfer.waits.push_back({item.kernel, whole(waits, item.kernel)});
    c.transfer.onTheSpot = whole(c.transfer.onTheSpot, item.kernel);
    return c;
  }

  /// Each transfer from the next run on, for `distance` runs.
  std::optional<Candidate> makeOutgoing(int number, int distance) const {
    const PrefetchItem &item = p.items[at(number)];
    if (kernelOf(number).parts > 32)
      return std::nullopt;
    Candidate c;
    c.transfer.item = number;
    c.transfer.kernels = {item.kernel};
    const std::vector<int> &own = runsOf[at(item.kernel)];
    for (size_t i = 0; i < own.size(); ++i) {
      int t = own[i], start = t + 1;
      int wait = std::min(start + distance, breakBehind(t) - 1);
      // Other cores may fill the buffer again before this one has waited at the beginning of the same run.
      if (i + 1 < own.size())
        wait = std::min(wait, own[i + 1] - 1);
      for (int reader : item.partners)
        for (int r : runsOf[at(reader)])
          if (r > t)
            wait = std::min(wait, r);
      // Nor later than something starts to bring the bytes back.
      for (const std::optional<Candidate> &other : chosen)
        if (other && reads(p.items[at(other->transfer.item)], item.kernel))
          for (const Flight &f : other->flights)
            if (f.start > t)
              wait = std::min(wait, f.start);
      if (wait <= start) {
        c.transfer.onTheSpot |= PartMask(1) << p.runs[at(t)].part;
        continue;
      }
      c.flights.push_back({start, wait, t});
      for (int s = t; s <= wait; ++s)
        cover(c.transfer, p.runs[at(s)].kernel);
    }
    if (c.flights.empty() || !setStarts(c, item))
      return std::nullopt;
    for (const Flight &f : c.flights) {
      const KernelRun &run = p.runs[at(f.wait)];
      if (p.kernels[at(run.kernel)].parts > 32)
        return std::nullopt;
      pointOf(c.transfer.waits, run.kernel).parts |= PartMask(1) << run.part;
    }
    for (PrefetchTransfer::Point &w : c.transfer.waits)
      w.parts = whole(w.parts, w.kernel);
    c.transfer.onTheSpot = whole(c.transfer.onTheSpot, item.kernel);
    return c;
  }

  /// Whether an item brings what a kernel writes.
  static bool reads(const PrefetchItem &item, int kernel) {
    return !item.outgoing &&
           std::find(item.partners.begin(), item.partners.end(), kernel) != item.partners.end();
  }

  static void cover(PrefetchTransfer &transfer, int kernel) {
    auto place = std::lower_bound(transfer.kernels.begin(), transfer.kernels.end(), kernel);
    if (place == transfer.kernels.end() || *place != kernel)
      transfer.kernels.insert(place, kernel);
  }

  static PrefetchTransfer::Point &pointOf(std::vector<PrefetchTransfer::Point> &points, int kernel) {
    for (PrefetchTransfer::Point &point : points)
      if (point.kernel == kernel)
        return point;
    points.push_back({kernel, 0});
    return points.back();
  }

  /// Who starts the flights, and with which part. False if that has no simple form.
  bool setStarts(Candidate &c, const PrefetchItem &item) const {
    for (const Flight &f : c.flights) {
      const KernelRun &starter = p.runs[at(f.start)];
      if (p.kernels[at(starter.kernel)].parts > 32)
        return false;
      pointOf(c.transfer.starts, starter.kernel).parts |= PartMask(1) << starter.part;
    }
    for (PrefetchTransfer::Point &point : c.transfer.starts) {
      int64_t own = p.kernels[at(item.kernel)].parts, other = p.kernels[at(point.kernel)].parts;
      point.times = std::max<int64_t>(own / other, 1);
      point.over = std::max<int64_t>(other / own, 1);
      bool first = true;
      for (const Flight &f : c.flights) {
        const KernelRun &starter = p.runs[at(f.start)];
        if (starter.kernel != point.kernel)
          continue;
        int64_t plus = p.runs[at(f.run)].part - starter.part * point.times / point.over;
        if (first)
          point.plus = plus;
        else if (item.perPart && plus != point.plus)
          return false;
        first = false;
      }
      point.parts = whole(point.parts, point.kernel);
    }
    return true;
  }

  /// All bits if all parts of the kernel are in the set.
  PartMask whole(PartMask parts, int kernel) const {
    int64_t count = p.kernels[at(kernel)].parts;
    PartMask full = count >= 32 ? allParts : (PartMask(1) << count) - 1;
    return (parts & full) == full ? allParts : parts;
  }

  /// Adds the bytes of a transfer to the kernels of its range; its kernel has counted them already.
  void account(const Candidate &c, int64_t sign) {
    const PrefetchItem &item = p.items[at(c.transfer.item)];
    for (int k : c.transfer.kernels)
      if (k != item.kernel)
        taken[at(k)] += sign * paddedBytes(item.bytes);
  }

  bool take(Candidate &c) {
    const PrefetchItem &item = p.items[at(c.transfer.item)];
    for (int k : c.transfer.kernels)
      if (k != item.kernel && taken[at(k)] + paddedBytes(item.bytes) > p.llbBytes)
        return false;
    for (size_t channel = 0; channel < channels.size(); ++channel) {
      std::vector<Flight> &all = channels[channel];
      bool free = std::none_of(all.begin(), all.end(), [&](const Flight &f) {
        return std::any_of(c.flights.begin(), c.flights.end(),
                           [&](const Flight &g) { return f.start < g.wait && g.start < f.wait; });
      });
      if (!free)
        continue;
      c.transfer.channel = static_cast<int>(channel);
      all.insert(all.end(), c.flights.begin(), c.flights.end());
      account(c, 1);
      chosen[at(c.transfer.item)] = c;
      return true;
    }
    return false;
  }

  void release(const Candidate &c) {
    std::vector<Flight> &all = channels[at(c.transfer.channel)];
    all.erase(std::remove_if(all.begin(), all.end(),
                             [&](const Flight &f) {
                               return std::any_of(c.flights.begin(), c.flights.end(), [&](const Flight &g) {
                                 return f.start == g.start && f.wait == g.wait;
                               });
                             }),
              all.end());
    account(c, -1);
    chosen[at(c.transfer.item)].reset();
  }
};
} // namespace

std::vector<PrefetchTransfer> tensorturbo::schedule::planPrefetch(const PrefetchProblem &problem) {
  return Planner(problem).run();
}
