// Generated definitions of the ops of one family.
#include "Dialect/Relay/RelayConv.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "Dialect/Relay/RelayConv.cpp.inc"

namespace tensorturbo::relay {

void RelayDialect::registerConvOps() {
  addOperations<
#define GET_OP_LIST
#include "Dialect/Relay/RelayConv.cpp.inc"
      >();
}

} // namespace tensorturbo::relay
