// Matrix products of two tensors (attention): [batch][m][k] times [batch][k][n], either one possibly stored
// transposed. A transposed left operand is read so by the matrix engine; a transposed right one is turned
// first.
//
//   for each tile of this core:     tiles of one product that share columns of rhs follow each other
//     rhs columns of the next one (if they change), lhs rows of the next one to L1
//     multiply into IM, epilogue into L1, store
#include "Conversion/RelayToTile/BatchNest.h"
#include "Conversion/RelayToTile/Lowerings.h"
#include "Dialect/Relay/Relay.h"
#include "Target/Target.h"
#include <algorithm>

using namespace mlir;
using namespace tensorturbo;
using namespace tensorturbo::tile;

namespace {
struct Product {
  Value lhs, rhs;
  int64_t batch = 1, m = 1, k = 1, n = 1;
  /// Stored [k][m] and [n][k].
  bool lhsTransposed = false, rhsTransposed = false;
  /// A batch of 1 is used for every product.
  bool lhsShared = false, rhsShared = false;
};

struct ProductTiling {
  int64_t tileM = 32, tileN = 64, parts = 1;
};
} // namespace

static bool handlesMatmul(Operation *op) {
  return isa<relay::BatchMatmulOp>(op) || isa<relay::MatmulOp>(op);
}

static Product productOf(Operation *op) {
  Product p;
  p.lhs = op->getOperand(0);
  p.rhs = op->getOperand(1);
  if (auto batch = dyn_cast<relay::BatchMatmulOp>(op)) {
    p.lhsTransposed = batch.getTransposeA();
    p.rhsTransposed = batch.getTransposeB();
    p.batch = shapeOf(batch.getResult())[0];
    p.lhsShared = shapeOf(p.lhs)[0] == 1;
    p.rhsShared = shapeOf(p.rhs)[0] == 1;
  } else {
    auto matmul = cast<relay::MatmulOp>(op);
    p.lhsTransposed = matmul.getTransposeA();
    p.rhsTransposed = matmul.getTransposeB();
  }
  ArrayRef<int64_t> out = shapeOf(op->getResult(0)), lhs = shapeOf(p.lhs);
  p.n = out.back();
  p.m = isa<relay::BatchMatmulOp>(op) ? out[1] : product(out.drop_back());
  p.k = p.lhsTransposed ? lhs[lhs.size() - 2] : lhs.back();
  return p;
}

/// Whether two slots of everything fit L1 and IM beside `epilogueBytes`, and the residuals' tiles.
static bool fits(const Product &p, const ProductTiling &t, int64_t epilogueBytes, int64_t residuals) {
  int64_t tile = paddedBytes(t.tileM * t.tileN * halfBytes), rhs = paddedBytes(p.k * t.tileN * halfBytes);
  int64_t l1 =
      2 * paddedBytes(p.k * t.tileM * halfBytes) + 2 * rhs + 2 * (1 + residuals) * tile + epilogueBytes;
  int64_t im = (t.parts > 1 ? 3 : 2) * tile;
  if (p.rhsTransposed) {
    l1 += 2 * rhs;
    im += rhs;
  }
  return l1 + 4096 <= levelCapacity(MemoryLevel::L1) && im <= levelCapacity(MemoryLevel::IM);
}

/// Estimated cycles of the slowest core.
static double price(const Product &p, const ProductTiling &t, int ncore, int64_t passes) {
  static const target::Costs cost = *target::p920().costs("base");
  int64_t groups = p.batch * ceilDiv(p.n, t.tileN), tiles = groups * ceilDiv(p.m, t.tileM);
  int64_t perCore = ceilDiv(tiles, ncore);
  double groupsPerCore = std::min<double>(double(perCore), double(groups) / ncore + 1);
  double rate = std::min(cost.mteBytesPerCycle, cost.llbBytesPerCycle / ncore);
  auto m = static_cast<uint64_t>(t.tileM), n = static_cast<uint64_t>(t.tileN), k = static_cast<uint64_t>(p.k);
  double matrix = double(t.parts) * cost.matmulCycles(m, n, k / static_cast<uint64_t>(t.parts), false);
  double vector = double(passes + t.parts - 1) * cost.vectorCycles(m, n);
  double moves = 2 * cost.mteFixed + double(m * k + m * n) * 2 / rate;
  double rhs = cost.mteFixed + double(k * n) * 2 / rate, turn = 0;
  if (p.rhsTransposed)
    turn = cost.transposeCycles(n, k) + cost.vectorCycles(n, k);
  double whole = double(perCore) * std::max({matrix, vector, moves}) + moves + vector;
  return std::max(whole, double(perCore) * moves + groupsPerCore * rhs) + rhs + groupsPerCore * turn;
}

