// The compiler as a plain C++ interface, without MLIR in the header: what the command line tool and the
// Python package use.
#pragma once
#include "Support/DType.h"
#include "Support/Diagnostics.h"
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tensorturbo {

/// Name, shape and element type of a model's input or output, as the model declares it.
struct TensorInfo {
  std::string name;
  std::vector<int64_t> shape;
  DType dtype = DType::Float32;
};

using ShapeMap = std::map<std::string, std::vector<int64_t>>;

/// The manual's configuration table. Unknown names and values out of range are refused before compiling.
struct CompileOptions {
  std::string kernel = "NPUKernel";
  int ncore = 8;
  /// 0: results in DDR; 1: results in LLB where they fit. A higher level compiles at level 1 and says so in a
  /// warning.
  int graphScheduleLevel = 3;
  std::string dumpFile;
  std::string graphDumpFile;
  std::vector<std::string> requiredPass;
  std::vector<std::string> disabledPass;
  bool unpackGraphOps = true;
  bool fifo = false;
  bool dmaaddSch = true;
  bool insnSchedule = true;
  bool postInsnSchedule = true;
  int dmaLoadUnroll = 100;
  bool csrwElim = true;
  /// "npu": the cluster, with what it cannot run on the host; "llvm": all on the host.
  std::string target = "npu";
  /// Target "llvm" only: the results of all nodes become outputs, for comparisons. No option of the manual.
  bool keepIntermediates = false;
};

/// In front of the node's name in the name of such an output.
inline const std::string intermediatePrefix = "result of ";

/// Where a node of the source model ended up.
struct NodePlacement {
  std::string name;
  std::string op;
  /// "npu", "host" or "folded".
  std::string where;
  /// Why it is not on the NPU; for folded nodes, into what.
  std::string reason;
};

struct CompileReport {
  std::vector<NodePlacement> nodes;
  /// Size of the written object file in bytes.
  uint64_t objectBytes = 0;
  /// Wall time of each phase in seconds, in order.
  std::vector<std::pair<std::string, double>> phases;
};

/// Called with a phase's name and how much of the whole is done (0..1). May be empty.
using ProgressFunction = std::function<void(const std::string &phase, double done)>;

/// An imported model. Not safe to use from several threads at once.
class Model {
public:
  /// Null after errors. `shapes` overrides or completes the shapes of inputs.
  static std::unique_ptr<Model> fromOnnx(const std::string &path, const ShapeMap &shapes, Diagnostics &diags);
  ~Model();

  std::vector<TensorInfo> inputs() const;
  std::vector<TensorInfo> outputs() const;
  /// Infers every type of the model anew. On errors the model stays as it was.
  bool setInputShapes(const ShapeMap &shapes, Diagnostics &diags);
  /// The model as Relay text.
  std::string relayText() const;
  /// Compiles into `outputFile` (.stcobj). The model itself is not changed. False after errors; then no file
  /// is written.
  bool compile(const std::string &outputFile, const CompileOptions &options, Diagnostics &diags,
               CompileReport *report = nullptr, const ProgressFunction &progress = {}) const;

private:
  struct Impl;
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// Names of the passes that required_pass and disabled_pass accept.
std::vector<std::string> knownPasses();
/// Version of TensorTurbo, "0.1.0".
const char *version();

} // namespace tensorturbo
