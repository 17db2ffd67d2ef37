// Generated definitions of the ops of one family.
#include "Dialect/Relay/RelayPool.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "Dialect/Relay/RelayPool.cpp.inc"

namespace tensorturbo::relay {

void RelayDialect::registerPoolOps() {
  addOperations<
#define GET_OP_LIST
#include "Dialect/Relay/RelayPool.cpp.inc"
      >();
}

} // namespace tensorturbo::relay