static std::optional<ProductTiling> tilingOf(const Product &p, int ncore, int64_t epilogueBytes,
                                             int64_t residuals, int64_t passes, std::string &why) {
  if (std::max({p.m, p.k, p.n}) * halfBytes > maxStride) {
    why = "extents must be at most 32767, got " + shapeText({p.m, p.k, p.n});
    return std::nullopt;
  }
  ProductTiling t;
  // Short accumulator chains: at most 2304 terms, in equal parts.
  for (t.parts = 1; t.parts < p.k && (p.k % t.parts != 0 || p.k / t.parts > 2304); ++t.parts)
    ;
  std::optional<ProductTiling> best;
  double least = 0;
  for (int64_t m : {1, 8, 32, 64, 96, 128, 160, 192, 256, 384, 512})
    for (int64_t n : {1, 8, 32, 64, 128, 192, 256, 384, 512}) {
      t.tileM = std::min<int64_t>(m, p.m);
      t.tileN = std::min<int64_t>(n, p.n);
      if (!fits(p, t, epilogueBytes, residuals))
        continue;
      double cycles = price(p, t, ncore, passes);
      if (!best || cycles < least) {
        best = t;
        least = cycles;
      }
    }
  if (!best)
    why = "a reduction of " + std::to_string(p.k) + " terms does not fit L1";
  return best;
}

/// In the order of the emitter.
static SmallVector<BatchOperand> operandsOf(const Product &p, const Place &lhs, const Place &rhs,
                                            const Place &out, ArrayRef<Place> residuals) {
  int64_t outBytes = p.m * p.n * halfBytes;
  SmallVector<BatchOperand> operands = {{lhs, p.m * p.k * halfBytes, p.lhsShared, false},
                                        {rhs, p.k * p.n * halfBytes, p.rhsShared, false},
                                        {out, outBytes, false, true}};
  for (const Place &r : residuals)
    operands.push_back({r, outBytes, false, false});
  return operands;
}

static std::string tooLarge(const Product &p) {
  return "one product needs " + std::to_string((p.m * p.k + p.k * p.n + p.m * p.n) * halfBytes) +
         " bytes of LLB, more than it has";
}

static std::string whyNotMatmul(Operation *op, int ncore) {
  std::string why;
  Product p = productOf(op);
  // Room for a residual, and for all matrices in LLB.
  if (tilingOf(p, ncore, 2 * tableBytes + 65536, 1, 2, why) &&
      (p.m * p.k + p.k * p.n + 2 * p.m * p.n) * halfBytes > levelCapacity(MemoryLevel::LLB) - 3 * tableBytes)
    why = tooLarge(p);
  return why;
}

namespace {
class ProductEmitter {
public:
  ProductEmitter(KernelBuilder &kb, const Product &p, const ProductTiling &t, const ElementwiseChain &chain,
                 BatchNest &nest)
      : kb(kb), b(kb.builder()), p(p), t(t), chain(chain), nest(nest), tilesM(ceilDiv(p.m, t.tileM)),
        tilesN(ceilDiv(p.n, t.tileN)), lhsSlot(paddedBytes(t.tileM * p.k * halfBytes)),
        rhsSlot(paddedBytes(t.tileN * p.k * halfBytes)),
        tileSlot(paddedBytes(t.tileM * t.tileN * halfBytes)) {}

