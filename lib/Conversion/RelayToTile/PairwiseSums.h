// Sums of many halves that lose little: halves of a matrix are added to each other until a short fold is
// left. A chain of n additions in FP16 is off by up to n/2 units of the last place, a tree by log2(n).
#pragma once
#include "Conversion/RelayToTile/KernelBuilder.h"

namespace tensorturbo::tile {

/// A dense matrix in L1: its buffer, and the byte where it begins.
struct L1Matrix {
  mlir::Value buffer, offset;
};

/// dst[r] = scale * sum of row r of `x`: `rows` rows of `width` halves, results dense. `work` is a matrix of
/// the same size (it may be x itself) that is overwritten if width > 64. With a scale below 1 intermediate
/// sums are kept small, so that only a result beyond the range of halves overflows (|x| up to 4094).
void sumRows(KernelBuilder &kb, mlir::Value dst, L1Matrix x, L1Matrix work, mlir::Value rows, int64_t width,
             float scale);

/// dst[c] = scale * sum of column c of `x`: `rows` rows of `columns` halves. `work` as above, overwritten if
/// rows > 16.
void sumColumns(KernelBuilder &kb, mlir::Value dst, L1Matrix x, L1Matrix work, int64_t rows,
                mlir::Value columns, float scale);

} // namespace tensorturbo::tile
