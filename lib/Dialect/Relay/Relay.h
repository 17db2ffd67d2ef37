// All operators of the relay dialect. Files that need one family include its own header.
#pragma once
#include "Dialect/Relay/RelayConv.h"
#include "Dialect/Relay/RelayCore.h"
#include "Dialect/Relay/RelayElemwise.h"
#include "Dialect/Relay/RelayIndex.h"
#include "Dialect/Relay/RelayNn.h"
#include "Dialect/Relay/RelayPool.h"
#include "Dialect/Relay/RelayReduce.h"
#include "Dialect/Relay/RelayTransform.h"
