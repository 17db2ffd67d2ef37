// Generated definitions of the ops of one family.
#include "Dialect/Relay/RelayNn.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "Dialect/Relay/RelayNn.cpp.inc"

namespace tensorturbo::relay {

void RelayDialect::registerNnOps() {
  addOperations<
#define GET_OP_LIST
#include "Dialect/Relay/RelayNn.cpp.inc"
      >();
}

} // namespace tensorturbo::relay
