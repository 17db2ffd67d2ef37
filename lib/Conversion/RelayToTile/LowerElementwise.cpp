// Element-wise operators and chains of them: bands of rows through L1, the vector engine in between.
#include "Conversion/RelayToTile/Lowerings.h"
#include "Conversion/RelayToTile/SpatialNest.h"
#include "Dialect/Relay/Relay.h"
#include <numeric>

using namespace mlir;
using namespace tensorturbo;
using namespace tensorturbo::tile;
using schedule::ChunkPlan;
using schedule::WindowShape;

static bool handlesElementwise(Operation *op) {
  return isa<relay::AddOp, relay::SubtractOp, relay::MultiplyOp, relay::DivideOp, relay::MaximumOp,
             relay::MinimumOp, relay::ReluOp, relay::ClipOp, relay::LeakyReluOp, relay::BiasAddOp,
             relay::PreluOp, relay::CopyOp, relay::PowerOp>(op) ||
         unaryFunctionOf(op).has_value();
}

/// The tensor as rows of channels: as many columns as the last axis if a vector is involved, otherwise a
/// divisor of the element count that fills the lanes.
static std::optional<WindowShape> matrixOf(ArrayRef<int64_t> shape, bool perChannel, std::string &why) {
  int64_t count = product(shape), columns = shape.empty() ? 1 : shape.back();
  if (!perChannel) {
    columns = 1;
    for (int64_t d = 1; d <= 1024 && d <= count; ++d)
      if (count % d == 0)
        columns = d;
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
  std::string why = ElementwiseChain::whyNot(op);
  if (why.empty())
    matrixOf(shapeOf(op->getResult(0)), true, why);
  return why;
}

namespace {
/// A smaller operand: whole in LLB, the elements of a tile in L1.
struct RepeatedTile {
  RepeatedOperand operand;
  Value llb, offset, l1;
  /// Elements in L1.
  int64_t most;
};
} // namespace

/// Rows of a tile at most, if it reads one element for each.
static constexpr int64_t mostRows = 8192;

/// Brings the smaller operands to LLB.
static SmallVector<RepeatedTile> bringRepeated(KernelBuilder &kb, const ElementwiseChain &chain,
                                               const KernelSpec &spec, int64_t channels) {
  SmallVector<RepeatedTile> tiles;
  bool staged = false;
  for (const RepeatedOperand &operand : chain.repeatedOperands()) {
    const TensorRef &ref = spec.inputs[operand.argument];
    Place place = kb.place(ref.global, ref.inLlb, ref.iterationBytes);
    RepeatedTile tile{operand, place.buffer, place.offset, {}, operand.perRow ? mostRows : channels};
    if (!place.inLlb()) {
      int64_t bytes = operand.elements * halfBytes;
      tile.llb = kb.alloc(MemoryLevel::LLB, bytes, "repeated");
      tile.offset = kb.constant(0);
      kb.onMaster(
          [&] { kb.dma(tile.llb, tile.offset, place.buffer, place.offset, kb.constant(bytes), bytes); });
      staged = true;
    }
    tile.l1 = kb.alloc(MemoryLevel::L1, tile.most * halfBytes, "repeated");
    tiles.push_back(tile);
  }
  if (staged)
    kb.barrier();
  return tiles;
}

static bool lowerElementwise(Operation *op, const KernelSpec &spec, LoweringContext &context,
                             std::string &why) {
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  BlockArgument start;
  for (Value operand : op->getOperands())
    if (auto argument = dyn_cast<BlockArgument>(operand); argument && !start && shapeOf(operand) == shape)
      start = argument;
  if (!start) {
    why = "no operand has the shape of the result";
    return false;
  }
  auto chain = ElementwiseChain::analyse(spec.primitive, start, why, true);
  if (!chain)
    return false;
  auto w = matrixOf(shape, chain->perChannel(), why);
  if (!w)
    return false;

  KernelBuilder kb = builderFor(spec, context);
  chain->prepare(kb, context.pool);
  SmallVector<RepeatedTile> repeated = bringRepeated(kb, *chain, spec, w->channels);
  auto tensorCount = static_cast<int64_t>(chain->tensorCount());
  auto chunk = schedule::chooseChunk(*w, stagingOf(spec, start, chain->tensorsInDdr(spec.inputs)),
                                     kb.allocated(MemoryLevel::LLB));
  if (!chunk) {
    why = "one row of " + std::to_string(w->channels) + " elements does not fit LLB";
    return false;
  }
  SmallVector<Place> tensors = chain->tensorPlaces(kb, context.pool, spec.inputs);
  SmallVector<Value> tensorTiles;
  SpatialNest nest(kb, *w, *chunk, inputPlace(kb, start, spec), outputPlace(kb, spec), tensors);

  // Small enough that every core gets its share, large enough to hide the fixed costs.
  int64_t rowBytes = w->channels * halfBytes;
  int64_t rowsInChunk = chunk->rowsPerChunk ? chunk->rowsPerChunk : w->outHeight;
  int64_t rows = std::min(freeL1(kb) / (tensorCount + 2) / (rowBytes + 64), int64_t(65536) / rowBytes + 1);
  if (!repeated.empty())
    rows = std::min(rows, mostRows);
  rows = std::clamp<int64_t>(rows, 1, ceilDiv(rowsInChunk, context.ncore));
  // All rows of a tile share the row of a repeated operand.
  int64_t period = 0;
  for (const RepeatedTile &r : repeated)
    if (!r.operand.perRow)
      period = std::gcd(period, r.operand.period);
  while (period && period % rows != 0)
    --rows;
  if (chunk->rowsPerChunk)
    chunk->rowsPerChunk -= chunk->rowsPerChunk % rows;
  int64_t most = rows * w->channels;
  Value in = kb.alloc(MemoryLevel::L1, most * halfBytes, "in"),
        out = kb.alloc(MemoryLevel::L1, most * halfBytes, "out");
  for (int64_t i = 0; i < tensorCount; ++i)
    tensorTiles.push_back(kb.alloc(MemoryLevel::L1, most * halfBytes, "tensor"));

  nest.forEachChunk([&] {
    nest.forEachTile(rows, kb.coreId(), context.ncore, [&](const SpatialTile &t) {
      Value count = kb.mul(t.outRows, w->channels), zero = kb.constant(0);
      kb.loadLinear(in, zero, nest.inputLlb(), t.inOffset, count, most);
      SmallVector<Value> tiles, repeatedTiles;
      for (int64_t i = 0; i < tensorCount; ++i) {
        kb.loadLinear(tensorTiles[i], zero, nest.residualLlb(i), t.residualOffsets[i], count, most);
        tiles.push_back(kb.view(tensorTiles[i]));
      }
      for (const RepeatedTile &r : repeated) {
        Value at = r.operand.perRow ? t.outRow
                                    : kb.mul(kb.div(t.outRow, kb.constant(r.operand.period)), w->channels);
        kb.loadLinear(r.l1, zero, r.llb, kb.add(r.offset, kb.mul(at, halfBytes)),
                      r.operand.perRow ? t.outRows : kb.constant(w->channels), r.most);
        repeatedTiles.push_back(kb.view(r.l1));
      }
      chain->emit(kb, kb.view(out), zero, kb.view(in), zero, t.outRows, kb.constant(w->channels), zero, tiles,
                  zero, repeatedTiles);
      kb.storeLinear(nest.outputLlb(), t.outOffset, out, zero, count, most);
    });
  });
  kb.finish();
  return true;
}

const Family tile::elementwiseFamily = {handlesElementwise, whyNotElementwise, lowerElementwise};
