#include "Pipeline/LlbPlacement.h"
#include "Conversion/RelayToTile/KernelBuilder.h"
#include "Target/Target.h"
#include <algorithm>
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

static int64_t aligned(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
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
      own += besides.count(w.op) ? 0 : aligned(w.bytes);
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

bool LlbPlacement::plan(bool ahead, Diagnostics &diags) {
  std::vector<const tile::WantedTransfer *> items;
  schedule::PrefetchProblem prefetch = prefetchProblem(items);
  if (ahead) {
    // Holes between buffers: where the placement ends too high, transfers must leave more room next time.
    constexpr int64_t step = 64 * 1024;
    constexpr int attempts = 16;
    for (schedule::PrefetchProblem tighter = prefetch; tighter.distance > 0; --tighter.distance)
      for (int i = 0; i < attempts; ++i) {
        Diagnostics findings;
        if (place(tighter, items, findings))
          return true;
        std::vector<bool> crowded = crowdedKernels(step);
        for (size_t k = 0; k < kernels.size(); ++k)
          tighter.kernels[k].liveBytes += crowded[k] ? step : 0;
      }
    // At last everywhere.
    for (schedule::PrefetchProblem tighter = prefetch; tighter.llbBytes > prefetch.llbBytes / 2;
         tighter.llbBytes -= 4 * step) {
      Diagnostics findings;
      if (place(tighter, items, findings))
        return true;
    }
  }
  prefetch.channels = 0;
  return place(prefetch, items, diags);
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
