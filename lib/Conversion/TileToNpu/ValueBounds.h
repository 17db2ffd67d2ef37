// What can be said about i32 values without running: bounds, and distances between two of them.
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include <optional>

namespace tensorturbo::tile {

/// All values from `low` to `high`, both included.
struct Interval {
  int64_t low, high;
  bool contains(int64_t value) const { return low <= value && value <= high; }
  bool isSingle() const { return low == high; }
};

/// Bounds of values in one kernel. Remembers what it has found: make a new one after changing the kernel.
class ValueBounds {
public:
  /// `ncore` bounds the number of the core.
  explicit ValueBounds(int ncore) : ncore(ncore) {}
  int cores() const { return ncore; }

  /// What the asker knows about a value. To be called before anything is asked.
  void assume(mlir::Value value, Interval interval) { known[value] = interval; }

  /// As a signed number; everything an i32 can hold if nothing is known.
  Interval of(mlir::Value value);
  /// `of`, and a number by whose multiples all other possible values lie above the lowest.
  std::pair<Interval, int64_t> stepped(mlir::Value value);
  /// Bounds of x - y.
  Interval difference(mlir::Value x, mlir::Value y);
  /// Whether the condition holds, if that is known.
  std::optional<bool> outcome(mlir::arith::CmpIOp compare);
  /// A value and what is added to it to get `value`; null if that takes more than one.
  std::pair<mlir::Value, int64_t> valuePlusConstant(mlir::Value value);
  /// Least and most number of turns of a loop.
  Interval trips(mlir::Value lower, mlir::Value upper, mlir::Value step);
  /// True if [x + xShift, + xBytes) and [y + yShift, + yBytes) share no byte, whatever runs.
  bool apart(mlir::Value x, int64_t xBytes, mlir::Value y, int64_t yBytes);
  /// The same for `x` as it was one turn of `loop` before `y`. Knows offsets that grow with the loop's
  /// variable, and numbers of two slots that take turns.
  bool apartFromTurnBefore(mlir::scf::ForOp loop, mlir::Value x, int64_t xBytes, mlir::Value y,
                           int64_t yBytes);

private:
  /// A sum of multiples of values that are not sums themselves.
  struct Linear {
    int64_t constant = 0;
    llvm::SmallMapVector<mlir::Value, int64_t, 4> terms;
  };
  Linear linear(mlir::Value value, unsigned depth = 0);
  /// True if [0, xBytes) and [distance, distance + yBytes) share no byte.
  bool apart(Linear distance, int64_t xBytes, int64_t yBytes);
  Interval compute(mlir::Value value);
  Interval sum(const Linear &linear);
  int64_t highest(const Linear &linear, unsigned depth);
  Interval tighter(Interval range, mlir::Value value);
  static void accumulate(Linear &to, const Linear &from, int64_t factor);

  int ncore;
  llvm::DenseMap<mlir::Value, Interval> known;
};

} // namespace tensorturbo::tile
