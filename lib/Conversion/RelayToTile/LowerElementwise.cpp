// Element-wise operators and chains of them, and broadcasts: bands of rows through L1 in two buffers, the
// vector engine in between. Smaller operands are not stored at full size: a tile takes the elements, the row
// or the rows that it needs.
#include "Conversion/RelayToTile/Lowerings.h"
#include "Conversion/RelayToTile/SpatialNest.h"
#include "Dialect/Relay/Relay.h"
#include <numeric>

using namespace mlir;
using namespace tensorturbo;
using namespace tensorturbo::tile;
using schedule::ChunkPlan;
using schedule::WindowShape;
using Form = RepeatedTile::Form;

static bool handlesElementwise(Operation *op) {
  return isa<relay::AddOp, relay::SubtractOp, relay::MultiplyOp, relay::DivideOp, relay::MaximumOp,
             relay::MinimumOp, relay::ReluOp, relay::ClipOp, relay::LeakyReluOp, relay::BiasAddOp,
             relay::PreluOp, relay::CopyOp, relay::PowerOp, relay::BroadcastToOp>(op) ||
         unaryFunctionOf(op).has_value();
}

/// Longest rows that axes are merged to.
static constexpr int64_t mergedColumns = 8192;

/// Whether an operand of this shape has the result's extent on all of the last `count` axes, or 1 on all.
static bool uniform(ArrayRef<int64_t> own, ArrayRef<int64_t> result, size_t count) {
  bool whole = true, single = true;
  for (size_t i = result.size() - count; i < result.size(); ++i) {
    whole &= own[i] == result[i];
    single &= own[i] == 1;
  }
  return whole || single;
}

/// The result as rows of columns. Columns are the last axis if a vector is involved; as many of the last axes
/// as repeated operands treat alike; otherwise a divisor of the element count that fills the lanes.
static std::optional<WindowShape> matrixOf(ArrayRef<int64_t> shape, bool perChannel,
                                           ArrayRef<RepeatedOperand> repeated, std::string &why) {
  int64_t count = product(shape), columns = shape.empty() ? 1 : shape.back();
  if (!perChannel && repeated.empty()) {
    columns = 1;
    for (int64_t d = 1; d <= 1024 && d <= count; ++d)
      if (count % d == 0)
        columns = d;
  }
  if (!perChannel && !repeated.empty())
    for (size_t axes = 2; axes <= shape.size(); ++axes) {
      int64_t merged = product(shape.take_back(axes));
      if (merged > mergedColumns ||
          !llvm::all_of(repeated, [&](const RepeatedOperand &r) { return uniform(r.shape, shape, axes); }))
        break;
      columns = merged;
    }
  if (columns > maxStride / halfBytes) {
    why = "the last axis must have at most 32767 elements, got " + std::to_string(columns);
    return std::nullopt;
  }
  WindowShape w;
  w.height = w.outHeight = count / columns;
  w.channels = w.outChannels = columns;
  return w;
}

static std::string whyNotElementwise(Operation *op, int) {
  std::string why;
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  if (isa<relay::BroadcastToOp>(op)) {
    RepeatedOperand operand = *repetitionOf(shapeOf(op->getOperand(0)), shape);
    why = whyNotRepeated(operand);
    if (why.empty())
      matrixOf(shape, true, operand, why);
  } else if (auto chain = ElementwiseChain::ofOperator(op, why)) {
    matrixOf(shape, chain->perChannel(), chain->repeatedOperands(), why);
  }
  return why;
}

namespace {
/// How the rows of the result find their part of a smaller operand.
struct RowMap {
  /// Neighbouring row axes, from the outermost: their extent, and how many elements one step moves in the
  /// operand (0: the operand repeats).
  struct Group {
    int64_t extent, step;
  };
  SmallVector<Group> groups;
  /// The operand has an element for each column.
  bool wholeRows = false;

