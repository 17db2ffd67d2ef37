#include "Pipeline/NpuProgram.h"
#include "CodeGen/CodeGen.h"
#include "CodeGen/CppText.h"
#include "Conversion/RelayToTile/PrefetchWeights.h"
#include "Conversion/RelayToTile/RelayToTile.h"
#include "Conversion/TileToNpu/TileToNpu.h"
#include "Pipeline/PassRunner.h"
#include "Pipeline/StagePlanning.h"
#include "Schedule/MemoryPlan.h"
#include "Target/Target.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/JSON.h"
#include <cstring>

using namespace mlir;
using namespace tensorturbo;

static uint64_t alignUp(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}

/// Constants follow the program, one after the other. Their end.
static uint64_t placeConstants(ModuleOp tileModule) {
  uint64_t at = codegen::programEnd;
  for (auto global : tileModule.getOps<tile::GlobalOp>())
    if (global.getConstant()) {
      global.setAddress(at);
      at = alignUp(at + static_cast<uint64_t>(global.getBytes()), 64);
    }
  return at;
}

/// The bytes of all constants as one segment.
static runtime::Segment weightSegment(ModuleOp tileModule, const ConstantStore &store, uint64_t end) {
  std::vector<uint8_t> bytes(static_cast<size_t>(end - codegen::programEnd));
  for (auto global : tileModule.getOps<tile::GlobalOp>())
    if (global.getConstant()) {
      Constant c = store.get(static_cast<uint64_t>(*global.getConstant()));
      std::memcpy(&bytes[static_cast<size_t>(*global.getAddress() - codegen::programEnd)], c.data, c.bytes);
    }
  runtime::Segment segment;
  segment.address = codegen::programEnd;
  segment.memorySize = static_cast<uint32_t>(bytes.size());
  segment.bytes = runtime::Bytes(std::move(bytes));
  segment.name = ".weights";
  return segment;
}

/// A tile.global for each planned buffer.
static void declareBuffers(ModuleOp tileModule, std::vector<DdrBuffer> &buffers) {
  OpBuilder b(tileModule.getContext());
  b.setInsertionPointToStart(tileModule.getBody());
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i].constant.empty())
      continue;
    buffers[i].name = "buffer_" + std::to_string(i) + "_" + buffers[i].name;
    tile::GlobalOp::create(b, tileModule.getLoc(), b.getStringAttr(buffers[i].name),
                           b.getI64IntegerAttr(static_cast<int64_t>(buffers[i].bytes)), IntegerAttr(),
                           IntegerAttr());
  }
}

/// The decisions as JSON: what inspect prints.
static std::string scheduleJson(const StageDecisions &decisions, const std::vector<std::string> &kernelOfStep,
                                int level) {
  llvm::json::Array stages;
  int current = -2;
  for (size_t k = 0; k < kernelOfStep.size(); ++k) {
    const auto &d = decisions.steps[k];
    if (kernelOfStep[k].empty())
      continue;
    if (stages.empty() || d.stage != current || d.stage < 0)
      stages.push_back(llvm::json::Object{{"parts", d.parts}, {"kernels", llvm::json::Array()}});
    current = d.stage;
    llvm::json::Object &stage = *stages.back().getAsObject();
    int64_t held = int64_t(target::p920().llb().clusterShare) - d.llbRoom;
    stage.getArray("kernels")->push_back(llvm::json::Object{{"kernel", kernelOfStep[k]}, {"llb_held", held}});
  }
  std::string text;
  llvm::raw_string_ostream out(text);
  out << llvm::json::Value(
      llvm::json::Object{{"version", 1}, {"level", level}, {"stages", std::move(stages)}});
  return text;
}

/// A stage that works through the batch in parts comes back to each tensor in DDR that its steps touch:
/// nothing may take the tensor's place before the last part.
static void keepOverStages(BufferAssignment &assignment, const StageDecisions &decisions) {
  auto count = static_cast<int64_t>(decisions.steps.size());
  auto loops = [&](int64_t k) {
    return k >= 0 && k < count && decisions.steps[static_cast<size_t>(k)].parts > 1;
  };
  auto together = [&](int64_t a, int64_t b) {
    return loops(a) && loops(b) &&
           decisions.steps[static_cast<size_t>(a)].stage == decisions.steps[static_cast<size_t>(b)].stage;
  };
  for (DdrBuffer &buffer : assignment.buffers()) {
    while (together(buffer.firstUse, buffer.firstUse - 1))
      --buffer.firstUse;
    while (together(buffer.lastUse, buffer.lastUse + 1))
      ++buffer.lastUse;
  }
}

