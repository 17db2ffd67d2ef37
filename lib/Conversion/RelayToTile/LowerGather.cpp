// Rows of a table at computed indices (embedding). The tensor is seen as [outer][rows][row]; the scalar cores
// read the indices, bring them into range and move the rows.
//
//   a table in LLB, or small enough to go there:  every core copies its share of the rows through its L1
//   otherwise:                                    core 0's system DMA fetches row after row from DDR
//
// No index leads outside of the table: "clip" takes the nearest row, "fast" counts negative ones from the end
// first.
#include "Conversion/RelayToTile/Lowerings.h"
#include "Dialect/Relay/Relay.h"
#include "Target/Target.h"
#include <algorithm>

using namespace mlir;
using namespace tensorturbo;
using namespace tensorturbo::tile;

namespace {
struct Gather {
  int64_t outer = 1, rows = 1, rowBytes = halfBytes, taken = 1;
  /// Bytes of an index.
  int64_t indexBytes = 4;
  bool fromEnd = false;
  int64_t tableBytes() const { return outer * rows * rowBytes; }
  int64_t resultRows() const { return outer * taken; }
};
} // namespace

/// LLB that a kernel leaves for the alignment of its buffers.
static constexpr int64_t reserve = 65536;
/// More rows than this are for the host.
static constexpr int64_t mostRows = int64_t(1) << 18;
/// A row must fit L1.
static constexpr int64_t longestRow = int64_t(1) << 20;

static bool handlesGather(Operation *op) {
  return isa<relay::TakeOp>(op);
}

static std::optional<Gather> gatherOf(relay::TakeOp op, std::string &why) {
  Type index = cast<RankedTensorType>(op.getIndices().getType()).getElementType();
  if (!index.isSignlessInteger(32) && !index.isSignlessInteger(64)) {
    why = "indices must be int32 or int64";
    return std::nullopt;
  }
  if (op.getMode() == "wrap" || op.getBatchDims() != 0) {
    why = op.getMode() == "wrap" ? "mode must be clip or fast, got wrap"
                                 : "batch_dims must be 0, got " + std::to_string(op.getBatchDims());
    return std::nullopt;
  }
  Gather g;
  g.indexBytes = index.isInteger(64) ? 8 : 4;
  g.fromEnd = op.getMode() == "fast";
  g.taken = product(shapeOf(op.getIndices()));
  ArrayRef<int64_t> shape = shapeOf(op.getData());
  if (op.getAxis()) {
    int64_t axis = *op.getAxis() < 0 ? *op.getAxis() + static_cast<int64_t>(shape.size()) : *op.getAxis();
    auto at = static_cast<size_t>(axis);
    g.outer = product(shape.take_front(at));
    g.rows = shape[at];
    g.rowBytes = product(shape.drop_front(at + 1)) * halfBytes;
  } else {
    g.rows = product(shape);
  }
  if (g.rowBytes > longestRow || g.resultRows() > mostRows || g.outer * g.rows > (int64_t(1) << 30)) {
    why = "at most " + std::to_string(mostRows) + " rows of " + std::to_string(longestRow / halfBytes) +
          " elements can be gathered, got " + std::to_string(g.resultRows()) + " of " +
          std::to_string(g.rowBytes / halfBytes);
    return std::nullopt;
  }
  return g;
}

static std::string whyNotGather(Operation *op, int) {
  std::string why;
  gatherOf(cast<relay::TakeOp>(op), why);
  return why;
}

namespace {
class GatherEmitter {
public:
  GatherEmitter(KernelBuilder &kb, const Gather &g, const Place &table, const Place &indices,
                const Place &out)
      : kb(kb), g(g), table(table), indices(indices), out(out) {}

