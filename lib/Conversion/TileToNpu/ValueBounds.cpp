#include "Conversion/TileToNpu/ValueBounds.h"
#include "Dialect/Npu/Npu.h"
#include "Dialect/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

using namespace mlir;

namespace tensorturbo::tile {
namespace {

constexpr Interval anything = {INT32_MIN, INT32_MAX};

std::optional<int64_t> constantOf(Value value) {
  APInt bits;
  if (!matchPattern(value, m_ConstantInt(&bits)))
    return std::nullopt;
  return bits.getSExtValue();
}

/// Nothing is known about what may have wrapped around.
Interval checked(__int128 low, __int128 high) {
  if (low < INT32_MIN || high > INT32_MAX)
    return anything;
  return {int64_t(low), int64_t(high)};
}

} // namespace

void ValueBounds::accumulate(Linear &to, const Linear &from, int64_t factor) {
  to.constant += from.constant * factor;
  for (auto [value, multiple] : from.terms) {
    int64_t &sum = to.terms[value];
    sum += multiple * factor;
  }
}

ValueBounds::Linear ValueBounds::linear(Value value, unsigned depth) {
  Linear result;
  if (auto constant = constantOf(value)) {
    result.constant = *constant;
    return result;
  }
  constexpr unsigned deepest = 12;
  Operation *op = depth < deepest ? value.getDefiningOp() : nullptr;
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
    accumulate(result, linear(op->getOperand(0), depth + 1), 1);
    accumulate(result, linear(op->getOperand(1), depth + 1), isa<arith::SubIOp>(op) ? -1 : 1);
    return result;
  }
  // Constants stand on the right in canonical form. Small factors only: sums must not leave 64 bits.
  std::optional<int64_t> right = isa_and_nonnull<arith::MulIOp, arith::ShLIOp>(op)
                                     ? constantOf(op->getOperand(1))
                                     : std::optional<int64_t>();
  if (right && isa<arith::MulIOp>(op) && std::abs(*right) < (int64_t(1) << 31)) {
    accumulate(result, linear(op->getOperand(0), deepest), *right);
    return result;
  }
  if (right && isa<arith::ShLIOp>(op) && *right >= 0 && *right < 31) {
    accumulate(result, linear(op->getOperand(0), deepest), int64_t(1) << *right);
    return result;
  }
  result.terms[value] = 1;
  return result;
}

/// Largest value of a sum. A minimum or maximum in it is one of its operands, which may cancel out with other
/// terms: a minimum is no more than either, a maximum no more than the larger one; the other way round if
/// taken away.
int64_t ValueBounds::highest(const Linear &linear, unsigned depth) {
  __int128 high = linear.constant;
  for (auto [value, multiple] : linear.terms) {
    Interval range = of(value);
    high += std::max(__int128(range.low) * multiple, __int128(range.high) * multiple);
  }
  constexpr __int128 most = int64_t(1) << 60;
  auto best = int64_t(std::clamp(high, -most, most));
  if (depth == 0)
    return best;
  for (auto [value, multiple] : linear.terms) {
    Operation *op = value.getDefiningOp();
    if (multiple == 0 || !isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp>(op))
      continue;
    auto with = [&, value = value, multiple = multiple](unsigned operand) {
      Linear other = linear;
      other.terms.erase(value);
      accumulate(other, this->linear(op->getOperand(operand)), multiple);
      return highest(other, depth - 1);
    };
    bool either = isa<arith::MinSIOp>(op) == (multiple > 0);
    best = std::min(best, either ? std::min(with(0), with(1)) : std::max(with(0), with(1)));
  }
  return best;
}

Interval ValueBounds::sum(const Linear &linear) {
  constexpr unsigned depth = 3;
  Linear negative;
  accumulate(negative, linear, -1);
  return {-highest(negative, depth), highest(linear, depth)};
}

Interval ValueBounds::difference(Value x, Value y) {
  // Differences of sums that may have wrapped around would be wrong.
  auto unknown = [](Interval i) { return i.low == anything.low && i.high == anything.high; };
  if (unknown(of(x)) || unknown(of(y)))
    return {2 * anything.low, 2 * anything.high};
  Linear distance = linear(x);
  accumulate(distance, linear(y), -1);
  distance.terms.remove_if([](auto &term) { return term.second == 0; });
  return sum(distance);
}

