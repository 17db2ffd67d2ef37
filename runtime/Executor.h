// Runs an object file: NPU segments on the simulated cluster, host segments on this machine.
#pragma once
#include "Support/Npy.h"
#include "runtime/Metadata.h"
#include "runtime/ObjectFile.h"
#include "simulator/Machine.h"
#include <memory>

namespace tensorturbo::runtime {

class HostLibrary;

/// An array of the caller, dense and row-major.
struct TensorView {
  DType dtype = DType::Float32;
  std::vector<int64_t> shape;
  const void *data = nullptr;
};

struct ExecutorOptions {
  /// Stop at reads of never-written memory and the like.
  bool checks = true;
  /// Fill the on-chip memories with this half before each NPU segment.
  std::optional<uint16_t> fill;
  /// Host threads that simulate the cores.
  int threads = 1;
};

/// What the last run did.
struct RunStatistics {
  /// Wall time of the simulation and of the host segments, in seconds.
  double npuSeconds = 0, hostSeconds = 0;
  /// Per core, summed over the NPU segments.
  std::vector<sim::CoreCounters> cores;
};

/// One loaded model. Not safe to use from several threads at once.
class Executor {
public:
  /// Null after errors (missing or damaged file ...).
  static std::unique_ptr<Executor> load(const std::string &path, Diagnostics &diags,
                                        const ExecutorOptions &options = {});
  ~Executor();

  const Metadata &metadata() const { return meta; }

  /// Sets some or all inputs; the data is copied. Every wrong name, shape and type is reported; then no input
  /// changes. float16 data is taken for float32 inputs and the other way round.
  bool setInputs(const std::map<std::string, TensorView> &inputs, Diagnostics &diags);
  /// Runs the model once. Errors: inputs that were not set (user), a faulting program (internal, with the
  /// source nodes of the instruction).
  bool run(Diagnostics &diags);
  /// Output `index` of the last successful run, in the model's element type.
  NpyArray output(size_t index) const { return results.at(index); }
  const RunStatistics &statistics() const { return stats; }

private:
  Executor() = default;
  bool prepare(Diagnostics &diags);
  bool loadMemory(Diagnostics &diags);
  bool runNpu(const RunSegment &segment, Diagnostics &diags);
  bool runHost(const RunSegment &segment, Diagnostics &diags);
  bool readOutputs(Diagnostics &diags);
  void reportFailure(const sim::RunResult &result, Diagnostics &diags);
  void addCounters();

  ObjectFile object;
  Metadata meta;
  ExecutorOptions options;
  std::vector<ProvenanceEntry> provenance;
  std::unique_ptr<HostLibrary> library;
  std::unique_ptr<sim::Machine> machine;
  uint32_t tohost = 0, segmentWord = 0;
  /// Input data in the buffers' types, by input; empty optional until set.
  std::vector<std::optional<std::vector<uint8_t>>> inputData;
  std::vector<NpyArray> results;
  RunStatistics stats;
};

/// Checks `inputs` against the model's declaration and converts them to the buffers' types: one entry for
/// each of `specs`, empty where no array is given. Nothing after errors. `requireAll`: a missing one is an
/// error.
std::optional<std::vector<std::optional<std::vector<uint8_t>>>>
convertInputs(const std::vector<TensorSpec> &specs, const std::map<std::string, TensorView> &inputs,
              bool requireAll, Diagnostics &diags);

} // namespace tensorturbo::runtime
