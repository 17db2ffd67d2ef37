// Dialect, #relay.const, relay.constant.
#include "Dialect/Relay/RelayDialect.h"
#include "Dialect/Relay/RelayCore.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "Dialect/Relay/RelayDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "Dialect/Relay/RelayAttrs.cpp.inc"

namespace tensorturbo::relay {

void RelayDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Dialect/Relay/RelayAttrs.cpp.inc"
      >();
}

void RelayDialect::initialize() {
  registerAttributes();
  registerCoreOps();
  registerConvOps();
  registerPoolOps();
  registerNnOps();
  registerElemwiseOps();
  registerReduceOps();
  registerTransformOps();
  registerIndexOps();
}

mlir::Operation *RelayDialect::materializeConstant(mlir::OpBuilder &builder, mlir::Attribute value,
                                                   mlir::Type type, mlir::Location location) {
  auto typed = llvm::dyn_cast<mlir::TypedAttr>(value);
  if (!typed || typed.getType() != type || !llvm::isa<ConstAttr, mlir::DenseElementsAttr>(value))
    return nullptr;
  return ConstantOp::create(builder, location, type, typed);
}

mlir::OpFoldResult ConstantOp::fold(FoldAdaptor) {
  return getValue();
}

llvm::LogicalResult ConstantOp::verify() {
  if (!llvm::isa<ConstAttr, mlir::DenseElementsAttr>(getValueAttr()))
    return emitOpError("(C1) value must be #relay.const or a dense tensor");
  return mlir::success();
}

static const std::vector<OpRow> &rows() {
  static const std::vector<OpRow> table = {
#include "Dialect/Relay/RelayConv.table.inc"
#include "Dialect/Relay/RelayElemwise.table.inc"
#include "Dialect/Relay/RelayIndex.table.inc"
#include "Dialect/Relay/RelayNn.table.inc"
#include "Dialect/Relay/RelayPool.table.inc"
#include "Dialect/Relay/RelayReduce.table.inc"
#include "Dialect/Relay/RelayTransform.table.inc"
  };
  return table;
}

const OpRow *opRow(llvm::StringRef name) {
  for (const OpRow &row : rows())
    if (row.name == name)
      return &row;
  return nullptr;
}

} // namespace tensorturbo::relay