  void run() {
    lhs = kb.alloc(MemoryLevel::L1, 2 * lhsSlot, "lhs");
    rhs = kb.alloc(MemoryLevel::L1, 2 * rhsSlot, "rhs");
    out = kb.alloc(MemoryLevel::L1, 2 * tileSlot, "out");
    sum = kb.alloc(MemoryLevel::IM, 2 * tileSlot, "sum");
    if (t.parts > 1)
      partial = kb.alloc(MemoryLevel::IM, tileSlot, "partial");
    if (p.rhsTransposed) {
      raw = kb.alloc(MemoryLevel::L1, 2 * rhsSlot, "raw");
      turned = kb.alloc(MemoryLevel::IM, rhsSlot, "turned");
    }
    for (size_t i = 0; i < chain.tensorCount(); ++i)
      residuals.push_back(kb.alloc(MemoryLevel::L1, 2 * tileSlot, "residual"));
    nest.forEachRun([&](Value count) {
      // Neighbouring tiles of a core share their columns of rhs: consecutive numbers, rows fastest.
      Value total = kb.mul(count, tilesM * tilesN);
      Value share = kb.div(kb.add(total, kb.cores() - 1), kb.constant(kb.cores()));
      Value first = kb.mul(kb.coreId(), share), end = kb.min(total, kb.add(first, share));
      pipelinedLoop(
          kb, first, end, 1,
          [&](Value index, Value slot) {
            locate(index);
            whenNewColumns(index, first, [&] { loadRhs(); });
            fetch(slot);
          },
          [&](Value index, Value slot) {
            locate(index);
            if (p.rhsTransposed)
              whenNewColumns(index, first, [&] { turnRhs(); });
            tile(slot);
          });
    });
  }

private:
  void whenNewColumns(Value index, Value first, llvm::function_ref<void()> body) {
    if (tilesM == 1)
      return body();
    Value isFirst = arith::CmpIOp::create(b, kb.location(), arith::CmpIPredicate::eq, index, first);
    Value isTop = arith::CmpIOp::create(b, kb.location(), arith::CmpIPredicate::eq, row, kb.constant(0));
    kb.when(arith::OrIOp::create(b, kb.location(), isFirst, isTop), body);
  }

  void locate(Value index) {
    Value group = kb.div(index, kb.constant(tilesM));
    row = kb.mul(kb.rem(index, kb.constant(tilesM)), t.tileM);
    column = kb.mul(kb.rem(group, kb.constant(tilesN)), t.tileN);
    slice = kb.div(group, kb.constant(tilesN));
    rows = p.m % t.tileM == 0 ? kb.constant(t.tileM)
                              : kb.min(kb.constant(t.tileM), kb.sub(kb.constant(p.m), row));
    columns = p.n % t.tileN == 0 ? kb.constant(t.tileN)
                                 : kb.min(kb.constant(t.tileN), kb.sub(kb.constant(p.n), column));
    rhsAt = kb.mul(kb.rem(group, kb.constant(2)), rhsSlot);
  }

  Value operand(size_t i, Value bytes) {
    return kb.view(nest.buffer(i), kb.add(nest.offset(i, slice), bytes));
  }

  /// rhs columns of the tile as [k][columns], or [columns][k] where it is stored transposed.
  void loadRhs() {
    Value k = kb.constant(p.k), zero = kb.constant(0);
    if (!p.rhsTransposed)
      return kb.load(kb.view(rhs, rhsAt), operand(1, kb.mul(column, halfBytes)), k, columns,
                     kb.constant(p.n * halfBytes));
    kb.load(kb.view(raw, rhsAt), operand(1, kb.mul(column, p.k * halfBytes)), columns, k, zero);
  }

  void turnRhs() {
    Value k = kb.constant(p.k), zero = kb.constant(0);
    TransposeOp::create(b, kb.location(), kb.view(turned), kb.view(raw, rhsAt), columns, k, zero, zero);
    // Both are dense: the longer side as columns costs less.
    Value across = p.k > t.tileN ? columns : k, along = p.k > t.tileN ? k : columns;
    UnaryOp::create(b, kb.location(), UnaryKind::copy, kb.view(rhs, rhsAt), kb.view(turned), across, along,
                    zero, zero);
  }