std::optional<bool> ValueBounds::outcome(arith::CmpIOp compare) {
  if (!compare.getLhs().getType().isSignlessInteger(32))
    return std::nullopt;
  Interval x = of(compare.getLhs()), y = of(compare.getRhs());
  Interval d = difference(compare.getLhs(), compare.getRhs());
  d = {std::max(d.low, x.low - y.high), std::min(d.high, x.high - y.low)};
  using Outcome = std::optional<bool>;
  auto negated = [](Outcome o) { return o ? Outcome(!*o) : o; };
  Outcome equal = !d.contains(0) ? Outcome(false) : d.isSingle() ? Outcome(true) : std::nullopt;
  Outcome less = d.high < 0 ? Outcome(true) : d.low >= 0 ? Outcome(false) : std::nullopt;
  Outcome notGreater = d.high <= 0 ? Outcome(true) : d.low > 0 ? Outcome(false) : std::nullopt;
  // Without a sign the order is the same where neither value is negative.
  bool natural = x.low >= 0 && y.low >= 0;
  using P = arith::CmpIPredicate;
  switch (compare.getPredicate()) {
  case P::eq:
    return equal;
  case P::ne:
    return negated(equal);
  case P::slt:
    return less;
  case P::sle:
    return notGreater;
  case P::sgt:
    return negated(notGreater);
  case P::sge:
    return negated(less);
  case P::ult:
    return natural ? less : std::nullopt;
  case P::ule:
    return natural ? notGreater : std::nullopt;
  case P::ugt:
    return natural ? negated(notGreater) : std::nullopt;
  case P::uge:
    return natural ? negated(less) : std::nullopt;
  }
  return std::nullopt;
}

std::pair<Value, int64_t> ValueBounds::valuePlusConstant(Value value) {
  Linear all = linear(value);
  all.terms.remove_if([](auto &term) { return term.second == 0; });
  if (all.terms.size() != 1 || all.terms.begin()->second != 1)
    return {};
  return {all.terms.begin()->first, all.constant};
}

bool ValueBounds::apart(Value x, int64_t xBytes, Value y, int64_t yBytes) {
  Linear distance = linear(y);
  accumulate(distance, linear(x), -1);
  return apart(std::move(distance), xBytes, yBytes);
}

/// True if the value is 0 and 1 in turns: the number of the turn, modulo 2.
static bool takesTurns(Value value, scf::ForOp loop) {
  auto rest = value.getDefiningOp<arith::RemUIOp>();
  if (!rest || constantOf(rest.getRhs()) != 2)
    return false;
  std::optional<int64_t> step = constantOf(loop.getStep());
  Value turn = rest.getLhs();
  int64_t divided = 1;
  if (auto quotient = turn.getDefiningOp<arith::DivUIOp>()) {
    auto by = constantOf(quotient.getRhs());
    divided = by.value_or(0);
    turn = quotient.getLhs();
  }
  if (auto minus = turn.getDefiningOp<arith::SubIOp>(); minus && minus.getRhs() == loop.getLowerBound())
    turn = minus.getLhs();
  else if (constantOf(loop.getLowerBound()) != 0)
    return false;
  return turn == loop.getInductionVar() && step && *step == divided;
}

bool ValueBounds::apartFromTurnBefore(scf::ForOp loop, Value x, int64_t xBytes, Value y, int64_t yBytes) {
  std::optional<int64_t> step = constantOf(loop.getStep());
  Linear before;
  Linear now = linear(x);
  before.constant = now.constant;
  for (auto [value, multiple] : now.terms) {
    if (value == loop.getInductionVar() && step) {
      before.terms[value] += multiple;
      before.constant -= multiple * *step;
    } else if (takesTurns(value, loop)) {
      before.terms[value] -= multiple;
      before.constant += multiple;
    } else if (loop.isDefinedOutsideOfLoop(value)) {
      before.terms[value] += multiple;
    } else if (multiple != 0) {
      return false;
    }
  }
  Linear distance = linear(y);
  accumulate(distance, before, -1);
  return apart(std::move(distance), xBytes, yBytes);
}

bool ValueBounds::apart(Linear distance, int64_t xBytes, int64_t yBytes) {
  // Values that cancel out say nothing.
  distance.terms.remove_if([](auto &term) { return term.second == 0; });
  auto apartAt = [&](Interval d) { return d.low >= xBytes || d.high <= -yBytes; };
  if (apartAt(sum(distance)))
    return true;
  // A slot number: try each.
  constexpr int64_t fewValues = 8;
  for (auto [value, multiple] : distance.terms) {
    Interval range = of(value);
    if (range.high - range.low >= fewValues)
      continue;
    Linear rest = distance;
    rest.terms.erase(value);
    bool all = true;
    for (int64_t v = range.low; v <= range.high && all; ++v) {
      Interval d = sum(rest);
      all = apartAt({d.low + v * multiple, d.high + v * multiple});
    }
    if (all)
      return true;
  }
  return false;
}

/// Values that a sum contains twice may cancel out.
Interval ValueBounds::tighter(Interval range, Value value) {
  Linear all = linear(value);
  all.terms.remove_if([](auto &term) { return term.second == 0; });
  Interval other = sum(all);
  return {std::max(range.low, other.low), std::min(range.high, other.high)};
}

Interval ValueBounds::of(Value value) {
  auto it = known.find(value);
  if (it != known.end())
    return it->second;
  // A loop's own variable is asked for while its bounds are worked out.
  known[value] = anything;
  return known[value] = value.getType().isInteger(32) ? compute(value) : anything;
}

