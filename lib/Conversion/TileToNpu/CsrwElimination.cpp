// Pass npu-csrw-elim: drops CSR writes that change nothing, after those that a loop repeats have been put in
// front of the loop.
#include "Conversion/TileToNpu/TileToNpu.h"
#include "Dialect/Npu/Npu.h"
#include "Target/Target.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tensorturbo::tile {
namespace {

/// What is known about the contents of a CSR: the value last written, or its constant.
struct Contents {
  Value value;
  Attribute constant;
  static Contents of(Value value) {
    Contents contents{value, {}};
    matchPattern(value, m_Constant(&contents.constant));
    return contents;
  }
  bool operator==(const Contents &other) const {
    return value == other.value || (constant && constant == other.constant);
  }
};
using State = llvm::StringMap<Contents>;

/// Forgets every CSR that an op nested in `op` may write to another value; everything if a function is
/// called.
void forgetChanges(Operation *op, State &state) {
  op->walk([&](Operation *inner) {
    if (isa<CallOpInterface>(inner))
      return state.clear();
    auto write = dyn_cast<npu::CsrwOp>(inner);
    if (!write)
      return;
    auto it = state.find(write.getCsr());
    if (it != state.end() && !(it->second == Contents::of(write.getValue())))
      state.erase(it);
  });
}

/// Names of CSRs that instructions of `block` read before the block has written them.
void collectExposedReads(Block &block, llvm::StringSet<> written, llvm::StringSet<> &exposed) {
  for (Operation &op : block) {
    if (auto write = dyn_cast<npu::CsrwOp>(op)) {
      written.insert(write.getCsr());
    } else if (auto insn = dyn_cast<npu::Instruction>(op)) {
      for (uint16_t number : target::p920().find(insn.instructionName())->csrs)
        if (StringRef name = target::p920().csrName(number); !written.contains(name))
          exposed.insert(name);
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        collectExposedReads(inner, written, exposed);
  }
}

/// Puts in front of a loop what every write of a CSR in it writes, if that is one value from outside.
void hoistUniformWrites(scf::ForOp loop) {
  llvm::MapVector<StringRef, std::optional<Contents>> writes;
  WalkResult walk = loop.getBody()->walk([&](Operation *op) {
    if (isa<CallOpInterface>(op))
      return WalkResult::interrupt();
    auto write = dyn_cast<npu::CsrwOp>(op);
    if (!write)
      return WalkResult::advance();
    Contents now = Contents::of(write.getValue());
    auto [it, isNew] = writes.insert({write.getCsr(), now});
    if (!loop.isDefinedOutsideOfLoop(write.getValue()) || (!isNew && it->second && !(*it->second == now)))
      it->second = std::nullopt;
    return WalkResult::advance();
  });
  if (walk.wasInterrupted() || writes.empty())
    return;
  llvm::StringSet<> exposed;
  collectExposedReads(*loop.getBody(), {}, exposed);
  OpBuilder builder(loop);
  for (auto &[name, contents] : writes)
    if (contents && !exposed.contains(name))
      npu::CsrwOp::create(builder, loop.getLoc(), name, contents->value);
}

void eliminate(Block &block, State state) {
  for (Operation &op : block)
    if (auto loop = dyn_cast<scf::ForOp>(op))
      hoistUniformWrites(loop);
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto write = dyn_cast<npu::CsrwOp>(op);
    if (!write) {
      forgetChanges(&op, state);
      // Contents that no path through the regions changes are still known inside.
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          eliminate(inner, region.hasOneBlock() ? state : State());
      continue;
    }
    Contents now = Contents::of(write.getValue());
    auto [it, isNew] = state.try_emplace(write.getCsr(), now);
    if (!isNew && it->second == now)
      write.erase();
    else
      it->second = now;
  }
}

class CsrwEliminationPass : public PassWrapper<CsrwEliminationPass, OperationPass<func::FuncOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CsrwEliminationPass)
  StringRef getArgument() const override { return "npu-csrw-elim"; }
  StringRef getDescription() const override { return "drop CSR writes that repeat the last value"; }
  void runOnOperation() override {
    for (Block &block : getOperation().getBody())
      eliminate(block, {});
  }
};

} // namespace

std::unique_ptr<Pass> createCsrwEliminationPass() {
  return std::make_unique<CsrwEliminationPass>();
}

} // namespace tensorturbo::tile
