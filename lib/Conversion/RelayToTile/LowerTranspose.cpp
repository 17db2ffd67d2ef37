// Transposition. After neighbouring axes that stay together are merged, the permutations handled are those
// that exchange two neighbouring groups: [a][b][c][d] -> [a][c][b][d] (NCHW to NHWC and back, matrices,
// channel shuffle).
//
//   d > 1:  a row of c blocks of d elements is loaded densely and stored with the stride of b; or some rows
//   are
//           regrouped in L1, which takes fewer transfers.
//   d == 1: tiles go through the matrix engine's transpose.
#include "Conversion/RelayToTile/BatchNest.h"
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

namespace {
/// How a transposition is cut into work items.
struct Plan {
  enum class Way {
    Matrix, ///< d == 1: a tile of one matrix through the matrix engine
    Single, ///< d == 1: one copy for each place of many tiny matrices
    Many,   ///< d == 1: many small matrices, each turned by one instruction
    Rows,   ///< d > 1: a row of c blocks, stored with the stride of b
    Blocks, ///< d > 1: some rows, regrouped in L1 so that each block of c is stored densely
  } way;
  /// Matrix: size of a tile. Single, Many: slices of a tile in `tileB`. Blocks: rows of a tile in `tileB`.
  int64_t tileB = 1, tileC = 1;
};
} // namespace

/// Halves that a tile may have, of which L1 and IM hold two each.
static constexpr int64_t l1Tile = 131072, imTile = 65536;

static Plan planOf(const Exchange &e, int ncore) {
  int64_t elements = e.b * e.c;
  Plan plan{Plan::Way::Matrix};
  if (e.d > 1) {
    int64_t row = e.c * e.d, most = std::min<int64_t>(l1Tile / row, 256);
    plan.way = Plan::Way::Rows;
    if (most < 2)
      return plan;
    plan.tileB = std::clamp<int64_t>(ceilDiv(e.b * std::min<int64_t>(e.a, 4), 2 * ncore), 1,
                                     std::min<int64_t>(most, e.b));
    // Transfers: c + 1 for a tile of rows, or two for each row.
    if (e.c + 1 < 2 * plan.tileB)
      plan.way = Plan::Way::Blocks;
    return plan;
  }
  // A matrix-engine tile costs about four instructions and the walk over its longer side.
  if (elements <= 4096 && e.a >= 16 && elements < e.a) {
    bool tiny = elements <= 24;
    plan.way = tiny ? Plan::Way::Single : Plan::Way::Many;
    plan.tileB = std::clamp<int64_t>(ceilDiv(e.a, 2 * ncore), 1, (tiny ? l1Tile : imTile / 2) / elements);
    return plan;
  }
  plan.tileB = std::min<int64_t>(e.b, 128);
  plan.tileC = std::min<int64_t>(e.c, imTile / plan.tileB);
  plan.tileC = std::clamp<int64_t>(ceilDiv(e.c * ceilDiv(e.b, plan.tileB), 2 * ncore), 1, plan.tileC);
  // Few columns: long tiles along the rows instead.
  if (e.c < 128 && e.b > 128) {
    plan.tileC = e.c;
    plan.tileB = std::clamp<int64_t>(ceilDiv(e.b, 2 * ncore), 128, imTile / plan.tileC);
  }
  return plan;
}

namespace {
class TransposeEmitter {
public:
  TransposeEmitter(KernelBuilder &kb, const Exchange &e, const Plan &plan, BatchNest &nest)
      : kb(kb), b(kb.builder()), e(e), plan(plan), nest(nest) {}

  void run() {
    using Way = Plan::Way;
    int64_t tile = plan.way == Way::Matrix   ? plan.tileB * plan.tileC
                   : plan.way == Way::Rows   ? e.c * e.d
                   : plan.way == Way::Blocks ? plan.tileB * e.c * e.d
                                             : plan.tileB * e.b * e.c;
    most = tile;
    slotBytes = paddedBytes(tile * halfBytes);
    in = kb.alloc(MemoryLevel::L1, 2 * slotBytes, "in");
    if (plan.way != Way::Rows)
      out = kb.alloc(MemoryLevel::L1, 2 * slotBytes, "out");
    if (plan.way == Way::Matrix || plan.way == Way::Many)
      im = kb.alloc(MemoryLevel::IM, 2 * slotBytes, "transposed");
    nest.forEachRun([&](Value count) {
      switch (plan.way) {
      case Way::Matrix:
        return matrices(count);
      case Way::Single:
      case Way::Many:
        return slices(count);
      case Way::Rows:
        return rows(count);
      case Way::Blocks:
        return blocks(count);
      }
    });
  }

private:
  Value slotOf(Value slot) { return kb.mul(slot, slotBytes); }
  Value from(Value slice, Value bytes) { return kb.add(nest.offset(0, slice), bytes); }
  Value to(Value slice, Value bytes) { return kb.add(nest.offset(1, slice), bytes); }

