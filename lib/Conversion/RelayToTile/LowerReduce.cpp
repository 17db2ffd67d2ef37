// Sums, means, maxima and minima over neighbouring axes, global pooling, softmax. The tensor is seen as
// [outer][reduced][inner].
//
//   inner == 1: rows of `reduced` elements, one result per row. Sums halve the rows down to 64 columns first,
//   which
//               is faster than one long chain and loses less.
//   inner > 1:  a matrix reduced x inner for each outer index, one result per column.
#include "Conversion/RelayToTile/Lowerings.h"
#include "Conversion/RelayToTile/PairwiseSums.h"
#include "Conversion/RelayToTile/SpatialNest.h"
#include "Dialect/Relay/Relay.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace tensorturbo;
using namespace tensorturbo::tile;
using schedule::ChunkPlan;
using schedule::WindowShape;

namespace {
enum class Fold { Sum, Mean, Max, Min, Softmax, LogSoftmax };
struct Reduction {
  Fold fold = Fold::Sum;
  Value input;
  int64_t outer = 1, reduced = 1, inner = 1;
  bool isSoftmax() const { return fold == Fold::Softmax || fold == Fold::LogSoftmax; }
};
} // namespace

static bool handlesReduce(Operation *op) {
  return isa<relay::SumOp, relay::MeanOp, relay::MaxOp, relay::MinOp, relay::GlobalAvgPool2DOp,
             relay::GlobalMaxPool2DOp, relay::AdaptiveAvgPool2DOp, relay::AdaptiveMaxPool2DOp,
             relay::SoftmaxOp, relay::LogSoftmaxOp>(op);
}

static void split(Reduction &r, ArrayRef<int64_t> shape, int64_t first, int64_t last) {
  r.outer = product(shape.take_front(static_cast<size_t>(first)));
  r.reduced = product(shape.slice(static_cast<size_t>(first), static_cast<size_t>(last - first + 1)));
  r.inner = product(shape.drop_front(static_cast<size_t>(last + 1)));
}

template <typename Op> static bool axesOf(Op op, Reduction &r, std::string &why) {
  ArrayRef<int64_t> shape = shapeOf(op.getData());
  auto rank = static_cast<int64_t>(shape.size());
  std::optional<ArrayRef<int64_t>> axes = op.getAxis();
  std::vector<bool> chosen(shape.size(), !axes || axes->empty());
  if (axes)
    for (int64_t a : *axes)
      chosen[static_cast<size_t>(a < 0 ? a + rank : a)] = true;
  if (op.getExclude())
    chosen.flip();
  // Axes of length 1 belong to either side.
  int64_t first = -1, last = -1;
  for (int64_t i = 0; i < rank; ++i)
    if (chosen[static_cast<size_t>(i)] && shape[static_cast<size_t>(i)] != 1) {
      first = first < 0 ? i : first;
      last = i;
    }
  for (int64_t i = first + 1; i < last; ++i)
    if (!chosen[static_cast<size_t>(i)] && shape[static_cast<size_t>(i)] != 1) {
      why = "reduced axes must be neighbours";
      return false;
    }
  r.input = op.getData();
  if (first < 0) {
    why = "nothing is reduced";
    return false;
  }
  split(r, shape, first, last);
  return true;
}

template <typename Op> static bool mapOf(Op op, Reduction &r, std::string &why) {
  StringRef layout = op.getLayout();
  if (layout != "NHWC" && layout != "NCHW") {
    why = "layout must be NHWC or NCHW, got " + layout.str();
    return false;
  }
  int64_t first = layout == "NHWC" ? 1 : 2;
  ArrayRef<int64_t> out = shapeOf(op.getResult()).slice(static_cast<size_t>(first), 2);
  if (out[0] != 1 || out[1] != 1) {
    why = "output size must be 1 x 1, got " + shapeText(out);
    return false;
  }
  r.input = op.getData();
  split(r, shapeOf(r.input), first, first + 1);
  return true;
}

