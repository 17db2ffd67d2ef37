// Generated definitions of the ops of one family.
#include "Dialect/Relay/RelayTransform.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "Dialect/Relay/RelayTransform.cpp.inc"

namespace tensorturbo::relay {

void RelayDialect::registerTransformOps() {
  addOperations<
#define GET_OP_LIST
#include "Dialect/Relay/RelayTransform.cpp.inc"
      >();
}

} // namespace tensorturbo::relay
