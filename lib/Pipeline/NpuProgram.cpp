#include "Pipeline/NpuProgram.h"
#include "CodeGen/CodeGen.h"
#include "CodeGen/CppText.h"
#include "Conversion/RelayToTile/RelayToTile.h"
#include "Conversion/TileToNpu/TileToNpu.h"
#include "Pipeline/PassRunner.h"
#include "mlir/Transforms/Passes.h"
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

std::string tensorturbo::kernelName(const Step &step, int index) {
  func::CallOp call = step.call;
  return "npu_" + std::to_string(step.segment) + "_" + std::to_string(index) + "_" + call.getCallee().str();
}

std::optional<NpuProgram> tensorturbo::buildNpuProgram(ModuleOp module, ModuleOp tileModule,
                                                       tile::ConstantPool &pool, ConstantStore &store,
                                                       BufferAssignment &assignment,
                                                       const CompileOptions &options,
                                                       const ProgressFunction &progress, Diagnostics &diags) {
  std::vector<DdrBuffer> &buffers = assignment.buffers();
  declareBuffers(tileModule, buffers);
  auto globalName = [&](size_t i) {
    return buffers[i].constant.empty() ? buffers[i].name : buffers[i].constant;
  };

  std::vector<codegen::KernelList> segments;
  tile::LoweringContext context{tileModule, pool, options.ncore, diags};
  size_t done = 0;
  bool good = true;
  for (const Step &step : assignment.steps()) {
    if (progress)
      progress("lower", double(done) / double(assignment.steps().size()));
    ++done;
    if (!step.npu)
      continue;
    segments.resize(std::max(segments.size(), static_cast<size_t>(step.segment) + 1));
    tile::KernelSpec spec;
    func::CallOp call = step.call;
    spec.primitive = module.lookupSymbol<func::FuncOp>(call.getCallee());
    spec.name = kernelName(step, static_cast<int>(segments.back().size()));
    for (size_t i : step.inputs)
      spec.inputs.push_back({globalName(i), false, 0});
    for (size_t i : step.outputs)
      spec.outputs.push_back({globalName(i), false, 0});
    segments.back().push_back(spec.name);
    good = tile::lowerKernel(spec, context) && good;
  }
  if (!good)
    return std::nullopt;

  NpuProgram result;
  uint64_t weightsEnd = placeConstants(tileModule), ddrEnd = 0;
  if (!assignment.plan(weightsEnd, diags, ddrEnd))
    return std::nullopt;
  result.ddrEnd = static_cast<uint32_t>(ddrEnd);
  for (const DdrBuffer &b : buffers)
    if (b.constant.empty())
      tileModule.lookupSymbol<tile::GlobalOp>(b.name).setAddress(b.address);
  if (segments.empty())
    return result;
  runtime::Segment weights = weightSegment(tileModule, store, weightsEnd);

  PassRunner simplify(tileModule, diags);
  simplify.add(createCanonicalizerPass());
  simplify.add(createCSEPass());
  if (!simplify.run("lower"))
    return std::nullopt;
  for (auto kernel : tileModule.getOps<func::FuncOp>())
    good = tile::planKernelMemory(kernel, diags) && good;
  if (!good)
    return std::nullopt;
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