static int64_t firstBatch(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  auto type = cast<RankedTensorType>(main.getArgumentTypes()[0]);
  return type.getRank() ? type.getDimSize(0) : 1;
}

/// Addresses in LLB: resident tensors over their lifetimes, each kernel's own buffers while it runs.
static bool placeInLlb(ModuleOp tileModule, BufferAssignment &assignment, const StageDecisions &decisions,
                       const std::vector<std::string> &kernelOfStep,
                       const std::vector<tile::PrefetchedBuffer> &prefetched, Diagnostics &diags) {
  const target::MemoryRegion &llb = target::p920().llb();
  schedule::MemoryProblem problem;
  problem.level = "LLB";
  problem.capacity = llb.clusterShare;
  std::vector<size_t> residents;
  std::vector<DdrBuffer> &buffers = assignment.buffers();
  for (size_t i = 0; i < buffers.size(); ++i) {
    const auto &d = decisions.buffers[i];
    if (!d.inLlb)
      continue;
    residents.push_back(i);
    problem.buffers.push_back(
        {buffers[i].name, static_cast<uint64_t>(d.llbBytes), 64, d.firstUse, d.lastUse});
  }
  std::vector<std::pair<func::FuncOp, uint64_t>> kernels;
  for (size_t k = 0; k < kernelOfStep.size(); ++k) {
    if (kernelOfStep[k].empty())
      continue;
    auto kernel = tileModule.lookupSymbol<func::FuncOp>(kernelOfStep[k]);
    uint64_t end = 0;
    kernel.walk([&](tile::AllocOp alloc) {
      if (alloc.getBuffer().getType().getLevel() == tile::MemoryLevel::LLB)
        end = std::max(end, static_cast<uint64_t>(*alloc.getOffset() + alloc.getBytes()));
    });
    kernels.push_back({kernel, end});
    auto now = static_cast<int64_t>(k);
    problem.buffers.push_back({kernelOfStep[k], std::max<uint64_t>(end, 1), 64, now, now});
  }
  size_t firstPrefetched = problem.buffers.size();
  for (const tile::PrefetchedBuffer &p : prefetched) {
    auto step = static_cast<int64_t>(p.step);
    problem.buffers.push_back({p.global, static_cast<uint64_t>(p.bytes), 64, step - 1, step});
  }
  schedule::MemoryPlan plan = schedule::planMemory(problem);
  if (!schedule::checkMemoryPlan(problem, plan, diags))
    return false;
  for (size_t i = 0; i < prefetched.size(); ++i)
    tileModule.lookupSymbol<tile::GlobalOp>(prefetched[i].global)
        .setAddress(static_cast<int64_t>(llb.base + plan.offsets[firstPrefetched + i]));
  for (size_t i = 0; i < residents.size(); ++i)
    buffers[residents[i]].address = static_cast<uint32_t>(llb.base + plan.offsets[i]);
  for (size_t i = 0; i < kernels.size(); ++i) {
    auto base = static_cast<int64_t>(plan.offsets[residents.size() + i]);
    kernels[i].first.walk([&](tile::AllocOp alloc) {
      if (alloc.getBuffer().getType().getLevel() == tile::MemoryLevel::LLB)
        alloc.setOffset(static_cast<uint64_t>(*alloc.getOffset()) + static_cast<uint64_t>(base));
    });
  }
  return true;
}

