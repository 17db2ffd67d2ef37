// A straight run of npu ops as one inline-asm block of instruction words. One block per run, because LLVM
// needs 0.1 ms for every inline asm but only a microsecond for a word in it.
#pragma once
#include "Dialect/Npu/Npu.h"
#include "runtime/ObjectFile.h"
#include "llvm/ADT/MapVector.h"
#include <array>

namespace tensorturbo::codegen {

/// True for ops that can be part of a run: everything of the npu dialect except core_id.
bool isRunOp(mlir::Operation *op);

/// Collects ops and their words. Values that are constants are loaded into scratch registers inside the run;
/// other values become inputs of the asm, bound to fixed registers.
class StraightRun {
public:
  /// Appends `op`; false (and no change) if the run has no input register left or already ended in a result.
  bool append(mlir::Operation *op);
  bool empty() const { return ops.empty(); }
  /// Replaces the ops by one inline asm in front of the last of them, and empties the run.
  void flush();

private:
  /// Registers with known contents: constants for the integer ones, bit patterns for the float ones.
  struct Scratch {
    uint8_t number;
    bool valid;
    uint32_t value;
    uint64_t lastUse;
  };
  uint32_t intRegister(mlir::Value value);
  uint32_t floatRegister(mlir::Value value);
  uint32_t constantRegister(uint32_t value);
  /// Base register and offset for a memory access.
  std::pair<uint32_t, int32_t> memoryOperand(mlir::Value address);
  Scratch &victim(llvm::MutableArrayRef<Scratch> pool);
  void emit(uint32_t word) { words.push_back(word); }
  /// Notes the bounds of operand `from` of `op`, or behind the last one of its executions, for field `field`
  /// of the next word.
  void noteBounds(mlir::Operation *op, size_t from, uint16_t field);
  void encodeInstruction(npu::Instruction insn);
  void encode(mlir::Operation *op);

  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<uint32_t> words;
  llvm::SmallMapVector<mlir::Value, uint32_t, 16> intInputs, floatInputs;
  mlir::Value result;
  /// For section .tt.operands.
  struct Note {
    size_t word;
    runtime::OperandBounds bounds;
  };
  llvm::SmallVector<Note> notes;
  uint64_t clock = 0;
  // t0-t6 and ft0-ft7: a call may clobber them anyway.
  std::array<Scratch, 7> ints = {{{5, false, 0, 0},
                                  {6, false, 0, 0},
                                  {7, false, 0, 0},
                                  {28, false, 0, 0},
                                  {29, false, 0, 0},
                                  {30, false, 0, 0},
                                  {31, false, 0, 0}}};
  std::array<Scratch, 4> floats = {{{0, false, 0, 0}, {1, false, 0, 0}, {2, false, 0, 0}, {3, false, 0, 0}}};
};

/// Turns every npu op of the module into inline asm.
void lowerNpuOps(mlir::ModuleOp module);

} // namespace tensorturbo::codegen
