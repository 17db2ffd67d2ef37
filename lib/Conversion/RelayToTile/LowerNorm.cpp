// Layer normalisation over the last axis: bands of rows through L1, in two buffers.
//
//   mean -> x - mean -> what is left of the mean, likewise -> variance -> times 1/sqrt(variance + epsilon) ->
//   times gamma, plus beta
//
// Squares are taken of (x - mean) / 4 so that deviations up to 1023 stay in range.
#include "Conversion/RelayToTile/Lowerings.h"
#include "Conversion/RelayToTile/PairwiseSums.h"
#include "Conversion/RelayToTile/SpatialNest.h"
#include "Dialect/Relay/Relay.h"
#include "Numerics/Half.h"
#include <algorithm>

using namespace mlir;
using namespace tensorturbo;
using namespace tensorturbo::tile;
using schedule::WindowShape;

static constexpr int64_t mostColumns = maxStride / halfBytes;

static bool handlesNorm(Operation *op) {
  return isa<relay::LayerNormOp>(op);
}

/// Rows of the last axis.
static WindowShape windowOf(relay::LayerNormOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getData());
  WindowShape w;
  w.channels = w.outChannels = shape.back();
  w.height = w.outHeight = product(shape.drop_back());
  return w;
}

static std::string whyNotNorm(Operation *op, int) {
  auto norm = cast<relay::LayerNormOp>(op);
  auto rank = static_cast<int64_t>(shapeOf(norm.getData()).size());
  int64_t axis = norm.getAxis();
  if ((axis < 0 ? axis + rank : axis) != rank - 1)
    return "axis must be the last one, got " + std::to_string(axis) + " of " + std::to_string(rank);
  if (!relay::constantOf(norm.getGamma()) || !relay::constantOf(norm.getBeta()))
    return "gamma and beta must be constant";
  if (int64_t columns = shapeOf(norm.getData()).back(); columns > mostColumns)
    return "the last axis must have at most " + std::to_string(mostColumns) + " elements, got " +
           std::to_string(columns);
  return "";
}

namespace {
class NormEmitter {
public:
  NormEmitter(KernelBuilder &kb, relay::LayerNormOp op, int64_t columns)
      : kb(kb), b(kb.builder()), loc(kb.location()), columns(columns), epsilon(float(op.getEpsilon())) {
    auto vector = [&](Value operand, bool used, float neutral) {
      std::vector<float> values = floatsOf(*relay::constantOf(operand));
      return used && llvm::any_of(values, [&](float v) { return v != neutral; }) ? values
                                                                                 : std::vector<float>();
    };
    gammaValues = vector(op.getGamma(), op.getScale(), 1.0f);
    betaValues = vector(op.getBeta(), op.getCenter(), 0.0f);
  }

  /// Bytes of L1 that the vectors take.
  int64_t vectorBytes() const {
    return static_cast<int64_t>(gammaValues.size() + betaValues.size()) * halfBytes + 128;
  }

  void prepare(ConstantPool &pool, int64_t rows) {
    gamma = bring(pool, gammaValues, "gamma");
    beta = bring(pool, betaValues, "beta");
    scratch = kb.alloc(MemoryLevel::L1, rows * columns * halfBytes, "squares");
    mean = kb.alloc(MemoryLevel::L1, 2 * rows * halfBytes, "mean");
    variance = kb.alloc(MemoryLevel::L1, 2 * rows * halfBytes, "variance");
    inverse = kb.alloc(MemoryLevel::L1, 2 * rows * halfBytes, "inverse");
  }

  /// The rows at `x`, in place.
  void emit(L1Matrix x, Value rows) {
    L1Matrix squares{scratch, kb.constant(0)};
    Value data = kb.view(x.buffer, x.offset), square = kb.view(scratch);
    sumRows(kb, kb.view(mean), x, squares, rows, columns, 1.0f / float(columns));
    vector(BinaryKind::sub, Axis::rows, data, mean, rows);
    // What rounding left of the mean matters where the mean is much larger than the deviations.
    sumRows(kb, kb.view(mean), x, squares, rows, columns, 1.0f / float(columns));
    vector(BinaryKind::sub, Axis::rows, data, mean, rows);
    Value width = kb.constant(columns), zero = kb.constant(0);
    BinaryScalarOp::create(b, loc, BinaryKind::mul, llvm::APFloat(0.0625f), square, data, rows, width, zero,
                           zero);
    BinaryOp::create(b, loc, BinaryKind::mul, square, square, data, rows, width, zero, zero, zero);
    sumRows(kb, kb.view(variance), squares, squares, rows, columns, 16.0f / float(columns));
    inverseRoot(rows);
    vector(BinaryKind::mul, Axis::rows, data, inverse, rows);
    if (gamma)
      vector(BinaryKind::mul, Axis::columns, data, gamma, rows);
    if (beta)
      vector(BinaryKind::add, Axis::columns, data, beta, rows);
  }

private:
  Value bring(ConstantPool &pool, const std::vector<float> &values, StringRef name) {
    if (values.empty())
      return {};
    int64_t bytes = columns * halfBytes;
    Value global = kb.ddr(pool.add(halvesOf(values), name)), zero = kb.constant(0);
    Value llb = kb.alloc(MemoryLevel::LLB, bytes, name), l1 = kb.alloc(MemoryLevel::L1, bytes, name);
    kb.onMaster([&] { kb.dma(llb, zero, global, zero, kb.constant(bytes), bytes); });
    kb.barrier();
    kb.loadLinear(l1, zero, llb, zero, kb.constant(columns), columns);
    return l1;
  }

