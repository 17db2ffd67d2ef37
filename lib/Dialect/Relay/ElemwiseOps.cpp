// Element-wise operators: all rules come from RelayInfer.h.
#include "Dialect/Relay/RelayElemwise.h"
#include "Dialect/Relay/RelayInfer.h"

#include "Dialect/Relay/RelayElemwise.infer.inc"
