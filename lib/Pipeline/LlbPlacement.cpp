#include "Pipeline/LlbPlacement.h"
#include "Dialect/Tile/Tile.h"
#include "Target/Target.h"
#include <algorithm>
#include <bitset>
#include <limits>
#include <set>

using namespace mlir;
using namespace tensorturbo;

LlbPlacement::LlbPlacement(ModuleOp tileModule, BufferAssignment &assignment, const StageDecisions &decisions,
                           const KernelLoops &loops, const std::vector<SharedBuffer> &shared)
    : tileModule(tileModule), assignment(assignment), decisions(decisions), loops(loops), shared(shared) {
  for (const ProgramKernel &kernel : loops.kernels()) {
    kernels.push_back(tileModule.lookupSymbol<func::FuncOp>(kernel.name));
    wanted.push_back(tile::wantedTransfers(kernels.back()));
  }
}

std::vector<size_t> LlbPlacement::roots() const {
  std::vector<size_t> result;
  for (size_t i = 0; i < decisions.buffers.size(); ++i)
    if (decisions.buffers[i].inLlb && decisions.buffers[i].place == i)
      result.push_back(i);
  return result;
}

/// In this order: resident tensors, kernels' own buffers, buffers of transfers, shared buffers.
schedule::MemoryProblem LlbPlacement::memoryProblem() const {
  schedule::MemoryProblem p;
  p.level = "LLB";
  p.capacity = target::p920().llb().clusterShare;
  auto add = [&](const std::string &name, int64_t bytes, std::pair<int64_t, int64_t> during) {
    p.buffers.push_back(
        {name, static_cast<uint64_t>(std::max<int64_t>(bytes, 1)), 64, during.first, during.second});
  };
  for (size_t root : roots()) {
    const auto &d = decisions.buffers[root];
    int64_t first = d.firstUse, last = d.lastUse;
    for (const auto &other : decisions.buffers)
      if (other.inLlb && other.place == root) {
        first = std::min(first, other.firstUse);
        last = std::max(last, other.lastUse);
      }
    add(assignment.buffers()[root].name, d.llbBytes, loops.between(first, last));
  }
  std::set<mlir::Operation *> besides;
  for (const tile::Transfer &t : transfers)
    besides.insert(t.wanted.op);
  for (size_t k = 0; k < kernels.size(); ++k) {
    int64_t own = wanted[k].otherLlbBytes;
    for (const tile::WantedTransfer &w : wanted[k].list)
      own += besides.count(w.op) ? 0 : schedule::paddedBytes(w.bytes);
    add(loops.kernels()[k].name, own, {static_cast<int>(k), static_cast<int>(k)});
  }
  for (const tile::Transfer &t : transfers) {
    std::vector<std::pair<int64_t, int64_t>> uses;
    for (int k : t.plan.kernels)
      if (!uses.empty() && uses.back().second + 1 == k)
        ++uses.back().second;
      else
        uses.push_back({k, k});
    add(t.wanted.global + " in LLB", t.wanted.bytes, uses.front());
    p.buffers.back().moreUses.assign(uses.begin() + 1, uses.end());
  }
  for (const SharedBuffer &s : shared)
    add(s.global, s.bytes, loops.between(static_cast<int64_t>(s.step), static_cast<int64_t>(s.step)));
  return p;
}

/// Kernels of the steps that write the tensor in DDR, or for outgoing transfers of those that read it.
std::vector<int> LlbPlacement::partnersOf(const tile::WantedTransfer &w) const {
  std::vector<int> partners;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const Step &step = assignment.steps()[loops.kernels()[k].step];
    const std::vector<size_t> &touched = w.outgoing ? step.inputs : step.outputs;
    if (std::any_of(touched.begin(), touched.end(),
                    [&](size_t buffer) { return assignment.buffers()[buffer].name == w.global; }))
      partners.push_back(static_cast<int>(k));
  }
  return partners;
}