  void fetch(Value slot) {
    Value k = kb.constant(p.k), zero = kb.constant(0), to = kb.view(lhs, kb.mul(slot, lhsSlot));
    if (p.lhsTransposed)
      kb.load(to, operand(0, kb.mul(row, halfBytes)), k, rows, kb.constant(p.m * halfBytes));
    else
      kb.load(to, operand(0, kb.mul(row, p.k * halfBytes)), rows, k, zero);
    for (size_t i = 0; i < residuals.size(); ++i)
      kb.load(kb.view(residuals[i], kb.mul(slot, tileSlot)), operand(3 + i, outAt()), rows, columns,
              kb.constant(p.n * halfBytes));
  }

  Value outAt() { return kb.mul(kb.add(kb.mul(row, p.n), column), halfBytes); }

  void multiply(Value dst, Value part, Value slot) {
    int64_t terms = p.k / t.parts;
    Value lhsOffset =
        p.lhsTransposed ? kb.mul(kb.mul(part, rows), terms * halfBytes) : kb.mul(part, terms * halfBytes);
    Value rhsOffset = kb.mul(kb.mul(part, columns), terms * halfBytes);
    Value lhsStride = p.lhsTransposed ? kb.constant(0) : kb.constant(p.k * halfBytes);
    MatmulOp::create(b, kb.location(), dst, kb.view(lhs, kb.add(kb.mul(slot, lhsSlot), lhsOffset)),
                     kb.view(rhs, kb.add(rhsAt, rhsOffset)), rows, kb.constant(terms), columns,
                     kb.constant(0), lhsStride, kb.constant(0), p.lhsTransposed);
  }

  void tile(Value slot) {
    Value zero = kb.constant(0), offset = kb.mul(slot, tileSlot);
    Value result = kb.view(sum, offset), to = kb.view(out, offset);
    multiply(result, zero, slot);
    kb.loop(1, t.parts, 1, [&](Value part) {
      multiply(kb.view(partial), part, slot);
      BinaryOp::create(b, kb.location(), BinaryKind::add, result, result, kb.view(partial), rows, columns,
                       zero, zero, zero);
    });
    SmallVector<Value> tiles;
    for (Value residual : residuals)
      tiles.push_back(kb.view(residual, offset));
    chain.emit(kb, to, zero, result, zero, rows, columns, column, tiles, zero);
    kb.store(operand(2, outAt()), to, rows, columns, kb.constant(p.n * halfBytes));
  }

  KernelBuilder &kb;
  OpBuilder &b;
  const Product &p;
  const ProductTiling &t;
  const ElementwiseChain &chain;
  BatchNest &nest;
  int64_t tilesM, tilesN, lhsSlot, rhsSlot, tileSlot;
  Value lhs, rhs, out, sum, partial, raw, turned;
  SmallVector<Value> residuals;
  // Of the tile that the code being built works on.
  Value row, rows, column, columns, slice, rhsAt;
};
} // namespace

static bool lowerMatmul(Operation *op, const KernelSpec &spec, LoweringContext &context, std::string &why) {
  Product p = productOf(op);
  auto chain = ElementwiseChain::analyse(spec.primitive, op->getResult(0), why);
  if (!chain)
    return false;
  auto residualCount = static_cast<int64_t>(chain->tensorCount());
  auto t =
      tilingOf(p, context.ncore, chain->l1Bytes(), residualCount, std::max<int64_t>(chain->size(), 1), why);
  if (!t)
    return false;
  KernelBuilder kb = builderFor(spec, context);
  chain->prepare(kb, context.pool);
  SmallVector<Place> residuals = chain->tensorPlaces(kb, context.pool, spec.inputs);
  SmallVector<BatchOperand> operands =
      operandsOf(p, operandPlace(kb, p.lhs, spec, context.pool), operandPlace(kb, p.rhs, spec, context.pool),
                 outputPlace(kb, spec), residuals);
  int64_t room = spec.llbRoom - kb.allocated(MemoryLevel::LLB);
  if (!BatchNest::canRun(operands, room)) {
    why = tooLarge(p);
    return false;
  }
  BatchNest nest(kb, p.batch, operands, room);
  ProductEmitter(kb, p, *t, *chain, nest).run();
  kb.finish();
  return true;
}

const Family tile::matmulFamily = {handlesMatmul, whyNotMatmul, lowerMatmul};
