#include "HostCpu/Internal.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
}

namespace tensorturbo::host {
namespace {

void initialiseTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

void optimise(llvm::Module &module, llvm::TargetMachine &machine, int level) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = level >= 2;
  tuning.SLPVectorization = level >= 2;
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
  const llvm::OptimizationLevel levels[] = {llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
                                            llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::ModulePassManager passes = level == 0
                                       ? builder.buildO0DefaultPipeline(levels[0])
                                       : builder.buildPerModuleDefaultPipeline(levels[std::min(level, 3)]);
  passes.run(module, modules);
}

} // namespace

bool emitObject(mlir::ModuleOp module, const HostOptions &options, std::vector<char> &object,
                Diagnostics &diags) {
  auto fail = [&](const std::string &message) {
    diags.internalError("host code generation: " + message);
    return false;
  };
  initialiseTarget();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule = mlir::translateModuleToLLVMIR(module, context);
  if (!llvmModule)
    return fail("translation to LLVM IR failed");

  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return fail(error);
  // Asked before the machine is made, which would print a warning.
  std::unique_ptr<llvm::MCSubtargetInfo> info(target->createMCSubtargetInfo(triple, "", ""));
  if (!info || !info->isCPUStringValid(options.cpu))
    return fail("unknown processor " + quoteForMessage(options.cpu));
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, options.cpu, "", llvm::TargetOptions(), llvm::Reloc::PIC_));
  if (!machine)
    return fail("no machine for processor " + quoteForMessage(options.cpu));
  llvmModule->setTargetTriple(triple);
  llvmModule->setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : *llvmModule) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", options.cpu);
    // Outlined loops would be inlined again, because each is called once.
    if (function.hasLocalLinkage())
      function.addFnAttr(llvm::Attribute::NoInline);
  }
  llvm::raw_string_ostream errors(error);
  if (llvm::verifyModule(*llvmModule, &errors))
    return fail("invalid LLVM IR: " + quoteForMessage(error, 1000));

  optimise(*llvmModule, *machine, options.optimisation);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return fail("the target cannot emit object files");
  codegen.run(*llvmModule);
  object.assign(bytes.begin(), bytes.end());
  return true;
}

} // namespace tensorturbo::host
