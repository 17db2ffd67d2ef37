#include "Pipeline/Compiler.h"
#include "CodeGen/CodeGen.h"
#include "Conversion/RelayToLinalg/RelayToLinalg.h"
#include "Dialect/Npu/Npu.h"
#include "Dialect/Relay/Relay.h"
#include "Dialect/Relay/RelayText.h"
#include "Dialect/Tile/Tile.h"
#include "HostCpu/HostCpu.h"
#include "Import/onnx/Import.h"
#include "Pipeline/Intermediates.h"
#include "Pipeline/NpuProgram.h"
#include "Pipeline/Partition.h"
#include "Pipeline/PassRunner.h"
#include "Pipeline/Phases.h"
#include "Pipeline/Placement.h"
#include "Pipeline/Workload.h"
#include "Support/File.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/Metadata.h"
#include "runtime/ObjectFile.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/xxhash.h"
#include <chrono>
#include <mutex>

using namespace mlir;
using namespace tensorturbo;

struct Model::Impl {
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  std::string path;
  ShapeMap shapes;
  /// One compilation at a time: all share the store of constants.
  std::mutex compiling;
};

Model::Model(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Model::~Model() = default;

const char *tensorturbo::version() {
  return "0.1.0";
}

static std::unique_ptr<MLIRContext> createContext() {
  auto context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  context->loadDialect<relay::RelayDialect, tile::TileDialect, npu::NpuDialect, func::FuncDialect,
                       arith::ArithDialect, scf::SCFDialect, cf::ControlFlowDialect>();
  return context;
}

std::unique_ptr<Model> Model::fromOnnx(const std::string &path, const ShapeMap &shapes, Diagnostics &diags) {
  auto impl = std::make_unique<Impl>();
  impl->context = createContext();
  impl->path = path;
  impl->shapes = shapes;
  DiagnosticCollector collector(impl->context.get(), diags, ErrorClass::User);
  impl->module = onnx::importOnnx(path, shapes, *impl->context, diags);
  if (!impl->module)
    return nullptr;
  return std::unique_ptr<Model>(new Model(std::move(impl)));
}

static func::FuncOp mainOf(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>("main");
}

/// What the user sees of argument or result `i` of main.
static TensorInfo infoOf(Type type, DictionaryAttr attributes) {
  auto tensor = cast<RankedTensorType>(type);
  TensorInfo info;
  if (auto name = attributes ? attributes.getAs<StringAttr>("relay.name") : StringAttr())
    info.name = name.getValue().str();
  info.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  info.dtype = *relay::dtypeOf(tensor.getElementType());
  if (auto dtype = attributes ? attributes.getAs<StringAttr>("relay.model_dtype") : StringAttr())
    info.dtype = *dtypeFromName(dtype.getValue());
  return info;
}

static TensorInfo argumentInfo(func::FuncOp f, unsigned i) {
  return infoOf(f.getArgumentTypes()[i], f.getArgAttrDict(i));
}
static TensorInfo resultInfo(func::FuncOp f, unsigned i) {
  return infoOf(f.getResultTypes()[i], f.getResultAttrDict(i));
}

std::vector<TensorInfo> Model::inputs() const {
  func::FuncOp f = mainOf(*impl->module);
  std::vector<TensorInfo> infos;
  for (unsigned i = 0; i < f.getNumArguments(); ++i)
    infos.push_back(argumentInfo(f, i));
  return infos;
}

std::vector<TensorInfo> Model::outputs() const {
  func::FuncOp f = mainOf(*impl->module);
  std::vector<TensorInfo> infos;
  for (unsigned i = 0; i < f.getNumResults(); ++i)
    infos.push_back(resultInfo(f, i));
  return infos;
}

bool Model::setInputShapes(const ShapeMap &shapes, Diagnostics &diags) {
  // Shape arithmetic of the model is evaluated at import, so that another shape means importing again.
  ShapeMap merged = impl->shapes;
  for (const auto &[name, shape] : shapes)
    merged[name] = shape;
  auto fresh = fromOnnx(impl->path, merged, diags);
  if (!fresh)
    return false;
  impl = std::move(fresh->impl);
  return true;
}

std::string Model::relayText() const {
  return relay::printRelayText(*impl->module);
}

namespace {
/// One compilation: the state that the phases hand on.
class Compilation {
public:
  Compilation(ModuleOp source, const std::string &sourcePath, const CompileOptions &options,
              Diagnostics &diags, CompileReport &report, const ProgressFunction &progress)
      : options(options), diags(diags), report(report), progress(progress), sourcePath(sourcePath),
        module(source.clone()),
        weights(*source.getContext()->getOrLoadDialect<relay::RelayDialect>()->getConstants()),
        sourceConstants(weights.size()) {}
  ~Compilation() { releaseConstants({}); }

  bool run(const std::string &outputFile);

private:
  template <typename Body> bool phase(const char *name, double done, Body body);
  bool optimise();
  bool divide();
  void releaseConstants(const llvm::DenseSet<uint64_t> &used);
  void releaseUnusedConstants();
  bool lowerNpu();
  bool lowerHost();
  bool write(const std::string &outputFile);
  runtime::Metadata metadata();
  runtime::KernelInfo kernelInfo(const Step &step);

  /// Level at which the NPU part was compiled in the end.
  int level = 0;
  const CompileOptions &options;
  Diagnostics &diags;
  CompileReport &report;
  const ProgressFunction &progress;
  std::string sourcePath;
  OwningOpRef<ModuleOp> module;
  /// The dialect's constants; the model's own are the first of them.
  ConstantStore &weights;
  size_t sourceConstants;
  OwningOpRef<ModuleOp> tileModule;
  ConstantStore store;
  std::unique_ptr<tile::ConstantPool> pool;
  std::unique_ptr<BufferAssignment> buffers;
  runtime::Workload workload;
  NpuProgram npu;
  std::vector<char> hostObject;
};
} // namespace

template <typename Body> bool Compilation::phase(const char *name, double done, Body body) {
  if (progress)
    progress(name, done);
  auto start = std::chrono::steady_clock::now();
  bool good = body();
  report.phases.push_back(
      {name, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()});
  return good && !diags.hasErrors();
}

/// Drops the data of all constants that this compilation made, but for these.
void Compilation::releaseConstants(const llvm::DenseSet<uint64_t> &used) {
  for (uint64_t id = sourceConstants + 1; id <= weights.size(); ++id)
    if (!used.contains(id))
      weights.release(id);
}

/// Passes leave behind each stage of the weights that they fold; large models need that memory.
void Compilation::releaseUnusedConstants() {
  llvm::DenseSet<uint64_t> used;
  module->walk([&](relay::ConstantOp op) {
    if (auto stored = dyn_cast<relay::ConstAttr>(op.getValue()))
      used.insert(stored.getId());
  });
  releaseConstants(used);
}

bool Compilation::optimise() {
  report.nodes = sourceNodes(*module);
  bool good = runPasses(*module, optimisePasses, options, "optimise", diags);
  releaseUnusedConstants();
  return good;
}

bool Compilation::divide() {
  bool hostOnly = options.target == "llvm";
  placeOperators(*module, options.ncore, hostOnly);
  resolvePlacement(*module, report.nodes);
  if (!hostOnly && !runPasses(*module, lowerPrecisionPasses, options, "partition", diags))
    return false;
  if (hostOnly && options.keepIntermediates)
    exposeIntermediates(*module);
  releaseUnusedConstants();
  partition(*module);
  workload = measureWorkload(*module);
  return options.graphDumpFile.empty() ||
         writeFileAtomically(options.graphDumpFile, {relay::printRelayText(*module)}, diags);
}

bool Compilation::lowerNpu() {
  auto attempt = [&](const ProgramPlan &plan, Diagnostics &findings) {
    tileModule = ModuleOp::create(module->getLoc());
    pool = std::make_unique<tile::ConstantPool>(*tileModule, store);
    buffers = std::make_unique<BufferAssignment>(*module, *pool);
    auto program =
        buildNpuProgram(*module, *tileModule, *pool, store, *buffers, plan, options, progress, findings);
    if (program)
      npu = std::move(*program);
    return program.has_value();
  };
  if (options.graphScheduleLevel > 0) {
    level = 1;
    // A plan that turns out not to fit is no error of the user: the next simpler one is tried.
    std::string why;
    for (ProgramPlan plan : {ProgramPlan{true, true}, ProgramPlan{true, false}}) {
      Diagnostics findings;
      if (attempt(plan, findings))
        return true;
      for (const tensorturbo::Diagnostic &d : findings.all())
        if (d.severity == Severity::Error && d.errorClass != ErrorClass::Resource)
          diags.report(d);
      if (diags.hasErrors())
        return false;
      why = findings.render(1);
    }
    diags.warning("level 1 does not fit and is replaced by level 0: " + why);
  }
  level = 0;
  return attempt(ProgramPlan{false, true}, diags);
}

bool Compilation::lowerHost() {
  SmallVector<func::FuncOp> functions;
  for (auto f : module->getOps<func::FuncOp>())
    if (auto target = f->getAttrOfType<StringAttr>("tt.target"); target && target.getValue() == "host") {
      f.setPublic();
      functions.push_back(f);
    }
  if (functions.empty())
    return true;
  auto program = convertRelayToLinalg(functions, diags);
  return program && compileHostModule(*program->module, HostOptions(), program->constants, hostObject, diags);
}

static std::string optionText(bool value) {
  return value ? "True" : "False";
}

/// What a step reads and writes, and the source nodes behind it.
runtime::KernelInfo Compilation::kernelInfo(const Step &step) {
  runtime::KernelInfo kernel;
  kernel.onHost = !step.npu;
  func::CallOp call = step.call;
  auto callee = module->lookupSymbol<func::FuncOp>(call.getCallee());
  kernel.nodes = relay::nodeNames(callee->getLoc());
  auto add = [&](std::vector<runtime::KernelBuffer> &list, size_t buffer, Type type, std::string node) {
    auto tensor = cast<RankedTensorType>(type);
    const DdrBuffer &b = buffers->buffers()[buffer];
    auto dtype = relay::dtypeOf(tensor.getElementType());
    if (!b.constant.empty() || !dtype)
      return;
    uint64_t bytes = b.bytes / static_cast<uint64_t>(b.parts);
    list.push_back({{b.address, static_cast<uint32_t>(bytes), *dtype},
                    {tensor.getShape().begin(), tensor.getShape().end()},
                    static_cast<int>(b.parts),
                    std::move(node)});
  };
  for (auto [buffer, type] : llvm::zip_equal(step.inputs, call.getOperandTypes()))
    add(kernel.inputs, buffer, type, "");
  Operation *end = callee.getBody().front().getTerminator();
  for (auto [buffer, value] : llvm::zip_equal(step.outputs, end->getOperands()))
    add(kernel.outputs, buffer, value.getType(), relay::nodeName(value.getLoc()));
  return kernel;
}

runtime::Metadata Compilation::metadata() {
  runtime::Metadata meta;
  if (options.target == "npu")
    meta.workload = workload;
  meta.producer = std::string("TensorTurbo ") + version();
  meta.kernel = options.kernel;
  meta.target = options.target;
  meta.ncore = options.ncore;
  meta.graphScheduleLevel = level;
  meta.ddrEnd = npu.ddrEnd;
  meta.residents = npu.onChip.residents;
  func::FuncOp main = mainOf(*module);
  std::vector<DdrBuffer> &all = buffers->buffers();
  auto spec = [&](TensorInfo info, Type type, size_t buffer) {
    runtime::TensorSpec s;
    s.name = info.name;
    s.shape = info.shape;
    s.dtype = info.dtype;
    s.buffer = {all[buffer].address, static_cast<uint32_t>(all[buffer].bytes),
                *relay::dtypeOf(cast<RankedTensorType>(type).getElementType())};
    return s;
  };
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    meta.inputs.push_back(spec(argumentInfo(main, i), main.getArgumentTypes()[i], buffers->arguments[i]));
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    meta.outputs.push_back(spec(resultInfo(main, i), main.getResultTypes()[i], buffers->results[i]));

  for (size_t k = 0; k < buffers->steps().size(); ++k) {
    const Step &step = buffers->steps()[k];
    func::CallOp call = step.call;
    runtime::KernelInfo kernel = kernelInfo(step);
    std::vector<std::string> symbols{"tt_" + call.getCallee().str()};
    if (step.npu)
      symbols = npu.kernelsOfStep[k];
    for (const std::string &symbol : symbols) {
      runtime::KernelInfo one = kernel;
      one.symbol = symbol;
      // The result of several kernels is complete behind the last one.
      if (symbol != symbols.back())
        for (runtime::KernelBuffer &output : one.outputs)
          output.node.clear();
      if (auto planned = npu.onChip.kernels.find(symbol); planned != npu.onChip.kernels.end())
        one.buffers = planned->second;
      if (auto parts = npu.onChip.parts.find(symbol); parts != npu.onChip.parts.end())
        one.parts = parts->second;
      meta.kernels.push_back(std::move(one));
    }
    if (step.npu) {
      bool continues = !meta.segments.empty() && !meta.segments.back().onHost &&
                       meta.segments.back().index == static_cast<uint32_t>(step.segment);
      if (!continues) {
        meta.segments.emplace_back();
        meta.segments.back().index = static_cast<uint32_t>(step.segment);
      }
    } else {
      runtime::RunSegment segment;
      segment.onHost = true;
      segment.symbol = "tt_" + call.getCallee().str();
      for (size_t i : llvm::concat<const size_t>(step.inputs, step.outputs)) {
        segment.buffers.push_back(all[i].address);
        segment.bufferBytes.push_back(static_cast<uint32_t>(all[i].bytes));
      }
      segment.results = static_cast<int>(step.outputs.size());
      meta.segments.push_back(std::move(segment));
    }
    auto callee = module->lookupSymbol<func::FuncOp>(call.getCallee());
    for (const std::string &name : relay::nodeNames(callee->getLoc()))
      meta.segments.back().nodes.push_back(name);
  }
  for (const NodePlacement &n : report.nodes)
    meta.nodes.push_back({n.name, n.op, n.where, n.reason});
  meta.options = {{"ncore", std::to_string(options.ncore)},
                  {"graph_schedule_level", std::to_string(options.graphScheduleLevel)},
                  {"csrw_elim", optionText(options.csrwElim)},
                  {"target", options.target}};
  meta.sourcePath = sourcePath.substr(sourcePath.find_last_of('/') + 1);
  Diagnostics ignored;
  if (auto file = MappedFile::open(sourcePath, ignored))
    meta.sourceHash = llvm::utohexstr(llvm::xxh3_64bits(llvm::ArrayRef<uint8_t>(file->data(), file->size())));
  return meta;
}

bool Compilation::write(const std::string &outputFile) {
  runtime::ObjectFile &object = npu.object;
  object.sections[runtime::section::meta] = runtime::Bytes(metadata().toJson());
  object.sections[runtime::section::schedule] = runtime::Bytes(npu.schedule);
  if (!hostObject.empty())
    object.sections[runtime::section::host] =
        runtime::Bytes(std::string(hostObject.begin(), hostObject.end()));
  if (!object.write(outputFile, diags))
    return false;
  Diagnostics ignored;
  if (auto file = MappedFile::open(outputFile, ignored))
    report.objectBytes = file->size();
  return true;
}

bool Compilation::run(const std::string &outputFile) {
  return phase("optimise", 0.0, [&] { return optimise(); }) &&
         phase("partition", 0.2, [&] { return divide(); }) &&
         phase("lower", 0.4, [&] { return lowerNpu(); }) && phase("host", 0.8, [&] { return lowerHost(); }) &&
         phase("emit", 0.9, [&] { return write(outputFile); });
}

bool Model::compile(const std::string &outputFile, const CompileOptions &options, Diagnostics &diags,
                    CompileReport *report, const ProgressFunction &progress) const {
  if (!checkOptions(options, diags))
    return false;
  std::lock_guard<std::mutex> lock(impl->compiling);
  CompileReport local;
  Compilation compilation(*impl->module, impl->path, options, diags, report ? *report : local, progress);
  return compilation.run(outputFile);
}