  void vector(BinaryKind kind, Axis axis, Value data, Value v, Value rows) {
    Value zero = kb.constant(0);
    BinaryVectorOp::create(b, loc, kind, axis, data, data, kb.view(v), rows, kb.constant(columns), zero,
                           zero);
  }

  /// inverse = 1 / sqrt(variance + epsilon). The chip's root and reciprocal are off by some 0.1 %; a Newton
  /// step y (3 - v y y) / 2, multiplied in an order that stays in range, brings that to the last place. They
  /// fail below the normal halves, so v is the product of what it has below 1/16, times 1024, and above.
  void inverseRoot(Value rows) {
    Value zero = kb.constant(0), one = kb.constant(1), both = kb.mul(rows, 2),
          second = kb.mul(rows, halfBytes);
    Value v = kb.view(variance), y = kb.view(inverse), t = kb.view(mean);
    auto scalar = [&](BinaryKind kind, Value to, Value from, float value, Value count) {
      float h = numerics::halfToFloat(numerics::roundToHalf(value));
      BinaryScalarOp::create(b, loc, kind, llvm::APFloat(h), to, from, one, count, zero, zero);
    };
    auto unary = [&](UnaryKind kind, Value to, Value from) {
      UnaryOp::create(b, loc, kind, to, from, one, both, zero, zero);
    };
    auto times = [&](Value to, Value x, Value z, Value count) {
      BinaryOp::create(b, loc, BinaryKind::mul, to, x, z, one, count, zero, zero, zero);
    };
    scalar(BinaryKind::add, v, v, epsilon, rows);
    // The smallest half above zero: rows of equal elements give zeros, as with any epsilon.
    scalar(BinaryKind::max, v, v, 0x1p-24f, rows);
    scalar(BinaryKind::max, kb.view(variance, second), v, 0.0625f, rows);
    scalar(BinaryKind::min, v, v, 0.0625f, rows);
    scalar(BinaryKind::mul, v, v, 1024.0f, rows);
    unary(UnaryKind::sqrt, t, v);
    unary(UnaryKind::reciprocal, y, t);
    times(t, v, y, both);
    times(t, t, y, both);
    scalar(BinaryKind::mul, t, t, -0.5f, both);
    scalar(BinaryKind::add, t, t, 1.5f, both);
    times(y, y, t, both);
    // 1/sqrt(1024 low) * 1/sqrt(high), where one of low and high is 1/16: times 32 and by 4.
    times(y, y, kb.view(inverse, second), rows);
    scalar(BinaryKind::mul, y, y, 8.0f, rows);
  }

  KernelBuilder &kb;
  OpBuilder &b;
  Location loc;
  int64_t columns;
  float epsilon;
  std::vector<float> gammaValues, betaValues;
  Value gamma, beta, scratch, mean, variance, inverse;
};
} // namespace

static bool lowerNorm(Operation *op, const KernelSpec &spec, LoweringContext &context, std::string &why) {
  auto norm = cast<relay::LayerNormOp>(op);
  WindowShape w = windowOf(norm);
  int64_t rowBytes = w.channels * halfBytes;
  auto chunk = schedule::chooseChunk(w, stagingOf(spec, norm.getData()), 2 * rowBytes + 128);
  if (!chunk) {
    why = "one row of " + std::to_string(w.channels) + " elements does not fit LLB";
    return false;
  }
  KernelBuilder kb = builderFor(spec, context);
  NormEmitter emitter(kb, norm, w.channels);
  int64_t rowsInChunk = chunk->rowsPerChunk ? chunk->rowsPerChunk : w.outHeight;
  int64_t room = freeL1(kb) - emitter.vectorBytes();
  int64_t rows = std::clamp<int64_t>(std::min(room / 3 / (rowBytes + 64), int64_t(32768) / rowBytes + 1), 1,
                                     ceilDiv(rowsInChunk, context.ncore));
  emitter.prepare(context.pool, rows);
  SpatialNest nest(kb, w, *chunk, inputPlace(kb, norm.getData(), spec), outputPlace(kb, spec), {});
  int64_t slotBytes = paddedBytes(rows * rowBytes);
  Value x = kb.alloc(MemoryLevel::L1, 2 * slotBytes, "rows");
  nest.forEachChunk([&] {
    nest.forEachTilePipelined(
        rows, kb.coreId(), kb.cores(),
        [&](const SpatialTile &t, Value slot) {
          kb.loadLinear(x, kb.mul(slot, slotBytes), nest.inputLlb(), t.inOffset,
                        kb.mul(t.outRows, w.channels), rows * w.channels);
        },
        [] {},
        [&](const SpatialTile &t, Value slot) {
          Value offset = kb.mul(slot, slotBytes);
          emitter.emit({x, offset}, t.outRows);
          kb.storeLinear(nest.outputLlb(), t.outOffset, x, offset, kb.mul(t.outRows, w.channels),
                         rows * w.channels);
        });
  });
  kb.finish();
  return true;
}

const Family tile::normFamily = {handlesNorm, whyNotNorm, lowerNorm};
