// Where the kernels of a program end, and what memory is free from then on: for checks and for looking at
// results in the middle of a run.
#pragma once
#include "runtime/Metadata.h"
#include "runtime/ObjectFile.h"
#include "simulator/Machine.h"

namespace tensorturbo::runtime {

/// A barrier behind the call of a kernel: all cores meet there when the kernel, or one part of the batch in
/// it, is done.
struct KernelEnd {
  uint32_t barrier = 0;
  /// Index into Metadata::kernels, and where its code begins.
  size_t kernel = 0;
  uint32_t code = 0;
};

/// The ends of all NPU kernels that the metadata names. Empty for programs without them.
std::vector<KernelEnd> findKernelEnds(const ObjectFile &object, const Metadata &meta);

/// What each kernel's code may touch. Empty for programs whose object says nothing about it.
std::vector<sim::PlannedCode> plannedCode(const ObjectFile &object, const Metadata &meta);

/// What the program says about its operands. Entries that make no sense are left out.
std::vector<sim::PlannedOperand> plannedOperands(const ObjectFile &object);

/// The kernel behind which an output of kernel `index` is complete and still there. In LLB that is the kernel
/// itself. What goes to DDR may be on its way for long: it is complete behind the last run of the last kernel
/// that reads it, or (then the number of kernels) behind the whole run.
size_t completeBehind(const Metadata &meta, size_t index, const KernelBuffer &output);

/// Memory in DDR or LLB that is free each time that the kernel has run `runs` times.
struct FreedRange {
  uint32_t address = 0, bytes = 0;
  int runs = 1;
};
/// What nothing reads behind a kernel, neither a later kernel nor the user, until it is written again.
using FreedBuffers = std::vector<FreedRange>;
/// One list for each kernel.
std::vector<FreedBuffers> freedBuffers(const Metadata &meta);
/// To be called behind run `run` (from 0) of a kernel: declares as never written what is free then, and all
/// of L1 and IM. Empty, or what the kernel has left undone: it has executed an instruction less or more often
/// than planned, or not written all of a result in LLB.
std::string finishRun(sim::Machine &machine, const Metadata &meta, const KernelEnd &end,
                      const FreedBuffers &freed, int run);

} // namespace tensorturbo::runtime
