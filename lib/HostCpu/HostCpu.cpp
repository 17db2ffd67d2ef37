#include "HostCpu/HostCpu.h"
#include "HostCpu/Internal.h"
#include "Lld/Lld.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace mlir;

namespace tensorturbo {
namespace {

/// Functions of libc and libm that generated code may call. Anything else (compiler-rt, MLIR's run-time
/// library) would fail to load on the user's machine, so it is found at compile time.
bool isAllowedUndefined(llvm::StringRef name) {
  static const llvm::StringSet<> libc = {"malloc", "free", "memcpy", "memmove", "memset", "memcmp", "abort"};
  static const llvm::StringSet<> libm = {
      "acos",     "acosh", "asin", "asinh", "atan",      "atan2", "atanh",     "cbrt",  "ceil",
      "copysign", "cos",   "cosh", "erf",   "erfc",      "exp",   "exp2",      "exp10", "expm1",
      "fabs",     "floor", "fma",  "fmax",  "fmin",      "fmod",  "ldexp",     "log",   "log10",
      "log1p",    "log2",  "pow",  "rint",  "nearbyint", "round", "roundeven", "sin",   "sincos",
      "sinh",     "sqrt",  "tan",  "tanh",  "trunc"};
  if (libc.contains(name) || libm.contains(name))
    return true;
  return name.consume_back("f") && libm.contains(name);
}

bool checkUndefinedSymbols(const std::vector<char> &sharedObject, Diagnostics &diags) {
  llvm::MemoryBufferRef buffer(llvm::StringRef(sharedObject.data(), sharedObject.size()), "host code");
  auto object = llvm::object::ELFObjectFile<llvm::object::ELF64LE>::create(buffer);
  if (!object) {
    diags.internalError("host code generation: " + llvm::toString(object.takeError()));
    return false;
  }
  std::string unknown;
  for (llvm::object::ELFSymbolRef symbol : object->getDynamicSymbolIterators()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!flags || !name) {
      llvm::consumeError(flags.takeError());
      llvm::consumeError(name.takeError());
      continue;
    }
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) && !name->empty() && !isAllowedUndefined(*name))
      unknown += (unknown.empty() ? "" : ", ") + name->str();
  }
  if (unknown.empty())
    return true;
  diags.internalError("host code would need functions that are neither libc's nor libm's: " + unknown);
  return false;
}

} // namespace

bool compileHostModule(ModuleOp module, const HostOptions &options,
                       const std::vector<HostConstant> &constants, std::vector<char> &sharedObject,
                       Diagnostics &diags) {
  loadHostDialects(*module.getContext());
  ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      diags.internalError("host code generation: " + diagnostic.str());
    return success();
  });
  for (func::FuncOp func : module.getOps<func::FuncOp>())
    if (func.isPublic() && !func.isExternal())
      host::makeEntryPoint(func);
  if (failed(host::lowerToLLVMDialect(module))) {
    if (!diags.hasErrors())
      diags.internalError("host code generation: lowering failed");
    return false;
  }
  std::vector<char> code;
  if (!host::emitObject(module, options, code, diags))
    return false;
  std::vector<char> data = host::makeDataObject(constants);
  std::optional<std::vector<char>> linked = linkElf(
      {{code.data(), code.size()}, {data.data(), data.size()}},
      {"-m", "elf_x86_64", "-shared", "-Bsymbolic", "--gc-sections", "--hash-style=gnu", "-z", "now"}, diags);
  if (!linked || !checkUndefinedSymbols(*linked, diags))
    return false;
  sharedObject = std::move(*linked);
  return true;
}

} // namespace tensorturbo
