// Elements of constants as numbers, and back. Private to this folder.
#pragma once
#include "Constants/ConstantStore.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>
#include <vector>

namespace tensorturbo::relay {

/// Any element type as doubles (64-bit integers lose bits beyond 2^53).
std::vector<double> loadDoubles(const Constant &constant);
/// Integers and bool as int64 (uint64 wraps).
std::vector<int64_t> loadInts(const Constant &constant);
/// Floats are rounded to nearest even, integers truncated towards zero (saturating; NaN is 0), bool is != 0.
std::vector<uint8_t> storeDoubles(DType type, llvm::ArrayRef<double> values);
/// Integers wrap.
std::vector<uint8_t> storeInts(DType type, llvm::ArrayRef<int64_t> values);

/// The elements as another type, with the rules above; in pieces, so that weights need no copy as doubles.
std::vector<uint8_t> castElements(const Constant &constant, DType to);

} // namespace tensorturbo::relay
