// Transposition. After neighbouring axes that stay together are merged, the permutations handled are those
// that exchange two neighbouring groups: [a][b][c][d] -> [a][c][b][d] (NCHW to NHWC and back, matrices,
// channel shuffle).
//
//   d > 1:  a row of c blocks of d elements is loaded densely and stored with the stride of b.
//   d == 1: tiles go through the matrix engine's transpose.
#include "Conversion/RelayToTile/Lowerings.h"
#include "Dialect/Relay/Relay.h"
#include <algorithm>

using namespace mlir;
using namespace tensorturbo;
using namespace tensorturbo::tile;

namespace {
struct Exchange {
  int64_t a = 1, b = 1, c = 1, d = 1;
  int64_t sliceBytes() const { return b * c * d * halfBytes; }
};
} // namespace

static bool handlesTranspose(Operation *op) {
  return isa<relay::TransposeOp>(op);
}

static std::optional<Exchange> exchangeOf(relay::TransposeOp op, std::string &why) {
  ArrayRef<int64_t> in = shapeOf(op.getData());
  auto rank = static_cast<int64_t>(in.size());
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t axis = op.getAxes() ? (*op.getAxes())[static_cast<size_t>(i)] : rank - 1 - i;
    axis = axis < 0 ? axis + rank : axis;
    if (in[static_cast<size_t>(axis)] != 1)
      order.push_back(axis);
  }
  // Merge axes that follow each other in the output as in the input (axes of length 1 in between do not
  // count).
  auto follows = [&](int64_t first, int64_t second) {
    if (second <= first)
      return false;
    for (int64_t k = first + 1; k < second; ++k)
      if (in[static_cast<size_t>(k)] != 1)
        return false;
    return true;
  };
  SmallVector<std::pair<int64_t, int64_t>> groups; // first input axis, extent
  int64_t previous = -1;
  for (int64_t axis : order) {
    if (!groups.empty() && follows(previous, axis))
      groups.back().second *= in[static_cast<size_t>(axis)];
    else
      groups.push_back({axis, in[static_cast<size_t>(axis)]});
    previous = axis;
  }
  auto first = [&](size_t i) { return groups[i].first; };
  size_t n = groups.size();
  if (n <= 1)
    return Exchange{};
  Exchange e;
  size_t at = 0;
  // A leading group that keeps its place has the smallest axis.
  bool leads = n >= 3 && first(0) < first(1) && first(0) < first(2);
  if (leads)
    e.a = groups[at++].second;
  if (n - at >= 2 && n - at <= 3 && first(at) > first(at + 1)) {
    e.c = groups[at].second;
    e.b = groups[at + 1].second;
    if (n - at == 3 && first(at + 2) > first(at))
      e.d = groups[at + 2].second;
    else if (n - at == 3)
      at = n; // not this pattern
    if (at != n)
      return e;
  }
  why = "only permutations that exchange two neighbouring groups of axes, got " +
        shapeText(op.getAxes() ? *op.getAxes() : ArrayRef<int64_t>());
  return std::nullopt;
}

static std::string whyNotTranspose(Operation *op, int) {
  std::string why;
  auto e = exchangeOf(cast<relay::TransposeOp>(op), why);
  if (!e)
    return why;
  if (2 * e->sliceBytes() > levelCapacity(MemoryLevel::LLB) - 65536)
    return "a slice of " + std::to_string(e->sliceBytes()) + " bytes does not fit LLB with its result";
  if (e->d > 1 && e->b * e->d * halfBytes > maxStride)
    return "rows of the result must be at most 65534 bytes apart, got " +
           std::to_string(e->b * e->d * halfBytes);
  if (e->d > maxExtent || (e->d > 1 && e->c * e->d * halfBytes > 0x100000))
    return "a row of " + std::to_string(e->c * e->d) + " elements does not fit L1";
  return "";
}

