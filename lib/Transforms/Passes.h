// Passes on the relay dialect, by name: what required_pass and disabled_pass accept and tt-opt runs.
#pragma once
#include "mlir/Pass/Pass.h"
#include <memory>
#include <string>
#include <vector>

namespace tensorturbo::relay {

/// A row of the table of passes. All of them work on a module.
struct PassRow {
  const char *name;
  const char *summary;
  std::unique_ptr<mlir::Pass> (*create)();
};
const std::vector<PassRow> &passTable();
/// Null for an unknown name.
std::unique_ptr<mlir::Pass> createPass(llvm::StringRef name);
std::vector<std::string> passNames();
/// The passes that a compilation runs on the relay level, in order (the placement of operators left out).
std::vector<std::string> defaultPipeline();
/// Makes the passes known to mlir's command line (tt-opt --FoldConstant ...). Call once.
void registerPasses();

std::unique_ptr<mlir::Pass> createInferTypePass();
std::unique_ptr<mlir::Pass> createSimplifyExprPass();
std::unique_ptr<mlir::Pass> createFoldExplicitPaddingPass();
std::unique_ptr<mlir::Pass> createFoldConstantPass();
std::unique_ptr<mlir::Pass> createSimplifyInferencePass();
std::unique_ptr<mlir::Pass> createFoldScaleAxisPass();
std::unique_ptr<mlir::Pass> createConvertLayoutPass();
std::unique_ptr<mlir::Pass> createLegalizePass();
std::unique_ptr<mlir::Pass> createRecogniseLayerNormPass();
std::unique_ptr<mlir::Pass> createToFP16Pass();
std::unique_ptr<mlir::Pass> createFuseConvAddBnReluPass();
std::unique_ptr<mlir::Pass> createOutlinePrimitivesPass();

} // namespace tensorturbo::relay
