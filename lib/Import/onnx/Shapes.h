// Targets of shape operators, shared by their converters and their evaluation at import.
#pragma once
#include "Import/onnx/Converter.h"

namespace tensorturbo::onnx {

/// `count` elements of an axis from `begin` in steps of `step` (which may be negative).
struct AxisSlice {
  int64_t begin, count, step;
};

/// The second input of Reshape, checked: one -1 at most, zeros only where there is a dimension to keep.
std::vector<int64_t> reshapeTarget(OpContext &c, bool &allowZero);
/// Axes from the attribute, or from input 1 since version `inputSince`; sorted and counted from the front.
std::vector<int64_t> readAxes(OpContext &c, int64_t rank, int64_t inputSince, bool &given);
std::vector<int64_t> squeezeAxes(OpContext &c);
/// Positions of the new axes in the result.
std::vector<int64_t> unsqueezeAxes(OpContext &c);
/// One slice for every axis of input 0.
std::vector<AxisSlice> readSlices(OpContext &c);
/// Lengths of the outputs of Split.
std::vector<int64_t> splitLengths(OpContext &c, int64_t axis);
/// The result's shape of Expand.
Shape expandTarget(OpContext &c);
std::vector<int64_t> readPermutation(OpContext &c);
/// Emits the slices; gives back `x` itself where nothing is cut.
mlir::Value sliceAxes(OpContext &c, mlir::Value x, const std::vector<AxisSlice> &slices);

} // namespace tensorturbo::onnx
