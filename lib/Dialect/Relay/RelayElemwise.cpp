// Generated definitions of the ops of one family.
#include "Dialect/Relay/RelayElemwise.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "Dialect/Relay/RelayElemwise.cpp.inc"

namespace tensorturbo::relay {

void RelayDialect::registerElemwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "Dialect/Relay/RelayElemwise.cpp.inc"
      >();
}

} // namespace tensorturbo::relay
