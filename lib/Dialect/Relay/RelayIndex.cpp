// Generated definitions of the ops of one family.
#include "Dialect/Relay/RelayIndex.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "Dialect/Relay/RelayIndex.cpp.inc"

namespace tensorturbo::relay {

void RelayDialect::registerIndexOps() {
  addOperations<
#define GET_OP_LIST
#include "Dialect/Relay/RelayIndex.cpp.inc"
      >();
}

} // namespace tensorturbo::relay