  /// Dense copy of rows x columns halves; what runs along the columns, or the rows, is a matter of time
  /// alone.
  void copyFlat(Value dst, Value src, Value rows, Value columns, bool alongRows) {
    Value zero = kb.constant(0);
    UnaryOp::create(b, kb.location(), UnaryKind::copy, dst, src, alongRows ? columns : rows,
                    alongRows ? rows : columns, zero, zero);
  }

  /// Tiles of the matrices through the matrix engine.
  void matrices(Value count) {
    int64_t columnTiles = ceilDiv(e.c, plan.tileC), rowTiles = ceilDiv(e.b, plan.tileB);
    struct Tile {
      Value slice, row, column, rows, columns;
    };
    auto tileOf = [&](Value index) {
      Tile t;
      t.slice = kb.div(index, kb.constant(columnTiles * rowTiles));
      Value inSlice = kb.rem(index, kb.constant(columnTiles * rowTiles));
      t.row = kb.mul(kb.div(inSlice, kb.constant(columnTiles)), plan.tileB);
      t.column = kb.mul(kb.rem(inSlice, kb.constant(columnTiles)), plan.tileC);
      t.rows = kb.min(kb.constant(plan.tileB), kb.sub(kb.constant(e.b), t.row));
      t.columns = kb.min(kb.constant(plan.tileC), kb.sub(kb.constant(e.c), t.column));
      return t;
    };
    Value zero = kb.constant(0);
    pipelinedLoop(
        kb, kb.coreId(), kb.mul(count, columnTiles * rowTiles), kb.cores(),
        [&](Value index, Value slot) {
          Tile t = tileOf(index);
          Value at = from(t.slice, kb.mul(kb.add(kb.mul(t.row, e.c), t.column), halfBytes));
          if (e.c * halfBytes <= maxStride)
            return kb.load(kb.view(in, slotOf(slot)), kb.view(nest.buffer(0), at), t.rows, t.columns,
                           kb.constant(e.c * halfBytes));
          kb.loop(zero, t.rows, kb.constant(1), [&](Value r) {
            kb.load(kb.view(in, kb.add(slotOf(slot), kb.mul(kb.mul(r, t.columns), halfBytes))),
                    kb.view(nest.buffer(0), kb.add(at, kb.mul(r, e.c * halfBytes))), kb.constant(1),
                    t.columns, zero);
          });
        },
        [&](Value index, Value slot) {
          Tile t = tileOf(index);
          Value turned = kb.view(im, slotOf(slot));
          TransposeOp::create(b, kb.location(), turned, kb.view(in, slotOf(slot)), t.rows, t.columns, zero,
                              zero);
          copyFlat(kb.view(out, slotOf(slot)), turned, t.columns, t.rows, plan.tileB < plan.tileC);
          Value at = to(t.slice, kb.mul(kb.add(kb.mul(t.column, e.b), t.row), halfBytes));
          if (e.b * halfBytes <= maxStride)
            return kb.store(kb.view(nest.buffer(1), at), kb.view(out, slotOf(slot)), t.columns, t.rows,
                            kb.constant(e.b * halfBytes));
          kb.loop(zero, t.columns, kb.constant(1), [&](Value c) {
            kb.store(kb.view(nest.buffer(1), kb.add(at, kb.mul(c, e.b * halfBytes))),
                     kb.view(out, kb.add(slotOf(slot), kb.mul(kb.mul(c, t.rows), halfBytes))), kb.constant(1),
                     t.rows, zero);
          });
        });
  }

  /// Many small matrices: some slices at once.
  void slices(Value count) {
    int64_t elements = e.b * e.c;
    Value zero = kb.constant(0), stride = kb.constant(elements * halfBytes);
    Value tiles = kb.div(kb.add(count, plan.tileB - 1), kb.constant(plan.tileB));
    auto countOf = [&](Value first) { return kb.min(kb.constant(plan.tileB), kb.sub(count, first)); };
    pipelinedLoop(
        kb, kb.coreId(), tiles, kb.cores(),
        [&](Value index, Value slot) {
          Value first = kb.mul(index, plan.tileB);
          kb.loadLinear(in, slotOf(slot), nest.buffer(0), from(first, zero), kb.mul(countOf(first), elements),
                        most);
        },
        [&](Value index, Value slot) {
          Value first = kb.mul(index, plan.tileB), here = countOf(first), base = slotOf(slot);
          if (plan.way == Plan::Way::Single) {
            kb.loop(0, e.b, 1, [&](Value row) {
              kb.loop(0, e.c, 1, [&](Value column) {
                Value source = kb.mul(kb.add(kb.mul(row, e.c), column), halfBytes),
                      target = kb.mul(kb.add(kb.mul(column, e.b), row), halfBytes);
                UnaryOp::create(b, kb.location(), UnaryKind::copy, kb.view(out, kb.add(base, target)),
                                kb.view(in, kb.add(base, source)), here, kb.constant(1), stride, stride);
              });
            });
          } else {
            kb.loop(zero, here, kb.constant(1), [&](Value slice) {
              Value at = kb.add(base, kb.mul(slice, elements * halfBytes));
              TransposeOp::create(b, kb.location(), kb.view(im, at), kb.view(in, at), kb.constant(e.b),
                                  kb.constant(e.c), zero, zero);
            });
            copyFlat(kb.view(out, base), kb.view(im, base), here, kb.constant(elements), false);
          }
          kb.storeLinear(nest.buffer(1), to(first, zero), out, base, kb.mul(here, elements), most);
        });
  }

