// Matrix products of two computed tensors (attention): [batch][m][k] times [batch][k][n], either one possibly
// stored transposed. A transposed left operand is read so by the matrix engine; a transposed right one is
// turned first.
#include "Conversion/RelayToTile/Lowerings.h"
#include "Dialect/Relay/Relay.h"
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

static int64_t l1Need(const Product &p, const ProductTiling &t) {
  return (p.k * t.tileM + 2 * p.k * t.tileN + t.tileM * t.tileN) * halfBytes + 4096;
}

static std::optional<ProductTiling> tilingOf(const Product &p, int ncore, int64_t llbRoom,
                                             int64_t epilogueBytes, std::string &why) {
  int64_t slice = (p.m * p.k + p.k * p.n + p.m * p.n) * halfBytes;
  if (slice > llbRoom - 65536 - epilogueBytes) {
    why = "one product needs " + std::to_string(slice) + " bytes of LLB, more than it has";
    return std::nullopt;
  }
  if (std::max({p.m, p.k, p.n}) * halfBytes > maxStride) {
    why = "extents must be at most 32767, got " + shapeText({p.m, p.k, p.n});
    return std::nullopt;
  }
  ProductTiling t;
  t.tileM = std::clamp<int64_t>(ceilDiv(p.m, ncore), std::min<int64_t>(p.m, 32), 128);
  t.tileN = std::min<int64_t>(p.n, 64);
  // Short accumulator chains: at most 2304 terms, in equal parts.
  for (t.parts = 1; t.parts < p.k && (p.k % t.parts != 0 || p.k / t.parts > 2304); ++t.parts)
    ;
  while (t.tileN > 1 && (l1Need(p, t) + epilogueBytes > levelCapacity(MemoryLevel::L1) ||
                         p.k * t.tileN * halfBytes > 131072))
    t.tileN = ceilDiv(t.tileN, 2);
  while (t.tileM > 1 && l1Need(p, t) + epilogueBytes > levelCapacity(MemoryLevel::L1))
    t.tileM = ceilDiv(t.tileM, 2);
  if (l1Need(p, t) + epilogueBytes > levelCapacity(MemoryLevel::L1)) {
    why = "a reduction of " + std::to_string(p.k) + " terms does not fit L1";
    return std::nullopt;
  }
  return t;
}

static std::string whyNotMatmul(Operation *op, int ncore) {
  std::string why;
  tilingOf(productOf(op), ncore, levelCapacity(MemoryLevel::LLB), tableBytes + 65536, why);
  return why;
}

namespace {
class ProductEmitter {
public:
  ProductEmitter(KernelBuilder &kb, const Product &p, const ProductTiling &t, const ElementwiseChain &chain)
      : kb(kb), b(kb.builder()), p(p), t(t), chain(chain) {}

  void run(const Place &lhsFrom, const Place &rhsFrom, const Place &outTo, ArrayRef<Place> residualsFrom) {
    int64_t lhsBytes = p.m * p.k * halfBytes, rhsBytes = p.k * p.n * halfBytes,
            outBytes = p.m * p.n * halfBytes;
    lhsLlb = kb.alloc(MemoryLevel::LLB, lhsBytes, "lhs");
    rhsLlb = kb.alloc(MemoryLevel::LLB, rhsBytes, "rhs");
    outLlb = kb.alloc(MemoryLevel::LLB, outBytes, "out");
    lhs = kb.alloc(MemoryLevel::L1, t.tileM * p.k * halfBytes, "lhs");
    rhs = kb.alloc(MemoryLevel::L1, t.tileN * p.k * halfBytes, "rhs");
    out = kb.alloc(MemoryLevel::L1, t.tileM * t.tileN * halfBytes, "out");
    sum = kb.alloc(MemoryLevel::IM, t.tileM * t.tileN * halfBytes, "sum");
    if (t.parts > 1)
      partial = kb.alloc(MemoryLevel::IM, t.tileM * t.tileN * halfBytes, "partial");
    if (p.rhsTransposed) {
      raw = kb.alloc(MemoryLevel::L1, t.tileN * p.k * halfBytes, "raw");
      turned = kb.alloc(MemoryLevel::IM, t.tileN * p.k * halfBytes, "turned");
    }
    for (size_t i = 0; i < residualsFrom.size(); ++i) {
      residualsLlb.push_back(kb.alloc(MemoryLevel::LLB, outBytes, "residual"));
      residuals.push_back(kb.alloc(MemoryLevel::L1, t.tileM * t.tileN * halfBytes, "residual"));
    }
    kb.loop(0, p.batch, 1, [&](Value batch) {
      Value outOffset = kb.mul(batch, outBytes), zero = kb.constant(0);
      kb.onMaster([&] {
        kb.dma(lhsLlb, zero, lhsFrom.buffer,
               kb.add(lhsFrom.offset, p.lhsShared ? zero : kb.mul(batch, lhsBytes)), kb.constant(lhsBytes),
               lhsBytes);
        kb.dma(rhsLlb, zero, rhsFrom.buffer,
               kb.add(rhsFrom.offset, p.rhsShared ? zero : kb.mul(batch, rhsBytes)), kb.constant(rhsBytes),
               rhsBytes);
        for (size_t i = 0; i < residualsFrom.size(); ++i)
          kb.dma(residualsLlb[i], zero, residualsFrom[i].buffer, kb.add(residualsFrom[i].offset, outOffset),
                 kb.constant(outBytes), outBytes);
      });
      kb.barrier();
      product();
      kb.barrier();
      kb.onMaster([&] {
        kb.dma(outTo.buffer, kb.add(outTo.offset, outOffset), outLlb, zero, kb.constant(outBytes), outBytes);
      });
    });
  }

private:
  void product() {
    int64_t tilesM = ceilDiv(p.m, t.tileM), tilesN = ceilDiv(p.n, t.tileN);
    // Neighbouring tiles of a core share their columns of rhs when there are enough rows; else cores cut
    // columns.
    bool byRows = tilesM >= kb.cores() || tilesM >= tilesN;
    auto firstN = byRows ? kb.constant(0) : kb.coreId(), firstM = byRows ? kb.coreId() : kb.constant(0);
    kb.loop(firstN, kb.constant(tilesN), kb.constant(byRows ? 1 : kb.cores()), [&](Value blockN) {
      column = kb.mul(blockN, t.tileN);
      columns = kb.min(kb.constant(t.tileN), kb.sub(kb.constant(p.n), column));
      loadRhs();
      kb.loop(firstM, kb.constant(tilesM), kb.constant(byRows ? kb.cores() : 1), [&](Value blockM) {
        row = kb.mul(blockM, t.tileM);
        rows = kb.min(kb.constant(t.tileM), kb.sub(kb.constant(p.m), row));
        tile();
      });
    });
  }

