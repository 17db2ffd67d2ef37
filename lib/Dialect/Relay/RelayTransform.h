// Shape and layout changes, creation: the generated op classes.
#pragma once
#include "Dialect/Relay/RelayDialect.h"

#define GET_OP_CLASSES
#include "Dialect/Relay/RelayTransform.h.inc"
