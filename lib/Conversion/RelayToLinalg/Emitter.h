// What the lowerings are written with. Private to this folder.
#pragma once
#include "Conversion/RelayToLinalg/RelayToLinalg.h"
#include "Dialect/Relay/RelayDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"
#include <functional>

namespace tensorturbo::host {

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using mlir::Operation;
using mlir::Type;
using mlir::Value;
using mlir::ValueRange;
using Shape = SmallVector<int64_t>;

/// A tensor of the new module with its relay element type, which knows about signs and bool. Scalars have the
/// compute type of their element type: float32 for float16 and bfloat16, i1 for bool, signless integers.
struct Tensor {
  Value value;
  Type element;

  ArrayRef<int64_t> shape() const { return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape(); }
  int64_t rank() const { return int64_t(shape().size()); }
  int64_t dim(int64_t i) const { return shape()[i]; }
  int64_t count() const { return mlir::ShapedType::getNumElements(shape()); }
};

inline bool isUnsigned(Type element) {
  return element.isUnsignedInteger() || element.isInteger(1);
}
inline bool isFloat(Type element) {
  return mlir::isa<mlir::FloatType>(element);
}
/// As it lies in a buffer: i8 for bool, signless integers.
Type storageType(Type element);
Type computeType(Type element);

/// Builds the new function, op by op.
class Emitter {
public:
  Emitter(mlir::OpBuilder &builder, std::vector<HostConstant> &constants, mlir::ModuleOp module,
          Diagnostics &diags)
      : b(builder), constants(constants), module(module), diags(diags), loc(builder.getUnknownLoc()) {}

  mlir::OpBuilder &b;

  // Values of the relay function.
  Tensor get(Value relayValue);
  void set(Value relayResult, const Tensor &tensor);
  void bind(Value relayValue, Value tensor) { values.map(relayValue, tensor); }
  /// Reports that this op cannot be lowered; its results become undefined tensors so that the rest is checked
  /// too.
  void unsupported(Operation *op, const std::string &why);
  void setConstant(Value relayResult, const Constant &constant);
  void setLocation(mlir::Location location) { loc = location; }
  mlir::Location location() const { return loc; }

  // Scalars.
  Value index(int64_t value) { return mlir::arith::ConstantIndexOp::create(b, loc, value); }
  /// A number of a compute type (index included).
  Value number(Type computeType, double value);
  Value integer(Type computeType, int64_t value);
  Value lowest(Type element);
  Value highest(Type element);
  template <typename Op, typename... Args> Value make(Args &&...args) {
    return Op::create(b, loc, std::forward<Args>(args)...);
  }
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  /// Division towards zero; integers: 0 for a divisor of 0.
  Value div(Value x, Value y, bool isUnsigned = false);
  /// Remainder of div: sign of x; integers: 0 for a divisor of 0.
  Value rem(Value x, Value y, bool isUnsigned = false);
  Value maximum(Value x, Value y, bool isUnsigned = false);
  Value minimum(Value x, Value y, bool isUnsigned = false);
  /// Ordered comparison, false for NaN.
  Value less(Value x, Value y, bool isUnsigned = false);
  Value equal(Value x, Value y);
  Value both(Value x, Value y) { return make<mlir::arith::AndIOp>(x, y); }
  Value negated(Value condition);
  Value select(Value condition, Value x, Value y) { return make<mlir::arith::SelectOp>(condition, x, y); }
  /// Multiply and add for long sums: may be fused and reordered.
  Value multiplyAdd(Value x, Value y, Value sum);
  Value sumAdd(Value x, Value sum);
  /// A scalar of element type `from` as one of `to`, by the rules of relay.cast.
  Value castScalar(Value x, Type from, Type to);
  /// An integer of element type `from` as an index.
  Value toIndex(Value x, Type from);
  /// 0 <= i < extent.
  Value inRange(Value i, int64_t extent);
  /// i limited to [0, extent - 1].
  Value clampIndex(Value i, int64_t extent);

  // Tensors.
  mlir::RankedTensorType tensorType(Type element, ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, storageType(element));
  }
  Value empty(Type storage, ArrayRef<int64_t> shape);
  Value filled(Value scalar, ArrayRef<int64_t> shape);
  Value load(const Tensor &tensor, ValueRange indices);
  /// The only element.
  Value loadScalar(const Tensor &tensor) { return load(tensor, SmallVector<Value>(tensor.rank(), index(0))); }
  Value toStorage(Value scalar, Type element);
  Value fromStorage(Value scalar, Type element);

