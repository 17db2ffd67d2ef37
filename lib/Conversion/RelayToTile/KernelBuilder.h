// Writes tile-dialect kernels: i32 arithmetic that folds constants, loops, buffers, moves.
#pragma once
#include "Dialect/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

namespace tensorturbo::tile {

/// Largest value of the chip's 16-bit shape fields.
constexpr int64_t maxExtent = 65535;
/// Largest byte stride between rows.
constexpr int64_t maxStride = 65534;

/// A tensor as a kernel finds it: a buffer in DDR or LLB, and where in it the kernel's part begins.
struct Place {
  mlir::Value buffer;
  /// Bytes.
  mlir::Value offset;
  /// `offset` is the number of the kernel's part of the batch times this; 0 if it is constant 0, -1 if it is
  /// neither.
  int64_t partBytes = 0;
  bool inLlb() const { return mlir::cast<BufferType>(buffer.getType()).getLevel() == MemoryLevel::LLB; }
};

/// Builds one kernel function. All values are i32; sizes in bytes unless said otherwise.
class KernelBuilder {
public:
  /// Creates the function @name at the end of `module`; an iterated one takes the number of its run.
  KernelBuilder(mlir::ModuleOp module, llvm::StringRef name, mlir::Location loc, int ncore,
                bool iterated = false);

  mlir::func::FuncOp function() { return func; }
  mlir::OpBuilder &builder() { return b; }
  mlir::Location location() const { return loc; }
  int cores() const { return ncore; }
  /// Ends the function.
  void finish();

  // Arithmetic. Constant operands are folded at once.
  mlir::Value constant(int64_t value);
  static std::optional<int64_t> constantOf(mlir::Value v);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value div(mlir::Value x, mlir::Value y); ///< of non-negative values
  mlir::Value rem(mlir::Value x, mlir::Value y); ///< of non-negative values
  mlir::Value min(mlir::Value x, mlir::Value y);
  mlir::Value max(mlir::Value x, mlir::Value y);
  mlir::Value less(mlir::Value x, mlir::Value y); ///< signed, an i1
  mlir::Value add(mlir::Value x, int64_t y) { return add(x, constant(y)); }
  mlir::Value mul(mlir::Value x, int64_t y) { return mul(x, constant(y)); }

  // Control flow.
  using Body = llvm::function_ref<void(mlir::Value)>;
  /// for (i = from; i < to; i += step). A loop of constant bounds that runs once or never is not a loop.
  void loop(mlir::Value from, mlir::Value to, mlir::Value step, Body body);
  void loop(int64_t from, int64_t to, int64_t step, Body body) {
    loop(constant(from), constant(to), constant(step), body);
  }
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  void whenElse(mlir::Value condition, llvm::function_ref<void()> body, llvm::function_ref<void()> otherwise);
  /// Runs the body on core 0 only.
  void onMaster(llvm::function_ref<void()> body);
  mlir::Value coreId() { return core; }
  void barrier();

  // Buffers.
  mlir::Value alloc(MemoryLevel level, int64_t bytes, llvm::StringRef name);
  /// Bytes allocated so far in a level.
  int64_t allocated(MemoryLevel level) const { return used[static_cast<int>(level)]; }
  mlir::Value ddr(llvm::StringRef global);
  /// A global tensor in DDR or LLB; every run of an iterated kernel finds its part `iterationBytes` further
  /// on, and that of run `parts` (if not 0) at the beginning again.
  Place place(llvm::StringRef global, bool inLlb, int64_t iterationBytes = 0, int64_t parts = 0);
  mlir::Value view(mlir::Value buffer, mlir::Value offset);
  mlir::Value view(mlir::Value buffer, int64_t offset = 0) { return view(buffer, constant(offset)); }

  // Moves.
  /// System DMA of `bytes` contiguous bytes, at most `maxBytes`; pieces of 4 MiB. Call on the master only.
  void dma(mlir::Value dstBuffer, mlir::Value dstOffset, mlir::Value srcBuffer, mlir::Value srcOffset,
           mlir::Value bytes, int64_t maxBytes);
  /// All `bytes` of a tensor that the kernel works on, from DDR to the beginning of a buffer in LLB: other
  /// kernels may start the transfer where the place allows it. Call on the master only, with a barrier behind
  /// it.
  void bring(mlir::Value llbBuffer, const Place &from, int64_t bytes);
  /// The other way, as the kernel's last action, behind a barrier.
  void writeBack(const Place &to, mlir::Value llbBuffer, int64_t bytes);
  struct Copy {
    mlir::Value dstBuffer, dstOffset, srcBuffer, srcOffset;
    mlir::Value bytes;
  };
  /// Copies on the spot, one after the other, of at most `maxBytes` each. Call on the master only.
  void copyNow(llvm::ArrayRef<Copy> copies, int64_t maxBytes);
  /// Starts the copies on the chunk channel, one behind the other, and waits for their end. No copy has more
  /// than schedule::longestCopy bytes. Call on the master only.
  void startDma(llvm::ArrayRef<Copy> copies);
  void waitDma();
  /// LLB to L1, `rows` x `columns` halves; the LLB rows lie `llbStride` bytes apart (0: dense).
  void load(mlir::Value l1, mlir::Value llb, mlir::Value rows, mlir::Value columns, mlir::Value llbStride);
  void store(mlir::Value llb, mlir::Value l1, mlir::Value rows, mlir::Value columns, mlir::Value llbStride);
  /// `count` contiguous halves, at most `maxCount` (any number; cut into rows of the 16-bit fields).
  void loadLinear(mlir::Value l1Buffer, mlir::Value l1Offset, mlir::Value llbBuffer, mlir::Value llbOffset,
                  mlir::Value count, int64_t maxCount);
  /// LLB to the L1 of all cores, which all run it in the same order.
  void broadcastLinear(mlir::Value l1Buffer, mlir::Value l1Offset, mlir::Value llbBuffer,
                       mlir::Value llbOffset, mlir::Value count, int64_t maxCount);
  void storeLinear(mlir::Value llbBuffer, mlir::Value llbOffset, mlir::Value l1Buffer, mlir::Value l1Offset,
                   mlir::Value count, int64_t maxCount);

private:
  mlir::Value global(llvm::StringRef name, MemoryLevel level);

  mlir::OpBuilder b;
  mlir::Location loc;
  int ncore;
  mlir::func::FuncOp func;
  mlir::Value core;
  mlir::Value iteration;
  /// Buffers are declared here, in front of the code.
  mlir::Operation *declarations = nullptr;
  int64_t used[4] = {0, 0, 0, 0};
  void linear(llvm::function_ref<void(mlir::Value offset, mlir::Value columns)> move, mlir::Value count,
              int64_t maxCount);
};

} // namespace tensorturbo::tile
