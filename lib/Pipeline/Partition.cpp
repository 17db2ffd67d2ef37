#include "Pipeline/Partition.h"
#include "Conversion/RelayToTile/RelayToTile.h"
#include "Dialect/Relay/Relay.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include <deque>

using namespace mlir;
using namespace tensorturbo;

namespace {
struct Segment {
  bool npu;
  SmallVector<Operation *> ops;
};
} // namespace

static bool isNpuCall(Operation *op) {
  return isa<func::CallOp>(op);
}

/// All operators whose operands are available go into the open segment if they run there; when none is left,
/// the other side gets a segment.
static std::vector<Segment> schedule(func::FuncOp main) {
  std::vector<Segment> segments;
  SmallVector<Operation *> waiting;
  for (Operation &op : main.getBody().front())
    if (!isa<relay::ConstantOp, func::ReturnOp>(op))
      waiting.push_back(&op);
  llvm::DenseMap<Operation *, int> made; // number of the segment; -1 for shape changes in main
  auto available = [&](Operation *op) {
    return llvm::all_of(op->getOperands(), [&](Value v) {
      Operation *def = v.getDefiningOp();
      return !def || isa<relay::ConstantOp>(def) || made.count(def);
    });
  };
  bool npu = llvm::any_of(waiting, [&](Operation *op) { return available(op) && isNpuCall(op); });
  while (!waiting.empty()) {
    Segment segment{npu, {}};
    int number = static_cast<int>(segments.size());
    SmallVector<Operation *> later;
    for (Operation *op : waiting) {
      bool fits = available(op);
      if (fits && tile::isAlias(op)) {
        Operation *def = op->getOperand(0).getDefiningOp();
        // Made by the open segment: inside. Otherwise it stays in main, in front of the segment.
        if (def && made.count(def) && made[def] == number)
          segment.ops.push_back(op), made[op] = number;
        else
          made[op] = -1;
        continue;
      }
      if (fits && isNpuCall(op) == npu) {
        segment.ops.push_back(op);
        made[op] = number;
      } else {
        later.push_back(op);
      }
    }
    if (!segment.ops.empty())
      segments.push_back(std::move(segment));
    waiting = std::move(later);
    npu = !npu;
  }
  return segments;
}

/// Moves the segment's operators into a new function and calls it.
static void outline(ModuleOp module, func::FuncOp main, const Segment &segment, StringRef name) {
  llvm::SetVector<Value> inputs, outputs;
  llvm::SmallPtrSet<Operation *, 32> inside(segment.ops.begin(), segment.ops.end());
  SmallVector<Operation *> constants;
  SmallVector<Location> locations;
  for (Operation *op : segment.ops) {
    locations.push_back(op->getLoc());
    for (Value v : op->getOperands()) {
      Operation *def = v.getDefiningOp();
      if (def && isa<relay::ConstantOp>(def)) {
        if (!llvm::is_contained(constants, def))
          constants.push_back(def);
      } else if (!def || !inside.contains(def)) {
        inputs.insert(v);
      }
    }
    for (Value v : op->getResults())
      if (llvm::any_of(v.getUsers(), [&](Operation *user) { return !inside.contains(user); }))
        outputs.insert(v);
  }
  OpBuilder b(module.getContext());
  b.setInsertionPoint(main);
  Location loc = b.getFusedLoc(locations);
  auto type = b.getFunctionType(TypeRange(inputs.getArrayRef()), TypeRange(outputs.getArrayRef()));
  auto func = func::FuncOp::create(b, loc, name, type);
  func.setPrivate();
  func->setAttr("tt.target", b.getStringAttr(segment.npu ? "npu" : "host"));
  Block *body = func.addEntryBlock();

  b.setInsertionPoint(segment.ops.back());
  // The call goes where the last operator stood; operators of other segments that wait for it come later.
  auto call = func::CallOp::create(b, loc, func, inputs.getArrayRef());
  IRMapping map;
  for (auto [value, argument] : llvm::zip_equal(inputs, body->getArguments()))
    map.map(value, argument);
  b.setInsertionPointToEnd(body);
  for (Operation *constant : constants)
    b.clone(*constant, map);
  for (Operation *op : segment.ops)
    b.clone(*op, map);
  SmallVector<Value> results;
  for (Value v : outputs)
    results.push_back(map.lookup(v));
  func::ReturnOp::create(b, loc, results);
  for (auto [value, result] : llvm::zip_equal(outputs, call.getResults()))
    Value(value).replaceAllUsesWith(result);
  for (Operation *op : llvm::reverse(segment.ops))
    op->erase();
}

/// Results of main that no operator makes (constants, inputs) get a copy, which the host writes.
static void copyUnmadeResults(func::FuncOp main) {
  Operation *end = main.getBody().front().getTerminator();
  OpBuilder b(end);
  for (OpOperand &result : end->getOpOperands()) {
    Operation *def = result.get().getDefiningOp();
    while (def && tile::isAlias(def))
      def = def->getOperand(0).getDefiningOp();
    if (def && !isa<relay::ConstantOp>(def))
      continue;
    auto copy =
        relay::CopyOp::create(b, end->getLoc(), TypeRange(result.get().getType()), ValueRange(result.get()));
    result.set(copy->getResult(0));
  }
}

void tensorturbo::partition(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  copyUnmadeResults(main);
  std::vector<Segment> segments = schedule(main);
  int npu = 0, host = 0;
  for (const Segment &segment : segments)
    outline(module, main, segment,
            (segment.npu ? "npu_" : "host_") + std::to_string(segment.npu ? npu++ : host++));
  // Calls stand in the order of the segments only by chance: sort the block by its uses.
  Block &block = main.getBody().front();
  SmallVector<Operation *> order;
  llvm::SmallPtrSet<Operation *, 32> placed;
  std::function<void(Operation *)> place = [&](Operation *op) {
    if (!op || op->getBlock() != &block || !placed.insert(op).second)
      return;
    for (Value v : op->getOperands())
      place(v.getDefiningOp());
    order.push_back(op);
  };
  for (Operation &op : block)
    if (!isa<func::ReturnOp>(op))
      place(&op);
  for (Operation *op : order)
    op->moveBefore(block.getTerminator());
  // Constants that only segments used.
  for (Operation &op : llvm::make_early_inc_range(block))
    if (isa<relay::ConstantOp>(op) && op.use_empty())
      op.erase();
}