  RowMap(const RepeatedOperand &operand, ArrayRef<int64_t> result, int64_t columns) {
    size_t rank = result.size(), rowAxes = rank;
    for (int64_t covered = 1; covered < columns;)
      covered *= result[--rowAxes];
    // Axes of one element on either side belong to the rows.
    for (size_t i = rowAxes; i < rank; ++i)
      wholeRows |= operand.shape[i] != 1;
    wholeRows |= columns == 1;
    int64_t step = wholeRows ? columns : 1;
    for (size_t i = rowAxes; i-- > 0;) {
      if (result[i] == 1)
        continue;
      bool own = operand.shape[i] != 1;
      if (!groups.empty() && (groups.front().step != 0) == own)
        groups.front().extent *= result[i];
      else
        groups.insert(groups.begin(), {result[i], own ? step : 0});
      step *= operand.shape[i];
    }
  }

  bool repeatsRows() const { return groups.empty() || groups.back().step == 0; }
  /// Every tile takes the same elements.
  bool fixed() const { return groups.size() <= 1 && repeatsRows(); }
  /// Rows of a tile must divide this many rows; 0: any number.
  int64_t period() const { return groups.size() <= 1 ? 0 : groups.back().extent; }
  /// One element for a whole tile is spread over a row.
  bool single() const { return repeatsRows() && !wholeRows; }

  Form form() const {
    if (repeatsRows())
      return Form::PerColumn;
    return wholeRows ? Form::Matrix : Form::PerRow;
  }
  /// Elements in L1 for a tile of `rows` rows.
  int64_t tileElements(int64_t rows, int64_t columns) const {
    return (repeatsRows() ? 1 : rows) * (repeatsRows() || wholeRows ? columns : 1);
  }
  /// Elements that `rows` rows load.
  Value count(KernelBuilder &kb, Value rows, int64_t columns) const {
    Value n = repeatsRows() ? kb.constant(1) : rows;
    return wholeRows ? kb.mul(n, columns) : n;
  }
  /// The operand's element for the first column of a row.
  Value element(KernelBuilder &kb, Value row) const {
    Value at = kb.constant(0), rest = row;
    for (size_t i = groups.size(); i-- > 0;) {
      const Group &g = groups[i];
      if (g.step)
        at = kb.add(at, kb.mul(i == 0 ? rest : kb.rem(rest, kb.constant(g.extent)), g.step));
      rest = kb.div(rest, kb.constant(g.extent));
    }
    return at;
  }
};

/// A smaller operand: whole in LLB, the part of a tile in L1.
struct SmallOperand {
  RowMap map;
  Value llb, offset, l1, loaded;
  bool fixed = false;
  int64_t slotBytes = 0, most = 0;
};

class ElementwiseEmitter {
public:
  /// `repeated` are the chain's operands; if `broadcasts`, the last is what the chain starts with.
  ElementwiseEmitter(KernelBuilder &kb, const ElementwiseChain &chain, ArrayRef<RepeatedOperand> repeated,
                     bool broadcasts, const KernelSpec &spec, ArrayRef<int64_t> shape, const WindowShape &w)
      : kb(kb), chain(chain), broadcasts(broadcasts), w(w) {
    bool staged = false;
    for (auto [i, operand] : llvm::enumerate(repeated)) {
      Place place = placeOf(kb, spec.inputs[operand.argument]);
      SmallOperand small{RowMap(operand, shape, w.channels), place.buffer, place.offset, {}, {}};
      small.fixed = small.map.fixed() && !chain.overwritesRepeated(i);
      if (!place.inLlb()) {
        int64_t bytes = operand.elements * halfBytes;
        small.llb = kb.alloc(MemoryLevel::LLB, bytes, "repeated");
        small.offset = kb.constant(0);
        kb.onMaster(
            [&] { kb.dma(small.llb, small.offset, place.buffer, place.offset, kb.constant(bytes), bytes); });
        staged = true;
      }
      operands.push_back(small);
    }
    if (staged)
      kb.barrier();
  }

