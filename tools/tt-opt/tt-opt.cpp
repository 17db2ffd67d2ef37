// Developer tool: reads IR of any of our dialects, runs passes, prints IR. The verifier runs after every pass
// (--verify-each=false turns it off).
//
//   tt-opt --FoldConstant --ConvertLayout in.mlir       these passes
//   tt-opt --relay-pipeline in.mlir                     those that compile runs on the relay level, in its
//   order
//     --start-from=PASS --stop-after=PASS               only a part of them
//     --dump-after=PASS,... (or all)                    IR after these passes, on stderr
//   tt-opt --relay-pipeline model.onnx                  the same from a model file, weights included
//   tt-opt --relay-text -o /dev/null in.mlir            the result as Relay text
#include "Dialect/Relay/RelayDialect.h"
#include "Dialect/Relay/RelayText.h"
#include "Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#ifdef HAVE_TTIMPORTONNX
#include "Import/onnx/Import.h"
#endif
#ifdef HAVE_TTTILETONPU
#include "Conversion/TileToNpu/TileToNpu.h"
#endif
#ifdef HAVE_TTRELAYTOTILE
#include "Conversion/RelayToTile/RelayToTile.h"
#endif
#ifdef HAVE_TTTILE
#include "Dialect/Tile/Tile.h"
#endif
#ifdef HAVE_TTNPU
#include "Dialect/Npu/Npu.h"
#endif

using namespace tensorturbo;

namespace {

llvm::cl::opt<bool> relayPipeline("relay-pipeline",
                                  llvm::cl::desc("run the passes of the relay level in order"));
llvm::cl::opt<std::string> startFrom("start-from", llvm::cl::desc("first pass of the pipeline to run"));
llvm::cl::opt<std::string> stopAfter("stop-after", llvm::cl::desc("last pass of the pipeline to run"));
llvm::cl::list<std::string> dumpAfter("dump-after", llvm::cl::CommaSeparated,
                                      llvm::cl::desc("print the IR after these passes (or 'all') to stderr"));
llvm::cl::list<std::string> shapes("shape", llvm::cl::desc("shape of a model's input: name=1,3,224,224"));
llvm::cl::opt<bool> passTable("pass-table", llvm::cl::desc("print the relay passes as a table and exit"));
llvm::cl::opt<bool> relayText("relay-text", llvm::cl::desc("print Relay text to stdout at the end"));

/// Prints the module after the passes that dump-after names.
struct Dumper : mlir::PassInstrumentation {
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    llvm::StringRef name = pass->getArgument();
    if (!llvm::is_contained(dumpAfter, name) && !llvm::is_contained(dumpAfter, "all"))
      return;
    llvm::errs() << "// after " << name << "\n";
    op->print(llvm::errs());
    llvm::errs() << "\n";
  }
};

struct PrintText : mlir::PassWrapper<PrintText, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintText)
  void runOnOperation() override { llvm::outs() << relay::printRelayText(getOperation()); }
};

/// The passes between start-from and stop-after; empty after an error.
mlir::LogicalResult addPipeline(mlir::PassManager &manager) {
  std::vector<std::string> names = relay::defaultPipeline();
  auto first = names.begin(), last = names.end();
  auto find = [&](const std::string &name) {
    auto at = std::find(first, names.end(), name);
    if (at == names.end())
      llvm::errs() << "tt-opt: the pipeline has no pass '" << name << "'\n";
    return at;
  };
  if (!startFrom.empty() && (first = find(startFrom)) == names.end())
    return mlir::failure();
  if (!stopAfter.empty()) {
    auto at = find(stopAfter);
    if (at == names.end())
      return mlir::failure();
    last = at + 1;
  }
  for (auto name = first; name != last; ++name)
    manager.addPass(relay::createPass(*name));
  return mlir::success();
}

#ifdef HAVE_TTIMPORTONNX
/// Imports a model, runs the passes of the command line, prints the module.
mlir::LogicalResult runOnModel(const std::string &path, const mlir::MlirOptMainConfig &config,
                               mlir::DialectRegistry &registry, llvm::raw_ostream &os) {
  mlir::MLIRContext context(registry);
  Diagnostics diags;
  std::map<std::string, std::vector<int64_t>> known;
  for (llvm::StringRef shape : shapes) {
    auto [name, list] = shape.rsplit('=');
    for (llvm::StringRef extent : llvm::split(list, ',')) {
      int64_t value = 0;
      if (extent.getAsInteger(10, value)) {
        llvm::errs() << "tt-opt: bad shape '" << shape << "'\n";
        return mlir::failure();
      }
      known[name.str()].push_back(value);
    }
  }
  mlir::OwningOpRef<mlir::ModuleOp> module = onnx::importOnnx(path, known, context, diags);
  llvm::errs() << diags.render();
  if (!module)
    return mlir::failure();
  mlir::PassManager manager(&context);
  if (mlir::failed(config.setupPassPipeline(manager)) || mlir::failed(manager.run(*module)))
    return mlir::failure();
  module->print(os);
  return mlir::success();
}
#endif

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::scf::SCFDialect,
                  relay::RelayDialect>();
#ifdef HAVE_TTTILE
  registry.insert<tile::TileDialect>();
#endif
#ifdef HAVE_TTNPU
  registry.insert<npu::NpuDialect>();
#endif
#ifdef HAVE_TTRELAYTOTILE
  tile::registerRelayToTilePass();
#endif
#ifdef HAVE_TTTILETONPU
  tile::registerTileToNpuPasses();
#endif
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  relay::registerPasses();

  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, "TensorTurbo developer tool\n", registry);
  if (passTable) {
    llvm::outs() << "| pass | what it does |\n|---|---|\n";
    for (const relay::PassRow &row : relay::passTable())
      llvm::outs() << "| `" << row.name << "` | " << row.summary << " |\n";
    return 0;
  }
  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  // Kept: passes named one by one on the command line.
  mlir::MlirOptMainConfig commandLine = config;
  config.setPassPipelineSetupFn([&](mlir::PassManager &manager) -> mlir::LogicalResult {
    if (!dumpAfter.empty())
      manager.addInstrumentation(std::make_unique<Dumper>());
    if (mlir::failed(commandLine.setupPassPipeline(manager)))
      return mlir::failure();
    if (relayPipeline && mlir::failed(addPipeline(manager)))
      return mlir::failure();
    if (relayText)
      manager.addPass(std::make_unique<PrintText>());
    return mlir::success();
  });

  std::string error;
#ifdef HAVE_TTIMPORTONNX
  bool isModel = llvm::StringRef(input).ends_with(".onnx");
#else
  constexpr bool isModel = false;
#endif
  auto file = isModel ? nullptr : mlir::openInputFile(input, &error);
  auto out = file || isModel ? mlir::openOutputFile(output, &error) : nullptr;
  if (!out) {
    llvm::errs() << "tt-opt: " << error << "\n";
    return 1;
  }
#ifdef HAVE_TTIMPORTONNX
  if (isModel) {
    if (mlir::failed(runOnModel(input, config, registry, out->os())))
      return 1;
    out->keep();
    return 0;
  }
#endif
  if (mlir::failed(mlir::MlirOptMain(out->os(), std::move(file), registry, config)))
    return 1;
  out->keep();
  return 0;
}