  void rows(Value count) {
    int64_t row = e.c * e.d;
    pipelinedLoop(
        kb, kb.coreId(), kb.mul(count, e.b), kb.cores(),
        [&](Value index, Value slot) {
          Value slice = kb.div(index, kb.constant(e.b)), r = kb.rem(index, kb.constant(e.b));
          kb.loadLinear(in, slotOf(slot), nest.buffer(0), from(slice, kb.mul(r, row * halfBytes)),
                        kb.constant(row), row);
        },
        [&](Value index, Value slot) {
          Value slice = kb.div(index, kb.constant(e.b)), r = kb.rem(index, kb.constant(e.b));
          kb.store(kb.view(nest.buffer(1), to(slice, kb.mul(r, e.d * halfBytes))), kb.view(in, slotOf(slot)),
                   kb.constant(e.c), kb.constant(e.d), kb.constant(e.b * e.d * halfBytes));
        });
  }

  /// Some rows at once: their blocks are brought together in L1, so that each c is one dense store.
  void blocks(Value count) {
    int64_t tilesB = ceilDiv(e.b, plan.tileB), row = e.c * e.d;
    Value zero = kb.constant(0);
    auto locate = [&](Value index, Value &slice, Value &first, Value &here) {
      slice = kb.div(index, kb.constant(tilesB));
      first = kb.mul(kb.rem(index, kb.constant(tilesB)), plan.tileB);
      here = kb.min(kb.constant(plan.tileB), kb.sub(kb.constant(e.b), first));
    };
    pipelinedLoop(
        kb, kb.coreId(), kb.mul(count, tilesB), kb.cores(),
        [&](Value index, Value slot) {
          Value slice, first, here;
          locate(index, slice, first, here);
          kb.loadLinear(in, slotOf(slot), nest.buffer(0), from(slice, kb.mul(first, row * halfBytes)),
                        kb.mul(here, row), most);
        },
        [&](Value index, Value slot) {
          Value slice, first, here;
          locate(index, slice, first, here);
          Value block = kb.mul(here, e.d * halfBytes);
          kb.loop(0, e.c, 1, [&](Value c) {
            Value target = kb.add(slotOf(slot), kb.mul(c, block));
            UnaryOp::create(b, kb.location(), UnaryKind::copy, kb.view(out, target),
                            kb.view(in, kb.add(slotOf(slot), kb.mul(c, e.d * halfBytes))), here,
                            kb.constant(e.d), zero, kb.constant(row * halfBytes));
            Value at = to(slice, kb.mul(kb.add(kb.mul(c, e.b), first), e.d * halfBytes));
            kb.storeLinear(nest.buffer(1), at, out, target, kb.mul(here, e.d), plan.tileB * e.d);
          });
        });
  }

  KernelBuilder &kb;
  OpBuilder &b;
  const Exchange &e;
  const Plan &plan;
  BatchNest &nest;
  int64_t slotBytes = 0, most = 0;
  Value in, out, im;
};
} // namespace

static bool lowerTranspose(Operation *op, const KernelSpec &spec, LoweringContext &context,
                           std::string &why) {
  auto e = exchangeOf(cast<relay::TransposeOp>(op), why);
  if (!e)
    return false;
  KernelBuilder kb = builderFor(spec, context);
  BatchOperand operands[] = {{inputPlace(kb, op->getOperand(0), spec), e->sliceBytes(), false, false},
                             {outputPlace(kb, spec), e->sliceBytes(), false, true}};
  if (!BatchNest::canRun(operands, spec.llbRoom)) {
    why = "a slice of " + std::to_string(e->sliceBytes()) + " bytes does not fit LLB with its result";
    return false;
  }
  BatchNest nest(kb, e->a, operands, spec.llbRoom, spec.iterated);
  TransposeEmitter(kb, *e, planOf(*e, context.ncore), nest).run();
  kb.finish();
  return true;
}

const Family tile::transposeFamily = {handlesTranspose, whyNotTranspose, lowerTranspose};