static std::optional<Reduction> reductionOf(Operation *op, std::string &why) {
  Reduction r;
  bool good = llvm::TypeSwitch<Operation *, bool>(op)
                  .Case([&](relay::SumOp o) { return axesOf(o, r, why); })
                  .Case([&](relay::MeanOp o) { return r.fold = Fold::Mean, axesOf(o, r, why); })
                  .Case([&](relay::MaxOp o) { return r.fold = Fold::Max, axesOf(o, r, why); })
                  .Case([&](relay::MinOp o) { return r.fold = Fold::Min, axesOf(o, r, why); })
                  .Case([&](relay::GlobalAvgPool2DOp o) { return r.fold = Fold::Mean, mapOf(o, r, why); })
                  .Case([&](relay::AdaptiveAvgPool2DOp o) { return r.fold = Fold::Mean, mapOf(o, r, why); })
                  .Case([&](relay::GlobalMaxPool2DOp o) { return r.fold = Fold::Max, mapOf(o, r, why); })
                  .Case([&](relay::AdaptiveMaxPool2DOp o) { return r.fold = Fold::Max, mapOf(o, r, why); })
                  .Default([&](Operation *o) {
                    bool log = isa<relay::LogSoftmaxOp>(o);
                    r.fold = log ? Fold::LogSoftmax : Fold::Softmax;
                    r.input = o->getOperand(0);
                    ArrayRef<int64_t> shape = shapeOf(r.input);
                    int64_t axis =
                        log ? cast<relay::LogSoftmaxOp>(o).getAxis() : cast<relay::SoftmaxOp>(o).getAxis();
                    axis = axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis;
                    split(r, shape, axis, axis);
                    return true;
                  });
  if (!good)
    return std::nullopt;
  return r;
}

/// As a window operator for the common loops: images are outer indices, or (inner == 1) rows are.
static WindowShape windowOf(const Reduction &r) {
  WindowShape w;
  if (r.inner == 1) {
    w.height = w.outHeight = r.outer;
    w.channels = r.reduced;
    w.outChannels = r.isSoftmax() ? r.reduced : 1;
    return w;
  }
  w.batch = r.outer;
  w.channels = w.outChannels = r.inner;
  w.height = r.reduced;
  if (r.isSoftmax())
    w.outHeight = r.reduced; // a tile is the whole image all the same
  else
    w.kernelHeight = r.reduced;
  return w;
}

static constexpr int64_t l1Room = 0x140000 - tableBytes - 4096;

/// Columns of a tile for inner > 1: a divisor of `inner` so that the matrix fits L1.
static int64_t tileColumns(const Reduction &r, int ncore) {
  int64_t copies = r.isSoftmax() ? 3 : 2, best = 0;
  for (int64_t c = 1; c <= std::min<int64_t>(r.inner, 1024); ++c)
    if (r.inner % c == 0 && (r.reduced * copies + 6) * c * halfBytes + 1024 <= l1Room)
      if (c <= 64 || ceilDiv(r.inner, c) * r.outer >= ncore)
        best = c;
  return best;
}

static std::string whyNotReduce(Operation *op, int ncore) {
  std::string why;
  auto r = reductionOf(op, why);
  if (!r)
    return why;
  if (r->inner == 1 && (r->reduced > maxStride / halfBytes || r->reduced * 4 * halfBytes > l1Room))
    return "at most 32767 elements can be reduced to one, got " + std::to_string(r->reduced);
  if (r->inner > 1) {
    if (r->reduced > maxExtent || r->inner > maxStride / halfBytes || tileColumns(*r, ncore) == 0)
      return "a matrix of " + std::to_string(r->reduced) + " x " + std::to_string(r->inner) +
             " is too large to be reduced along its rows";
    auto chunk = schedule::chooseChunk(windowOf(*r), {}, 256 * 1024);
    if (!chunk || chunk->rowsPerChunk)
      return "a matrix of " + std::to_string(r->reduced) + " x " + std::to_string(r->inner) +
             " does not fit LLB";
  }
  return "";
}

namespace {
/// Emits the body for one matrix in L1: rows x columns at `x`, folded along rows (one result per row) or
/// columns.
class FoldEmitter {
public:
  FoldEmitter(KernelBuilder &kb, const Reduction &r) : kb(kb), b(kb.builder()), loc(kb.location()), r(r) {}

  Axis axis() const { return r.inner == 1 ? Axis::rows : Axis::columns; }

  /// Scratch for `rows` x `columns` at most; `results` values at most.
  void allocate(int64_t rows, int64_t columns, int64_t results) {
    scratch = kb.alloc(MemoryLevel::L1, rows * columns * halfBytes, "scratch");
    if (!r.isSoftmax())
      return;
    most = kb.alloc(MemoryLevel::L1, results * halfBytes, "max");
    sum = kb.alloc(MemoryLevel::L1, results * halfBytes, "sum");
    correction = kb.alloc(MemoryLevel::L1, results * halfBytes, "newton");
  }

  void prepare(ConstantPool &pool) {
    if (r.fold != Fold::LogSoftmax)
      return;
    UnaryFunction log{"log", [](double x) { return std::log(x); }};
    Value global = kb.ddr(pool.add(lookupTable(log), "table"));
    Value llb = kb.alloc(MemoryLevel::LLB, tableBytes, "table");
    table = kb.alloc(MemoryLevel::L1, tableBytes, "table");
    kb.onMaster(
        [&] { kb.dma(llb, kb.constant(0), global, kb.constant(0), kb.constant(tableBytes), tableBytes); });
    kb.barrier();
    kb.loadLinear(table, kb.constant(0), llb, kb.constant(0), kb.constant(tableBytes / 2), tableBytes / 2);
  }

