#include "Conversion/TileToNpu/InstructionOrder.h"
#include "Target/Target.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <numeric>

using namespace mlir;

namespace tensorturbo::tile {

bool conflict(const Access &a, const Access &b, ValueBounds &bounds) {
  if (!(a.isWrite || b.isWrite) || a.isShared != b.isShared)
    return false;
  if (!a.buffer || !b.buffer)
    return true;
  return a.buffer == b.buffer && !bounds.apart(a.offset, a.bytes, b.offset, b.bytes);
}

bool mustStayInOrder(const InstructionUnit &a, const InstructionUnit &b, ValueBounds &bounds) {
  return (a.isTogether && b.isTogether) || llvm::any_of(a.accesses, [&](const Access &x) {
           return llvm::any_of(b.accesses, [&](const Access &y) { return conflict(x, y, bounds); });
         });
}

double moveRate(int ncore) {
  static const target::Costs costs = *target::p920().costs();
  return std::min(costs.mteBytesPerCycle, costs.llbBytesPerCycle / ncore);
}

static schedule::ScheduleModel chipModel() {
  schedule::ScheduleModel model;
  model.queueDepth = uint32_t(target::p920().costs()->queueDepth);
  return model;
}

void PieceScheduler::add(InstructionUnit unit) {
  // Long pieces gain nothing more; the comparison of all pairs would take long.
  constexpr size_t longest = 192;
  if (piece.size() == longest)
    fence();
  std::vector<uint32_t> before;
  for (uint32_t k = 0; k < piece.size(); ++k)
    if (mustStayInOrder(piece[k], unit, bounds))
      before.push_back(k);
  after.push_back(std::move(before));
  piece.push_back(std::move(unit));
}

static schedule::ScheduleUnit describe(const InstructionUnit &unit) {
  schedule::ScheduleUnit result;
  result.engine = uint32_t(unit.engine);
  result.cycles = unit.cycles;
  result.issue = unit.issue;
  return result;
}

void PieceScheduler::fence() {
  std::vector<schedule::ScheduleUnit> units;
  for (size_t k = 0; k < piece.size(); ++k) {
    units.push_back(describe(piece[k]));
    units.back().after = after[k];
  }
  std::vector<uint32_t> order = schedule::listSchedule(units, chipModel());
  bool better = !std::is_sorted(order.begin(), order.end());
  // In a loop the next turns count too.
  if (better && isa<scf::ForOp>(block.getParentOp())) {
    std::vector<schedule::ScheduleUnit> repeated = repeat(units);
    schedule::ScheduleModel model = chipModel();
    better = schedule::finishTime(repeated, turnsInOrder(order), model) + model.negligible <
             schedule::finishTime(repeated, turnsInOrder(identity()), model);
  }
  if (better)
    reorder(order);
  piece.clear();
  after.clear();
}

std::vector<uint32_t> PieceScheduler::identity() const {
  std::vector<uint32_t> order(piece.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// The units of several turns.
std::vector<schedule::ScheduleUnit> PieceScheduler::repeat(const std::vector<schedule::ScheduleUnit> &units) {
  auto count = uint32_t(units.size());
  std::vector<schedule::ScheduleUnit> repeated;
  for (uint32_t turn = 0; turn < turns; ++turn)
    for (uint32_t k = 0; k < count; ++k) {
      repeated.push_back(units[k]);
      std::vector<uint32_t> &list = repeated.back().after;
      for (uint32_t &before : list)
        before += turn * count;
      for (uint32_t other = 0; other < count; ++other)
        if (uint32_t distance = turnsApart(piece[other], piece[k]); distance && distance <= turn)
          list.push_back((turn - distance) * count + other);
    }
  return repeated;
}

/// One order for each turn.
std::vector<uint32_t> PieceScheduler::turnsInOrder(const std::vector<uint32_t> &order) {
  std::vector<uint32_t> all;
  for (uint32_t turn = 0; turn < turns; ++turn)
    for (uint32_t index : order)
      all.push_back(uint32_t(turn * order.size()) + index);
  return all;
}

/// After how many turns `later` meets what `earlier` touched; 0 if never. Only an estimate: where an offset
/// changes from turn to turn, the buffer is supposed to have two slots.
uint32_t PieceScheduler::turnsApart(const InstructionUnit &earlier, const InstructionUnit &later) {
  auto loop = cast<scf::ForOp>(block.getParentOp());
  uint32_t nearest = 0;
  for (const Access &x : earlier.accesses)
    for (const Access &y : later.accesses) {
      if (!(x.isWrite || y.isWrite) || x.isShared || y.isShared || x.buffer != y.buffer || !x.buffer)
        continue;
      Interval from = bounds.of(x.offset), to = bounds.of(y.offset);
      if (from.high + x.bytes <= to.low || to.high + y.bytes <= from.low)
        continue;
      nearest = nearest == 1 || loop.isDefinedOutsideOfLoop(x.offset) ? 1 : 2;
    }
  return nearest;
}

void PieceScheduler::reorder(ArrayRef<uint32_t> order) {
  ++changed;
  llvm::SmallPtrSet<Operation *, 32> waiting;
  for (const InstructionUnit &unit : piece)
    waiting.insert(unit.ops.begin(), unit.ops.end());
  Operation *first = piece.front().ops.front();
  Operation *end = piece.back().ops.back()->getNextNode();
  for (Operation *op = first; op != end;) {
    Operation *next = op->getNextNode();
    if (!waiting.contains(op))
      op->moveBefore(first);
    op = next;
  }
  for (uint32_t index : order)
    for (Operation *op : piece[index].ops)
      op->moveBefore(end);
}

} // namespace tensorturbo::tile
