// The element-wise operators of a primitive function that follow its first operator (or are all of it), as
// steps on one tile: each takes the value so far and a constant, a vector per channel or another tensor.
#pragma once
#include "Conversion/RelayToTile/ConstantPool.h"
#include "Conversion/RelayToTile/KernelBuilder.h"
#include "Conversion/RelayToTile/LookupTable.h"
#include "Conversion/RelayToTile/RelayToTile.h"
#include <optional>
#include <string>
#include <vector>

namespace tensorturbo::tile {

struct ElementwiseStep {
  /// Self: value op value. LookupTensor, LookupRepeated: the function is applied to the tensor's tile, in
  /// place.
  enum class Kind { Scalar, Vector, Tensor, Repeated, Self, Lookup, LookupTensor, LookupRepeated } kind;
  explicit ElementwiseStep(Kind kind) : kind(kind) {}
  BinaryKind op = BinaryKind::add;
  float scalar = 0;
  /// Vector: one value per channel (last axis).
  std::vector<float> vector;
  /// Tensor, Repeated: position among the chain's tensors of that kind; `reversed` computes tensor - value.
  size_t tensor = 0;
  bool reversed = false;
  UnaryFunction function;
};

/// A tensor of the result's shape that steps read: an argument of the function, or a constant.
struct TensorOperand {
  std::optional<unsigned> argument;
  std::vector<float> constant;
};

/// A computed tensor that is smaller than the result.
struct RepeatedOperand {
  unsigned argument = 0;
  /// Its shape with ones in front, one extent for each axis of the result.
  llvm::SmallVector<int64_t> shape;
  int64_t elements = 0;
};

/// The smaller tensor's extents for each axis of the result, if it broadcasts to it; nothing else is set.
std::optional<RepeatedOperand> repetitionOf(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> result);
/// Why a smaller tensor of this many elements cannot be repeated; empty if it can.
std::string whyNotRepeated(const RepeatedOperand &operand);

/// What of a repeated operand a tile needs in L1: one element for each column, one for each row, or a matrix.
struct RepeatedTile {
  enum class Form { PerColumn, PerRow, Matrix } form;
  mlir::Value tile;
};

class ElementwiseChain {
public:
  /// The steps from `start` to the function's return. On failure `why` holds the rule that was broken.
  /// Only with `repeated` may steps read tensors smaller than the result.
  static std::optional<ElementwiseChain> analyse(mlir::func::FuncOp func, mlir::Value start, std::string &why,
                                                 bool repeated = false);

  /// A single operator of main as a chain, whatever its operands are; for questions, not for code. On failure
  /// `why` tells why it cannot be a step.
  static std::optional<ElementwiseChain> ofOperator(mlir::Operation *op, std::string &why);

  /// Whether a step needs to know the channel (last axis) of a column.
  bool perChannel() const;
  /// Tensors of the result's shape that steps read, in order of use, each once.
  size_t tensorCount() const { return tensors.size(); }
  /// Where they lie; `inputs` are the kernel's.
  llvm::SmallVector<Place> tensorPlaces(KernelBuilder &kb, ConstantPool &pool,
                                        const std::vector<TensorRef> &inputs) const;
  /// How many of them lie in DDR.
  int64_t tensorsInDdr(const std::vector<TensorRef> &inputs) const;
  llvm::ArrayRef<RepeatedOperand> repeatedOperands() const { return repeated; }
  /// Whether the elements of a repeated operand are overwritten in L1.
  bool overwritesRepeated(size_t i) const;
  /// The same for rows in which `count` channels from `first` on are repeated for each of `pixels` pixels.
  ElementwiseChain forColumns(int64_t first, int64_t count, int64_t pixels) const;
  /// Takes the first step off if it is one with a vector: its kind, and one value for each channel.
  std::optional<std::pair<BinaryKind, std::vector<float>>> takeLeadingVector();
  /// Bytes of L1 that tables and vectors need.
  int64_t l1Bytes() const;
  bool empty() const { return steps.empty(); }
  /// Passes of the vector engine over a tile.
  int64_t size() const { return static_cast<int64_t>(steps.size()); }

  /// Brings tables and vectors to every core's L1; call once, in front of the kernel's loops.
  void prepare(KernelBuilder &kb, ConstantPool &pool);

  /// Computes rows x columns elements from `src` to `dst`; strides in bytes. `tensorTiles[i]` points to the
  /// tile of tensor `i` in L1 with `tensorStride`, `repeatedTiles[i]` to what the rows need of repeated
  /// operand `i`, dense. `firstChannel` is the channel of column 0. `src` is overwritten if there is more
  /// than one step.
  void emit(KernelBuilder &kb, mlir::Value dst, mlir::Value dstStride, mlir::Value src, mlir::Value srcStride,
            mlir::Value rows, mlir::Value columns, mlir::Value firstChannel,
            llvm::ArrayRef<mlir::Value> tensorTiles, mlir::Value tensorStride,
            llvm::ArrayRef<RepeatedTile> repeatedTiles = {}) const;

private:
  std::vector<ElementwiseStep> steps;
  std::vector<TensorOperand> tensors;
  std::vector<RepeatedOperand> repeated;
  /// Parallel to steps: L1 buffer of the step's table or vector.
  std::vector<mlir::Value> buffers;
  /// Outside of a fused function every tensor may be an operand.
  bool anyOperand = false;
  bool mayRepeat = false;
  bool append(mlir::Operation *op, mlir::Value current, std::string &why);
  bool appendBinary(mlir::Operation *op, mlir::Value current, std::string &why);
  bool appendRepeated(mlir::Operation *op, mlir::Value other, ElementwiseStep step, std::string &why);
  bool appendPower(mlir::Operation *op, mlir::Value current, std::string &why);
  void addScalar(BinaryKind op, float value);
  bool addLookup(mlir::Operation *op);
  std::optional<size_t> tensorIndex(unsigned argument) const;
  bool inverted(size_t tensor) const;
};

} // namespace tensorturbo::tile