schedule::PrefetchProblem
LlbPlacement::prefetchProblem(std::vector<const tile::WantedTransfer *> &items) const {
  schedule::PrefetchProblem p = loops.prefetchProblem();
  p.llbBytes = int64_t(target::p920().llb().clusterShare);
  p.channels = tile::weightChannels;
  for (size_t k = 0; k < kernels.size(); ++k) {
    p.kernels[k].liveBytes = wanted[k].otherLlbBytes + decisions.steps[loops.kernels()[k].step].llbHeld;
    for (const SharedBuffer &buffer : shared)
      if (buffer.step == loops.kernels()[k].step)
        p.kernels[k].liveBytes += buffer.bytes;
    for (const tile::WantedTransfer &w : wanted[k].list) {
      bool constant = ModuleOp(tileModule).lookupSymbol<tile::GlobalOp>(w.global).getConstant().has_value();
      p.items.push_back({static_cast<int>(k), w.bytes, w.outgoing, !constant, {}});
      if (!constant)
        p.items.back().partners = partnersOf(w);
      items.push_back(&w);
    }
  }
  return p;
}

/// Where buffers that found no place meet the most others, to `step` bytes.
std::vector<bool> LlbPlacement::crowdedKernels(int64_t step) const {
  std::vector<int64_t> load(kernels.size());
  auto forEachKernel = [&](size_t n, auto body) {
    const schedule::MemoryBuffer &buffer = problem.buffers[n];
    auto over = [&](int64_t first, int64_t last) {
      for (int64_t k = first; k <= last; ++k)
        body(static_cast<size_t>(k));
    };
    over(buffer.firstUse, buffer.lastUse);
    for (auto [first, last] : buffer.moreUses)
      over(first, last);
  };
  for (size_t n = 0; n < problem.buffers.size(); ++n)
    forEachKernel(n, [&](size_t k) { load[k] += static_cast<int64_t>(problem.buffers[n].bytes); });
  std::vector<bool> crowded(kernels.size());
  for (size_t n = 0; n < problem.buffers.size(); ++n)
    if (found.offsets[n] + problem.buffers[n].bytes > problem.capacity) {
      int64_t peak = 0;
      forEachKernel(n, [&](size_t k) { peak = std::max(peak, load[k]); });
      forEachKernel(n, [&](size_t k) { crowded[k] = crowded[k] || load[k] + step > peak; });
    }
  return crowded;
}

bool LlbPlacement::place(const schedule::PrefetchProblem &prefetch,
                         const std::vector<const tile::WantedTransfer *> &items, Diagnostics &diags) {
  transfers.clear();
  for (schedule::PrefetchTransfer &t : schedule::planPrefetch(prefetch))
    transfers.push_back({*items[static_cast<size_t>(t.item)], std::move(t), ""});
  // Attempts are many, so each of them is short.
  schedule::MemoryPlanOptions brief;
  brief.maxSteps = 5'000'000;
  brief.exactSteps = 2'000'000;
  brief.stopWhenFits = true;
  problem = memoryProblem();
  found = schedule::planMemory(problem, brief);
  return schedule::checkMemoryPlan(problem, found, diags);
}

/// Bytes that kernels have to wait for, roughly: all of those that move on the spot, a share of those that
/// move beside few kernels.
static double exposedBytes(const schedule::PrefetchProblem &problem,
                           const std::vector<tile::Transfer> &plan) {
  std::vector<const schedule::PrefetchTransfer *> transferOf(problem.items.size());
  for (const tile::Transfer &t : plan)
    transferOf[static_cast<size_t>(t.plan.item)] = &t.plan;
  double exposed = 0;
  for (size_t i = 0; i < problem.items.size(); ++i) {
    const schedule::PrefetchItem &item = problem.items[i];
    double runs = double(problem.kernels[static_cast<size_t>(item.kernel)].parts), spot = runs;
    if (const schedule::PrefetchTransfer *t = transferOf[i]) {
      spot = t->onTheSpot == schedule::allParts ? runs : double(std::bitset<32>(t->onTheSpot).count());
      exposed +=
          double(item.bytes) * (runs - spot) * 0.3 / double(std::max<size_t>(t->kernels.size(), 2) - 1);
    }
    exposed += double(item.bytes) * spot;
  }
  return exposed;
}

