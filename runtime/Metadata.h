// The metadata of an object file (section .tt.meta, JSON): what the loader must know to run it.
#pragma once
#include "Support/DType.h"
#include "Support/Diagnostics.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorturbo::runtime {

/// Version of the metadata that this library writes and the newest that it reads.
inline constexpr int formatVersion = 1;

/// Where a tensor lies in DDR: dense, row-major.
struct Buffer {
  uint32_t address = 0;
  uint32_t bytes = 0;
  /// Element type in memory, e.g. float16 for a float32 input of the model.
  DType dtype = DType::Float16;
};

/// An input or output of the model.
struct TensorSpec {
  std::string name;
  std::vector<int64_t> shape;
  /// Element type that the model declares and the user sees.
  DType dtype = DType::Float32;
  Buffer buffer;

  /// Number of elements (1 for a scalar).
  int64_t elements() const;
};

/// One step of a run.
struct RunSegment {
  bool onHost = false;
  /// NPU: the value that the program finds in the word tt_segment.
  uint32_t index = 0;
  /// Host: exported function of the shared object in .tt.host, and the DDR addresses of its buffers.
  std::string symbol;
  std::vector<uint32_t> buffers;
  /// Bytes of each of `buffers`.
  std::vector<uint32_t> bufferBytes;
  /// The last `results` of `buffers` are written by the function, the others read.
  int results = 0;
  /// Nodes of the source model that run here.
  std::vector<std::string> nodes;
};

/// A tensor that a kernel or a host function reads or writes, in DDR or LLB: dense, row-major.
struct KernelBuffer {
  Buffer buffer;
  /// Of the whole tensor.
  std::vector<int64_t> shape;
  /// The buffer holds one of so many equal parts of the tensor, along its first axis, at a time.
  int parts = 1;
  /// Outputs: the node of the source model that made the value, or "".
  std::string node;
};

/// A buffer of the memory plan.
struct PlannedBuffer {
  std::string name;
  uint32_t address = 0, bytes = 0;
  /// In LLB: it takes one of so many parts of the batch after the other.
  int parts = 1;
};

/// A kernel of the NPU program or a function of the host part.
struct KernelInfo {
  std::string symbol;
  bool onHost = false;
  /// It runs so many times, each time for a part of the batch. Neighbours with more than one part take turns.
  int parts = 1;
  std::vector<std::string> nodes;
  /// Without constants.
  std::vector<KernelBuffer> inputs, outputs;
  /// All memory that it may touch: its own buffers on chip, tensors and constants in DDR, and those of
  /// `residents` that it uses.
  std::vector<PlannedBuffer> buffers;
};

/// The arithmetic that the model asks of the NPU, whatever the schedule.
struct Workload {
  /// `count` matrix products of m x k by k x n.
  struct Product {
    int64_t m, n, k, count;
  };
  std::vector<Product> products;
  /// Multiply-adds of convolutions with groups.
  int64_t groupedMacs = 0;
  /// Elements that vector instructions have to look at once.
  int64_t vectorElements = 0;
  /// Weights and other constants, each once.
  int64_t constantBytes = 0;
};

struct NodeInfo {
  std::string name;
  std::string op;
  /// "npu", "host" or "folded".
  std::string where;
  std::string reason;
};

struct Metadata {
  std::string producer;
  std::string kernel = "NPUKernel";
  /// "npu" or "llvm".
  std::string target = "npu";
  int ncore = 8;
  int graphScheduleLevel = 0;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::vector<RunSegment> segments;
  /// In the order of the run. Serves debugging and checks; files of older versions have none.
  std::vector<KernelInfo> kernels;
  /// Buffers in LLB that outlive a kernel.
  std::vector<PlannedBuffer> residents;
  /// Not set in files of older versions.
  std::optional<Workload> workload;
  /// First DDR address that the program does not use.
  uint32_t ddrEnd = 0;
  std::vector<NodeInfo> nodes;
  /// Options of the compilation as text, by their name in the manual.
  std::map<std::string, std::string> options;
  std::string sourcePath;
  std::string sourceHash;

  /// The JSON text of .tt.meta. Names that are not UTF-8 are repaired.
  std::string toJson() const;
  /// Reads and checks the JSON: types, ranges, sizes that fit shapes, a version that is known.
  static std::optional<Metadata> fromJson(std::string_view text, Diagnostics &diags);
};

/// A stretch of the program and the source nodes it came from (section .tt.provenance).
struct ProvenanceEntry {
  std::string symbol;
  uint32_t address = 0;
  uint32_t size = 0;
  std::vector<std::string> nodes;
};

std::string provenanceToJson(const std::vector<ProvenanceEntry> &entries);
/// Entries in the order of their addresses. Damaged entries are left out: provenance only serves messages.
std::vector<ProvenanceEntry> provenanceFromJson(std::string_view text);

/// False if brackets nest deeper than any file of ours does; a recursive JSON reader must not see such text.
bool jsonNestsSanely(std::string_view text);

} // namespace tensorturbo::runtime
