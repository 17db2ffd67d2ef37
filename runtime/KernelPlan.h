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
  /// Index into Metadata::kernels.
  size_t kernel = 0;
};

/// The ends of all NPU kernels that the metadata names. Empty for programs without them.
std::vector<KernelEnd> findKernelEnds(const ObjectFile &object, const Metadata &meta);

/// What each kernel's code may touch. Empty for programs whose object says nothing about it.
std::vector<sim::PlannedCode> plannedCode(const ObjectFile &object, const Metadata &meta);

/// Memory in DDR or LLB that is free each time that the kernel has run `runs` times.
struct FreedRange {
  uint32_t address = 0, bytes = 0;
  int runs = 1;
};
/// What nothing reads behind a kernel, neither a later kernel nor the user, until it is written again.
using FreedBuffers = std::vector<FreedRange>;
/// One list for each kernel.
std::vector<FreedBuffers> freedBuffers(const Metadata &meta);
/// Declares as never written what is free behind run `run` (from 0) of a kernel, and all of L1 and IM.
void markFreed(sim::Machine &machine, const KernelInfo &kernel, const FreedBuffers &freed, int run);

} // namespace tensorturbo::runtime
