// Level 1 on a partitioned module: the stage problem of each NPU segment, and kernels for a part of the
// batch.
#pragma once
#include "Pipeline/Buffers.h"
#include "Schedule/Stages.h"
#include <optional>
#include <vector>

namespace tensorturbo {

/// What level 1 decided, by step and buffer of the assignment.
struct StageDecisions {
  struct StepDecision {
    /// Stage of the step, and nest of the stage: the steps of a stage run `parts` times, in loops around all
    /// that stands before them in their nest.
    int stage = -1, nest = -1;
    int64_t parts = 1;
    /// LLB that resident tensors hold meanwhile, and what the kernel may take for itself.
    int64_t llbHeld = 0, llbRoom = 0;
  };
  struct BufferDecision {
    bool inLlb = false;
    /// Bytes that it takes in LLB.
    int64_t llbBytes = 0;
    /// Into how many parts of the batch it is cut: what lies there at a time is one of them.
    int64_t scope = 1;
    /// Steps at which it must be kept.
    int64_t firstUse = 0, lastUse = 0;
    /// The buffer whose place it has: its own number, or that of an input it is made in place of.
    size_t place = 0;
  };
  std::vector<StepDecision> steps;
  std::vector<BufferDecision> buffers;
};

/// Plans every NPU segment. With `stay` false nothing stays in LLB and nothing is cut: level 0.
StageDecisions decideStages(mlir::ModuleOp module, const BufferAssignment &assignment, bool stay);

/// The primitive function for a part of the batch: first axes of `batch` become `part`. Null if an operator
/// treats the images of a batch together, or has its shape in an attribute. The new function is added to the
/// module.
mlir::func::FuncOp withBatch(mlir::ModuleOp module, mlir::func::FuncOp primitive, int64_t batch,
                             int64_t part);

} // namespace tensorturbo
