// Groups operators of the NPU into functions, one kernel each: a layer with the element-wise operators behind
// it, a chain of element-wise operators, or one operator.
//
//   %0 = relay.nn.conv2d %x, %w
//   %1 = relay.nn.bias_add %0, %b
//   %2 = relay.add %1, %shortcut
//   %3 = relay.nn.relu %2
// becomes
//   %3 = call @fused_nn_conv2d_nn_bias_add_add_nn_relu_0(%x, %shortcut)
//
// OutlinePrimitives makes a function of every operator that is left: of all of them where fusion is disabled.
//
// Constants move into the function; computed tensors are its arguments. Operators that only rename the shape
// (reshape ...) need no kernel and stay, as do those of the host (tt.where).
#include "Dialect/Relay/UnaryRegion.h"
#include "Transforms/RelayPass.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace tensorturbo::relay {
namespace {

/// Limits of one kernel: what is brought to every core's own memory must fit there beside the tiles.
constexpr unsigned maxChain = 10;
constexpr unsigned maxLookups = 2;
constexpr unsigned maxTensors = 2;
/// Elements of a tensor below which a table costs more than the operators by themselves.
constexpr int64_t smallTensor = 1 << 19;

bool isAlias(Operation *op) {
  return llvm::isa<ReshapeOp, SqueezeOp, ExpandDimsOp, BatchFlattenOp>(op);
}

bool isLayer(Operation *op) {
  if (llvm::isa<BatchMatmulOp>(op))
    return true;
  if (auto matmul = llvm::dyn_cast<MatmulOp>(op))
    return constantOf(matmul.getTensorB()).has_value();
  return llvm::isa<Conv2DOp, DenseOp>(op);
}

bool isElementwise(Operation *op) {
  if (llvm::isa<CastOp, ZerosLikeOp, OnesLikeOp>(op))
    return false;
  return op->hasTrait<ElementwiseUnary>() || op->hasTrait<ElementwiseBinary>() ||
         llvm::isa<BiasAddOp, PreluOp>(op);
}

/// Whether the vector engine computes it with arithmetic alone; everything else needs a table.
bool isArithmetic(Operation *op) {
  return llvm::isa<AddOp, SubtractOp, MultiplyOp, MaximumOp, MinimumOp, ReluOp, ClipOp, LeakyReluOp,
                   BiasAddOp, PreluOp, CopyOp>(op);
}

struct Group {
  SmallVector<Operation *> ops;
  llvm::SetVector<Value> inputs;
  /// Steps, tables and further tensors of the kernel; a region of operators that are one function is one
  /// step.
  unsigned length = 0, lookups = 0, tensors = 0;
  Operation *last() const { return ops.back(); }
};

struct Outliner {
  /// Without `fuse` every operator gets a function of its own.
  static void run(mlir::ModuleOp module, bool fuse) {
    SmallVector<mlir::func::FuncOp> functions;
    for (auto func : module.getOps<mlir::func::FuncOp>())
      if (!func.isExternal() && !func->hasAttr("relay.primitive"))
        functions.push_back(func);
    mlir::SymbolTable symbols(module);
    for (auto func : functions) {
      SmallVector<Group> groups = collect(func, fuse);
      for (const Group &group : groups)
        outline(group, symbols);
      for (auto c : llvm::make_early_inc_range(func.getBody().front().getOps<ConstantOp>()))
        if (c->use_empty())
          c->erase();
    }
  }

  static bool isNpu(Operation *op) {
    if (!llvm::isa_and_present<RelayDialect>(op->getDialect()) || llvm::isa<ConstantOp>(op) || isAlias(op))
      return false;
    auto where = op->getAttrOfType<mlir::StringAttr>("tt.where");
    return !where || where == "npu";
  }

  static SmallVector<Group> collect(mlir::func::FuncOp func, bool fuse) {
    SmallVector<Group> groups;
    llvm::DenseSet<Operation *> taken;
    auto grow = [&](Operation *start) {
      Group group;
      SmallVector<Operation *> region;
      if (fuse && isElementwise(start))
        for (Value v : start->getOperands())
          if (region.empty() && !v.getDefiningOp<ConstantOp>())
            region = regionBehind(v, group, taken);
      if (!region.empty() && region.front() == start) {
        addRegion(group, region, taken);
      } else {
        add(group, start, {});
        taken.insert(start);
      }
      while (fuse && (isLayer(start) || isElementwise(start))) {
        Value current = group.last()->getResult(0);
        region = regionBehind(current, group, taken);
        if (!region.empty()) {
          addRegion(group, region, taken);
          continue;
        }
        Operation *next = extension(group, taken);
        if (!next)
          break;
        add(group, next, current);
        taken.insert(next);
      }
      groups.push_back(std::move(group));
    };
    // Layers first: an element-wise operator joins the layer before it rather than a chain.
    for (Operation &op : func.getBody().front())
      if (isNpu(&op) && isLayer(&op))
        grow(&op);
    for (Operation &op : func.getBody().front())
      if (isNpu(&op) && !taken.contains(&op))
        grow(&op);
    return groups;
  }

  /// Operators behind `x` that are one function of an element, if the group has room for another table and
  /// all of them are free.
  static SmallVector<Operation *> regionBehind(Value x, const Group &group,
                                               const llvm::DenseSet<Operation *> &taken) {
    auto region = unaryRegionBehind(x);
    if (!region || group.lookups >= maxLookups || group.length >= maxChain ||
        !llvm::all_of(region->ops, [&](Operation *op) { return isNpu(op) && !taken.contains(op); }))
      return {};
    // Arithmetic alone is worth a table if it saves moving a large tensor.
    bool needsTable = llvm::any_of(region->ops, [](Operation *op) { return !isArithmetic(op); });
    if (!needsTable && llvm::cast<mlir::RankedTensorType>(x.getType()).getNumElements() < smallTensor)
      return {};
    return region->ops;
  }

