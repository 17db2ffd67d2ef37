#include "Conversion/RelayToTile/PairwiseSums.h"
#include "Numerics/Half.h"

using namespace mlir;
using namespace tensorturbo::tile;

/// Scalar operands are cut, not rounded, to halves: round here.
static float asHalf(float value) {
  return tensorturbo::numerics::halfToFloat(tensorturbo::numerics::roundToHalf(value));
}

static Value at(KernelBuilder &kb, const L1Matrix &m, Value bytes) {
  return kb.view(m.buffer, kb.add(m.offset, bytes));
}

namespace {
/// Halves a sum level by level: `add` adds the two halves of the `left` rows or columns of `from` into the
/// work matrix, an odd one goes to the first.
struct Halving {
  KernelBuilder &kb;
  int64_t left;
  float scale;
  L1Matrix from, work;

  void run(int64_t shortest, llvm::function_ref<void(int64_t half)> add,
           llvm::function_ref<void(float factor)> scaleWork) {
    for (int level = 1; left > shortest; ++level) {
      add(left / 2);
      from = work;
      left /= 2;
      // Sixteen times the terms may be sixteen times as large.
      if (level % 4 == 0 && scale <= 1.0f / 16 && left > shortest) {
        scaleWork(1.0f / 16);
        scale *= 16;
      }
    }
  }
};
} // namespace

void tensorturbo::tile::sumRows(KernelBuilder &kb, Value dst, L1Matrix x, L1Matrix work, Value rows,
                                int64_t width, float scale) {
  OpBuilder &b = kb.builder();
  Location loc = kb.location();
  Value zero = kb.constant(0), stride = kb.constant(width * halfBytes);
  Halving h{kb, width, scale, x, work};
  h.run(
      64,
      [&](int64_t half) {
        Value to = at(kb, work, zero);
        BinaryOp::create(b, loc, BinaryKind::add, to, at(kb, h.from, zero),
                         at(kb, h.from, kb.constant(half * halfBytes)), rows, kb.constant(half), stride,
                         stride, stride);
        if (h.left % 2)
          BinaryOp::create(b, loc, BinaryKind::add, to, to,
                           at(kb, h.from, kb.constant((h.left - 1) * halfBytes)), rows, kb.constant(1),
                           stride, stride, stride);
      },
      [&](float factor) {
        Value to = at(kb, work, zero);
        BinaryScalarOp::create(b, loc, BinaryKind::mul, llvm::APFloat(factor), to, to, rows,
                               kb.constant(h.left), stride, stride);
      });
  FloatAttr factor = h.scale != 1.0f ? b.getF32FloatAttr(asHalf(h.scale)) : FloatAttr();
  ReduceOp::create(b, loc, ReduceKind::sum, Axis::rows, dst, at(kb, h.from, zero), rows, kb.constant(h.left),
                   zero, stride, factor);
}

void tensorturbo::tile::sumColumns(KernelBuilder &kb, Value dst, L1Matrix x, L1Matrix work, int64_t rows,
                                   Value columns, float scale) {
  OpBuilder &b = kb.builder();
  Location loc = kb.location();
  Value zero = kb.constant(0), rowBytes = kb.mul(columns, halfBytes);
  Halving h{kb, rows, scale, x, work};
  h.run(
      16,
      [&](int64_t half) {
        Value to = at(kb, work, zero);
        auto add = [&](Value lhs, int64_t row, int64_t count) {
          BinaryOp::create(b, loc, BinaryKind::add, to, lhs, at(kb, h.from, kb.mul(rowBytes, row)),
                           kb.constant(count), columns, zero, zero, zero);
        };
        add(at(kb, h.from, zero), half, half);
        if (h.left % 2)
          add(to, h.left - 1, 1);
      },
      [&](float factor) {
        Value to = at(kb, work, zero);
        BinaryScalarOp::create(b, loc, BinaryKind::mul, llvm::APFloat(factor), to, to, kb.constant(h.left),
                               columns, zero, zero);
      });
  FloatAttr factor = h.scale != 1.0f ? b.getF32FloatAttr(asHalf(h.scale)) : FloatAttr();
  ReduceOp::create(b, loc, ReduceKind::sum, Axis::columns, dst, at(kb, h.from, zero), kb.constant(h.left),
                   columns, zero, zero, factor);
}
