// Convolutions: groups, dilation, any layout; transposed ones as well.
#include "Conversion/RelayToLinalg/Emitter.h"
#include "Dialect/Relay/RelayConv.h"

using namespace mlir;

namespace tensorturbo::host {
namespace {

/// The tensor with its dimensions in the order of the letters of `want`.
Tensor inLayout(Emitter &e, const Tensor &tensor, StringRef have, StringRef want) {
  return have == want ? tensor : e.transpose(tensor, relay::layoutPermutation(have, want));
}

/// Products summed over channels and taps. `data` is padded, (n, groups * cin, spatial...); `weight` is
/// (groups, cout, cin, taps...); gives (n, groups, cout, spatial...) in the accumulator's type.
Tensor convolve(Emitter &e, Type accumulator, const Tensor &data, const Tensor &weight,
                ArrayRef<int64_t> output, ArrayRef<int64_t> strides, ArrayRef<int64_t> dilation) {
  MLIRContext *context = e.b.getContext();
  int64_t n = output.size(), groups = weight.dim(0), cin = weight.dim(2);
  // Loops: batch, group, output channel, all positions but the last, input channel, taps, the last position
  // (the innermost loop, so that it becomes vector code).
  Shape loops = {data.dim(0), groups, weight.dim(1)};
  SmallVector<int64_t> position(n), tap(n), out = {0, 1, 2};
  for (int64_t i = 0; i + 1 < n; ++i) {
    position[i] = loops.size();
    loops.push_back(output[i]);
  }
  int64_t channel = loops.size();
  loops.push_back(cin);
  for (int64_t i = 0; i < n; ++i) {
    tap[i] = loops.size();
    loops.push_back(weight.dim(3 + i));
  }
  position[n - 1] = loops.size();
  loops.push_back(output[n - 1]);
  out.append(position.begin(), position.end());

  auto d = [&](int64_t i) { return getAffineDimExpr(i, context); };
  SmallVector<AffineExpr> dataExprs = {d(0), d(1) * cin + d(channel)}, weightExprs = {d(1), d(2), d(channel)};
  for (int64_t i = 0; i < n; ++i) {
    dataExprs.push_back(d(position[i]) * strides[i] + d(tap[i]) * dilation[i]);
    weightExprs.push_back(d(tap[i]));
  }
  AffineMap maps[] = {AffineMap::get(loops.size(), 0, dataExprs, context),
                      AffineMap::get(loops.size(), 0, weightExprs, context)};
  Type compute = computeType(accumulator);
  return e.accumulate(accumulator, loops, out, e.number(compute, 0), {data, weight}, maps,
                      [&](ValueRange, ValueRange v, Value sum) {
                        return e.multiplyAdd(e.castScalar(v[0], data.element, accumulator),
                                             e.castScalar(v[1], weight.element, accumulator), sum);
                      });
}

std::string lettersOf(StringRef layout) {
  std::string spatial;
  for (char letter : {'D', 'H', 'W'})
    if (layout.contains(letter))
      spatial += letter;
  return spatial;
}

template <typename Op> void finishConv(Emitter &e, Op op, const Tensor &sum, StringRef spatial) {
  // (n, groups, cout, spatial...) to (n, channels, spatial...) to the layout of the data.
  Shape shape(sum.shape());
  shape[1] *= shape[2];
  shape.erase(shape.begin() + 2);
  Type element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  Tensor result = e.castTensor(e.reshape(sum, shape), element);
  e.set(op.getResult(), inLayout(e, result, ("NC" + spatial).str(), op.getDataLayout()));
}

template <typename Op> void lowerConv(Emitter &e, Op op) {
  std::string spatial = lettersOf(op.getDataLayout());
  int64_t n = spatial.size(), groups = op.getGroups();
  Tensor data = inLayout(e, e.get(op.getData()), op.getDataLayout(), "NC" + spatial);
  Tensor weight = inLayout(e, e.get(op.getWeight()), op.getKernelLayout(), "OI" + spatial);
  Type accumulator = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  Shape before(n + 2), after(n + 2), output;
  for (int64_t i = 0; i < n; ++i) {
    before[i + 2] = op.getPadding()[i];
    after[i + 2] = op.getPadding()[i + n];
    int64_t extent = (weight.dim(2 + i) - 1) * op.getDilation()[i] + 1;
    output.push_back((data.dim(2 + i) + before[i + 2] + after[i + 2] - extent) / op.getStrides()[i] + 1);
  }
  data = e.padWith(data, before, after, e.number(computeType(data.element), 0));
  Shape grouped(weight.shape());
  grouped[0] /= groups;
  grouped.insert(grouped.begin(), groups);
  Tensor sum =
      convolve(e, accumulator, data, e.reshape(weight, grouped), output, op.getStrides(), op.getDilation());
  finishConv(e, op, sum, spatial);
}

/// A convolution of stride 1 with the mirrored weight, over the data with zeros put between its elements.
template <typename Op> void lowerConvTranspose(Emitter &e, Op op) {
  std::string spatial = lettersOf(op.getDataLayout());
  int64_t n = spatial.size(), groups = op.getGroups();
  Tensor data = inLayout(e, e.get(op.getData()), op.getDataLayout(), "NC" + spatial);
  Tensor weight = inLayout(e, e.get(op.getWeight()), op.getKernelLayout(), "IO" + spatial);
  RankedTensorType type = cast<RankedTensorType>(op.getResult().getType());
  Shape output, spread = {data.dim(0), data.dim(1)}, first(n);
  for (int64_t i = 0; i < n; ++i) {
    int64_t reach = (weight.dim(2 + i) - 1) * op.getDilation()[i];
    output.push_back(type.getDimSize(relay::axisOf(op.getDataLayout(), spatial[i])));
    // Output position o reads spread positions o .. o + reach; element x lies at first + x * stride.
    first[i] = reach - op.getPadding()[i];
    spread.push_back(output.back() + reach);
  }
  Type compute = computeType(data.element);
  Tensor wide = e.map(data.element, spread, [&](ValueRange indices) {
    SmallVector<Value> source = {indices[0], indices[1]};
    Value good = e.integer(e.b.getI1Type(), 1);
    for (int64_t i = 0; i < n; ++i) {
      Value shifted = e.sub(indices[2 + i], e.index(first[i])), stride = e.index(op.getStrides()[i]);
      Value x = e.make<arith::DivSIOp>(shifted, stride);
      Value hit = e.both(e.equal(e.mul(x, stride), shifted), e.inRange(x, data.dim(2 + i)));
      good = e.both(good, hit);
      source.push_back(e.clampIndex(x, data.dim(2 + i)));
    }
    return e.select(good, e.load(data, source), e.number(compute, 0));
  });
  int64_t cin = data.dim(1) / groups, cout = weight.dim(1);
  Shape mirrored = {groups, cout, cin};
  for (int64_t i = 0; i < n; ++i)
    mirrored.push_back(weight.dim(2 + i));
  Tensor flipped = e.map(weight.element, mirrored, [&](ValueRange indices) {
    SmallVector<Value> source = {e.add(e.mul(indices[0], e.index(cin)), indices[2]), indices[1]};
    for (int64_t i = 0; i < n; ++i)
      source.push_back(e.sub(e.index(weight.dim(2 + i) - 1), indices[3 + i]));
    return e.load(weight, source);
  });
  Shape ones(n, 1);
  finishConv(e, op, convolve(e, type.getElementType(), wide, flipped, output, ones, op.getDilation()),
             spatial);
}

} // namespace

void addConvLowerings(LoweringTable &table) {
  addLowering(table, lowerConv<relay::Conv1DOp>);
  addLowering(table, lowerConv<relay::Conv2DOp>);
  addLowering(table, lowerConv<relay::Conv3DOp>);
  addLowering(table, lowerConvTranspose<relay::Conv1DTransposeOp>);
  addLowering(table, lowerConvTranspose<relay::Conv2DTransposeOp>);
  addLowering(table, lowerConvTranspose<relay::Conv3DTransposeOp>);
}

} // namespace tensorturbo::host
