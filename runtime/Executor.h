// Runs an object file: NPU segments on the simulated cluster, host segments on this machine.
#pragma once
#include "Support/Npy.h"
#include "runtime/KernelPlan.h"
#include "runtime/Metadata.h"
#include "runtime/ObjectFile.h"
#include "runtime/RunTimer.h"
#include "simulator/Machine.h"
#include <functional>
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
  /// Find out with the timing model how long the chip takes.
  std::optional<TimingRequest> timing;
  /// Run no arithmetic, move no data, skip host segments: the run has a time, but no outputs.
  bool timingOnly = false;
  /// Stop after this many instructions of all cores together, as a failure.
  std::optional<uint64_t> maxInstructions;
  /// Called for each output of a kernel or a host function when it is complete, to be read with
  /// Executor::read: in LLB, behind each part of the batch from 0 to the kernel's parts - 1, in DDR once, as
  /// if behind the last part. That may be long after the kernel, whose results may be on their way while
  /// others run.
  std::function<void(const KernelInfo &, const KernelBuffer &output, int part)> onResult;
};

/// What the last run did.
struct RunStatistics {
  /// Wall time of the simulation and of the host segments, in seconds.
  double npuSeconds = 0, hostSeconds = 0;
  /// Per core, summed over the NPU segments.
  std::vector<sim::CoreCounters> cores;
  /// If timing was asked for.
  std::optional<sim::RunReport> report;
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

  const ObjectFile &file() const { return object; }
  const std::vector<ProvenanceEntry> &origins() const { return provenance; }
  /// The kernel and source nodes that an instruction belongs to, or null.
  const ProvenanceEntry *origin(uint32_t pc) const;
  /// Addresses of instructions in front of which the next runs stop; see stopped().
  void setBreakpoints(std::vector<uint32_t> addresses) { breakpoints = std::move(addresses); }
  /// Set if the last run ended in front of a breakpoint: run() has then returned true without outputs.
  const std::optional<sim::RunResult> &stopped() const { return stoppedAt; }
  /// How the last NPU segment ended.
  const sim::RunResult &lastResult() const { return lastNpuResult; }
  /// The simulated chip as the last run left it; null before the first one.
  sim::Machine *chip() { return machine.get(); }
  /// A tensor in memory, converted to `dtype`, or the part of it that the buffer holds. Nothing if the buffer
  /// leaves the memories.
  std::optional<NpyArray> read(const KernelBuffer &buffer, DType dtype) const;

private:
  Executor() = default;
  bool prepare(Diagnostics &diags);
  bool loadMemory(Diagnostics &diags);
  bool runNpu(const RunSegment &segment, Diagnostics &diags);
  bool runHost(const RunSegment &segment, Diagnostics &diags);
  bool readOutputs(Diagnostics &diags);
  void reportFailure(const sim::RunResult &result, Diagnostics &diags);
  void addCounters();
  void watchKernels();
  std::string finishKernel(const KernelEnd &end);
  void tellResults(size_t behind, int part);

  ObjectFile object;
  Metadata meta;
  ExecutorOptions options;
  std::vector<ProvenanceEntry> provenance;
  std::unique_ptr<HostLibrary> library;
  /// Outlives the machine, which records into it. Null without timing.
  std::unique_ptr<RunTimer> timer;
  std::unique_ptr<sim::Machine> machine;
  std::vector<KernelEnd> kernelEnds;
  std::vector<FreedBuffers> freed;
  /// Parts of the batch that each kernel has done in this run.
  std::vector<int> partsDone;
  std::vector<uint32_t> breakpoints;
  std::optional<sim::RunResult> stoppedAt;
  sim::RunResult lastNpuResult;
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
