#include "Schedule/Prefetch.h"
#include <algorithm>
#include <bitset>
#include <optional>

using namespace tensorturbo::schedule;

namespace {
/// A transfer in the order of the run: started before run `start`, waited for before run `wait`.
struct Flight {
  int start, wait;
};

struct Candidate {
  PrefetchTransfer transfer;
  std::vector<Flight> flights;
};

class Planner {
public:
  explicit Planner(const PrefetchProblem &p) : p(p), taken(p.kernels.size()), chosen(p.kernels.size()) {
    for (size_t k = 0; k < p.kernels.size(); ++k)
      taken[k] = p.kernels[k].liveBytes;
    runsOf.resize(p.kernels.size());
    for (size_t t = 0; t < p.runs.size(); ++t)
      runsOf[static_cast<size_t>(p.runs[t].kernel)].push_back(static_cast<int>(t));
    channels.resize(static_cast<size_t>(p.channels));
    // Each kernel's own weights, which have no other place yet.
    for (size_t k = 0; k < p.kernels.size(); ++k)
      taken[k] += aligned(p.kernels[k].weightBytes);
  }

  std::vector<PrefetchTransfer> run() {
    for (int distance = 1; distance <= p.distance; ++distance)
      for (int k = 0; k < static_cast<int>(p.kernels.size()); ++k)
        if (p.kernels[static_cast<size_t>(k)].weightBytes > 0 &&
            p.kernels[static_cast<size_t>(k)].weightBytes <= p.largest)
          improve(k, distance);
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

  static int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

  void improve(int kernel, int distance) {
    std::optional<Candidate> before = chosen[static_cast<size_t>(kernel)];
    // Only a transfer that already comes in time may start earlier.
    if (distance > 1 && !before)
      return;
    if (before)
      release(*before);
    std::vector<Candidate> candidates;
    for (bool keep : {false, true})
      if (auto candidate = make(kernel, distance, keep))
        candidates.push_back(std::move(*candidate));
    // What stays over the rounds of a loop need not be brought in each of them.
    auto exposed = [](const Candidate &c) { return std::bitset<32>(c.transfer.brings).count(); };
    if (candidates.size() == 2 && exposed(candidates[1]) < exposed(candidates[0]))
      std::swap(candidates[0], candidates[1]);
    for (Candidate &candidate : candidates)
      if (take(candidate))
        return;
    if (before)
      take(*before);
  }

  /// The transfers of a kernel, each `distance` runs ahead. With `keep` the weights stay over all rounds of
  /// its loop; else they must not be on their way from one round to the next.
  std::optional<Candidate> make(int kernel, int distance, bool keep) const {
    const PrefetchKernel &k = p.kernels[static_cast<size_t>(kernel)];
    if (keep && k.rounds == 1)
      return std::nullopt;
    Candidate c;
    c.transfer.kernel = kernel;
    c.transfer.first = keep ? k.loopFirst : kernel;
    c.transfer.last = keep ? k.loopLast : kernel;
    for (int t : runsOf[static_cast<size_t>(kernel)]) {
      int64_t part = p.runs[static_cast<size_t>(t)].part;
      if (keep && part % k.rounds != 0)
        continue;
      int start = std::max(t - distance, 0);
      for (int b : p.breaks)
        if (b <= t)
          start = std::max(start, b);
      // Loops lead back: what lies between in the order of the run must lie between in the program.
      for (int s = t; s >= start; --s)
        if (p.runs[static_cast<size_t>(s)].kernel > kernel ||
            (s < t && p.runs[static_cast<size_t>(s)].kernel == kernel)) {
          if (s + 1 > start)
            start = s + 1;
          break;
        }
      if (k.parts > 32)
        return std::nullopt;
      PartMask bit = k.parts == 1 ? allParts : PartMask(1) << part;
      if (start == t) {
        c.transfer.brings |= bit;
        continue;
      }
      c.transfer.waits |= bit;
      const KernelRun &from = p.runs[static_cast<size_t>(start)];
      const PrefetchKernel &starter = p.kernels[static_cast<size_t>(from.kernel)];
      if (starter.parts > 32)
        return std::nullopt;
      addStart(c.transfer, from.kernel, starter.parts == 1 ? allParts : PartMask(1) << from.part);
      for (int s = start; s < t; ++s)
        c.transfer.first = std::min(c.transfer.first, p.runs[static_cast<size_t>(s)].kernel);
      c.flights.push_back({start, t});
    }
    if (c.flights.empty())
      return std::nullopt;
    for (PrefetchTransfer::Start &s : c.transfer.starts)
      s.parts = whole(s.parts, s.kernel);
    c.transfer.waits = whole(c.transfer.waits, kernel);
    c.transfer.brings = whole(c.transfer.brings, kernel);
    return c;
  }

  static void addStart(PrefetchTransfer &transfer, int kernel, PartMask parts) {
    for (PrefetchTransfer::Start &s : transfer.starts)
      if (s.kernel == kernel) {
        s.parts |= parts;
        return;
      }
    transfer.starts.push_back({kernel, parts});
  }

  /// All bits if all parts of the kernel are in the set.
  PartMask whole(PartMask parts, int kernel) const {
    int64_t count = p.kernels[static_cast<size_t>(kernel)].parts;
    PartMask full = count >= 32 ? allParts : (PartMask(1) << count) - 1;
    return (parts & full) == full ? allParts : parts;
  }

  /// Adds the bytes of a transfer to the kernels of its range, less what its kernel had counted for itself.
  void account(const Candidate &c, int64_t sign) {
    int64_t bytes = sign * aligned(p.kernels[static_cast<size_t>(c.transfer.kernel)].weightBytes);
    for (int k = c.transfer.first; k <= c.transfer.last; ++k)
      if (k != c.transfer.kernel)
        taken[static_cast<size_t>(k)] += bytes;
  }

  bool take(Candidate &c) {
    int64_t bytes = aligned(p.kernels[static_cast<size_t>(c.transfer.kernel)].weightBytes);
    for (int k = c.transfer.first; k <= c.transfer.last; ++k)
      if (k != c.transfer.kernel && taken[static_cast<size_t>(k)] + bytes > p.llbBytes)
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
      chosen[static_cast<size_t>(c.transfer.kernel)] = c;
      return true;
    }
    return false;
  }

  void release(const Candidate &c) {
    std::vector<Flight> &all = channels[static_cast<size_t>(c.transfer.channel)];
    all.erase(std::remove_if(all.begin(), all.end(),
                             [&](const Flight &f) {
                               return std::any_of(c.flights.begin(), c.flights.end(), [&](const Flight &g) {
                                 return f.start == g.start && f.wait == g.wait;
                               });
                             }),
              all.end());
    account(c, -1);
    chosen[static_cast<size_t>(c.transfer.kernel)].reset();
  }
};
} // namespace

std::vector<PrefetchTransfer> tensorturbo::schedule::planPrefetch(const PrefetchProblem &problem) {
  return Planner(problem).run();
}
