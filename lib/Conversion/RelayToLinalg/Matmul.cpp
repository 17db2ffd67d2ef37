// Matrix products.
#include "Conversion/RelayToLinalg/Emitter.h"
#include "Dialect/Relay/RelayNn.h"

using namespace mlir;

namespace tensorturbo::host {
namespace {

/// (batch, m, k) times (batch, k, n); either side may have a batch of 1. Flags: the last two dimensions of
/// the operand are swapped. The result is in the accumulator's type.
Tensor multiply(Emitter &e, Type accumulator, const Tensor &a, const Tensor &b, bool transposeA,
                bool transposeB) {
  MLIRContext *context = e.b.getContext();
  int64_t batch = std::max(a.dim(0), b.dim(0));
  if (a.dim(0) == 0 || b.dim(0) == 0)
    batch = 0;
  int64_t m = a.dim(transposeA ? 2 : 1), k = a.dim(transposeA ? 1 : 2), n = b.dim(transposeB ? 1 : 2);
  // The innermost loop runs along contiguous elements of b: n, or k if b is transposed.
  SmallVector<int64_t> loops =
      transposeB ? SmallVector<int64_t>{batch, m, n, k} : SmallVector<int64_t>{batch, m, k, n};
  auto d = [&](int64_t i) { return getAffineDimExpr(i, context); };
  AffineExpr row = d(1), column = d(transposeB ? 2 : 3), inner = d(transposeB ? 3 : 2);
  AffineExpr zero = getAffineConstantExpr(0, context);
  AffineExpr batchA = a.dim(0) == batch ? d(0) : zero, batchB = b.dim(0) == batch ? d(0) : zero;
  SmallVector<AffineExpr> exprsA = {batchA, transposeA ? inner : row, transposeA ? row : inner};
  SmallVector<AffineExpr> exprsB = {batchB, transposeB ? column : inner, transposeB ? inner : column};
  AffineMap maps[] = {AffineMap::get(4, 0, exprsA, context), AffineMap::get(4, 0, exprsB, context)};
  return e.accumulate(accumulator, loops, {0, 1, transposeB ? 2 : 3}, e.number(computeType(accumulator), 0),
                      {a, b}, maps, [&](ValueRange, ValueRange v, Value sum) {
                        return e.multiplyAdd(e.castScalar(v[0], a.element, accumulator),
                                             e.castScalar(v[1], b.element, accumulator), sum);
                      });
}

/// All leading dimensions as rows: (1, rows, last).
Tensor asRows(Emitter &e, const Tensor &tensor) {
  int64_t last = tensor.shape().back(), rows = 1;
  for (int64_t extent : tensor.shape().drop_back())
    rows *= extent;
  return e.reshape(tensor, {1, rows, last});
}

/// A matrix as a batch of one.
Tensor asBatch(Emitter &e, const Tensor &matrix) {
  return e.reshape(matrix, {1, matrix.dim(0), matrix.dim(1)});
}

void setProduct(Emitter &e, Value result, const Tensor &product) {
  auto type = cast<RankedTensorType>(result.getType());
  e.set(result, e.castTensor(e.reshape(product, type.getShape()), type.getElementType()));
}

Type elementOf(Value result) {
  return cast<RankedTensorType>(result.getType()).getElementType();
}

void lowerDense(Emitter &e, relay::DenseOp op) {
  Tensor a = asRows(e, e.get(op.getData())), b = asBatch(e, e.get(op.getWeight()));
  setProduct(e, op.getResult(), multiply(e, elementOf(op.getResult()), a, b, false, true));
}

void lowerMatmul(Emitter &e, relay::MatmulOp op) {
  Tensor a = e.get(op.getTensorA()), b = asBatch(e, e.get(op.getTensorB()));
  if (op.getTransposeA() && a.rank() > 2) {
    SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, a.rank()));
    std::swap(permutation[a.rank() - 1], permutation[a.rank() - 2]);
    a = e.transpose(a, permutation);
  }
  bool transposeA = op.getTransposeA() && a.rank() == 2;
  Tensor rows = transposeA ? asBatch(e, a) : asRows(e, a);
  setProduct(e, op.getResult(),
             multiply(e, elementOf(op.getResult()), rows, b, transposeA, op.getTransposeB()));
}

void lowerBatchMatmul(Emitter &e, relay::BatchMatmulOp op) {
  setProduct(e, op.getResult(),
             multiply(e, elementOf(op.getResult()), e.get(op.getTensorA()), e.get(op.getTensorB()),
                      op.getTransposeA(), op.getTransposeB()));
}

} // namespace

void addMatmulLowerings(LoweringTable &table) {
  addLowering(table, lowerDense);
  addLowering(table, lowerMatmul);
  addLowering(table, lowerBatchMatmul);
}

} // namespace tensorturbo::host