  /// Every element computed from its indices.
  Tensor map(Type element, ArrayRef<int64_t> shape, llvm::function_ref<Value(ValueRange indices)> body);
  /// Every element computed from the inputs' elements, which broadcast as NumPy's do.
  Tensor mapElements(Type element, ArrayRef<int64_t> shape, ArrayRef<Tensor> inputs,
                     llvm::function_ref<Value(ValueRange elements)> body);
  /// As mapElements, each input with its own map from the result's indices.
  Tensor mapWith(Type element, ArrayRef<int64_t> shape, ArrayRef<Tensor> inputs,
                 ArrayRef<mlir::AffineMap> maps, llvm::function_ref<Value(ValueRange elements)> body);
  /// Loops over `loops` in this order, outermost first. `out` names the loops that are the result's
  /// dimensions, in order; the others accumulate. `init` is the accumulators' first value; they have the
  /// compute type of `accumulator`. Inputs are read through affine maps of the loops.
  Tensor accumulate(Type accumulator, ArrayRef<int64_t> loops, ArrayRef<int64_t> out, Value init,
                    ArrayRef<Tensor> inputs, ArrayRef<mlir::AffineMap> maps,
                    llvm::function_ref<Value(ValueRange indices, ValueRange elements, Value sum)> body);
  /// The same elements in another element type (from a compute type, say), rounded.
  Tensor castTensor(const Tensor &tensor, Type element);
  Tensor reshape(const Tensor &tensor, ArrayRef<int64_t> shape);
  Tensor transpose(const Tensor &tensor, ArrayRef<int64_t> permutation);
  /// A part of the tensor moved: result index i reads source index begin + stride * i.
  Tensor slice(const Tensor &tensor, ArrayRef<relay::Slice> slices);
  /// Border of pads (before, after for each dimension) filled with a scalar of the compute type.
  Tensor padWith(const Tensor &tensor, ArrayRef<int64_t> before, ArrayRef<int64_t> after, Value scalar);

  // Imperative code, for what has no closed form: a buffer to write, and counted loops.
  /// An uninitialised buffer (memref) of the storage type.
  Value allocate(Type element, ArrayRef<int64_t> shape);
  /// A buffer with a copy of the tensor.
  Value copyToBuffer(const Tensor &tensor);
  Value loadBuffer(Value buffer, Type element, ValueRange indices);
  void storeBuffer(Value buffer, Type element, Value scalar, ValueRange indices);
  /// The buffer's content from here on; it must not be written afterwards.
  Tensor finish(Value buffer, Type element);
  /// for i in [0, count).
  void loop(Value count, llvm::function_ref<void(Value i)> body);
  /// Nested loops over a shape.
  void loops(ArrayRef<int64_t> shape, llvm::function_ref<void(ValueRange indices)> body);

  Diagnostics &diagnostics() { return diags; }

private:
  Value genericOp(Value init, ArrayRef<Tensor> inputs, ArrayRef<mlir::AffineMap> maps, mlir::AffineMap outMap,
                  ArrayRef<mlir::utils::IteratorType> iterators, ArrayRef<Value> extraInputs,
                  ArrayRef<mlir::AffineMap> extraMaps,
                  llvm::function_ref<Value(ValueRange elements, Value out)> body);

  std::vector<HostConstant> &constants;
  mlir::ModuleOp module;
  Diagnostics &diags;
  mlir::Location loc;
  mlir::IRMapping values;
};

/// Folds the dimensions of `mask`; the result has the other ones, in the compute type.
Tensor fold(Emitter &e, const Tensor &data, ArrayRef<bool> mask, Value init,
            llvm::function_ref<Value(Value element, Value sofar)> body);
/// A folded tensor with its folded dimensions of length 1 back, so that it broadcasts against the data.
Tensor keepDims(Emitter &e, const Tensor &folded, const Tensor &data, ArrayRef<bool> mask);
/// Elements that are folded into one.
int64_t foldedCount(const Tensor &data, ArrayRef<bool> mask);

using Lowering = std::function<void(Emitter &, Operation *)>;
/// By op name.
using LoweringTable = llvm::StringMap<Lowering>;

template <typename Op> void addLowering(LoweringTable &table, void (*lower)(Emitter &, Op)) {
  table[Op::getOperationName()] = [lower](Emitter &e, Operation *op) { lower(e, mlir::cast<Op>(op)); };
}

// One for each family.
void addConvLowerings(LoweringTable &table);
void addElemwiseLowerings(LoweringTable &table);
void addIndexLowerings(LoweringTable &table);
void addMatmulLowerings(LoweringTable &table);
void addNnLowerings(LoweringTable &table);
void addPoolLowerings(LoweringTable &table);
void addReduceLowerings(LoweringTable &table);
void addResizeLowerings(LoweringTable &table);
void addSortLowerings(LoweringTable &table);
void addTransformLowerings(LoweringTable &table);

} // namespace tensorturbo::host
