// Where the kernels of a program end, and what memory is free from then on: for checks and for looking at
// results in the middle of a run.
#pragma once
#include "runtime/Metadata.h"
#include "runtime/ObjectFile.h"
#include "simulator/Machine.h"

namespace tensorturbo::runtime {

/// A barrier of tt_main behind the call of a kernel: all cores meet there when the kernel is done.
struct KernelEnd {
  uint32_t barrier = 0;
  /// Index into Metadata::kernels.
  size_t kernel = 0;
};

/// The ends of all NPU kernels that the metadata names. Empty for programs without them.
std::vector<KernelEnd> findKernelEnds(const ObjectFile &object, const Metadata &meta);

/// What each kernel's code may touch on chip. Empty for programs whose object says nothing about it.
std::vector<sim::PlannedCode> plannedCode(const ObjectFile &object, const Metadata &meta);

/// For each kernel, the buffers in DDR that nothing reads after it: neither a later kernel nor the user.
/// Empty if the program's memory is reused in another way than kernel by kernel in order.
std::vector<std::vector<Buffer>> freedBuffers(const Metadata &meta);

} // namespace tensorturbo::runtime