/// One matrix of the chunk, b x c, through tiles of the matrix engine.
static void transposeMatrix(KernelBuilder &kb, const Exchange &e, Value inLlb, Value outLlb, Value slice,
                            int64_t tileB, int64_t tileC, Value l1, Value im) {
  OpBuilder &b = kb.builder();
  int64_t columnTiles = ceilDiv(e.c, tileC), rowTiles = ceilDiv(e.b, tileB);
  Value zero = kb.constant(0);
  kb.loop(kb.coreId(), kb.constant(columnTiles * rowTiles), kb.constant(kb.cores()), [&](Value index) {
    Value row = kb.mul(kb.div(index, kb.constant(columnTiles)), tileB);
    Value column = kb.mul(kb.rem(index, kb.constant(columnTiles)), tileC);
    Value rows = kb.min(kb.constant(tileB), kb.sub(kb.constant(e.b), row));
    Value columns = kb.min(kb.constant(tileC), kb.sub(kb.constant(e.c), column));
    Value from = kb.add(slice, kb.mul(kb.add(kb.mul(row, e.c), column), halfBytes));
    if (e.c * halfBytes <= maxStride) {
      kb.load(kb.view(l1), kb.view(inLlb, from), rows, columns, kb.constant(e.c * halfBytes));
    } else {
      kb.loop(zero, rows, kb.constant(1), [&](Value r) {
        kb.load(kb.view(l1, kb.mul(kb.mul(r, columns), halfBytes)),
                kb.view(inLlb, kb.add(from, kb.mul(r, e.c * halfBytes))), kb.constant(1), columns, zero);
      });
    }
    TransposeOp::create(b, kb.location(), kb.view(im), kb.view(l1), rows, columns, zero, zero);
    UnaryOp::create(b, kb.location(), UnaryKind::copy, kb.view(l1), kb.view(im), columns, rows, zero, zero);
    Value to = kb.add(slice, kb.mul(kb.add(kb.mul(column, e.b), row), halfBytes));
    if (e.b * halfBytes <= maxStride) {
      kb.store(kb.view(outLlb, to), kb.view(l1), columns, rows, kb.constant(e.b * halfBytes));
    } else {
      kb.loop(zero, columns, kb.constant(1), [&](Value c) {
        kb.store(kb.view(outLlb, kb.add(to, kb.mul(c, e.b * halfBytes))),
                 kb.view(l1, kb.mul(kb.mul(c, rows), halfBytes)), kb.constant(1), rows, zero);
      });
    }
  });
}

static void scatterRows(KernelBuilder &kb, const Exchange &e, Value inLlb, Value outLlb, Value slice,
                        Value l1) {
  kb.loop(kb.coreId(), kb.constant(e.b), kb.constant(kb.cores()), [&](Value row) {
    int64_t count = e.c * e.d;
    kb.loadLinear(l1, kb.constant(0), inLlb, kb.add(slice, kb.mul(row, count * halfBytes)),
                  kb.constant(count), count);
    kb.store(kb.view(outLlb, kb.add(slice, kb.mul(row, e.d * halfBytes))), kb.view(l1), kb.constant(e.c),
             kb.constant(e.d), kb.constant(e.b * e.d * halfBytes));
  });
}

/// Many small matrices: all b x c elements of a run of slices, one strided copy for each (b, c).
static void scatterColumns(KernelBuilder &kb, const Exchange &e, Value inLlb, Value outLlb, Value slices,
                           int64_t tileSlices, Value in, Value out) {
  OpBuilder &b = kb.builder();
  int64_t elements = e.b * e.c;
  kb.loop(kb.mul(kb.coreId(), tileSlices), slices, kb.constant(tileSlices * kb.cores()), [&](Value first) {
    Value count = kb.min(kb.constant(tileSlices), kb.sub(slices, first)),
          stride = kb.constant(elements * halfBytes);
    Value offset = kb.mul(first, elements * halfBytes), total = kb.mul(count, elements);
    kb.loadLinear(in, kb.constant(0), inLlb, offset, total, tileSlices * elements);
    kb.loop(0, e.b, 1, [&](Value row) {
      kb.loop(0, e.c, 1, [&](Value column) {
        Value from = kb.mul(kb.add(kb.mul(row, e.c), column), halfBytes),
              to = kb.mul(kb.add(kb.mul(column, e.b), row), halfBytes);
        UnaryOp::create(b, kb.location(), UnaryKind::copy, kb.view(out, to), kb.view(in, from), count,
                        kb.constant(1), stride, stride);
      });
    });
    kb.storeLinear(outLlb, offset, out, kb.constant(0), total, tileSlices * elements);
  });
}