/// Transfers of weights, ahead of time where the step before always runs directly before: inside a stage, or
/// between stages that run once. The returned steps are those of the assignment.
static std::vector<tile::PrefetchedBuffer> bringWeights(ModuleOp tileModule, const StageDecisions &decisions,
                                                        const BufferAssignment &assignment,
                                                        const std::vector<std::string> &kernelOfStep,
                                                        bool ahead) {
  // Lost between buffers by alignment and lifetimes that do not nest.
  constexpr int64_t holes = 768 * 1024;
  auto held = [&](size_t k) {
    return int64_t(target::p920().llb().clusterShare) - decisions.steps[k].llbRoom;
  };
  auto llbOf = [&](const std::string &kernel) {
    int64_t bytes = 0;
    tileModule.lookupSymbol<func::FuncOp>(kernel).walk([&](tile::AllocOp alloc) {
      if (alloc.getBuffer().getType().getLevel() == tile::MemoryLevel::LLB)
        bytes += (static_cast<int64_t>(alloc.getBytes()) + 63) / 64 * 64;
    });
    return bytes;
  };
  auto broughtBytes = [&](const std::string &kernel) {
    int64_t bytes = 0;
    tileModule.lookupSymbol<func::FuncOp>(kernel).walk(
        [&](tile::BringOp bring) { bytes += static_cast<int64_t>(bring.getBytes()); });
    return bytes;
  };
  int64_t before = 0;
  std::vector<tile::PrefetchStep> steps;
  std::vector<size_t> numbers;
  for (size_t k = 0; k < kernelOfStep.size(); ++k) {
    if (kernelOfStep[k].empty())
      continue;
    int64_t own = llbOf(kernelOfStep[k]), weights = broughtBytes(kernelOfStep[k]);
    bool follows = k > 0 && !kernelOfStep[k - 1].empty() &&
                   assignment.steps()[k].segment == assignment.steps()[k - 1].segment &&
                   (decisions.steps[k].stage == decisions.steps[k - 1].stage ||
                    (decisions.steps[k].parts == 1 && decisions.steps[k - 1].parts == 1));
    // The weights lie in LLB beside everything that the step before holds.
    int64_t capacity = int64_t(target::p920().llb().clusterShare) - holes;
    follows = follows && before + held(k - 1) + weights <= capacity && own + held(k) <= capacity;
    before = own;
    steps.push_back({tileModule.lookupSymbol<func::FuncOp>(kernelOfStep[k]), follows});
    numbers.push_back(k);
  }
  std::vector<tile::PrefetchedBuffer> buffers = tile::prefetchWeights(tileModule, steps, ahead);
  for (tile::PrefetchedBuffer &b : buffers)
    b.step = numbers[b.step];
  return buffers;
}

/// The calls of each segment. A stage that works through the batch in parts becomes a function with a loop.
static void listKernels(ModuleOp tileModule, const BufferAssignment &assignment,
                        const StageDecisions &decisions, const std::vector<std::string> &kernelOfStep,
                        std::vector<codegen::KernelList> &segments) {
  OpBuilder b(tileModule.getContext());
  for (size_t k = 0; k < kernelOfStep.size(); ++k) {
    if (kernelOfStep[k].empty())
      continue;
    const auto &decision = decisions.steps[k];
    codegen::KernelList &list = segments[static_cast<size_t>(assignment.steps()[k].segment)];
    if (decision.parts == 1) {
      list.push_back(kernelOfStep[k]);
      continue;
    }
    size_t end = k;
    while (end < kernelOfStep.size() && !kernelOfStep[end].empty() &&
           decisions.steps[end].stage == decision.stage)
      ++end;
    std::string name = "npu_stage_" + std::to_string(decision.stage);
    b.setInsertionPointToEnd(tileModule.getBody());
    auto f = func::FuncOp::create(b, tileModule.getLoc(), name, b.getFunctionType({}, {}));
    b.setInsertionPointToStart(f.addEntryBlock());
    auto constant = [&](int64_t v) {
      return arith::ConstantOp::create(b, f.getLoc(), b.getI32IntegerAttr(static_cast<int32_t>(v)));
    };
    auto loop = scf::ForOp::create(b, f.getLoc(), constant(0), constant(decision.parts), constant(1));
    func::ReturnOp::create(b, f.getLoc());
    b.setInsertionPointToStart(loop.getBody());
    for (; k < end; ++k) {
      func::CallOp::create(b, f.getLoc(), kernelOfStep[k], TypeRange(), ValueRange(loop.getInductionVar()));
      tile::BarrierOp::create(b, f.getLoc());
    }
    --k;
    list.push_back(name);
  }
}

std::string tensorturbo::kernelName(const Step &step, int index) {
  func::CallOp call = step.call;
  return "npu_" + std::to_string(step.segment) + "_" + std::to_string(index) + "_" + call.getCallee().str();
}