  /// Plain reductions: result vector at `dst`. `rowCount` and `columnCount` are static where the fold runs
  /// along them. x may be overwritten.
  void reduce(Value dst, L1Matrix x, Value rows, Value columns, int64_t rowCount, int64_t columnCount) {
    bool adds = r.fold == Fold::Sum || r.fold == Fold::Mean;
    float scale = r.fold == Fold::Mean ? 1.0f / float(r.reduced) : 1.0f;
    if (adds && axis() == Axis::rows)
      return sumRows(kb, dst, x, {scratch, kb.constant(0)}, rows, columnCount, scale);
    if (adds)
      return sumColumns(kb, dst, x, x, rowCount, columns, scale);
    ReduceOp::create(b, loc, r.fold == Fold::Max ? ReduceKind::max : ReduceKind::min, axis(), dst,
                     kb.view(x.buffer, x.offset), rows, columns, kb.constant(0), kb.constant(0), FloatAttr());
  }

  /// The matrix becomes its softmax, in place.
  void softmax(L1Matrix matrix, Value rows, Value columns, Value results, int64_t columnCount) {
    Value zero = kb.constant(0), x = kb.view(matrix.buffer, matrix.offset);
    L1Matrix exponentials{scratch, zero};
    auto vector = [&](BinaryKind kind, Value v) {
      BinaryVectorOp::create(b, loc, kind, axis(), x, x, kb.view(v), rows, columns, zero, zero);
    };
    auto each = [&](BinaryKind kind, Value dst, Value lhs, Value rhs) {
      BinaryOp::create(b, loc, kind, kb.view(dst), kb.view(lhs), kb.view(rhs), kb.constant(1), results, zero,
                       zero, zero);
    };
    ReduceOp::create(b, loc, ReduceKind::max, axis(), kb.view(most), x, rows, columns, zero, zero,
                     FloatAttr());
    vector(BinaryKind::sub, most);
    UnaryOp::create(b, loc, UnaryKind::exp, kb.view(scratch), x, rows, columns, zero, zero);
    bool log = r.fold == Fold::LogSoftmax;
    // The sum overwrites the exponentials where it needs room.
    bool overwrites = axis() == Axis::rows ? columnCount > 64 : r.reduced > 16;
    if (!log && overwrites)
      UnaryOp::create(b, loc, UnaryKind::copy, x, kb.view(scratch), rows, columns, zero, zero);
    if (axis() == Axis::rows)
      sumRows(kb, kb.view(sum), exponentials, exponentials, rows, columnCount, 1.0f);
    else
      sumColumns(kb, kb.view(sum), exponentials, exponentials, r.reduced, columns, 1.0f);
    if (log) {
      LookupOp::create(b, loc, kb.view(sum), kb.view(sum), kb.view(table), kb.constant(1), results, zero,
                       zero);
      return vector(BinaryKind::sub, sum);
    }
    // The chip's reciprocal is off by up to 0.5 %; one Newton step r(2 - xr) brings it to 0.1 %.
    UnaryOp::create(b, loc, UnaryKind::reciprocal, kb.view(most), kb.view(sum), kb.constant(1), results, zero,
                    zero);
    each(BinaryKind::mul, correction, sum, most);
    auto scalar = [&](BinaryKind kind, float value) {
      BinaryScalarOp::create(b, loc, kind, llvm::APFloat(value), kb.view(correction), kb.view(correction),
                             kb.constant(1), results, zero, zero);
    };
    scalar(BinaryKind::mul, -1.0f);
    scalar(BinaryKind::add, 2.0f);
    each(BinaryKind::mul, most, most, correction);
    BinaryVectorOp::create(b, loc, BinaryKind::mul, axis(), x, overwrites ? x : kb.view(scratch),
                           kb.view(most), rows, columns, zero, zero);
  }

private:
  KernelBuilder &kb;
  OpBuilder &b;
  Location loc;
  const Reduction &r;
  Value scratch, most, sum, correction, table;
};
} // namespace

