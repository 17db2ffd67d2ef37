// Runs passes and turns what MLIR reports into our diagnostics.
#pragma once
#include "Support/Diagnostics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <memory>
#include <string>

namespace tensorturbo {

/// Collects the MLIR errors of its lifetime as diagnostics of one class, with the source node's name.
class DiagnosticCollector {
public:
  DiagnosticCollector(mlir::MLIRContext *context, Diagnostics &diags, ErrorClass errorClass);

private:
  mlir::ScopedDiagnosticHandler handler;
};

class PassRunner {
public:
  PassRunner(mlir::ModuleOp module, Diagnostics &diags);
  void add(std::unique_ptr<mlir::Pass> pass) { manager.addPass(std::move(pass)); }
  /// A pass that works on one function at a time.
  void addToFunctions(std::unique_ptr<mlir::Pass> pass) {
    manager.nest<mlir::func::FuncOp>().addPass(std::move(pass));
  }
  /// Runs everything added so far. A failure that nobody reported becomes an internal error that names the
  /// phase.
  bool run(const std::string &phase);

private:
  mlir::ModuleOp module;
  Diagnostics &diags;
  mlir::PassManager manager;
};

} // namespace tensorturbo
