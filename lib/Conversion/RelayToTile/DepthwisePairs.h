// Depthwise convolutions of few channels with stride 1: four neighbouring pixels of the result at once.
#pragma once
#include "Conversion/RelayToTile/ElementwiseChain.h"
#include "Conversion/RelayToTile/SpatialNest.h"
#include "Schedule/DepthwisePlan.h"

namespace tensorturbo::tile {

/// Weights of the dense convolutions that make 2 x 2 pixels of 16 channels each, [block][kernel row][kernel
/// column][in][pixel row, pixel column, out] with a kernel one larger either way; behind them the vector of
/// the epilogue's first step, if it has one. `weights`: halves of [kernel row][kernel column][channel].
std::vector<uint8_t> packPairs(const uint8_t *weights, const schedule::WindowShape &w,
                               const std::vector<float> &leading);

/// Emits the kernel's loops. `leading` is the kind of the epilogue's first step if that is a vector, `chain`
/// the rest of the epilogue, which must not read tensors. `rows` is even.
void emitPairs(KernelBuilder &kb, const schedule::WindowShape &w, int64_t rows,
               std::optional<BinaryKind> leading, const ElementwiseChain &chain, SpatialNest &nest,
               mlir::Value weightsDdr, int64_t weightBytes);

} // namespace tensorturbo::tile
