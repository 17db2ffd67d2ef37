#include "Pipeline/StagePlanning.h"
#include "Conversion/RelayToTile/RelayToTile.h"
#include "Dialect/Relay/Relay.h"
#include "Target/Target.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tensorturbo;

static int64_t llbBytes() {
  return target::p920().llb().clusterShare;
}

static int64_t firstAxis(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getRank() == 0 ? 0 : tensor.getDimSize(0);
}

/// Whether the operator treats the entries of the first axis apart: a run of them in all operands but
/// constants gives the same run of the results.
static bool keepsImagesApart(Operation *op) {
  auto notFirst = [&](int64_t axis, Value data) {
    int64_t rank = cast<RankedTensorType>(data.getType()).getRank();
    return (axis < 0 ? axis + rank : axis) != 0;
  };
  auto reduces = [&](auto reduction) {
    if (!reduction.getAxis() || reduction.getExclude())
      return false;
    std::optional<ArrayRef<int64_t>> axes = reduction.getAxis();
    return !axes->empty() && llvm::all_of(*axes, [&](int64_t a) { return notFirst(a, reduction.getData()); });
  };
  // Every computed operand counts the same entries.
  for (Value v : op->getOperands())
    if (!relay::constantOf(v) && firstAxis(v.getType()) != firstAxis(op->getResult(0).getType()))
      return false;
  if (op->hasTrait<relay::ElementwiseUnary>())
    return true;
  if (op->hasTrait<relay::ElementwiseBinary>())
    return llvm::all_of(op->getOperands(), [&](Value v) {
      auto type = cast<RankedTensorType>(v.getType()),
           result = cast<RankedTensorType>(op->getResult(0).getType());
      // A constant must not have values of its own for each image, a smaller tensor must have as many.
      return relay::constantOf(v) ? type.getRank() < result.getRank() || type.getDimSize(0) == 1
                                  : type.getRank() == result.getRank();
    });
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<relay::Conv2DOp, relay::DenseOp, relay::MaxPool2DOp, relay::AvgPool2DOp, relay::GlobalAvgPool2DOp,
            relay::GlobalMaxPool2DOp, relay::AdaptiveAvgPool2DOp, relay::AdaptiveMaxPool2DOp>(
          [](auto) { return true; })
      .Case([&](relay::BiasAddOp o) { return notFirst(o.getAxis(), o.getData()); })
      .Case([&](relay::PreluOp o) { return notFirst(o.getAxis(), o.getData()); })
      .Case([&](relay::LayerNormOp o) { return notFirst(o.getAxis(), o.getData()); })
      .Case([&](relay::MatmulOp o) {
        return !o.getTransposeA() && relay::constantOf(o.getTensorB()) && !relay::constantOf(o.getTensorA());
      })
      .Case([&](relay::BatchMatmulOp o) {
        return !relay::constantOf(o.getTensorA()) && !relay::constantOf(o.getTensorB());
      })
      .Case([&](relay::TakeOp o) {
        return relay::constantOf(o.getData()) && !relay::constantOf(o.getIndices()) && o.getAxis() &&
               *o.getAxis() == 0;
      })
      .Case([&](relay::SplitOp o) { return notFirst(o.getAxis(), o.getData()); })
      .Case([&](relay::SoftmaxOp o) { return notFirst(o.getAxis(), o.getData()); })
      .Case([&](relay::LogSoftmaxOp o) { return notFirst(o.getAxis(), o.getData()); })
      .Case([&](relay::ConcatenateOp o) {
        return notFirst(o.getAxis(), o.getData().front()) &&
               llvm::none_of(o.getData(), [](Value v) { return relay::constantOf(v).has_value(); });
      })
      .Case([&](relay::MeanOp o) { return reduces(o); })
      .Case([&](relay::SumOp o) { return reduces(o); })
      .Case([&](relay::MaxOp o) { return reduces(o); })
      .Case([&](relay::MinOp o) { return reduces(o); })
      .Case([&](relay::PadOp o) { return o.getPadWidth()[0] == 0 && o.getPadWidth()[1] == 0; })
      .Case([&](relay::TransposeOp o) { return o.getAxes() && (*o.getAxes())[0] == 0; })
      .Default([](Operation *) { return false; });
}

static bool splittable(func::FuncOp primitive, int64_t batch) {
  auto batched = [&](Type type) { return firstAxis(type) > 0 && firstAxis(type) % batch == 0; };
  if (!llvm::all_of(primitive.getArgumentTypes(), batched) ||
      !llvm::all_of(primitive.getResultTypes(), batched))
    return false;
  for (Operation &op : primitive.getBody().front())
    if (!isa<relay::ConstantOp, func::ReturnOp>(op) && !keepsImagesApart(&op))
      return false;
  return true;
}

