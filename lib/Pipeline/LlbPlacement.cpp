#include "Pipeline/LlbPlacement.h"
#include "Target/Target.h"
#include <algorithm>

using namespace mlir;
using namespace tensorturbo;

LlbPlacement::LlbPlacement(ModuleOp tileModule, BufferAssignment &assignment, const StageDecisions &decisions,
                           const KernelLoops &loops, const std::vector<SharedBuffer> &shared)
    : tileModule(tileModule), assignment(assignment), decisions(decisions), loops(loops), shared(shared) {
  for (const ProgramKernel &kernel : loops.kernels()) {
    kernels.push_back(tileModule.lookupSymbol<func::FuncOp>(kernel.name));
    wanted.push_back(tile::wantedWeights(kernels.back()));
  }
}

std::vector<size_t> LlbPlacement::roots() const {
  std::vector<size_t> result;
  for (size_t i = 0; i < decisions.buffers.size(); ++i)
    if (decisions.buffers[i].inLlb && decisions.buffers[i].place == i)
      result.push_back(i);
  return result;
}

/// In this order: resident tensors, kernels' own buffers, transferred weights, shared buffers.
schedule::MemoryProblem LlbPlacement::memoryProblem() const {
  schedule::MemoryProblem p;
  p.level = "LLB";
  p.capacity = target::p920().llb().clusterShare;
  auto add = [&](const std::string &name, int64_t bytes, std::pair<int, int> during) {
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
  std::vector<bool> comesAhead(kernels.size());
  for (const schedule::PrefetchTransfer &t : transfers)
    comesAhead[static_cast<size_t>(t.kernel)] = true;
  for (size_t k = 0; k < kernels.size(); ++k) {
    int64_t own = wanted[k].otherLlbBytes + (comesAhead[k] ? 0 : (wanted[k].bytes + 63) / 64 * 64);
    add(loops.kernels()[k].name, own, {static_cast<int>(k), static_cast<int>(k)});
  }
  for (const schedule::PrefetchTransfer &t : transfers)
    add("weights of " + loops.kernels()[static_cast<size_t>(t.kernel)].name,
        wanted[static_cast<size_t>(t.kernel)].bytes, {t.first, t.last});
  for (const SharedBuffer &s : shared)
    add(s.global, s.bytes, loops.between(static_cast<int64_t>(s.step), static_cast<int64_t>(s.step)));
  return p;
}

bool LlbPlacement::plan(bool ahead, Diagnostics &diags) {
  auto capacity = int64_t(target::p920().llb().clusterShare);
  schedule::PrefetchProblem prefetch = loops.prefetchProblem();
  prefetch.llbBytes = capacity;
  for (size_t k = 0; k < kernels.size(); ++k) {
    prefetch.kernels[k].weightBytes = wanted[k].bytes;
    prefetch.kernels[k].liveBytes =
        wanted[k].otherLlbBytes + capacity - decisions.steps[loops.kernels()[k].step].llbRoom;
    for (const SharedBuffer &buffer : shared)
      if (buffer.step == loops.kernels()[k].step)
        prefetch.kernels[k].liveBytes += buffer.bytes;
  }
  // Holes between buffers: where the placement ends too high, transfers must leave more room at the next
  // attempt.
  constexpr int64_t step = 128 * 1024;
  constexpr int attempts = 48;
  for (int i = 0; ahead && i < attempts; ++i) {
    transfers = schedule::planPrefetch(prefetch);
    problem = memoryProblem();
    found = schedule::planMemory(problem);
    Diagnostics findings;
    if (schedule::checkMemoryPlan(problem, found, findings))
      return true;
    std::vector<bool> crowded(kernels.size());
    for (size_t n = 0; n < problem.buffers.size(); ++n)
      if (found.offsets[n] + problem.buffers[n].bytes > problem.capacity)
        for (int64_t k = problem.buffers[n].firstUse; k <= problem.buffers[n].lastUse; ++k)
          crowded[static_cast<size_t>(k)] = true;
    for (size_t k = 0; k < kernels.size(); ++k)
      prefetch.kernels[k].liveBytes += crowded[k] ? step : 0;
  }
  transfers.clear();
  problem = memoryProblem();
  found = schedule::planMemory(problem);
  return schedule::checkMemoryPlan(problem, found, diags);
}

void LlbPlacement::bringWeights() {
  prefetched = tile::prefetchWeights(tileModule, kernels, transfers);
}

void LlbPlacement::place() {
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
  for (const tile::PrefetchedBuffer &p : prefetched)
    placeGlobal(p.global);
  for (const SharedBuffer &s : shared)
    placeGlobal(s.global);
}