std::pair<Interval, int64_t> ValueBounds::stepped(Value value) {
  Interval interval = of(value);
  if (interval.low == anything.low || interval.high == anything.high || interval.low > interval.high)
    return {interval, 1};
  // Every value is `base` and a multiple of `step`.
  Linear all = linear(value);
  int64_t step = 0;
  __int128 base = all.constant;
  for (auto [term, multiple] : all.terms) {
    Interval range = of(term);
    base += __int128(range.low) * multiple;
    if (range.isSingle())
      continue;
    int64_t by = 1;
    if (auto argument = dyn_cast<BlockArgument>(term))
      if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
          loop && argument == loop.getInductionVar() && of(loop.getLowerBound()).isSingle() &&
          of(loop.getStep()).isSingle())
        by = of(loop.getStep()).low;
    step = std::gcd(step, multiple * by);
  }
  if (step == 0)
    return {interval, 1};
  auto remainder = [&](__int128 x) { return int64_t(((x % step) + step) % step); };
  interval.low += remainder(base - interval.low);
  interval.high -= remainder(interval.high - base);
  return {interval, step};
}

Interval ValueBounds::trips(Value lower, Value upper, Value step) {
  Interval low = of(lower), high = of(upper), by = of(step);
  if (by.low < 1)
    return {0, INT32_MAX};
  auto turns = [](int64_t from, int64_t to, int64_t by) {
    return to <= from ? 0 : (to - from + by - 1) / by;
  };
  return {turns(low.high, high.low, by.high), turns(low.low, high.high, by.low)};
}

Interval ValueBounds::compute(Value value) {
  if (auto constant = constantOf(value))
    return {*constant, *constant};
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument != loop.getInductionVar())
      return anything;
    Interval low = of(loop.getLowerBound()), high = of(loop.getUpperBound());
    return of(loop.getStep()).low >= 1 ? Interval{low.low, std::max(low.low, high.high - 1)} : anything;
  }
  Operation *op = value.getDefiningOp();
  if (isa<CoreIdOp, npu::CoreIdOp>(op))
    return {0, ncore - 1};
  if (op->getNumOperands() != 2)
    return anything;
  // A loop's variable less where it began.
  if (auto minus = dyn_cast<arith::SubIOp>(op))
    if (auto argument = dyn_cast<BlockArgument>(minus.getLhs()))
      if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
          loop && argument == loop.getInductionVar() && loop.getLowerBound() == minus.getRhs() &&
          of(loop.getStep()).low >= 1)
        return checked(0, std::max<int64_t>(of(loop.getUpperBound()).high - of(minus.getRhs()).low - 1, 0));
  Interval x = of(op->getOperand(0)), y = of(op->getOperand(1));
  bool natural = x.low >= 0 && y.low >= 0;
  if (x.isSingle() && y.isSingle()) {
    if (isa<arith::AndIOp>(op))
      return {x.low & y.low, x.low & y.low};
    if (isa<arith::OrIOp>(op))
      return {x.low | y.low, x.low | y.low};
    if (isa<arith::RemUIOp, arith::RemSIOp>(op) && natural && y.low > 0)
      return {x.low % y.low, x.low % y.low};
  }
  return llvm::TypeSwitch<Operation *, Interval>(op)
      .Case<arith::AddIOp>([&](auto) { return tighter(checked(x.low + y.low, x.high + y.high), value); })
      .Case<arith::SubIOp>([&](auto) { return tighter(checked(x.low - y.high, x.high - y.low), value); })
      .Case<arith::MulIOp>([&](auto) {
        auto [low, high] = std::minmax({x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high});
        return checked(low, high);
      })
      .Case<arith::ShLIOp>(
          [&](auto) { return natural && y.high < 32 ? checked(x.low << y.low, x.high << y.high) : anything; })
      .Case<arith::DivUIOp, arith::DivSIOp>(
          [&](auto) { return natural && y.low > 0 ? Interval{x.low / y.high, x.high / y.low} : anything; })
      .Case<arith::RemUIOp, arith::RemSIOp>([&](auto) {
        return natural && y.low > 0 ? Interval{x.high < y.low ? x.low : 0, std::min(x.high, y.high - 1)}
                                    : anything;
      })
      .Case<arith::MinSIOp>([&](auto) { return Interval{std::min(x.low, y.low), std::min(x.high, y.high)}; })
      .Case<arith::MaxSIOp>([&](auto) { return Interval{std::max(x.low, y.low), std::max(x.high, y.high)}; })
      .Case<arith::OrIOp>(
          [&](auto) { return natural ? checked(std::max(x.low, y.low), x.high + y.high) : anything; })
      .Case<arith::AndIOp>([&](auto) { return natural ? Interval{0, std::min(x.high, y.high)} : anything; })
      .Default([](Operation *) { return anything; });
}

} // namespace tensorturbo::tile
