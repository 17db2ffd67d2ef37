// Writes npu ops for one kernel: i32 arithmetic that folds, CSR writes, the system DMA.
#pragma once
#include "Dialect/Npu/Npu.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace tensorturbo::tile {

/// CSR writes and address arithmetic in front of the op at the builder's insertion point. A constant that
/// does not fit its field is reported at `op` and remembered in `failed`.
class Emitter {
public:
  explicit Emitter(mlir::OpBuilder &builder) : b(builder) {}

  /// The op that is being lowered: location of what is emitted, place of errors.
  void start(mlir::Operation *op) {
    current = op;
    loc = op->getLoc();
    b.setInsertionPoint(op);
  }
  bool failed = false;

  mlir::Value constant(uint32_t value);
  mlir::Value scalar(llvm::APFloat value);
  mlir::Value add(mlir::Value x, mlir::Value y);

  /// csr = value
  void set(llvm::StringRef csr, mlir::Value value);
  /// csr = high << 16 | low, both 16-bit numbers
  void setPair(llvm::StringRef csr, mlir::Value high, mlir::Value low, const char *what);
  /// csr = one 16-bit number
  void setLow(llvm::StringRef csr, mlir::Value value, const char *what);
  /// csr = four 8-bit numbers, from the top
  void setBytes(llvm::StringRef csr, std::array<mlir::Value, 4> values, const char *what);

  /// Byte stride of an operand with `rows` rows: strides of single rows are never looked at, so they become
  /// 0.
  mlir::Value stride(mlir::Value rows, mlir::Value bytes);

  // Shapes and strides of the vector and matrix engine, and of MTE.
  void vectorShape(mlir::Value rows, mlir::Value columns);
  void vectorStrides(mlir::Value rows, mlir::Value destination, mlir::Value first, mlir::Value second);
  void moveShape(mlir::Value rows, mlir::Value columns, mlir::Value llbStride);

  /// Copies rows x rowBytes with a stride on the source side and waits for the end.
  struct Copy {
    mlir::Value destination, source, bytes;
  };
  /// Copies by channel 0 to 3, as a chain of descriptors, that run on beside the program.
  void startDma(llvm::ArrayRef<Copy> copies, uint32_t channel);
  void waitDma(uint32_t channel);
  void systemDma(mlir::Value destination, mlir::Value source, mlir::Value rows, mlir::Value rowBytes,
                 mlir::Value sourceStride);

  template <typename Op, typename... Args> void emit(Args &&...args) {
    Op::create(b, loc, std::forward<Args>(args)...);
  }

  mlir::OpBuilder &b;

private:
  mlir::Value shiftLeft(mlir::Value value, unsigned bits);
  mlir::Value orBits(mlir::Value x, mlir::Value y);
  mlir::Value andBits(mlir::Value x, uint32_t mask);
  /// Reports a constant outside 0..most.
  void check(mlir::Value value, uint32_t most, const char *what);

  mlir::Operation *current = nullptr;
  mlir::Location loc = b.getUnknownLoc();
};

/// The constant that `value` is, if any.
std::optional<uint32_t> constantValue(mlir::Value value);

} // namespace tensorturbo::tile
