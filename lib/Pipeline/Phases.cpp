#include "Pipeline/Phases.h"
#include "Pipeline/PassRunner.h"
#include "Transforms/Passes.h"
#include <algorithm>

using namespace mlir;
using namespace tensorturbo;

// The order of the passes, as a table of contents.

const std::vector<const char *> tensorturbo::optimisePasses = {
    "InferType",           // types that the importer left open
    "SimplifyExpr",        // identities, pairs of transposes and reshapes
    "FoldConstant",        // shape arithmetic, constant branches
    "RecogniseLayerNorm",  // means, squares and roots to one operator
    "SimplifyInference",   // batch normalisation to multiply and add
    "FoldScaleAxis",       // ... and those into weights and bias
    "FoldExplicitPadding", // nn.pad into the layer behind
    "ConvertLayout",       // NHWC, the chip's layout
    "Legalize",            // operators without a kernel on the NPU
    "SimplifyExpr",        // transposes that met
    "FoldConstant",        // transposed weights
};

// After placement.
const std::vector<const char *> tensorturbo::lowerPrecisionPasses = {
    "ToFP16",            // operators of the NPU in float16, casts at the borders
    "FoldConstant",      // weights in float16
    "FuseConvAddBnRelu", // layers with their epilogues as functions
    "OutlinePrimitives", // the other operators of the NPU
};

static bool wanted(const char *name, const CompileOptions &options) {
  return std::find(options.disabledPass.begin(), options.disabledPass.end(), name) ==
         options.disabledPass.end();
}

bool tensorturbo::runPasses(ModuleOp module, const std::vector<const char *> &names,
                            const CompileOptions &options, const std::string &phase, Diagnostics &diags) {
  PassRunner runner(module, diags);
  for (const char *name : names)
    if (wanted(name, options))
      runner.add(relay::createPass(name));
  return runner.run(phase);
}

static void checkNames(const std::vector<std::string> &names, const char *option, Diagnostics &diags) {
  std::vector<std::string> known = knownPasses();
  for (const std::string &name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end())
      continue;
    std::string list;
    for (const std::string &k : known)
      list += (list.empty() ? "" : ", ") + k;
    std::string near = nearestName(name, known);
    diags.userError(std::string(option) + ": unknown pass " + quoteForMessage(name) +
                        (near.empty() ? "" : "; did you mean '" + near + "'?"),
                    {}, "the passes are " + list);
  }
}

bool tensorturbo::checkOptions(const CompileOptions &o, Diagnostics &diags) {
  auto range = [&](bool good, const std::string &text) {
    if (!good)
      diags.userError(text);
  };
  range(o.kernel == "NPUKernel", "kernel must be 'NPUKernel', got " + quoteForMessage(o.kernel));
  range(o.ncore == 1 || o.ncore == 2 || o.ncore == 4 || o.ncore == 8,
        "ncore must be 1, 2, 4 or 8, got " + std::to_string(o.ncore));
  range(o.graphScheduleLevel >= 0 && o.graphScheduleLevel <= 4,
        "graph_schedule_level must be 0 to 4, got " + std::to_string(o.graphScheduleLevel));
  range(o.dmaLoadUnroll >= 0, "dma_load_unroll must not be negative, got " + std::to_string(o.dmaLoadUnroll));
  range(o.target == "npu" || o.target == "llvm",
        "target must be 'npu' or 'llvm', got " + quoteForMessage(o.target));
  range(!o.fifo, "fifo kernels are not supported yet; leave fifo at False");
  checkNames(o.requiredPass, "required_pass", diags);
  checkNames(o.disabledPass, "disabled_pass", diags);
  for (const std::string &name : o.requiredPass)
    range(std::find(o.disabledPass.begin(), o.disabledPass.end(), name) == o.disabledPass.end(),
          "pass " + quoteForMessage(name) + " is both required and disabled");
  if (diags.hasErrors())
    return false;
  if (o.graphScheduleLevel > 1 && o.target == "npu")
    diags.warning("graph_schedule_level " + std::to_string(o.graphScheduleLevel) +
                  " is compiled at level 1: results stay in LLB where they fit");
  return true;
}

std::vector<std::string> tensorturbo::knownPasses() {
  return relay::passNames();
}
