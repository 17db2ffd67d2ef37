// Generated definitions of the ops of one family.
#include "Dialect/Relay/RelayCore.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "Dialect/Relay/RelayCore.cpp.inc"

namespace tensorturbo::relay {

void RelayDialect::registerCoreOps() {
  addOperations<
#define GET_OP_LIST
#include "Dialect/Relay/RelayCore.cpp.inc"
      >();
}

} // namespace tensorturbo::relay
