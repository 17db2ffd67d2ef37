#include "Dialect/Relay/UnaryRegion.h"
#include "Dialect/Relay/Relay.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tensorturbo::relay {

/// Longer regions are not worth the search.
static constexpr size_t maxOps = 16;

static bool isElementFunction(Operation *op) {
  if (isa<CastOp, ZerosLikeOp, OnesLikeOp>(op) || op->getNumResults() != 1)
    return false;
  return op->hasTrait<ElementwiseUnary>() ||
         isa<AddOp, SubtractOp, MultiplyOp, DivideOp, MaximumOp, MinimumOp, PowerOp>(op);
}

std::optional<UnaryRegion> unaryRegionBehind(Value x) {
  llvm::SmallPtrSet<Operation *, 4> users(x.getUsers().begin(), x.getUsers().end());
  if (users.size() < 2)
    return std::nullopt;
  Block *block = x.getParentBlock();
  llvm::SetVector<Value> values;
  values.insert(x);
  llvm::SmallPtrSet<Operation *, 16> inside;
  SmallVector<Operation *> ops;
  std::optional<UnaryRegion> best;
  auto isOpen = [&](Value v) {
    return llvm::any_of(v.getUsers(), [&](Operation *user) { return !inside.contains(user); });
  };
  Operation *first = nullptr;
  for (Operation *user : users) {
    if (user->getBlock() != block)
      return std::nullopt;
    if (!first || user->isBeforeInBlock(first))
      first = user;
  }
  for (Operation *op = first; op && ops.size() < maxOps; op = op->getNextNode()) {
    if (llvm::none_of(op->getOperands(), [&](Value v) { return values.contains(v); }))
      continue;
    bool good = isElementFunction(op) && op->getResult(0).getType() == x.getType() &&
                llvm::all_of(op->getOperands(), [&](Value v) {
                  auto constant = constantOf(v);
                  return values.contains(v) || (constant && constant->elements() == 1);
                });
    if (!good)
      break;
    ops.push_back(op);
    inside.insert(op);
    values.insert(op->getResult(0));
    SmallVector<Value> open = llvm::filter_to_vector(values, isOpen);
    if (open.size() == 1 && open[0] == op->getResult(0) && ops.size() > 1)
      best = UnaryRegion{ops, open[0]};
  }
  return best;
}

} // namespace tensorturbo::relay
