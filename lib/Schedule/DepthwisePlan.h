// How the channels of a depthwise convolution are split between vector and matrix engine, and the rows of a
// tile.
#pragma once
#include "Schedule/ConvTiling.h"
#include <algorithm>

namespace tensorturbo::schedule {

struct DepthwisePlan {
  /// The first channels, which the vector engine convolves; 0: none.
  int64_t vector = 0;
  /// Channels of one dense convolution of the matrix engine, a divisor of the others.
  int64_t merged = 16;
  /// The matrix engine makes 2 x 2 pixels at once; the vector engine only brings them to their places.
  bool pairs = false;

  int64_t blocks(const WindowShape &w) const { return (w.channels - vector) / merged; }
  /// Bytes of the packed weights of either engine.
  int64_t matrixWeights(const WindowShape &w) const {
    return blocks(w) * w.kernelHeight * w.kernelWidth * merged * merged * 2;
  }
  int64_t vectorWeights(const WindowShape &w) const { return w.kernelHeight * w.kernelWidth * vector * 2; }
  /// Elements that the shifted rows of the vector engine reach beyond either end of a tile's rows.
  int64_t guardElements(const WindowShape &w) const {
    int64_t before = (w.left + w.strideWidth - 1) / w.strideWidth;
    int64_t last = w.outWidth - 1 + (w.kernelWidth - 1) / w.strideWidth;
    return std::max(before, last - (w.width / w.strideWidth - 1)) * vector;
  }
};

/// The split of a layer without dilation, priced under both profiles of the timing model: the least sum of
/// the two times, each against that of the matrix engine alone. It depends on the shape of one image only.
/// Nothing if the layer does not fit L1 this way, or has strides that the vector
/// engine cannot take.
std::optional<DepthwisePlan> planDepthwise(const WindowShape &w);
/// Whether 2 x 2 pixels at once cost less than that plan, by the same measure. Such a kernel reads no
/// residuals.
bool pairsAreCheaper(const WindowShape &w);

/// Output rows of a tile for the plan; 0 if none fits. `steps` and `residuals` are the epilogue's,
/// `epilogueBytes` what it needs in L1 besides.
int64_t depthwiseRows(const WindowShape &w, const DepthwisePlan &plan, const ChunkPlan &chunk, int ncore,
                      int64_t residuals, int64_t steps, int64_t epilogueBytes);

} // namespace tensorturbo::schedule
