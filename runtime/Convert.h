// Element type conversion between the model's types and the types of the buffers in DDR.
#pragma once
#include "Support/DType.h"
#include <cstddef>
#include <cstdint>

namespace tensorturbo::runtime {

/// Nearest half, ties to even; overflow becomes infinity, NaN stays NaN.
uint16_t halfFromFloat(float value);
float floatFromHalf(uint16_t bits);

/// True if convertElements() knows the pair: equal types, and any two floating-point types.
bool canConvert(DType from, DType to);
/// Converts `count` dense elements. Returns how many finite elements became infinite.
size_t convertElements(const void *from, DType fromType, void *to, DType toType, size_t count);

} // namespace tensorturbo::runtime
