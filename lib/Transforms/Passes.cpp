#include "Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"

namespace tensorturbo::relay {

const std::vector<PassRow> &passTable() {
  static const std::vector<PassRow> table = {
      {"InferType", "infers all types anew after a change of the inputs", createInferTypePass},
      {"SimplifyExpr", "removes identities, joins reshapes, transposes and casts", createSimplifyExprPass},
      {"RecogniseLayerNorm", "layer normalisation written out by the exporter to one operator",
       createRecogniseLayerNormPass},
      {"FoldExplicitPadding", "makes nn.pad part of the convolution or pooling behind it",
       createFoldExplicitPaddingPass},
      {"FoldConstant", "evaluates operators on constants", createFoldConstantPass},
      {"SimplifyInference", "batch normalisation to multiply and add, dropout to nothing",
       createSimplifyInferencePass},
      {"FoldScaleAxis", "per-channel factors and offsets into the weights and bias of the layer before",
       createFoldScaleAxisPass},
      {"ConvertLayout", "NCHW to NHWC, with transposes left at the borders only", createConvertLayoutPass},
      {"Legalize", "operators without a kernel on the NPU by others that have one", createLegalizePass},
      {"ToFP16", "operators of the NPU in float16, casts at the borders", createToFP16Pass},
      {"FuseConvAddBnRelu", "layers with the element-wise operators behind them into functions",
       createFuseConvAddBnReluPass},
      {"OutlinePrimitives", "operators of the NPU that are still single into functions",
       createOutlinePrimitivesPass},
  };
  return table;
}

std::unique_ptr<mlir::Pass> createPass(llvm::StringRef name) {
  for (const PassRow &row : passTable())
    if (name == row.name)
      return row.create();
  return nullptr;
}

std::vector<std::string> passNames() {
  std::vector<std::string> names;
  for (const PassRow &row : passTable())
    names.push_back(row.name);
  return names;
}

std::vector<std::string> defaultPipeline() {
  return {"InferType",         "SimplifyExpr",  "FoldConstant",        "RecogniseLayerNorm",
          "SimplifyInference", "FoldScaleAxis", "FoldExplicitPadding", "ConvertLayout",
          "Legalize",          "ToFP16",        "FoldConstant",        "FuseConvAddBnRelu"};
}

void registerPasses() {
  for (const PassRow &row : passTable())
    mlir::registerPass(row.create);
}

} // namespace tensorturbo::relay
