#include "CodeGen/CodeGen.h"
#include "CodeGen/StraightRun.h"
#include "Lld/Lld.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/JSON.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include <mutex>

extern "C" {
void LLVMInitializeRISCVTargetInfo();
void LLVMInitializeRISCVTarget();
void LLVMInitializeRISCVTargetMC();
void LLVMInitializeRISCVAsmPrinter();
void LLVMInitializeRISCVAsmParser();
}

using namespace mlir;

namespace tensorturbo::codegen {
namespace {

// Everything lies in DDR from programStart on; the start-up code comes first.
constexpr const char *linkerScript = R"(ENTRY(_start)
PHDRS { text PT_LOAD FLAGS(5); data PT_LOAD FLAGS(6); }
SECTIONS {
  . = 0x1400000;
  .text : { *(.text.start) *(.text .text.*) } :text
  .rodata : { *(.rodata .rodata.* .srodata .srodata.*) } :text
  . = ALIGN(4096);
  .tohost : { *(.tohost) } :data
  .data : { *(.data .data.* .sdata .sdata.*) } :data
  .bss : { *(.bss .bss.* .sbss .sbss.* COMMON) } :data
  /DISCARD/ : { *(.eh_frame*) *(.comment) *(.note*) *(.riscv.attributes) }
}
)";

/// Collects LLVM's errors (bad inline assembly, say) instead of ending the process.
class LlvmErrors : public llvm::DiagnosticHandler {
public:
  explicit LlvmErrors(Diagnostics &diags) : diags(diags) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error)
      return true;
    std::string text;
    llvm::raw_string_ostream out(text);
    llvm::DiagnosticPrinterRawOStream printer(out);
    info.print(printer);
    diags.internalError("code generation for the NPU: " + text);
    return true;
  }

private:
  Diagnostics &diags;
};

bool checkKernels(ModuleOp module, const std::vector<KernelList> &segments, Diagnostics &diags) {
  bool good = true;
  for (const KernelList &kernels : segments)
    for (const std::string &name : kernels) {
      // The name stands in assembly text.
      bool isIdentifier = llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
      if (!isIdentifier) {
        diags.internalError("kernel name " + quoteForMessage(name) +
                            " may only have letters, digits and '_'");
        good = false;
        continue;
      }
      auto kernel = module.lookupSymbol<func::FuncOp>(name);
      if (!kernel || kernel.isExternal()) {
        diags.internalError("segment calls kernel '" + name + "', which the npu module does not define");
        good = false;
      } else if (kernel.getNumArguments() != 0 || kernel.getNumResults() != 0) {
        diags.internalError("kernel '" + name + "' must have neither arguments nor results");
        good = false;
      }
    }
  return good;
}

bool lowerToLlvmDialect(ModuleOp module, Diagnostics &diags) {
  MLIRContext *context = module.getContext();
  // Not inside a pass, where dialects must be there already.
  context->loadDialect<LLVM::LLVMDialect>();
  ScopedDiagnosticHandler handler(context, [&](mlir::Diagnostic &d) {
    if (d.getSeverity() == DiagnosticSeverity::Error) {
      std::vector<std::string> nodes = sourceNodes(d.getLocation());
      diags.internalError("lowering to LLVM: " + d.str(), nodes.empty() ? "" : nodes.front());
    }
    return success();
  });
  PassManager cleanUp(context);
  cleanUp.addPass(createCanonicalizerPass());
  cleanUp.addPass(createCSEPass());
  if (failed(cleanUp.run(module)))
    return false;
  lowerNpuOps(module);
  PassManager passes(context);
  passes.addPass(createSCFToControlFlowPass());
  ArithToLLVMConversionPassOptions arithOptions;
  arithOptions.indexBitwidth = 32;
  passes.addPass(createArithToLLVMConversionPass(arithOptions));
  ConvertControlFlowToLLVMPassOptions controlOptions;
  controlOptions.indexBitwidth = 32;
  passes.addPass(createConvertControlFlowToLLVMPass(controlOptions));
  ConvertFuncToLLVMPassOptions funcOptions;
  funcOptions.indexBitwidth = 32;
  passes.addPass(createConvertFuncToLLVMPass(funcOptions));
  passes.addPass(createReconcileUnrealizedCastsPass());
  return succeeded(passes.run(module));
}

std::unique_ptr<llvm::TargetMachine> createTargetMachine(Diagnostics &diags) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeRISCVTargetInfo();
    LLVMInitializeRISCVTarget();
    LLVMInitializeRISCVTargetMC();
    LLVMInitializeRISCVAsmPrinter();
    LLVMInitializeRISCVAsmParser();
  });
  std::string error;
  llvm::Triple triple("riscv32-unknown-elf");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    diags.internalError("LLVM has no RISC-V target: " + error);
    return nullptr;
  }
  llvm::TargetOptions options;
  options.MCOptions.ABIName = "ilp32d";
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, "generic-rv32", "+m,+a,+f,+d,+c", options, llvm::Reloc::Static,
                                  llvm::CodeModel::Medium, llvm::CodeGenOptLevel::Default));
}

