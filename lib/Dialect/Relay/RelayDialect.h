// The relay dialect: dialect class, #relay.const, and the helpers that every user of the dialect needs.
#pragma once
#include "Constants/ConstantStore.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <optional>
#include <string>

namespace tensorturbo::relay {

/// Marks operators that work element by element on one input (attributes aside).
template <typename Op> class ElementwiseUnary : public mlir::OpTrait::TraitBase<Op, ElementwiseUnary> {};
/// Marks operators that work element by element on two inputs, broadcast as NumPy does.
template <typename Op> class ElementwiseBinary : public mlir::OpTrait::TraitBase<Op, ElementwiseBinary> {};
/// Verifies the constraints of the op table: every violation is reported.
template <typename Op> class Checked : public mlir::OpTrait::TraitBase<Op, Checked> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    llvm::SmallVector<mlir::Type> types;
    return Op::inferReturnTypes(op->getContext(), op->getLoc(), op->getOperands(),
                                op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
                                op->getRegions(), types);
  }
};

/// Whether a type is a static ranked tensor of f16, bf16, f32, f64, i1 (bool), i8..i64 or ui8..ui64.
bool isRelayTensor(mlir::Type type);
/// Whether an attribute names an element type ("float16"), or is "" for "as the data".
bool isDTypeName(mlir::StringAttr name);
bool isIntOrInts(mlir::Attribute attribute);

} // namespace tensorturbo::relay

#include "Dialect/Relay/RelayDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "Dialect/Relay/RelayAttrs.h.inc"

namespace tensorturbo::relay {

/// Element types: MLIR's from ours and back (nullopt for types that Relay lacks).
mlir::Type elementTypeFor(mlir::MLIRContext *context, DType type);
std::optional<DType> dtypeOf(mlir::Type elementType);
mlir::RankedTensorType tensorTypeFor(mlir::MLIRContext *context, DType type, llvm::ArrayRef<int64_t> shape);

/// Shape and element type of a value that is a relay tensor.
llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);
mlir::Type elementType(mlir::Value value);

/// Name of the source model's node: the first NameLoc of a location; all names of a fused one joined by "+".
/// Empty if the location has none.
std::string nodeName(mlir::Location location);
/// Every node name of a location, in order, without repetition.
std::vector<std::string> nodeNames(mlir::Location location);

/// The data of a constant: a value defined by relay.constant, or its attribute. Nullopt for anything else and
/// for a #relay.const that the dialect's store does not hold (its id is unknown or its hash differs).
std::optional<Constant> constantOf(mlir::Value value);
std::optional<Constant> constantOf(mlir::Attribute attribute);
/// The single value of a constant of one element (any type); nullopt otherwise.
std::optional<double> scalarOf(mlir::Value value);

/// Makes a relay.constant of data: small ones are kept in the IR, others go to the dialect's store. The bytes
/// must match dtype and shape (bool: one byte an element).
mlir::Value createConstant(mlir::OpBuilder &builder, mlir::Location location, DType type,
                           llvm::ArrayRef<int64_t> shape, std::vector<uint8_t> bytes);
mlir::Value createConstant(mlir::OpBuilder &builder, mlir::Location location, const Constant &constant);
/// A 0-d constant, held in the IR itself.
mlir::Value createScalar(mlir::OpBuilder &builder, mlir::Location location, mlir::Type elementType,
                         double value);

/// Builds "relay.<name>" from operands and attributes; result types are inferred. On bad input the
/// diagnostics are emitted at `location` (every violated constraint), nothing is built and failure is
/// returned. Never aborts.
mlir::FailureOr<mlir::Operation *> createOp(mlir::OpBuilder &builder, mlir::Location location,
                                            llvm::StringRef name, mlir::ValueRange operands,
                                            llvm::ArrayRef<mlir::NamedAttribute> attributes = {});

/// One row of the op table, for printers and checks. `defaultText` is a Relay literal.
struct AttributeRow {
  llvm::StringRef name;
  llvm::StringRef defaultText;
  bool hasDefault = false;
  bool optional = false;
};
struct OpRow {
  llvm::StringRef name;
  std::vector<AttributeRow> attributes;
};
/// The row of an operator by Relay name ("nn.conv2d"); null if there is none.
const OpRow *opRow(llvm::StringRef name);

/// Shape that Relay's reshape codes (0, -1, -2, -3, -4) give; nullopt if the elements do not fit.
std::optional<llvm::SmallVector<int64_t>> resolveReshape(llvm::ArrayRef<int64_t> shape,
                                                         llvm::ArrayRef<int64_t> codes, bool allowZero);
/// One axis of a strided slice after clamping: `size` elements from `begin` in steps of `stride`.
struct Slice {
  int64_t begin = 0, size = 0, stride = 1;
};
/// A slice for every axis of `shape`; nullopt if the lists are inconsistent.
std::optional<llvm::SmallVector<Slice>>
resolveSlices(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> begin, llvm::ArrayRef<int64_t> end,
              std::optional<llvm::ArrayRef<int64_t>> strides, llvm::StringRef mode,
              std::optional<llvm::ArrayRef<int64_t>> axes);
/// Lengths of the parts of a split: an integer attribute is a number of equal parts, a list split points.
std::optional<llvm::SmallVector<int64_t>> splitSizes(int64_t length, mlir::Attribute indicesOrSections);
/// Shape that NumPy's broadcasting gives; nullopt if the shapes do not broadcast.
std::optional<llvm::SmallVector<int64_t>> broadcastShapes(llvm::ArrayRef<int64_t> a,
                                                          llvm::ArrayRef<int64_t> b);
/// The axes that a reduction works on, rising, as a mask over the dimensions.
llvm::SmallVector<bool> reducedAxes(int64_t rank, std::optional<llvm::ArrayRef<int64_t>> axes, bool exclude);
/// Axis of a letter in a layout ("NHWC", 'C' gives 3); -1 if it is not there.
int axisOf(llvm::StringRef layout, char letter);
/// Permutation `p` with result dimension i = source dimension p[i]; empty if the layouts do not match.
llvm::SmallVector<int64_t> layoutPermutation(llvm::StringRef source, llvm::StringRef target);
/// -1 counts from the end.
inline int64_t normalizeAxis(int64_t axis, int64_t rank) {
  return axis < 0 ? axis + rank : axis;
}

} // namespace tensorturbo::relay