  static void addRegion(Group &group, ArrayRef<Operation *> region, llvm::DenseSet<Operation *> &taken) {
    group.ops.append(region.begin(), region.end());
    taken.insert(region.begin(), region.end());
    ++group.lookups;
    ++group.length;
  }

  static void add(Group &group, Operation *op, Value current) {
    bool chained = !group.ops.empty();
    group.ops.push_back(op);
    ++group.length;
    if (isElementwise(op) && !isArithmetic(op))
      ++group.lookups;
    for (Value v : op->getOperands())
      if (v != current && !v.getDefiningOp<ConstantOp>()) {
        if (group.inputs.insert(v) && (chained || isElementwise(op)))
          ++group.tensors;
      }
  }

  /// The operator that may join behind the group's last one; null if there is none.
  static Operation *extension(const Group &group, const llvm::DenseSet<Operation *> &taken) {
    Value current = group.last()->getResult(0);
    if (group.length >= maxChain || group.last()->getNumResults() != 1)
      return nullptr;
    // x + x uses the value twice but in one operator.
    Operation *next = nullptr;
    for (Operation *user : current.getUsers()) {
      if (next && user != next)
        return nullptr;
      next = user;
    }
    if (!next || taken.contains(next) || !isNpu(next) || !isElementwise(next) ||
        next->getBlock() != group.last()->getBlock() || next->getResult(0).getType() != current.getType())
      return nullptr;
    if (!isArithmetic(next) && group.lookups >= maxLookups)
      return nullptr;
    for (Value v : next->getOperands()) {
      if (v == current || v.getDefiningOp<ConstantOp>())
        continue;
      // A second tensor must have the result's shape, and a divisor is overwritten by its inverse.
      if (v.getType() != current.getType() || group.tensors >= maxTensors)
        return nullptr;
      if (group.inputs.contains(v) && !llvm::isa<AddOp, SubtractOp, MultiplyOp, MaximumOp, MinimumOp>(next))
        return nullptr;
    }
    return next;
  }

  static void outline(const Group &group, mlir::SymbolTable &symbols) {
    Operation *last = group.last();
    mlir::OpBuilder b(last);
    std::string name = "fused";
    SmallVector<mlir::Location> locs;
    for (Operation *op : group.ops) {
      name += "_" + op->getName().stripDialect().str();
      locs.push_back(op->getLoc());
    }
    std::replace(name.begin(), name.end(), '.', '_');
    mlir::Location loc = b.getFusedLoc(locs);

    // Not those of the collection: functions outlined since then have replaced some.
    llvm::SetVector<Value> inputs;
    SmallVector<mlir::Type> inputTypes;
    for (Operation *op : group.ops)
      for (Value v : op->getOperands())
        if (!v.getDefiningOp<ConstantOp>() && !llvm::is_contained(group.ops, v.getDefiningOp()) &&
            inputs.insert(v))
          inputTypes.push_back(v.getType());
    auto type = mlir::FunctionType::get(b.getContext(), inputTypes, last->getResultTypes());
    auto func = mlir::func::FuncOp::create(loc, name, type);
    func.setPrivate();
    func->setAttr("relay.primitive", b.getUnitAttr());
    if (auto where = last->getAttr("tt.where"))
      func->setAttr("tt.where", where);
    mlir::Block *body = func.addEntryBlock();
    symbols.insert(func);

    mlir::IRMapping map;
    for (auto [v, arg] : llvm::zip_equal(inputs, body->getArguments()))
      map.map(v, arg);
    mlir::OpBuilder inner = mlir::OpBuilder::atBlockEnd(body);
    for (Operation *op : group.ops) {
      for (Value v : op->getOperands())
        if (auto c = v.getDefiningOp<ConstantOp>(); c && !map.contains(v))
          map.map(v, inner.clone(*c)->getResult(0));
      inner.clone(*op, map);
    }
    SmallVector<Value> results;
    for (Value r : last->getResults())
      results.push_back(map.lookup(r));
    mlir::func::ReturnOp::create(inner, loc, results);

    auto call = mlir::func::CallOp::create(b, loc, func, inputs.getArrayRef());
    for (mlir::NamedAttribute a : last->getDiscardableAttrs())
      call->setDiscardableAttr(a.getName(), a.getValue());
    last->replaceAllUsesWith(call->getResults());
    for (Operation *op : llvm::reverse(group.ops))
      op->erase();
  }
};

struct FuseConvAddBnRelu : RelayPass<FuseConvAddBnRelu> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseConvAddBnRelu)
  static constexpr llvm::StringLiteral passName = "FuseConvAddBnRelu";
  void runOnOperation() override { Outliner::run(getOperation(), true); }
};

struct OutlinePrimitives : RelayPass<OutlinePrimitives> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OutlinePrimitives)
  static constexpr llvm::StringLiteral passName = "OutlinePrimitives";
  void runOnOperation() override { Outliner::run(getOperation(), false); }
};

} // namespace

std::unique_ptr<mlir::Pass> createOutlinePrimitivesPass() {
  return std::make_unique<OutlinePrimitives>();
}

std::unique_ptr<mlir::Pass> createFuseConvAddBnReluPass() {
  return std::make_unique<FuseConvAddBnRelu>();
}

} // namespace tensorturbo::relay