  /// Rows of a tile: at most `most`, small enough that every core gets its share, large enough to hide the
  /// fixed costs, and such that a tile takes whole rows of each operand.
  int64_t tileRows(int64_t most) const {
    int64_t rowBytes = w.channels * halfBytes, period = 0, matrices = 2;
    for (const SmallOperand &s : operands) {
      period = std::gcd(period, s.map.period());
      matrices += s.map.form() == Form::Matrix ? 1 : 0;
    }
    matrices += static_cast<int64_t>(chain.tensorCount());
    int64_t margin = 256 * static_cast<int64_t>(operands.size() + 1) + 4 * rowBytes;
    int64_t rows =
        std::min((freeL1(kb) - margin) / (2 * matrices) / (rowBytes + 64), int64_t(32768) / rowBytes + 1);
    rows = std::clamp<int64_t>(rows, 1, most);
    while (period && period % rows != 0)
      --rows;
    return rows;
  }

  /// Where the last operand lies in LLB: of a broadcast, the loops stage nothing else.
  Place lastOperand() const { return {operands.back().llb, operands.back().offset}; }

  void run(SpatialNest &nest, int64_t rows) {
    most = rows * w.channels;
    slotBytes = paddedBytes(most * halfBytes);
    in = kb.alloc(MemoryLevel::L1, 2 * slotBytes, "in");
    out = kb.alloc(MemoryLevel::L1, 2 * slotBytes, "out");
    for (size_t i = 0; i < chain.tensorCount(); ++i)
      tensors.push_back(kb.alloc(MemoryLevel::L1, 2 * slotBytes, "tensor"));
    for (SmallOperand &s : operands) {
      s.most = s.map.tileElements(rows, w.channels);
      s.slotBytes = paddedBytes(s.most * halfBytes);
      s.l1 = kb.alloc(MemoryLevel::L1, 2 * s.slotBytes, "repeated");
      if (s.map.single())
        s.loaded = kb.alloc(MemoryLevel::L1, 2 * 64, "element");
      if (s.fixed)
        load(s, kb.constant(0), kb.constant(0), kb.constant(rows));
    }
    nest.forEachChunk([&] {
      nest.forEachTilePipelined(
          rows, kb.coreId(), kb.cores(), [&](const SpatialTile &t, Value slot) { fetch(nest, t, slot); },
          [] {}, [&](const SpatialTile &t, Value slot) { compute(nest, t, slot); });
    });
  }

private:
  void load(const SmallOperand &s, Value slot, Value row, Value rows) {
    Value from = kb.add(s.offset, kb.mul(s.map.element(kb, row), halfBytes));
    if (s.map.single())
      return kb.loadLinear(s.loaded, kb.mul(slot, 64), s.llb, from, kb.constant(1), 1);
    kb.loadLinear(s.l1, kb.mul(slot, s.slotBytes), s.llb, from, s.map.count(kb, rows, w.channels), s.most);
  }

  void fetch(SpatialNest &nest, const SpatialTile &t, Value slot) {
    Value count = kb.mul(t.outRows, w.channels), to = kb.mul(slot, slotBytes);
    if (!broadcasts)
      kb.loadLinear(in, to, nest.inputLlb(), t.inOffset, count, most);
    for (size_t i = 0; i < tensors.size(); ++i)
      kb.loadLinear(tensors[i], to, nest.residualLlb(i), t.residualOffsets[i], count, most);
    for (const SmallOperand &s : operands)
      if (!s.fixed)
        load(s, slot, t.outRow, t.outRows);
  }

