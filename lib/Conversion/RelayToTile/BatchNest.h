// The outer loops of kernels whose tensors are a number of slices of equal size (matrices of a batched
// product, matrices to transpose, rows to move): runs of slices in LLB, then work items that the cores share
// out.
#pragma once
#include "Conversion/RelayToTile/KernelBuilder.h"
#include "Support/IntMath.h"
#include "llvm/ADT/SmallVector.h"

namespace tensorturbo::tile {

/// One of the tensors.
struct BatchOperand {
  Place place;
  /// Of one slice.
  int64_t bytes = 0;
  /// One slice that is used for all.
  bool shared = false;
  bool isOutput = false;
};

class BatchNest {
public:
  /// Tensors in DDR are staged through LLB, in runs of slices that fit `room` bytes; `canRun` tells whether
  /// at least one slice does. With `preferWhole` in one run if possible: other kernels can then start the
  /// transfers.
  BatchNest(KernelBuilder &kb, int64_t slices, llvm::ArrayRef<BatchOperand> operands, int64_t room,
            bool preferWhole = false);
  static bool canRun(llvm::ArrayRef<BatchOperand> operands, int64_t room);

  /// Runs `body` for each run of slices, with their number, between two barriers where something is staged.
  void forEachRun(llvm::function_ref<void(mlir::Value count)> body);

  /// Inside a run: the buffer of an operand in LLB, and where slice `slice` of the run begins in it.
  mlir::Value buffer(size_t operand) const { return staged[operand].buffer; }
  mlir::Value offset(size_t operand, mlir::Value slice) const;

private:
  /// Where an operand lies in LLB while a run is worked on.
  struct Staged {
    mlir::Value buffer, offset;
    bool resident = false;
  };
  KernelBuilder &kb;
  int64_t slices, slicesPerRun;
  /// Runs lie in LLB in two slots, and move while others are worked on.
  bool overlapped = false;
  llvm::SmallVector<BatchOperand> operands;
  llvm::SmallVector<Staged> staged;
  /// First slice of the run that the code being built works on, and the run's slot.
  mlir::Value first, slot;

  int64_t runs() const { return ceilDiv(slices, slicesPerRun); }
  mlir::Value countOf(mlir::Value run);
  llvm::SmallVector<KernelBuilder::Copy> copies(bool outputs, mlir::Value index, mlir::Value inSlot);
  void singleRun(llvm::function_ref<void(mlir::Value)> body);
};

/// for (i = first; i < end; i += step), where `fetch` of an iteration runs before `body` of the one before
/// it. `slot` is 0 and 1 in turn.
void pipelinedLoop(KernelBuilder &kb, mlir::Value first, mlir::Value end, int64_t step,
                   llvm::function_ref<void(mlir::Value index, mlir::Value slot)> fetch,
                   llvm::function_ref<void(mlir::Value index, mlir::Value slot)> body);

} // namespace tensorturbo::tile