  /// rhs columns of the block as [k][columns].
  void loadRhs() {
    Value k = kb.constant(p.k), zero = kb.constant(0);
    if (!p.rhsTransposed)
      return kb.load(kb.view(rhs), kb.view(rhsLlb, kb.mul(column, halfBytes)), k, columns,
                     kb.constant(p.n * halfBytes));
    kb.load(kb.view(raw), kb.view(rhsLlb, kb.mul(column, p.k * halfBytes)), columns, k, zero);
    TransposeOp::create(b, kb.location(), kb.view(turned), kb.view(raw), columns, k, zero, zero);
    UnaryOp::create(b, kb.location(), UnaryKind::copy, kb.view(rhs), kb.view(turned), k, columns, zero, zero);
  }

  void multiply(Value dst, Value part) {
    int64_t terms = p.k / t.parts;
    Value lhsOffset =
        p.lhsTransposed ? kb.mul(kb.mul(part, rows), terms * halfBytes) : kb.mul(part, terms * halfBytes);
    Value rhsOffset = kb.mul(kb.mul(part, columns), terms * halfBytes);
    Value lhsStride = p.lhsTransposed ? kb.constant(0) : kb.constant(p.k * halfBytes);
    MatmulOp::create(b, kb.location(), kb.view(dst), kb.view(lhs, lhsOffset), kb.view(rhs, rhsOffset), rows,
                     kb.constant(terms), columns, kb.constant(0), lhsStride, kb.constant(0), p.lhsTransposed);
  }

  void tile() {
    Value zero = kb.constant(0), k = kb.constant(p.k);
    if (p.lhsTransposed)
      kb.load(kb.view(lhs), kb.view(lhsLlb, kb.mul(row, halfBytes)), k, rows, kb.constant(p.m * halfBytes));
    else
      kb.load(kb.view(lhs), kb.view(lhsLlb, kb.mul(row, p.k * halfBytes)), rows, k, zero);
    multiply(sum, zero);
    kb.loop(1, t.parts, 1, [&](Value part) {
      multiply(partial, part);
      BinaryOp::create(b, kb.location(), BinaryKind::add, kb.view(sum), kb.view(sum), kb.view(partial), rows,
                       columns, zero, zero, zero);
    });
    Value at = kb.mul(kb.add(kb.mul(row, p.n), column), halfBytes), stride = kb.constant(p.n * halfBytes);
    SmallVector<Value> tiles;
    for (size_t i = 0; i < residuals.size(); ++i) {
      tiles.push_back(kb.view(residuals[i]));
      kb.load(tiles.back(), kb.view(residualsLlb[i], at), rows, columns, stride);
    }
    chain.emit(kb, kb.view(out), zero, kb.view(sum), zero, rows, columns, column, tiles, zero);
    kb.store(kb.view(outLlb, at), kb.view(out), rows, columns, stride);
  }

  KernelBuilder &kb;
  OpBuilder &b;
  const Product &p;
  const ProductTiling &t;
  const ElementwiseChain &chain;
  Value lhsLlb, rhsLlb, outLlb, lhs, rhs, out, sum, partial, raw, turned;
  SmallVector<Value> residualsLlb, residuals;
  // Of the tile that the code being built works on.
  Value row, rows, column, columns;
};
} // namespace

static bool lowerMatmul(Operation *op, const KernelSpec &spec, LoweringContext &context, std::string &why) {
  Product p = productOf(op);
  auto chain = ElementwiseChain::analyse(spec.primitive, op->getResult(0), why);
  if (!chain)
    return false;
  auto t =
      tilingOf(p, context.ncore, spec.llbRoom, chain->l1Bytes() + 32768 * int64_t(chain->tensorCount()), why);
  if (!t)
    return false;
  KernelBuilder kb = builderFor(spec, context);
  chain->prepare(kb, context.pool);
  SmallVector<Place> residuals = chain->tensorPlaces(kb, context.pool, spec.inputs);
  ProductEmitter(kb, p, *t, *chain)
      .run(inputPlace(kb, p.lhs, spec), inputPlace(kb, p.rhs, spec), outputPlace(kb, spec), residuals);
  kb.finish();
  return true;
}

const Family tile::matmulFamily = {handlesMatmul, whyNotMatmul, lowerMatmul};