static void emitRows(KernelBuilder &kb, const Reduction &r, SpatialNest &nest, FoldEmitter &fold,
                     int64_t rows) {
  int64_t columns = r.reduced, tile = paddedBytes(rows * columns * halfBytes),
          results = paddedBytes(rows * halfBytes);
  Value x = kb.alloc(MemoryLevel::L1, 2 * tile, "rows");
  Value out = r.isSoftmax() ? Value() : kb.alloc(MemoryLevel::L1, 2 * results, "results");
  fold.allocate(rows, columns, rows);
  nest.forEachChunk([&] {
    nest.forEachTilePipelined(
        rows, kb.coreId(), kb.cores(),
        [&](const SpatialTile &t, Value slot) {
          kb.loadLinear(x, kb.mul(slot, tile), nest.inputLlb(), t.inOffset, kb.mul(t.outRows, columns),
                        rows * columns);
        },
        [] {},
        [&](const SpatialTile &t, Value slot) {
          Value at = kb.mul(slot, tile);
          if (r.isSoftmax()) {
            fold.softmax({x, at}, t.outRows, kb.constant(columns), t.outRows, columns);
            kb.storeLinear(nest.outputLlb(), t.outOffset, x, at, kb.mul(t.outRows, columns), rows * columns);
          } else {
            Value to = kb.mul(slot, results);
            fold.reduce(kb.view(out, to), {x, at}, t.outRows, kb.constant(columns), rows, columns);
            kb.storeLinear(nest.outputLlb(), t.outOffset, out, to, t.outRows, rows);
          }
        });
  });
}

static void emitColumns(KernelBuilder &kb, const Reduction &r, SpatialNest &nest, FoldEmitter &fold,
                        int64_t columns) {
  int64_t tile = paddedBytes(r.reduced * columns * halfBytes), results = paddedBytes(columns * halfBytes);
  Value x = kb.alloc(MemoryLevel::L1, 2 * tile, "matrix");
  Value out = r.isSoftmax() ? Value() : kb.alloc(MemoryLevel::L1, 2 * results, "results");
  if (r.isSoftmax())
    fold.allocate(r.reduced, columns, columns);
  int64_t blocks = r.inner / columns;
  // Cores share out the column blocks first, then the matrices.
  int64_t coreBlocks = 1;
  while (coreBlocks * 2 <= kb.cores() && coreBlocks * 2 <= blocks)
    coreBlocks *= 2;
  nest.forEachChunk([&] {
    Value coreBlock = kb.rem(kb.coreId(), kb.constant(coreBlocks)),
          coreRow = kb.div(kb.coreId(), kb.constant(coreBlocks));
    Value rows = kb.constant(r.reduced), width = kb.constant(columns),
          stride = kb.constant(r.inner * halfBytes);
    kb.loop(coreBlock, kb.constant(blocks), kb.constant(coreBlocks), [&](Value block) {
      Value offset = kb.mul(block, columns * halfBytes);
      int64_t tileRows = r.isSoftmax() ? r.reduced : 1;
      nest.forEachTilePipelined(
          tileRows, coreRow, kb.cores() / coreBlocks,
          [&](const SpatialTile &t, Value slot) {
            kb.load(kb.view(x, kb.mul(slot, tile)), kb.view(nest.inputLlb(), kb.add(t.inOffset, offset)),
                    rows, width, stride);
          },
          [] {},
          [&](const SpatialTile &t, Value slot) {
            Value at = kb.mul(slot, tile), to = kb.view(nest.outputLlb(), kb.add(t.outOffset, offset));
            if (r.isSoftmax()) {
              fold.softmax({x, at}, rows, width, width, columns);
              kb.store(to, kb.view(x, at), rows, width, stride);
            } else {
              Value result = kb.view(out, kb.mul(slot, results));
              fold.reduce(result, {x, at}, rows, width, r.reduced, columns);
              kb.store(to, result, kb.constant(1), width, kb.constant(0));
            }
          });
    });
  });
}

static bool lowerReduce(Operation *op, const KernelSpec &spec, LoweringContext &context, std::string &why) {
  auto r = reductionOf(op, why);
  if (!r)
    return false;
  WindowShape w = windowOf(*r);
  auto chunk =
      schedule::chooseChunk(w, stagingOf(spec, r->input), r->fold == Fold::LogSoftmax ? tableBytes : 0);
  if (!chunk) {
    why = "one row of " + std::to_string(w.channels) + " elements does not fit LLB";
    return false;
  }
  KernelBuilder kb = builderFor(spec, context);
  FoldEmitter fold(kb, *r);
  fold.prepare(context.pool);
  SpatialNest nest(kb, w, *chunk, inputPlace(kb, r->input, spec), outputPlace(kb, spec), {});
  if (r->inner == 1) {
    int64_t rowBytes = r->reduced * halfBytes;
    int64_t rowsInChunk = chunk->rowsPerChunk ? chunk->rowsPerChunk : w.outHeight;
    int64_t rows = std::clamp<int64_t>(std::min(l1Room / 4 / (rowBytes + 64), int64_t(32768) / rowBytes + 1),
                                       1, ceilDiv(rowsInChunk, context.ncore));
    emitRows(kb, *r, nest, fold, rows);
  } else {
    emitColumns(kb, *r, nest, fold, tileColumns(*r, context.ncore));
  }
  kb.finish();
  return true;
}

const Family tile::reduceFamily = {handlesReduce, whyNotReduce, lowerReduce};
