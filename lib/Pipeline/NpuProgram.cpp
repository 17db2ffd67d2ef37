#include "Pipeline/NpuProgram.h"
#include "CodeGen/CodeGen.h"
#include "CodeGen/CppText.h"
#include "Conversion/RelayToTile/RelayToTile.h"
#include "Conversion/TileToNpu/TileToNpu.h"
#include "Pipeline/LlbPlacement.h"
#include "Pipeline/OperandBounds.h"
#include "Pipeline/PassRunner.h"
#include "Pipeline/StagePlanning.h"
#include "Support/IntMath.h"
#include "Target/Target.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/JSON.h"
#include <cstring>

using namespace mlir;
using namespace tensorturbo;

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
static std::string scheduleJson(const StageDecisions &decisions, const KernelLoops &loops, int level) {
  llvm::json::Array stages;
  int current = -2;
  for (size_t k = 0; k < loops.kernels().size(); ++k) {
    const auto &d = decisions.steps[loops.kernels()[k].step];
    if (stages.empty() || d.stage != current || d.stage < 0)
      stages.push_back(
          llvm::json::Object{{"nest", d.nest}, {"parts", d.parts}, {"kernels", llvm::json::Array()}});
    current = d.stage;
    llvm::json::Object &stage = *stages.back().getAsObject();
    stage.getArray("kernels")->push_back(
        llvm::json::Object{{"kernel", loops.kernels()[k].name}, {"llb_held", d.llbHeld}});
  }
  std::string text;
  llvm::raw_string_ostream out(text);
  out << llvm::json::Value(
      llvm::json::Object{{"version", 2}, {"level", level}, {"stages", std::move(stages)}});
  return text;
}

