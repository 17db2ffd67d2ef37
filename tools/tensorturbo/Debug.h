// What 'run' and 'inspect' offer to look into programs: disassembly, stops, results in the middle of a run,
// core dumps, comparison with float32.
#pragma once
#include "Commands.h"
#include "runtime/Executor.h"
#include <map>
#include <memory>

namespace tensorturbo::cli {

/// Assembly text of the chip's instructions: the standard ones through LLVM, the chip's own through
/// lib/Target.
class Disassembler {
public:
  Disassembler();
  ~Disassembler();
  struct Line {
    std::string text;
    /// Bytes of the instruction, 2 or 4; 0 at the end of the code.
    unsigned length = 0;
  };
  /// The instruction at the begin of `code`, which lies at `address`.
  Line at(std::string_view code, uint32_t address) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Kernels of the model by source node, symbol or (with `outputs`) by the node that makes a result. Empty
/// after an error, which names near ones.
std::vector<size_t> findKernels(const runtime::Metadata &meta, const std::string &name, Diagnostics &diags);

/// The disassembly of all code, or of the kernels called `only`, with source nodes.
void printAssembly(const runtime::ObjectFile &object, const runtime::Metadata &meta, const std::string &only,
                   Diagnostics &diags);

/// Addresses that --break NODE|SYMBOL|0xADDRESS means.
std::vector<uint32_t> breakAddresses(const runtime::ObjectFile &object, const runtime::Metadata &meta,
                                     const std::string &where, Diagnostics &diags);
/// Registers, CSRs and operands of the core that met the breakpoint, and where the others are.
void printState(runtime::Executor &executor, const sim::RunResult &stop);

/// Reads the results of kernels, some of which leave one part of the batch after the other in one place.
class ResultReader {
public:
  /// To be called for each result as ExecutorOptions::onResult is. The tensor, once it is complete.
  std::optional<NpyArray> read(const runtime::Executor &executor, const runtime::KernelInfo &kernel,
                               const runtime::KernelBuffer &output, DType dtype, int part);

private:
  /// The parts so far, by symbol and address.
  std::map<std::pair<std::string, uint32_t>, std::vector<uint8_t>> begun;
};

/// Collects the results of --dump-after NODE[=FILE.npy].
class ResultDump {
public:
  ResultDump(const std::string &argument, const runtime::Metadata &meta, Diagnostics &diags);
  /// To be called for each result.
  void resultDone(const runtime::Executor &executor, const runtime::KernelInfo &kernel,
                  const runtime::KernelBuffer &output, int part);
  /// Writes what was collected.
  bool write(Diagnostics &diags) const;

private:
  std::string node, file, symbol;
  ResultReader reader;
  std::vector<std::pair<std::string, NpyArray>> results;
};

/// Collects the result of every kernel and compares it with the float32 results of the same model on the
/// host.
class FloatComparison {
public:
  void resultDone(const runtime::Executor &executor, const runtime::KernelInfo &kernel,
                  const runtime::KernelBuffer &output, int part);
  /// Compiles `model` for the host with all intermediate results, runs it with `inputs`, prints the table.
  bool print(const std::string &model, const runtime::Metadata &meta, const NpzArrays &inputs,
             Diagnostics &diags);

private:
  struct Layer {
    std::string node, symbol;
    /// Number of the kernel.
    size_t kernel;
    NpyArray result;
  };
  std::vector<Layer> layers;
  ResultReader reader;
};

/// Writes registers of all cores and all written memory after a failed run.
bool writeCoreDump(const std::string &path, runtime::Executor &executor, Diagnostics &diags);
/// Whether the file is a core dump rather than a model.
bool isCoreDump(const runtime::ObjectFile &file);
/// Registers, places and memory ranges; with `range` ("0xADDRESS:BYTES") the bytes of that memory of `core`.
void printCoreDump(const runtime::ObjectFile &dump, const std::string &range, int core, Diagnostics &diags);

/// "0x01400A2C in npu_0_1_fused_conv2d (conv1, relu1)".
std::string placeText(const runtime::ProvenanceEntry *origin, uint32_t pc);
/// Registers and CSRs of one core as lines of text.
std::string registerText(const sim::Core &core);

} // namespace tensorturbo::cli