  void run(int64_t llbRoom) {
    int64_t resultBytes = g.resultRows() * g.rowBytes, room = llbRoom - reserve;
    bool shared = table.inLlb() || cheaperInLlb(room);
    if (shared && !table.inLlb())
      room -= g.tableBytes();
    int64_t chunkRows =
        out.inLlb() ? g.resultRows() : std::clamp<int64_t>(room / g.rowBytes, 1, g.resultRows());
    Place result = out;
    if (!out.inLlb())
      result = {kb.alloc(MemoryLevel::LLB, chunkRows * g.rowBytes, "output"), kb.constant(0)};
    if (shared && !table.inLlb()) {
      Place copy{kb.alloc(MemoryLevel::LLB, g.tableBytes(), "table"), kb.constant(0)};
      kb.onMaster([&] {
        kb.dma(copy.buffer, copy.offset, table.buffer, table.offset, kb.constant(g.tableBytes()),
               g.tableBytes());
      });
      kb.barrier();
      table = copy;
    }
    if (shared)
      row = kb.alloc(MemoryLevel::L1, g.rowBytes, "row");
    kb.loop(0, g.resultRows(), chunkRows, [&](Value first) {
      Value count = kb.min(kb.constant(chunkRows), kb.sub(kb.constant(g.resultRows()), first));
      auto copyRows = [&](Value from, int64_t step, bool byCores) {
        kb.loop(from, count, kb.constant(step), [&](Value r) {
          Value source = kb.add(table.offset, sourceOf(kb.add(first, r)));
          Value target = kb.add(result.offset, kb.mul(r, g.rowBytes));
          move(result.buffer, target, source, byCores);
        });
      };
      if (shared)
        copyRows(kb.coreId(), kb.cores(), true);
      else
        kb.onMaster([&] { copyRows(kb.constant(0), 1, false); });
      if (out.inLlb())
        return;
      kb.barrier();
      kb.onMaster([&] {
        kb.dma(out.buffer, kb.add(out.offset, kb.mul(first, g.rowBytes)), result.buffer, kb.constant(0),
               kb.mul(count, g.rowBytes), std::min(chunkRows * g.rowBytes, resultBytes));
      });
      if (chunkRows < g.resultRows())
        kb.barrier();
    });
  }

private:
  /// Whether the whole table goes to LLB sooner than the rows one by one.
  bool cheaperInLlb(int64_t room) const {
    if (g.tableBytes() > room / 2)
      return false;
    static const target::Costs cost = *target::p920().costs("base");
    double rate = cost.ddrBytesPerSecond / cost.clock;
    double whole = double(g.tableBytes()) / rate;
    double single = double(g.resultRows()) * (cost.dmaStart + double(g.rowBytes) / rate);
    return whole < single;
  }

  void move(Value toBuffer, Value to, Value from, bool byCores) {
    if (!byCores)
      return kb.dma(toBuffer, to, table.buffer, from, kb.constant(g.rowBytes), g.rowBytes);
    Value elements = kb.constant(g.rowBytes / halfBytes), zero = kb.constant(0);
    kb.loadLinear(row, zero, table.buffer, from, elements, g.rowBytes / halfBytes);
    kb.storeLinear(toBuffer, to, row, zero, elements, g.rowBytes / halfBytes);
  }

  /// Byte in the table where row `r` of the result comes from.
  Value sourceOf(Value r) {
    Value group = kb.div(r, kb.constant(g.taken)), index = kb.rem(r, kb.constant(g.taken));
    if (g.outer == 1) {
      group = kb.constant(0);
      index = r;
    }
    Value at = kb.add(indices.offset, kb.mul(index, g.indexBytes));
    return kb.mul(kb.add(kb.mul(group, g.rows), inRange(read(at))), g.rowBytes);
  }

  Value word(Value offset) {
    return LoadWordOp::create(kb.builder(), kb.location(), kb.builder().getI32Type(),
                              kb.view(indices.buffer, offset));
  }

  /// An index as 32 bits; larger ones become the largest of their sign.
  Value read(Value offset) {
    OpBuilder &b = kb.builder();
    Location loc = kb.location();
    Value low = word(offset);
    if (g.indexBytes == 4)
      return low;
    Value high = word(kb.add(offset, 4));
    Value sign = arith::ShRSIOp::create(b, loc, low, kb.constant(31));
    Value fits = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, high, sign);
    Value extreme = arith::XOrIOp::create(b, loc, arith::ShRSIOp::create(b, loc, high, kb.constant(31)),
                                          kb.constant(0x7FFFFFFF));
    return arith::SelectOp::create(b, loc, fits, low, extreme);
  }

  Value inRange(Value index) {
    if (g.fromEnd) {
      Value negative = kb.less(index, kb.constant(0));
      index = arith::SelectOp::create(kb.builder(), kb.location(), negative, kb.add(index, g.rows), index);
    }
    return kb.max(kb.constant(0), kb.min(kb.constant(g.rows - 1), index));
  }

  KernelBuilder &kb;
  const Gather &g;
  Place table, indices, out;
  Value row;
};
} // namespace

static bool lowerGather(Operation *op, const KernelSpec &spec, LoweringContext &context, std::string &why) {
  auto take = cast<relay::TakeOp>(op);
  auto g = gatherOf(take, why);
  if (!g)
    return false;
  KernelBuilder kb = builderFor(spec, context);
  GatherEmitter(kb, *g, operandPlace(kb, take.getData(), spec, context.pool),
                operandPlace(kb, take.getIndices(), spec, context.pool), outputPlace(kb, spec))
      .run(spec.llbRoom);
  kb.finish();
  return true;
}

const Family tile::gatherFamily = {handlesGather, whyNotGather, lowerGather};