std::optional<NpuProgram> tensorturbo::buildNpuProgram(ModuleOp module, ModuleOp tileModule,
                                                       tile::ConstantPool &pool, ConstantStore &store,
                                                       BufferAssignment &assignment, bool stay, bool ahead,
                                                       const CompileOptions &options,
                                                       const ProgressFunction &progress, Diagnostics &diags) {
  std::vector<DdrBuffer> &buffers = assignment.buffers();
  declareBuffers(tileModule, buffers);
  auto globalName = [&](size_t i) {
    return buffers[i].constant.empty() ? buffers[i].name : buffers[i].constant;
  };

  StageDecisions decisions = decideStages(module, assignment, stay);
  for (size_t i = 0; i < buffers.size(); ++i)
    buffers[i].inLlb = decisions.buffers[i].inLlb;
  auto reference = [&](size_t i, int64_t parts) {
    const auto &d = decisions.buffers[i];
    bool whole = d.inside || !buffers[i].constant.empty() || parts == 1;
    return tile::TensorRef{globalName(i), d.inLlb,
                           whole ? 0 : static_cast<int64_t>(buffers[i].bytes) / parts};
  };

  std::vector<codegen::KernelList> segments;
  // Kernels of a segment so far; those of a stage that loops are called by the stage's own function.
  std::vector<int> kernelCount;
  std::vector<std::string> kernelOfStep(assignment.steps().size());
  tile::LoweringContext context{tileModule, pool, options.ncore, diags};
  int64_t batch = firstBatch(module);
  bool good = true;
  for (size_t k = 0; k < assignment.steps().size(); ++k) {
    const Step &step = assignment.steps()[k];
    if (progress)
      progress("lower", double(k) / double(assignment.steps().size()));
    if (!step.npu)
      continue;
    size_t segment = static_cast<size_t>(step.segment);
    segments.resize(std::max(segments.size(), segment + 1));
    kernelCount.resize(segments.size(), 0);
    const auto &decision = decisions.steps[k];
    tile::KernelSpec spec;
    func::CallOp call = step.call;
    spec.primitive = module.lookupSymbol<func::FuncOp>(call.getCallee());
    spec.name = kernelOfStep[k] = kernelName(step, kernelCount[segment]++);
    spec.llbRoom = decision.llbRoom;
    if (decision.parts > 1) {
      spec.iterated = true;
      spec.primitive = withBatch(module, spec.primitive, batch, batch / decision.parts);
    }
    for (size_t i : step.inputs)
      spec.inputs.push_back(reference(i, decision.parts));
    for (size_t i : step.outputs)
      spec.outputs.push_back(reference(i, decision.parts));
    good = tile::lowerKernel(spec, context) && good;
  }
  if (!good)
    return std::nullopt;

  NpuProgram result;
  keepOverStages(assignment, decisions);
  uint64_t weightsEnd = placeConstants(tileModule), ddrEnd = 0;
  if (!assignment.plan(weightsEnd, diags, ddrEnd))
    return std::nullopt;
  result.ddrEnd = static_cast<uint32_t>(ddrEnd);
  result.schedule = scheduleJson(decisions, kernelOfStep, stay ? 1 : 0);
  if (segments.empty())
    return result;
  runtime::Segment weights = weightSegment(tileModule, store, weightsEnd);

  std::vector<tile::PrefetchedBuffer> prefetched =
      bringWeights(tileModule, decisions, assignment, kernelOfStep, ahead);
  PassRunner simplify(tileModule, diags);
  simplify.add(createCanonicalizerPass());
  simplify.add(createCSEPass());
  if (!simplify.run("lower"))
    return std::nullopt;
  for (auto kernel : tileModule.getOps<func::FuncOp>())
    good = tile::planKernelMemory(kernel, diags) && good;
  if (!good || !placeInLlb(tileModule, assignment, decisions, kernelOfStep, prefetched, diags))
    return std::nullopt;
  for (const DdrBuffer &b : buffers)
    if (b.constant.empty())
      tileModule.lookupSymbol<tile::GlobalOp>(b.name).setAddress(b.address);
  result.onChip = onChipPlan(tileModule);
  listKernels(tileModule, assignment, decisions, kernelOfStep, segments);
  PassRunner runner(tileModule, diags);
  runner.add(tile::createTileToNpuPass(options.ncore));
  runner.add(createCanonicalizerPass());
  runner.add(createCSEPass());
  if (options.csrwElim)
    runner.addToFunctions(tile::createCsrwEliminationPass());
  if (!runner.run("lower"))
    return std::nullopt;

  if (!options.dumpFile.empty()) {
    auto text = codegen::printCpp(tileModule, segments, diags);
    if (!text || !writeFileAtomically(options.dumpFile, {*text}, diags))
      return std::nullopt;
  }
  if (progress)
    progress("emit", 0.0);
  auto program = codegen::generateProgram(tileModule, segments, diags);
  if (!program)
    return std::nullopt;
  result.object = std::move(*program);
  if (weights.memorySize)
    result.object.segments.push_back(std::move(weights));
  return result;
}
