// Windows over spatial axes, shared by convolutions and pools.
#pragma once
#include "Import/onnx/Converter.h"

namespace tensorturbo::onnx {

struct Window {
  std::vector<int64_t> kernel, strides, dilations;
  /// All begins, then all ends.
  std::vector<int64_t> pads;

  size_t rank() const { return kernel.size(); }
  /// Extent of the dilated kernel on an axis.
  int64_t extent(size_t axis) const { return dilations[axis] * (kernel[axis] - 1) + 1; }
};

/// Reads strides, dilations, pads and auto_pad for data of shape (N, C, spatial...); pads are made explicit.
/// Extents are bounded so that no later arithmetic overflows.
Window readWindow(OpContext &c, const Shape &data, std::vector<int64_t> kernel, bool withDilations);

} // namespace tensorturbo::onnx