void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  // A loop is there because its body is long; copies of inline asm only cost memory.
  tuning.LoopUnrolling = false;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O1).run(module, modules);
}

/// Object file of all kernels and the start-up code.
std::optional<llvm::SmallVector<char, 0>>
compileKernels(ModuleOp module, const std::vector<KernelList> &segments, Diagnostics &diags) {
  size_t errorsBefore = diags.all().size();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<LlvmErrors>(diags));
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context, "npu");
  if (!code) {
    diags.internalError("translation of the npu kernels to LLVM IR failed");
    return std::nullopt;
  }
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(diags);
  if (!machine)
    return std::nullopt;
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  code->addModuleFlag(llvm::Module::Error, "target-abi", llvm::MDString::get(context, "ilp32d"));
  for (llvm::Function &function : *code) {
    function.addFnAttr("target-features", "+m,+a,+f,+d,+c");
    function.addFnAttr("target-cpu", "generic-rv32");
    function.addFnAttr(llvm::Attribute::NoUnwind);
    // Every kernel keeps its symbol: the symbol table is how an address finds its source nodes.
    function.addFnAttr(llvm::Attribute::NoInline);
    function.setSection(".text." + function.getName().str());
  }
  code->setModuleInlineAsm(startupAssembly(segments));
  optimise(*code, *machine);

  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream out(object);
  llvm::legacy::PassManager emission;
  if (machine->addPassesToEmitFile(emission, out, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    diags.internalError("LLVM's RISC-V target cannot write object files");
    return std::nullopt;
  }
  emission.run(*code);
  if (diags.all().size() != errorsBefore)
    return std::nullopt;
  return object;
}

std::string provenanceJson(ModuleOp module, const runtime::ObjectFile &object) {
  llvm::json::Array rows;
  for (const runtime::Symbol &symbol : object.symbols) {
    auto kernel = module.lookupSymbol<func::FuncOp>(symbol.name);
    if (!kernel)
      continue;
    llvm::json::Array nodes;
    for (const std::string &node : sourceNodes(kernel.getLoc()))
      nodes.push_back(node);
    rows.push_back(llvm::json::Object{{"symbol", symbol.name},
                                      {"address", int64_t(symbol.address)},
                                      {"size", int64_t(symbol.size)},
                                      {"nodes", std::move(nodes)}});
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(rows));
  return text;
}

} // namespace

std::vector<std::string> sourceNodes(Location location) {
  std::vector<std::string> names;
  location->walk([&](Location part) {
    auto name = dyn_cast<NameLoc>(part);
    if (name && !llvm::is_contained(names, name.getName().str()))
      names.push_back(name.getName().str());
    return WalkResult::advance();
  });
  return names;
}

std::optional<std::vector<char>> linkProgram(ModuleOp module, const std::vector<KernelList> &segments,
                                             Diagnostics &diags) {
  if (!checkKernels(module, segments, diags))
    return std::nullopt;
  OwningOpRef<ModuleOp> copy = module.clone();
  if (!lowerToLlvmDialect(*copy, diags))
    return std::nullopt;
  std::optional<llvm::SmallVector<char, 0>> object = compileKernels(*copy, segments, diags);
  if (!object)
    return std::nullopt;
  return linkElf({std::string_view(object->data(), object->size()), linkerScript},
                 {"-m", "elf32lriscv", "-static", "--no-relax", "--discard-all"}, diags);
}

std::optional<runtime::ObjectFile> generateProgram(ModuleOp module, const std::vector<KernelList> &segments,
                                                   Diagnostics &diags) {
  std::optional<std::vector<char>> elf = linkProgram(module, segments, diags);
  if (!elf)
    return std::nullopt;
  std::optional<runtime::ObjectFile> object = runtime::ObjectFile::parseElf(
      runtime::Bytes(std::string(elf->begin(), elf->end())), "the linked NPU program", diags);
  if (!object)
    return std::nullopt;
  for (const runtime::Segment &segment : object->segments) {
    uint64_t end = uint64_t(segment.address) + segment.memorySize;
    if (end > programEnd) {
      diags.resourceError("the NPU program needs " + std::to_string(end - programStart) +
                          " bytes, but only " + std::to_string(programEnd - programStart) +
                          " lie before the weights");
      return std::nullopt;
    }
  }
  object->sections[runtime::section::provenance] = runtime::Bytes(provenanceJson(module, *object));
  return object;
}

} // namespace tensorturbo::codegen
