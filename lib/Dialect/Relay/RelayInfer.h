// What the generated constraint checks and shape rules are written with. Private to this folder.
#pragma once
#include "Dialect/Relay/RelayDialect.h"
#include "mlir/IR/Diagnostics.h"

namespace tensorturbo::relay::infer {

using llvm::ArrayRef;
using llvm::StringRef;
using mlir::LogicalResult;
using mlir::Type;
using mlir::Value;
using OptInts = std::optional<ArrayRef<int64_t>>;
/// What `op.getX()` gives for a variadic operand.
using Values = mlir::ValueRange;

inline int64_t rank(Value v) {
  return static_cast<int64_t>(shapeOf(v).size());
}
/// Extent of a dimension, negatives from the end; -1 if there is none.
int64_t dim(Value v, int64_t axis);
/// Number of elements.
int64_t count(Value v);
inline bool isFloatTensor(Value v) {
  return llvm::isa<mlir::FloatType>(elementType(v));
}
inline bool isIntTensor(Value v) {
  return llvm::isa<mlir::IntegerType>(elementType(v)) && !elementType(v).isInteger(1);
}
std::string str(ArrayRef<int64_t> values);
/// Foreign text for a message.
std::string quote(StringRef text);
std::string shapes(Values values);
std::string types(Values values);

bool positive(ArrayRef<int64_t> values, int64_t n);
bool nonNegative(ArrayRef<int64_t> values, int64_t n);
bool shapeOk(ArrayRef<int64_t> values);
inline bool equal(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return a == b;
}
inline bool axisOk(int64_t axis, int64_t rank) {
  return axis >= -rank && axis < rank;
}
bool axesOk(ArrayRef<int64_t> axes, int64_t rank);
bool isPermutation(ArrayRef<int64_t> axes, int64_t rank);
/// Whether `layout` is a permutation of `letters`.
bool isLayout(StringRef layout, StringRef letters);
bool oneOf(StringRef value, std::initializer_list<StringRef> allowed);
inline bool isVector(Value v, int64_t n) {
  return rank(v) == 1 && dim(v, 0) == n;
}
bool broadcastable(ArrayRef<Value> values);
bool broadcastsTo(ArrayRef<int64_t> from, ArrayRef<int64_t> to);
bool padFits(ArrayRef<int64_t> shape, ArrayRef<int64_t> pads, StringRef mode);
bool sameExceptAxis(Values values, int64_t axis);
bool sameShape(Values values);
bool sameElementType(Values values);

/// State of one inference: where findings go and where result types are collected.
struct InferContext {
  InferContext(mlir::MLIRContext *context, std::optional<mlir::Location> location, StringRef op,
               llvm::SmallVectorImpl<Type> &types)
      : context(context), loc(location ? *location : mlir::UnknownLoc::get(context)), op(op), types(types) {}

  mlir::MLIRContext *context;
  mlir::Location loc;
  StringRef op;
  llvm::SmallVectorImpl<Type> &types;
  bool failed = false;

  /// A violated constraint: starts its message.
  mlir::InFlightDiagnostic fail(int number, StringRef text);
  /// Count and kind of operands; `variadic` allows more than `fixed`.
  bool checkOperands(mlir::ValueRange operands, unsigned fixed, bool variadic);
  /// Adds a result; refuses tensors of more than 2^40 elements.
  LogicalResult add(ArrayRef<int64_t> shape, Type elementType);
  LogicalResult sameAs(Value v) { return add(shapeOf(v), elementType(v)); }
  LogicalResult sameAs(std::initializer_list<Value> values);
  LogicalResult broadcast(std::initializer_list<Value> values, Type elementType);
  Type boolType() { return mlir::IntegerType::get(context, 1); }
  Type intType(unsigned bits) { return mlir::IntegerType::get(context, bits); }
  /// Element type by name; "" gives that of `like`.
  Type dtype(StringRef name, Value like);
};

/// a + b and a * b limited to what an extent may be, so that hostile attributes cannot overflow.
int64_t addSat(int64_t a, int64_t b);
int64_t mulSat(int64_t a, int64_t b);
llvm::SmallVector<int64_t> sliceShape(ArrayRef<Slice> slices);

} // namespace tensorturbo::relay::infer
