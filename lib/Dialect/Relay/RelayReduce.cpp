// Generated definitions of the ops of one family.
#include "Dialect/Relay/RelayReduce.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "Dialect/Relay/RelayReduce.cpp.inc"

namespace tensorturbo::relay {

void RelayDialect::registerReduceOps() {
  addOperations<
#define GET_OP_LIST
#include "Dialect/Relay/RelayReduce.cpp.inc"
      >();
}

} // namespace tensorturbo::relay