static bool lowerTranspose(Operation *op, const KernelSpec &spec, LoweringContext &context,
                           std::string &why) {
  auto e = exchangeOf(cast<relay::TransposeOp>(op), why);
  if (!e)
    return false;
  int64_t sliceBytes = e->sliceBytes();
  int64_t slicesAtOnce = std::min(e->a, (spec.llbRoom - 65536) / 2 / sliceBytes);
  if (slicesAtOnce < 1) {
    why = "a slice of " + std::to_string(sliceBytes) + " bytes does not fit LLB with its result";
    return false;
  }
  KernelBuilder kb = builderFor(spec, context);
  Place in = inputPlace(kb, op->getOperand(0), spec), out = outputPlace(kb, spec);
  Value inLlb = kb.alloc(MemoryLevel::LLB, slicesAtOnce * sliceBytes, "input");
  Value outLlb = kb.alloc(MemoryLevel::LLB, slicesAtOnce * sliceBytes, "output");

  int64_t elements = e->b * e->c;
  // A matrix-engine tile costs about four instructions and the walk over its longer side.
  bool many = e->d == 1 && elements <= 4096 && e->a >= 16 && elements < e->a;
  int64_t tileB = std::min<int64_t>(e->b, 128), tileC = std::min<int64_t>(e->c, 131072 / tileB / 2);
  tileC = std::clamp<int64_t>(ceilDiv(e->c * ceilDiv(e->b, tileB), context.ncore), 1, tileC);
  // Few columns: long tiles along the rows instead.
  if (e->c < 128 && e->b > 128) {
    tileC = e->c;
    tileB = std::clamp<int64_t>(ceilDiv(e->b, context.ncore), 128, 65536 / tileC);
  }
  int64_t tileSlices =
      std::clamp<int64_t>(200000 / std::max<int64_t>(elements, 1), 1, ceilDiv(slicesAtOnce, context.ncore));
  Value first, second;
  if (many) {
    first = kb.alloc(MemoryLevel::L1, tileSlices * elements * halfBytes, "in");
    second = kb.alloc(MemoryLevel::L1, tileSlices * elements * halfBytes, "out");
  } else if (e->d > 1) {
    first = kb.alloc(MemoryLevel::L1, e->c * e->d * halfBytes, "row");
  } else {
    first = kb.alloc(MemoryLevel::L1, tileB * tileC * halfBytes, "tile");
    second = kb.alloc(MemoryLevel::IM, tileB * tileC * halfBytes, "transposed");
  }
  kb.loop(0, e->a, slicesAtOnce, [&](Value start) {
    Value slices = kb.min(kb.constant(slicesAtOnce), kb.sub(kb.constant(e->a), start));
    kb.onMaster([&] {
      kb.dma(inLlb, kb.constant(0), in.buffer, kb.add(in.offset, kb.mul(start, sliceBytes)),
             kb.mul(slices, sliceBytes), slicesAtOnce * sliceBytes);
    });
    kb.barrier();
    if (many)
      scatterColumns(kb, *e, inLlb, outLlb, slices, tileSlices, first, second);
    else
      kb.loop(kb.constant(0), slices, kb.constant(1), [&](Value slice) {
        Value offset = kb.mul(slice, sliceBytes);
        if (e->d > 1)
          scatterRows(kb, *e, inLlb, outLlb, offset, first);
        else
          transposeMatrix(kb, *e, inLlb, outLlb, offset, tileB, tileC, first, second);
      });
    kb.barrier();
    kb.onMaster([&] {
      kb.dma(out.buffer, kb.add(out.offset, kb.mul(start, sliceBytes)), outLlb, kb.constant(0),
             kb.mul(slices, sliceBytes), slicesAtOnce * sliceBytes);
    });
  });
  kb.finish();
  return true;
}

const Family tile::transposeFamily = {handlesTranspose, whyNotTranspose, lowerTranspose};
