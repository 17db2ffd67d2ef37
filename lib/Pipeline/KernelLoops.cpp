#include "Pipeline/KernelLoops.h"
#include "Dialect/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include <algorithm>

using namespace mlir;
using namespace tensorturbo;

KernelLoops::KernelLoops(const BufferAssignment &assignment, const StageDecisions &decisions,
                         std::vector<ProgramKernel> kernels)
    : assignment(assignment), decisions(decisions), list(std::move(kernels)) {}

std::pair<int, int> KernelLoops::between(int64_t firstStep, int64_t lastStep) const {
  auto atLeast = [&](int64_t step) {
    auto found = std::find_if(list.begin(), list.end(),
                              [&](const ProgramKernel &k) { return static_cast<int64_t>(k.step) >= step; });
    return static_cast<int>(found - list.begin());
  };
  return {atLeast(firstStep), atLeast(lastStep + 1) - 1};
}

size_t KernelLoops::endOfNest(size_t first) const {
  size_t end = first + 1;
  while (end < list.size() && nestOf(first) >= 0 && nestOf(end) == nestOf(first) &&
         segmentOf(end) == segmentOf(first))
    ++end;
  return end;
}

void KernelLoops::walk(size_t first, size_t end, int64_t outerParts, const Visitor &visitor) const {
  if (first == end)
    return;
  // Parts never grow within a nest: the last kernel is in the outermost loop, what has more stands before it.
  int64_t parts = partsOf(end - 1);
  auto body = [&] {
    size_t inner = first;
    while (inner < end && partsOf(inner) > parts)
      ++inner;
    walk(first, inner, parts, visitor);
    for (size_t k = inner; k < end; ++k)
      visitor.kernel(k);
  };
  if (parts == outerParts)
    return body();
  visitor.loop(parts / outerParts, body);
}

schedule::PrefetchProblem KernelLoops::prefetchProblem() const {
  schedule::PrefetchProblem problem;
  problem.kernels.resize(list.size());
  std::vector<int64_t> count(list.size());
  Visitor visitor;
  visitor.loop = [&](int64_t rounds, const std::function<void()> &body) {
    for (int64_t i = 0; i < rounds; ++i)
      body();
  };
  visitor.kernel = [&](size_t k) { problem.runs.push_back({static_cast<int>(k), count[k]++}); };
  for (size_t first = 0; first < list.size();) {
    size_t end = endOfNest(first);
    if (first > 0 && segmentOf(first) != segmentOf(first - 1))
      problem.breaks.push_back(static_cast<int>(problem.runs.size()));
    walk(first, end, 1, visitor);
    for (size_t k = first; k < end; ++k) {
      schedule::PrefetchKernel &kernel = problem.kernels[k];
      kernel.parts = partsOf(k);
      // The innermost loop: from the nest's first kernel to the last with as many parts.
      size_t last = k;
      while (last + 1 < end && partsOf(last + 1) == partsOf(k))
        ++last;
      bool loops = kernel.parts > 1;
      kernel.loopFirst = static_cast<int>(loops ? first : k);
      kernel.loopLast = static_cast<int>(loops ? last : k);
      kernel.rounds = kernel.parts / (last + 1 < end ? partsOf(last + 1) : 1);
    }
    first = end;
  }
  return problem;
}

std::vector<codegen::KernelList> KernelLoops::callLists(ModuleOp tileModule) const {
  std::vector<codegen::KernelList> segments;
  OpBuilder b(tileModule.getContext());
  Location loc = tileModule.getLoc();
  auto constant = [&](int64_t v) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(v)));
  };
  // Number of the part of the batch inside the loops so far.
  Value part;
  Visitor visitor;
  visitor.loop = [&](int64_t rounds, const std::function<void()> &body) {
    auto loop = scf::ForOp::create(b, loc, constant(0), constant(rounds), constant(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value outer = part;
    part = loop.getInductionVar();
    if (outer)
      part = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, outer, constant(rounds)), part);
    body();
    part = outer;
  };
  visitor.kernel = [&](size_t k) {
    func::CallOp::create(b, loc, list[k].name, TypeRange(), part ? ValueRange(part) : ValueRange());
    tile::BarrierOp::create(b, loc);
  };
  for (size_t first = 0; first < list.size();) {
    size_t end = endOfNest(first), segment = static_cast<size_t>(segmentOf(first));
    segments.resize(std::max(segments.size(), segment + 1));
    // The loops of the nest, then what runs once.
    size_t once = first;
    while (once < end && partsOf(once) > 1)
      ++once;
    if (once > first) {
      std::string name = "npu_nest_" + std::to_string(nestOf(first));
      b.setInsertionPointToEnd(tileModule.getBody());
      auto f = func::FuncOp::create(b, loc, name, b.getFunctionType({}, {}));
      b.setInsertionPointToStart(f.addEntryBlock());
      walk(first, once, 1, visitor);
      func::ReturnOp::create(b, loc);
      segments[segment].push_back(name);
    }
    for (size_t k = once; k < end; ++k)
      segments[segment].push_back(list[k].name);
    first = end;
  }
  return segments;
}