bool LlbPlacement::plan(bool ahead, Diagnostics &diags) {
  std::vector<const tile::WantedTransfer *> items;
  const schedule::PrefetchProblem whole = prefetchProblem(items);
  // A plan that fills LLB to the brim may have no placement: where buffers end too high, transfers must leave
  // more room next time. How much is left free everywhere from the start decides who gets the rest.
  constexpr int64_t step = 64 * 1024;
  constexpr int attempts = 12;
  std::vector<tile::Transfer> bestTransfers;
  schedule::MemoryProblem bestProblem;
  schedule::MemoryPlan bestFound;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t free = 0; ahead && free <= whole.llbBytes / 2;
       free += free < 1024 * 1024 ? 256 * 1024 : 1024 * 1024) {
    schedule::PrefetchProblem prefetch = whole;
    prefetch.llbBytes -= free;
    for (int i = 0; i < attempts; ++i) {
      Diagnostics findings;
      if (!place(prefetch, items, findings)) {
        std::vector<bool> crowded = crowdedKernels(step);
        for (size_t k = 0; k < kernels.size(); ++k)
          prefetch.kernels[k].liveBytes += crowded[k] ? step : 0;
        continue;
      }
      if (double exposed = exposedBytes(whole, transfers); exposed < least) {
        least = exposed;
        bestTransfers = transfers;
        bestProblem = problem;
        bestFound = found;
      }
      break;
    }
  }
  if (least < std::numeric_limits<double>::infinity()) {
    transfers = std::move(bestTransfers);
    problem = std::move(bestProblem);
    found = std::move(bestFound);
    return true;
  }
  schedule::PrefetchProblem none = whole;
  none.channels = 0;
  return place(none, items, diags);
}

void LlbPlacement::scheduleTransfers() {
  tile::scheduleTransfers(tileModule, kernels, transfers);
}

void LlbPlacement::setAddresses() {
  auto base = static_cast<int64_t>(target::p920().llb().base);
  size_t next = 0;
  auto offset = [&] { return static_cast<int64_t>(found.offsets[next++]); };
  auto placeGlobal = [&](const std::string &name) {
    tileModule.lookupSymbol<tile::GlobalOp>(name).setAddress(base + offset());
  };
  std::vector<DdrBuffer> &buffers = assignment.buffers();
  for (size_t root : roots()) {
    auto address = static_cast<uint32_t>(base + offset());
    for (size_t i = 0; i < buffers.size(); ++i)
      if (decisions.buffers[i].inLlb && decisions.buffers[i].place == root)
        buffers[i].address = address;
  }
  for (func::FuncOp kernel : kernels) {
    auto own = static_cast<uint64_t>(offset());
    kernel.walk([&](tile::AllocOp alloc) {
      if (alloc.getBuffer().getType().getLevel() == tile::MemoryLevel::LLB)
        alloc.setOffset(*alloc.getOffset() + own);
    });
  }
  for (const tile::Transfer &t : transfers)
    placeGlobal(t.buffer);
  for (const SharedBuffer &s : shared)
    placeGlobal(s.global);
}

void LlbPlacement::recordUses(OnChipPlan &plan) const {
  for (const tile::Transfer &t : transfers) {
    auto global = ModuleOp(tileModule).lookupSymbol<tile::GlobalOp>(t.buffer);
    runtime::PlannedBuffer buffer{t.buffer, static_cast<uint32_t>(*global.getAddress()),
                                  static_cast<uint32_t>(global.getBytes()), 1};
    for (int k : t.plan.kernels) {
      auto &named = plan.kernels[loops.kernels()[static_cast<size_t>(k)].name];
      if (std::none_of(named.begin(), named.end(),
                       [&](const runtime::PlannedBuffer &b) { return b.name == buffer.name; }))
        named.push_back(buffer);
    }
  }
}