  void compute(SpatialNest &nest, const SpatialTile &t, Value slot) {
    Value zero = kb.constant(0), offset = kb.mul(slot, slotBytes), columns = kb.constant(w.channels);
    SmallVector<Value> tiles;
    for (Value tensor : tensors)
      tiles.push_back(kb.view(tensor, offset));
    SmallVector<RepeatedTile> small;
    for (const SmallOperand &s : operands) {
      Value place = s.fixed ? zero : slot;
      Value tile = kb.view(s.l1, kb.mul(place, s.slotBytes));
      if (s.map.single())
        SpreadOp::create(kb.builder(), kb.location(), Axis::rows, tile, kb.view(s.loaded, kb.mul(place, 64)),
                         kb.constant(1), columns, zero);
      small.push_back({s.map.form(), tile});
    }
    Value start = kb.view(in, offset);
    if (broadcasts) {
      auto [form, tile] = small.pop_back_val();
      if (form == Form::Matrix)
        UnaryOp::create(kb.builder(), kb.location(), UnaryKind::copy, start, tile, t.outRows, columns, zero,
                        zero);
      else
        SpreadOp::create(kb.builder(), kb.location(), form == Form::PerRow ? Axis::rows : Axis::columns,
                         start, tile, t.outRows, columns, zero);
    }
    chain.emit(kb, kb.view(out, offset), zero, start, zero, t.outRows, columns, zero, tiles, zero, small);
    kb.storeLinear(nest.outputLlb(), t.outOffset, out, offset, kb.mul(t.outRows, w.channels), most);
  }

  KernelBuilder &kb;
  const ElementwiseChain &chain;
  bool broadcasts;
  const WindowShape &w;
  SmallVector<SmallOperand> operands;
  SmallVector<Value> tensors;
  Value in, out;
  int64_t most = 0, slotBytes = 0;
};
} // namespace

static bool lowerElementwise(Operation *op, const KernelSpec &spec, LoweringContext &context,
                             std::string &why) {
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  bool broadcasts = isa<relay::BroadcastToOp>(op);
  BlockArgument start;
  for (Value operand : op->getOperands())
    if (auto argument = dyn_cast<BlockArgument>(operand);
        argument && !start && (broadcasts || shapeOf(operand) == shape))
      start = argument;
  if (!start) {
    why = "no computed operand has the shape of the result";
    return false;
  }
  auto chain =
      ElementwiseChain::analyse(spec.primitive, broadcasts ? op->getResult(0) : Value(start), why, true);
  if (!chain)
    return false;
  SmallVector<RepeatedOperand> repeated(chain->repeatedOperands());
  if (broadcasts) {
    repeated.push_back(*repetitionOf(shapeOf(start), shape));
    repeated.back().argument = start.getArgNumber();
  }
  auto w = matrixOf(shape, chain->perChannel(), repeated, why);
  if (!w)
    return false;

  KernelBuilder kb = builderFor(spec, context);
  chain->prepare(kb, context.pool);
  ElementwiseEmitter emitter(kb, *chain, repeated, broadcasts, spec, shape, *w);
  schedule::Staging staging = stagingOf(spec, start, chain->tensorsInDdr(spec.inputs));
  staging.input &= !broadcasts;
  auto chunk = schedule::chooseChunk(*w, staging, kb.allocated(MemoryLevel::LLB));
  if (!chunk) {
    why = "one row of " + std::to_string(w->channels) + " elements does not fit LLB";
    return false;
  }
  SmallVector<Place> tensors = chain->tensorPlaces(kb, context.pool, spec.inputs);
  int64_t rowsInChunk = chunk->rowsPerChunk ? chunk->rowsPerChunk : w->outHeight;
  int64_t rows = emitter.tileRows(ceilDiv(rowsInChunk, context.ncore));
  if (chunk->rowsPerChunk)
    chunk->rowsPerChunk -= chunk->rowsPerChunk % rows;
  SpatialNest nest(kb, *w, *chunk, broadcasts ? emitter.lastOperand() : inputPlace(kb, start, spec),
                   outputPlace(kb, spec), tensors);
  emitter.run(nest, rows);
  kb.finish();
  return true;
}

const Family tile::elementwiseFamily = {handlesElementwise, whyNotElementwise, lowerElementwise};