/// Loops over parts of the batch come back to each tensor in DDR that their steps touch: nothing may take the
/// tensor's place before the last part.
static void keepOverLoops(BufferAssignment &assignment, const StageDecisions &decisions) {
  auto count = static_cast<int64_t>(decisions.steps.size());
  auto nestOf = [&](int64_t k) {
    bool loops = k >= 0 && k < count && decisions.steps[static_cast<size_t>(k)].parts > 1;
    return loops ? decisions.steps[static_cast<size_t>(k)].nest : -1;
  };
  auto together = [&](int64_t a, int64_t b) { return nestOf(a) >= 0 && nestOf(a) == nestOf(b); };
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

static std::string kernelName(const Step &step, int index) {
  func::CallOp call = step.call;
  return "npu_" + std::to_string(step.segment) + "_" + std::to_string(index) + "_" + call.getCallee().str();
}

// Weights come in groups of about this size where they come ahead: small enough that several are under way
// beside the tensors in LLB, large enough that starting a kernel does not matter.
static constexpr int64_t weightGroupBytes = 1280 * 1024;

std::optional<NpuProgram> tensorturbo::buildNpuProgram(ModuleOp module, ModuleOp tileModule,
                                                       tile::ConstantPool &pool, ConstantStore &store,
                                                       BufferAssignment &assignment,
                                                       const ProgramPlan &programPlan,
                                                       const CompileOptions &options,
                                                       const ProgressFunction &progress, Diagnostics &diags) {
  std::vector<DdrBuffer> &buffers = assignment.buffers();
  declareBuffers(tileModule, buffers);
  auto globalName = [&](size_t i) {
    return buffers[i].constant.empty() ? buffers[i].name : buffers[i].constant;
  };

  StageDecisions decisions = decideStages(module, assignment, programPlan.stay);
  for (size_t i = 0; i < buffers.size(); ++i) {
    buffers[i].inLlb = decisions.buffers[i].inLlb;
    buffers[i].parts = decisions.buffers[i].scope;
  }
  auto reference = [&](size_t i, int64_t parts) {
    const auto &d = decisions.buffers[i];
    auto bytes = static_cast<int64_t>(buffers[i].bytes);
    if (!buffers[i].constant.empty() || parts == 1)
      return tile::TensorRef{globalName(d.place), d.inLlb};
    if (d.inLlb)
      return tile::TensorRef{globalName(d.place), true, parts == d.scope ? 0 : bytes / parts,
                             parts / d.scope};
    return tile::TensorRef{globalName(i), false, bytes / parts};
  };

  // Kernels of a segment so far.
  std::vector<int> kernelCount;
  std::vector<ProgramKernel> kernels;
  std::vector<SharedBuffer> shared;
  NpuProgram result;
  result.kernelsOfStep.resize(assignment.steps().size());
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
    kernelCount.resize(std::max(kernelCount.size(), segment + 1), 0);
    const auto &decision = decisions.steps[k];
    tile::KernelSpec spec;
    func::CallOp call = step.call;
    spec.primitive = module.lookupSymbol<func::FuncOp>(call.getCallee());
    spec.name = kernelName(step, kernelCount[segment]++);
    spec.llbRoom = decision.llbRoom;
    spec.weightGroupBytes = programPlan.stay && programPlan.ahead ? weightGroupBytes : 0;
    if (decision.parts > 1) {
      spec.iterated = true;
      spec.primitive = withBatch(module, spec.primitive, batch, batch / decision.parts);
    }
    for (size_t i : step.inputs)
      spec.inputs.push_back(reference(i, decision.parts));
    for (size_t i : step.outputs)
      spec.outputs.push_back(reference(i, decision.parts));
    good = tile::lowerKernel(spec, context) && good;
    result.kernelsOfStep[k] = context.made.names;
    for (const std::string &name : context.made.names)
      kernels.push_back({name, k});
    for (const auto &[global, bytes] : context.made.shared)
      shared.push_back({global, bytes, k});
  }
  if (!good)
    return std::nullopt;

  KernelLoops loops(assignment, decisions, std::move(kernels));
  keepOverLoops(assignment, decisions);
  uint64_t weightsEnd = placeConstants(tileModule), ddrEnd = 0;
  if (!assignment.plan(weightsEnd, diags, ddrEnd))
    return std::nullopt;
  result.ddrEnd = static_cast<uint32_t>(ddrEnd);
  result.schedule = scheduleJson(decisions, loops, programPlan.stay ? 1 : 0);
  if (loops.kernels().empty())
    return result;
  runtime::Segment weights = weightSegment(tileModule, store, weightsEnd);

  LlbPlacement llb(tileModule, assignment, decisions, loops, shared);
  if (!llb.plan(programPlan.ahead, diags))
    return std::nullopt;
  llb.scheduleTransfers();
  PassRunner simplify(tileModule, diags);
  simplify.add(createCanonicalizerPass());
  simplify.add(createCSEPass());
  if (options.dmaLoadUnroll > 1)
    simplify.addToFunctions(tile::createDmaLoadUnrollPass(options.ncore, options.dmaLoadUnroll));
  if (options.dmaaddSch) {
    simplify.addToFunctions(tile::createDmaAddSchedulePass(options.ncore));
    simplify.add(createCanonicalizerPass());
    simplify.add(createCSEPass());
  }
  if (options.insnSchedule)
    simplify.addToFunctions(tile::createInsnSchedulePass(options.ncore));
  if (!simplify.run("lower"))
    return std::nullopt;
  for (auto kernel : tileModule.getOps<func::FuncOp>())
    good = tile::planKernelMemory(kernel, diags) && good;
  if (!good)
    return std::nullopt;
  llb.setAddresses();
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].constant.empty() && decisions.buffers[i].place == i)
      tileModule.lookupSymbol<tile::GlobalOp>(buffers[i].name).setAddress(buffers[i].address);
  result.onChip = onChipPlan(tileModule, buffers);
  llb.recordUses(result.onChip);
  for (size_t k = 0; k < loops.kernels().size(); ++k)
    result.onChip.parts[loops.kernels()[k].name] = static_cast<int>(loops.partsOf(k));
  std::vector<codegen::KernelList> segments = loops.callLists(tileModule);
  PassRunner runner(tileModule, diags);
  runner.add(tile::createTileToNpuPass(options.ncore));
  runner.add(createCanonicalizerPass());
  runner.add(createCSEPass());
  if (options.postInsnSchedule)
    runner.addToFunctions(tile::createPostInsnSchedulePass(options.ncore));
  if (options.csrwElim)
    runner.addToFunctions(tile::createCsrwEliminationPass());
  if (!runner.run("lower"))
    return std::nullopt;
  noteOperandBounds(tileModule, result.onChip, options.ncore);

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
