// Gathering and scattering: the generated op classes.
#pragma once
#include "Dialect/Relay/RelayDialect.h"

#define GET_OP_CLASSES
#include "Dialect/Relay/RelayIndex.h.inc"
