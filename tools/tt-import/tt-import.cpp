// Developer tool: imports an ONNX model and prints the relay module, or only its interface.
//   tt-import [--interface] [--shape NAME=D,D,...]... MODEL.onnx
#include "Dialect/Relay/RelayDialect.h"
#include "Import/onnx/Import.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace tensorturbo;

static int usage() {
  llvm::errs() << "usage: tt-import [--interface] [--shape NAME=D,D,...]... MODEL.onnx\n";
  return 1;
}

static bool parseShape(llvm::StringRef text, std::map<std::string, std::vector<int64_t>> &shapes) {
  auto [name, list] = text.rsplit('=');
  llvm::SmallVector<llvm::StringRef> parts;
  list.split(parts, ',', -1, false);
  std::vector<int64_t> shape;
  for (llvm::StringRef part : parts) {
    int64_t extent;
    if (part.getAsInteger(10, extent))
      return false;
    shape.push_back(extent);
  }
  shapes[name.str()] = shape;
  return text.contains('=');
}

/// One line an input or output: "input NAME 1x3x224x224 float32".
static void printInterface(mlir::ModuleOp module) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  auto line = [](const char *kind, mlir::StringAttr name, mlir::Type type) {
    auto tensor = llvm::cast<mlir::RankedTensorType>(type);
    llvm::outs() << kind << '\t' << (name ? name.getValue() : "") << '\t';
    llvm::interleave(tensor.getShape(), llvm::outs(), "x");
    llvm::outs() << '\t' << dtypeName(relay::dtypeOf(tensor.getElementType()).value()) << '\n';
  };
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    line("input", main.getArgAttrOfType<mlir::StringAttr>(i, "relay.name"), main.getArgumentTypes()[i]);
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    line("output", main.getResultAttrOfType<mlir::StringAttr>(i, "relay.name"), main.getResultTypes()[i]);
}

int main(int argc, char **argv) {
  std::map<std::string, std::vector<int64_t>> shapes;
  const char *path = nullptr;
  bool interface = false;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--interface"))
      interface = true;
    else if (!std::strcmp(argv[i], "--shape") && i + 1 < argc) {
      if (!parseShape(argv[++i], shapes))
        return usage();
    } else if (!path && argv[i][0] != '-')
      path = argv[i];
    else
      return usage();
  }
  if (!path)
    return usage();
  Diagnostics diags;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module = onnx::importOnnx(path, shapes, context, diags);
  llvm::errs() << diags.render();
  if (!module)
    return diags.exitCode();
  if (interface)
    printInterface(*module);
  else
    module->print(llvm::outs(), mlir::OpPrintingFlags().enableDebugInfo(true, true));
  return 0;
}
