// Normalisation, activation, padding, blocks of channels.
#include "Conversion/RelayToLinalg/Emitter.h"
#include "Dialect/Relay/RelayNn.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tensorturbo::host {
namespace {

/// A vector shaped so that it broadcasts along one axis of `data`.
Tensor alongAxis(Emitter &e, const Tensor &vector, const Tensor &data, int64_t axis) {
  Shape shape(data.rank(), 1);
  shape[axis] = vector.count();
  return e.reshape(vector, shape);
}

void lowerBiasAdd(Emitter &e, relay::BiasAddOp op) {
  Tensor data = e.get(op.getData());
  Tensor bias = alongAxis(e, e.get(op.getBias()), data, relay::normalizeAxis(op.getAxis(), data.rank()));
  e.set(op.getResult(), e.mapElements(data.element, data.shape(), {data, bias},
                                      [&](ValueRange v) { return e.add(v[0], v[1]); }));
}

void lowerBatchNorm(Emitter &e, relay::BatchNormOp op) {
  Tensor data = e.get(op.getData());
  int64_t axis = relay::normalizeAxis(op.getAxis(), data.rank());
  Tensor inputs[] = {data, alongAxis(e, e.get(op.getGamma()), data, axis),
                     alongAxis(e, e.get(op.getBeta()), data, axis),
                     alongAxis(e, e.get(op.getMovingMean()), data, axis),
                     alongAxis(e, e.get(op.getMovingVar()), data, axis)};
  Type compute = computeType(data.element);
  e.set(op.getResult(), e.mapElements(data.element, data.shape(), inputs, [&](ValueRange v) {
    auto as = [&](int i) { return e.castScalar(v[i], inputs[i].element, compute); };
    Value deviation = e.make<math::SqrtOp>(e.add(as(4), e.number(compute, op.getEpsilon())));
    Value x = e.div(e.sub(v[0], as(3)), deviation);
    if (op.getScale())
      x = e.mul(x, as(1));
    return op.getCenter() ? e.add(x, as(2)) : x;
  }));
  e.set(op.getMean(), e.get(op.getMovingMean()));
  e.set(op.getVariance(), e.get(op.getMovingVar()));
}

/// (x - mean) / sqrt(variance + epsilon), mean and variance over the dimensions of `mask`; in the compute
/// type.
Tensor standardise(Emitter &e, const Tensor &data, ArrayRef<bool> mask, double epsilon) {
  Type compute = computeType(data.element);
  Value zero = e.number(compute, 0), count = e.number(compute, double(foldedCount(data, mask)));
  auto mean = [&](const Tensor &x) {
    Tensor sum = fold(e, x, mask, zero, [&](Value v, Value sofar) { return e.sumAdd(v, sofar); });
    return keepDims(
        e, e.mapElements(compute, sum.shape(), {sum}, [&](ValueRange v) { return e.div(v[0], count); }), x,
        mask);
  };
  Tensor centred = e.mapElements(compute, data.shape(), {data, mean(data)},
                                 [&](ValueRange v) { return e.sub(v[0], v[1]); });
  Tensor squares =
      e.mapElements(compute, data.shape(), {centred}, [&](ValueRange v) { return e.mul(v[0], v[0]); });
  return e.mapElements(compute, data.shape(), {centred, mean(squares)}, [&](ValueRange v) {
    return e.div(v[0], e.make<math::SqrtOp>(e.add(v[1], e.number(compute, epsilon))));
  });
}

/// Scale and shift by vectors along an axis, and the result.
template <typename Op> void setAffine(Emitter &e, Op op, const Tensor &normal, int64_t axis) {
  Tensor gamma = alongAxis(e, e.get(op.getGamma()), normal, axis),
         beta = alongAxis(e, e.get(op.getBeta()), normal, axis);
  Type compute = normal.element;
  Type element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  e.set(op.getResult(), e.mapElements(element, normal.shape(), {normal, gamma, beta}, [&](ValueRange v) {
    Value x = v[0];
    if (op.getScale())
      x = e.mul(x, e.castScalar(v[1], gamma.element, compute));
    return op.getCenter() ? e.add(x, e.castScalar(v[2], beta.element, compute)) : x;
  }));
}

void lowerInstanceNorm(Emitter &e, relay::InstanceNormOp op) {
  Tensor data = e.get(op.getData());
  int64_t axis = relay::normalizeAxis(op.getAxis(), data.rank());
  SmallVector<bool> mask(data.rank(), true);
  mask[0] = mask[axis] = false;
  setAffine(e, op, standardise(e, data, mask, op.getEpsilon()), axis);
}

void lowerLayerNorm(Emitter &e, relay::LayerNormOp op) {
  Tensor data = e.get(op.getData());
  int64_t axis = relay::normalizeAxis(op.getAxis(), data.rank());
  SmallVector<bool> mask(data.rank(), false);
  mask[axis] = true;
  setAffine(e, op, standardise(e, data, mask, op.getEpsilon()), axis);
}

void lowerGroupNorm(Emitter &e, relay::GroupNormOp op) {
  Tensor data = e.get(op.getData());
  int64_t axis = relay::normalizeAxis(op.getAxis(), data.rank());
  // The axis as (groups, channels of a group).
  Shape shape(data.shape());
  shape[axis] /= op.getNumGroups();
  shape.insert(shape.begin() + axis, op.getNumGroups());
  SmallVector<bool> mask(shape.size(), true);
  mask[axis] = false;
  if (axis > 0)
    mask[0] = false;
  Tensor normal = standardise(e, e.reshape(data, shape), mask, op.getEpsilon());
  setAffine(e, op, e.reshape(normal, data.shape()), axis);
}

void lowerL2Normalize(Emitter &e, relay::L2NormalizeOp op) {
  Tensor data = e.get(op.getData());
  Type compute = computeType(data.element);
  SmallVector<bool> mask = relay::reducedAxes(data.rank(), op.getAxis(), false);
  Tensor sum = fold(e, data, mask, e.number(compute, 0),
                    [&](Value x, Value sofar) { return e.multiplyAdd(x, x, sofar); });
  e.set(op.getResult(),
        e.mapElements(data.element, data.shape(), {data, keepDims(e, sum, data, mask)}, [&](ValueRange v) {
          Value norm = e.maximum(v[1], e.number(compute, op.getEps()));
          return e.div(v[0], e.make<math::SqrtOp>(norm));
        }));
}

/// x / (bias + alpha / size * sum of squares of the neighbours)^beta, neighbours -size/2 .. size - 1 -
/// size/2.
void lowerLrn(Emitter &e, relay::LrnOp op) {
  Tensor data = e.get(op.getData());
  Type compute = computeType(data.element);
  int64_t axis = relay::normalizeAxis(op.getAxis(), data.rank()), size = op.getSize(), rank = data.rank();
  SmallVector<int64_t> loops(data.shape()), kept = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  loops.push_back(size);
  Tensor sum = e.accumulate(
      data.element, loops, kept, e.number(compute, 0), {}, {}, [&](ValueRange i, ValueRange, Value sofar) {
        SmallVector<Value> source(i.drop_back());
        Value at = e.sub(e.add(i[axis], i[rank]), e.index(size / 2));
        source[axis] = e.clampIndex(at, data.dim(axis));
        Value x = e.load(data, source);
        return e.select(e.inRange(at, data.dim(axis)), e.multiplyAdd(x, x, sofar), sofar);
      });
  e.set(op.getResult(), e.mapElements(data.element, data.shape(), {data, sum}, [&](ValueRange v) {
    Value base =
        e.add(e.number(compute, op.getBias()), e.mul(e.number(compute, op.getAlpha() / double(size)), v[1]));
    return e.div(v[0], e.make<math::PowFOp>(base, e.number(compute, op.getBeta())));
  }));
}

void lowerRelu(Emitter &e, relay::ReluOp op) {
  Tensor x = e.get(op.getData());
  e.set(op.getResult(), e.mapElements(x.element, x.shape(), {x}, [&](ValueRange v) {
    return e.maximum(v[0], e.number(v[0].getType(), 0), isUnsigned(x.element));
  }));
}

void lowerLeakyRelu(Emitter &e, relay::LeakyReluOp op) {
  Tensor x = e.get(op.getData());
  Type compute = computeType(x.element);
  e.set(op.getResult(), e.mapElements(x.element, x.shape(), {x}, [&](ValueRange v) {
    return e.select(e.less(e.number(compute, 0), v[0]), v[0], e.mul(v[0], e.number(compute, op.getAlpha())));
  }));
}

void lowerPrelu(Emitter &e, relay::PreluOp op) {
  Tensor x = e.get(op.getData());
  Tensor alpha = alongAxis(e, e.get(op.getAlpha()), x, relay::normalizeAxis(op.getAxis(), x.rank()));
  e.set(op.getResult(), e.mapElements(x.element, x.shape(), {x, alpha}, [&](ValueRange v) {
    return e.select(e.less(e.number(v[0].getType(), 0), v[0]), v[0], e.mul(v[0], v[1]));
  }));
}

template <typename Op, bool isLog> void lowerSoftmax(Emitter &e, Op op) {
  Tensor data = e.get(op.getData());
  Type compute = computeType(data.element);
  SmallVector<bool> mask(data.rank(), false);
  mask[relay::normalizeAxis(op.getAxis(), data.rank())] = true;
  Tensor top =
      fold(e, data, mask, e.lowest(data.element), [&](Value x, Value sofar) { return e.maximum(x, sofar); });
  Tensor shifted = e.mapElements(compute, data.shape(), {data, keepDims(e, top, data, mask)},
                                 [&](ValueRange v) { return e.sub(v[0], v[1]); });
  Tensor powers = e.mapElements(compute, data.shape(), {shifted},
                                [&](ValueRange v) { return e.make<math::ExpOp>(v[0]); });
  Tensor sum =
      fold(e, powers, mask, e.number(compute, 0), [&](Value x, Value sofar) { return e.sumAdd(x, sofar); });
  Tensor divisor = keepDims(e, sum, data, mask);
  e.set(op.getResult(),
        e.mapElements(data.element, data.shape(), {isLog ? shifted : powers, divisor}, [&](ValueRange v) {
          return isLog ? e.sub(v[0], e.make<math::LogOp>(v[1])) : e.div(v[0], v[1]);
        }));
}

void lowerDropout(Emitter &e, relay::DropoutOp op) {
  Tensor data = e.get(op.getData());
  e.set(op.getResult(), data);
  Value one = e.number(computeType(data.element), 1);
  e.set(op.getMask(), {e.filled(e.toStorage(one, data.element), data.shape()), data.element});
}

void lowerBatchFlatten(Emitter &e, relay::BatchFlattenOp op) {
  e.set(op.getResult(),
        e.reshape(e.get(op.getData()), cast<RankedTensorType>(op.getResult().getType()).getShape()));
}

void lowerPad(Emitter &e, relay::PadOp op) {
  Tensor data = e.get(op.getData());
  Shape before, after, shape;
  for (int64_t i = 0; i < data.rank(); ++i) {
    before.push_back(op.getPadWidth()[2 * i]);
    after.push_back(op.getPadWidth()[2 * i + 1]);
    shape.push_back(data.dim(i) + before.back() + after.back());
  }
  if (op.getPadMode() == "constant")
    return e.set(op.getResult(), e.padWith(data, before, after, e.loadScalar(e.get(op.getPadVal()))));
  bool reflect = op.getPadMode() == "reflect";
  e.set(op.getResult(), e.map(data.element, shape, [&](ValueRange i) {
    SmallVector<Value> source;
    for (int64_t d = 0; d < data.rank(); ++d) {
      Value at = e.sub(i[d], e.index(before[d])), last = e.index(data.dim(d) - 1);
      if (reflect) {
        // Mirrored at the first and at the last element.
        at = e.make<arith::MaxSIOp>(at, e.sub(e.index(0), at));
        at = e.make<arith::MinSIOp>(at, e.sub(e.mul(last, e.index(2)), at));
      }
      source.push_back(e.clampIndex(at, data.dim(d)));
    }
    return e.load(data, source);
  }));
}

/// Channel of the deep tensor that holds the element (y, x) of a block and channel c of the wide tensor.
Value deepChannel(Emitter &e, StringRef mode, int64_t block, int64_t channels, Value c, Value y, Value x) {
  Value inBlock = e.add(e.mul(y, e.index(block)), x);
  return mode == "DCR" ? e.add(e.mul(inBlock, e.index(channels)), c)
                       : e.add(e.mul(c, e.index(block * block)), inBlock);
}

void lowerDepthToSpace(Emitter &e, relay::DepthToSpaceOp op) {
  Tensor data = e.get(op.getData());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  int c = relay::axisOf(op.getLayout(), 'C'), h = relay::axisOf(op.getLayout(), 'H'),
      w = relay::axisOf(op.getLayout(), 'W');
  e.set(op.getResult(), e.map(data.element, type.getShape(), [&](ValueRange i) {
    SmallVector<Value> source(i);
    Value block = e.index(op.getBlockSize());
    source[h] = e.make<arith::DivUIOp>(i[h], block);
    source[w] = e.make<arith::DivUIOp>(i[w], block);
    source[c] = deepChannel(e, op.getMode(), op.getBlockSize(), type.getDimSize(c), i[c],
                            e.make<arith::RemUIOp>(i[h], block), e.make<arith::RemUIOp>(i[w], block));
    return e.load(data, source);
  }));
}

void lowerSpaceToDepth(Emitter &e, relay::SpaceToDepthOp op) {
  Tensor data = e.get(op.getData());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  int c = relay::axisOf(op.getLayout(), 'C'), h = relay::axisOf(op.getLayout(), 'H'),
      w = relay::axisOf(op.getLayout(), 'W');
  int64_t block = op.getBlockSize(), channels = data.dim(c);
  e.set(op.getResult(), e.map(data.element, type.getShape(), [&](ValueRange i) {
    // The deep channel taken apart: its block position and its source channel.
    bool depthFirst = op.getMode() == "DCR";
    Value divisor = e.index(depthFirst ? channels : block * block);
    Value quotient = e.make<arith::DivUIOp>(i[c], divisor), rest = e.make<arith::RemUIOp>(i[c], divisor);
    Value inBlock = depthFirst ? quotient : rest, side = e.index(block);
    SmallVector<Value> source(i);
    source[c] = depthFirst ? rest : quotient;
    source[h] = e.add(e.mul(i[h], side), e.make<arith::DivUIOp>(inBlock, side));
    source[w] = e.add(e.mul(i[w], side), e.make<arith::RemUIOp>(inBlock, side));
    return e.load(data, source);
  }));
}

} // namespace

void addNnLowerings(LoweringTable &table) {
  addLowering(table, lowerBiasAdd);
  addLowering(table, lowerBatchNorm);
  addLowering(table, lowerInstanceNorm);
  addLowering(table, lowerLayerNorm);
  addLowering(table, lowerGroupNorm);
  addLowering(table, lowerL2Normalize);
  addLowering(table, lowerLrn);
  addLowering(table, lowerRelu);
  addLowering(table, lowerLeakyRelu);
  addLowering(table, lowerPrelu);
  addLowering(table, lowerSoftmax<relay::SoftmaxOp, false>);
  addLowering(table, lowerSoftmax<relay::LogSoftmaxOp, true>);
  addLowering(table, lowerDropout);
  addLowering(table, lowerBatchFlatten);
  addLowering(table, lowerPad);
  addLowering(table, lowerDepthToSpace);
  addLowering(table, lowerSpaceToDepth);
}

} // namespace tensorturbo::host
