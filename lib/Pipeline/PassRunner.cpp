#include "Pipeline/PassRunner.h"
#include "Dialect/Relay/Relay.h"

using namespace mlir;
using namespace tensorturbo;

DiagnosticCollector::DiagnosticCollector(MLIRContext *context, Diagnostics &diags, ErrorClass errorClass)
    : handler(context, [&diags, errorClass](mlir::Diagnostic &d) {
        if (d.getSeverity() == DiagnosticSeverity::Error)
          diags.report({Severity::Error, errorClass, d.str(), relay::nodeName(d.getLocation()), ""});
        return success();
      }) {}

PassRunner::PassRunner(ModuleOp module, Diagnostics &diags)
    : module(module), diags(diags), manager(module.getContext()) {}

bool PassRunner::run(const std::string &phase) {
  size_t before = diags.all().size();
  DiagnosticCollector collector(module.getContext(), diags, ErrorClass::Internal);
  if (succeeded(manager.run(module)))
    return true;
  if (diags.all().size() == before)
    diags.internalError("phase '" + phase + "' failed", {}, "please report this with the model");
  return false;
}