func::FuncOp tensorturbo::withBatch(ModuleOp module, func::FuncOp primitive, int64_t batch, int64_t part) {
  if (!splittable(primitive, batch))
    return nullptr;
  std::string name = primitive.getName().str() + "_of_" + std::to_string(part);
  if (auto known = module.lookupSymbol<func::FuncOp>(name))
    return known;
  func::FuncOp f = primitive.clone();
  f.setName(name);
  module.push_back(f);
  auto smaller = [&](Type type) -> Type {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tensor.getShape());
    shape[0] = shape[0] / batch * part;
    return tensor.clone(shape);
  };
  Block &body = f.getBody().front();
  for (BlockArgument argument : body.getArguments())
    argument.setType(smaller(argument.getType()));
  for (Operation &op : body) {
    auto infer = dyn_cast<InferTypeOpInterface>(op);
    if (!infer || isa<relay::ConstantOp>(op))
      continue;
    SmallVector<Type> types;
    if (failed(infer.inferReturnTypes(op.getContext(), op.getLoc(), op.getOperands(),
                                      op.getDiscardableAttrDictionary(), op.getPropertiesStorage(),
                                      op.getRegions(), types))) {
      f.erase();
      return nullptr;
    }
    for (auto [result, type] : llvm::zip_equal(op.getResults(), types))
      result.setType(type);
  }
  f.setFunctionType(
      FunctionType::get(f.getContext(), body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  return f;
}

static int64_t constantBytes(func::FuncOp primitive) {
  int64_t bytes = 0;
  for (auto constant : primitive.getOps<relay::ConstantOp>())
    bytes += static_cast<int64_t>(tensorBytes(constant.getResult().getType()));
  return bytes;
}

StageDecisions tensorturbo::decideStages(ModuleOp module, const BufferAssignment &assignment, bool stay) {
  const std::vector<Step> &steps = assignment.steps();
  const std::vector<DdrBuffer> &buffers = assignment.buffers();
  StageDecisions decisions;
  decisions.steps.resize(steps.size());
  decisions.buffers.resize(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i)
    decisions.buffers[i].place = i;
  for (auto &s : decisions.steps)
    s.llbRoom = llbBytes();
  if (!stay)
    return decisions;

  auto main = module.lookupSymbol<func::FuncOp>("main");
  int64_t batch = main.getNumArguments() ? firstAxis(main.getArgumentTypes()[0]) : 1;
  int stages = 0, nests = 0;
  for (size_t begin = 0; begin < steps.size();) {
    size_t end = begin;
    while (end < steps.size() && steps[end].npu == steps[begin].npu &&
           steps[end].segment == steps[begin].segment)
      ++end;
    if (steps[begin].npu) {
      schedule::StageProblem problem;
      problem.batch = std::max<int64_t>(batch, 1);
      problem.llbBytes = llbBytes();
      auto costs = *target::p920().costs("base");
      problem.ddrBytesPerCycle = costs.ddrBytesPerSecond / costs.clock;
      problem.llbBytesPerCycle = costs.llbBytesPerCycle;
      int count = static_cast<int>(end - begin);
      std::vector<int> tensorOf(buffers.size(), -1);
      std::vector<size_t> bufferOf;
      auto tensor = [&](size_t buffer) {
        if (tensorOf[buffer] < 0) {
          const DdrBuffer &b = buffers[buffer];
          schedule::StageTensor t;
          t.name = b.name;
          t.bytes = static_cast<int64_t>(b.bytes);
          // Alive beyond the segment on either side, or a constant: in DDR.
          t.ddrOnly = !b.constant.empty() || b.firstUse < static_cast<int64_t>(begin) ||
                      b.lastUse >= static_cast<int64_t>(end);
          t.lastUse = b.lastUse >= static_cast<int64_t>(end)
                          ? count
                          : static_cast<int>(b.lastUse - static_cast<int64_t>(begin));
          t.batched = b.constant.empty();
          tensorOf[buffer] = static_cast<int>(problem.tensors.size());
          problem.tensors.push_back(t);
          bufferOf.push_back(buffer);
        }
        return tensorOf[buffer];
      };
      for (size_t k = begin; k < end; ++k) {
        schedule::StageStep step;
        func::CallOp call = steps[k].call;
        auto primitive = module.lookupSymbol<func::FuncOp>(call.getCallee());
        step.splittable = batch > 1 && splittable(primitive, batch);
        step.weightBytes = constantBytes(primitive);
        for (size_t b : steps[k].inputs)
          step.inputs.push_back(tensor(b));
        if (int argument = tile::inPlaceArgument(primitive); argument >= 0) {
          int input = step.inputs[static_cast<size_t>(argument)];
          if (llvm::count(step.inputs, input) == 1)
            step.inPlace = input;
        }
        for (size_t b : steps[k].outputs) {
          int t = tensor(b);
          // An input of the model has no producer; its first use is the step itself.
          problem.tensors[static_cast<size_t>(t)].producer = static_cast<int>(k - begin);
          step.outputs.push_back(t);
        }
        problem.steps.push_back(std::move(step));
      }
      schedule::StagePlan plan = schedule::planStages(problem);
      std::vector<int64_t> live = plan.liveBytes(problem);
      for (int k = 0; k < count; ++k) {
        auto &s = decisions.steps[begin + static_cast<size_t>(k)];
        int stage = plan.stageOf(k);
        s.stage = stages + stage;
        s.nest = nests + plan.nestOf(stage);
        s.parts = plan.stages[static_cast<size_t>(stage)].parts;
        s.llbHeld = live[static_cast<size_t>(k)];
        s.llbRoom = llbBytes() - s.llbHeld;
      }
      for (size_t i = 0; i < bufferOf.size(); ++i) {
        if (!plan.resident[i])
          continue;
        auto &b = decisions.buffers[bufferOf[i]];
        int number = static_cast<int>(i);
        b.inLlb = true;
        b.scope = plan.scope(problem, number);
        b.llbBytes = plan.residentBytes(problem, number);
        b.place = bufferOf[static_cast<size_t>(plan.placeOf(problem, number))];
        auto [first, last] = plan.lifetime(problem, number);
        b.firstUse = static_cast<int64_t>(begin) + first;
        b.lastUse = static_cast<int64_t>(begin) + last;
      }
      nests += static_cast<int>(plan.stages.size());
      stages += static_cast<int>(plan.stages.size());
    }
    begin = end;
  }
  return decisions;
}
