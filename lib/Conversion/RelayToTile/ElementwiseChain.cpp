#include "Conversion/RelayToTile/ElementwiseChain.h"
#include "Conversion/RelayToTile/Lowerings.h"
#include "Dialect/Relay/Relay.h"
#include "Dialect/Relay/UnaryRegion.h"
#include "Numerics/Half.h"
#include "Schedule/MemoryPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace tensorturbo;
using namespace tensorturbo::tile;
using Kind = ElementwiseStep::Kind;

static float asHalf(double value) {
  return numerics::halfToFloat(numerics::roundToHalf(static_cast<float>(value)));
}

/// The constant as one value per channel of `shape` (its last axis): scalars are not vectors.
static std::optional<std::vector<float>> channelVector(Value operand, ArrayRef<int64_t> shape) {
  auto constant = relay::constantOf(operand);
  if (!constant || shape.empty())
    return std::nullopt;
  int64_t channels = shape.back();
  ArrayRef<int64_t> own(constant->shape);
  if (own.empty() || own.back() != channels || constant->elements() != channels)
    return std::nullopt;
  return floatsOf(*constant);
}

/// Full-size constants are stored in DDR as they are needed; larger ones are for the host.
static constexpr int64_t largestConstant = int64_t(1) << 24;

/// The constant's elements as NumPy broadcasts them to `shape`.
static std::optional<std::vector<float>> broadcastTo(const Constant &constant, ArrayRef<int64_t> shape) {
  int64_t count = product(shape);
  if (count > largestConstant || constant.shape.size() > shape.size())
    return std::nullopt;
  std::vector<float> from = floatsOf(constant), to(static_cast<size_t>(count));
  // Stride of each axis of the result in the constant; 0 where it is repeated.
  SmallVector<int64_t> strides(shape.size(), 0);
  int64_t stride = 1;
  for (size_t back = 1; back <= constant.shape.size(); ++back) {
    int64_t extent = constant.shape[constant.shape.size() - back];
    if (extent != 1 && extent != shape[shape.size() - back])
      return std::nullopt;
    strides[shape.size() - back] = extent == 1 ? 0 : stride;
    stride *= extent;
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = 0;
    for (size_t axis = shape.size(); axis-- > 0;) {
      at += rest % shape[axis] * strides[axis];
      rest /= shape[axis];
    }
    to[static_cast<size_t>(i)] = from[static_cast<size_t>(at)];
  }
  return to;
}

static std::optional<float> scalarOf(Value operand) {
  auto constant = relay::constantOf(operand);
  if (!constant || constant->elements() != 1)
    return std::nullopt;
  return floatsOf(*constant)[0];
}

void ElementwiseChain::addScalar(BinaryKind op, float value) {
  ElementwiseStep step(Kind::Scalar);
  step.op = op;
  step.scalar = asHalf(value);
  steps.push_back(std::move(step));
}

bool ElementwiseChain::addLookup(Operation *op) {
  auto function = unaryFunctionOf(op);
  if (!function)
    return false;
  ElementwiseStep step(Kind::Lookup);
  step.function = std::move(*function);
  steps.push_back(std::move(step));
  return true;
}

static UnaryFunction reciprocal() {
  return {"reciprocal", [](double x) { return 1.0 / x; }};
}

std::optional<RepeatedOperand> tile::repetitionOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> result) {
  if (shape.size() > result.size())
    return std::nullopt;
  RepeatedOperand r;
  r.shape.assign(result.size() - shape.size(), 1);
  r.shape.append(shape.begin(), shape.end());
  r.elements = product(shape);
  for (auto [own, whole] : llvm::zip_equal(r.shape, result))
    if (own != 1 && own != whole)
      return std::nullopt;
  return r;
}

/// A kernel keeps repeated operands in LLB whole.
static constexpr int64_t largestRepeated = int64_t(1) << 19;

std::string tile::whyNotRepeated(const RepeatedOperand &operand) {
  if (operand.elements <= largestRepeated)
    return "";
  return "a tensor that is repeated must have at most " + std::to_string(largestRepeated) +
         " elements, got " + shapeText(operand.shape);
}

bool ElementwiseChain::appendRepeated(Operation *op, Value other, ElementwiseStep step, std::string &why) {
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  auto argument = dyn_cast<BlockArgument>(other);
  auto operand = repetitionOf(shapeOf(other), shape);
  if (!operand || !mayRepeat || (!argument && !anyOperand)) {
    why = "operands of " + op->getName().getStringRef().str() + " must have equal shapes here, got " +
          shapeText(shapeOf(other)) + " and " + shapeText(shape);
    return false;
  }
  why = whyNotRepeated(*operand);
  if (!why.empty())
    return false;
  operand->argument = argument && !anyOperand ? argument.getArgNumber() : 0;
  bool divide = isa<relay::DivideOp>(op);
  step.tensor = repeated.size();
  repeated.push_back(*operand);
  if (divide) {
    bool quotient = op->getOperand(0) == other;
    ElementwiseStep inverse(quotient ? Kind::Lookup : Kind::LookupRepeated);
    inverse.function = reciprocal();
    inverse.tensor = step.tensor;
    steps.push_back(std::move(inverse));
  }
  if (step.reversed) {
    addScalar(BinaryKind::mul, -1);
    step.op = BinaryKind::add;
    step.reversed = false;
  }
  step.kind = Kind::Repeated;
  steps.push_back(std::move(step));
  return true;
}

bool ElementwiseChain::appendPower(Operation *op, Value current, std::string &why) {
  auto exponent = op->getOperand(0) == current ? scalarOf(op->getOperand(1)) : std::nullopt;
  if (!exponent) {
    why = "relay.power must have a constant exponent of one element";
    return false;
  }
  double c = *exponent;
  ElementwiseStep step(c == 2 ? Kind::Self : Kind::Lookup);
  step.op = BinaryKind::mul;
  step.function = {"power_" + std::to_string(*exponent), [c](double x) { return std::pow(x, c); }};
  steps.push_back(std::move(step));
  return true;
}

bool ElementwiseChain::appendBinary(Operation *op, Value current, std::string &why) {
  bool divide = isa<relay::DivideOp>(op), subtract = isa<relay::SubtractOp>(op);
  BinaryKind kind = isa<relay::MultiplyOp>(op) || divide ? BinaryKind::mul
                    : isa<relay::MaximumOp>(op)          ? BinaryKind::max
                    : isa<relay::MinimumOp>(op)          ? BinaryKind::min
                    : subtract                           ? BinaryKind::sub
                                                         : BinaryKind::add;
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  bool reversed = lhs != current;
  Value other = reversed ? lhs : rhs;
  ElementwiseStep step(Kind::Scalar);
  step.op = kind;
  step.reversed = reversed && subtract;

  if (lhs == rhs && !divide) {
    step.kind = Kind::Self;
    steps.push_back(std::move(step));
    return true;
  }
  auto lookup = [&](Kind where, size_t tensor) {
    ElementwiseStep r(where);
    r.function = reciprocal();
    r.tensor = tensor;
    steps.push_back(std::move(r));
  };
  if (auto scalar = scalarOf(other)) {
    float c = *scalar;
    // The inverse of a usual number is off by half a unit of the last place: less than a table costs.
    if (divide && !reversed && std::fabs(1.0 / c) >= 0x1p-14 && std::fabs(1.0 / c) < 65504) {
      addScalar(BinaryKind::mul, 1.0f / c);
    } else if (divide) {
      ElementwiseStep quotient(Kind::Lookup);
      quotient.function = {(reversed ? "quotient_of_" : "quotient_by_") + std::to_string(c),
                           [c, reversed](double x) { return reversed ? c / x : x / c; }};
      steps.push_back(std::move(quotient));
    } else if (subtract && reversed) {
      addScalar(BinaryKind::mul, -1);
      addScalar(BinaryKind::add, c);
    } else {
      addScalar(subtract ? BinaryKind::add : kind, subtract ? -c : c);
    }
    return true;
  }
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  if (auto vector = channelVector(other, shape)) {
    if (divide && reversed)
      lookup(Kind::Lookup, 0);
    if (divide && !reversed)
      for (float &v : *vector)
        v = 1.0f / v;
    if (step.reversed) {
      addScalar(BinaryKind::mul, -1);
      step.op = BinaryKind::add;
      step.reversed = false;
    }
    step.kind = Kind::Vector;
    step.vector = std::move(*vector);
    steps.push_back(std::move(step));
    return true;
  }
  if (auto constant = relay::constantOf(other)) {
    auto values = broadcastTo(*constant, shape);
    if (!values) {
      why = "a constant must broadcast to at most " + std::to_string(largestConstant) + " elements";
      return false;
    }
    if (divide && !reversed)
      for (float &v : *values)
        v = 1.0f / v;
    if (divide && reversed)
      lookup(Kind::Lookup, 0);
    step.kind = Kind::Tensor;
    step.tensor = tensors.size();
    tensors.push_back({std::nullopt, std::move(*values)});
    steps.push_back(std::move(step));
    return true;
  }
  if (shapeOf(other) != shape)
    return appendRepeated(op, other, std::move(step), why);
  auto argument = dyn_cast<BlockArgument>(other);
  if (!argument && !anyOperand) {
    why = "operand of " + op->getName().getStringRef().str() + " must be an argument of the fused function";
    return false;
  }
  unsigned number = argument && !anyOperand ? argument.getArgNumber() : 0;
  auto known = tensorIndex(number);
  if (known && (divide || inverted(*known))) {
    why = "a tensor that is a divisor must be used once within a fused function";
    return false;
  }
  step.tensor = known.value_or(tensors.size());
  if (!known)
    tensors.push_back({number, {}});
  if (divide)
    lookup(reversed ? Kind::Lookup : Kind::LookupTensor, step.tensor);
  step.kind = Kind::Tensor;
  steps.push_back(std::move(step));
  return true;
}

bool ElementwiseChain::append(Operation *op, Value current, std::string &why) {
  if (isa<relay::AddOp, relay::SubtractOp, relay::MultiplyOp, relay::DivideOp, relay::MaximumOp,
          relay::MinimumOp>(op))
    return appendBinary(op, current, why);
  if (isa<relay::PowerOp>(op))
    return appendPower(op, current, why);
  if (isa<relay::ReluOp>(op)) {
    addScalar(BinaryKind::max, 0);
    return true;
  }
  if (auto clip = dyn_cast<relay::ClipOp>(op)) {
    addScalar(BinaryKind::max, static_cast<float>(clip.getAMin()));
    addScalar(BinaryKind::min, static_cast<float>(clip.getAMax()));
    return true;
  }
  if (auto leaky = dyn_cast<relay::LeakyReluOp>(op)) {
    addScalar(BinaryKind::leaky_relu, static_cast<float>(leaky.getAlpha()));
    return true;
  }
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  int64_t rank = static_cast<int64_t>(shape.size());
  auto vectorStep = [&](BinaryKind kind, Value operand, int64_t axis) {
    auto vector = relay::constantOf(operand);
    if (!vector || (axis < 0 ? axis + rank : axis) != rank - 1 || vector->elements() != shape.back()) {
      why = op->getName().getStringRef().str() + " must have a constant vector along the last axis";
      return false;
    }
    ElementwiseStep step(Kind::Vector);
    step.op = kind;
    step.vector = floatsOf(*vector);
    steps.push_back(std::move(step));
    return true;
  };
  if (auto bias = dyn_cast<relay::BiasAddOp>(op))
    return vectorStep(BinaryKind::add, bias.getBias(), bias.getAxis());
  if (auto prelu = dyn_cast<relay::PreluOp>(op)) {
    if (auto scalar = scalarOf(prelu.getAlpha()))
      return addScalar(BinaryKind::leaky_relu, *scalar), true;
    return vectorStep(BinaryKind::leaky_relu, prelu.getAlpha(), prelu.getAxis());
  }
  if (isa<relay::CopyOp>(op))
    return true;
  if (addLookup(op))
    return true;
  why = op->getName().getStringRef().str() + " is no element-wise operator of the vector engine";
  return false;
}

std::optional<ElementwiseChain> ElementwiseChain::analyse(func::FuncOp func, Value start, std::string &why,
                                                          bool repeated) {
  ElementwiseChain chain;
  chain.mayRepeat = repeated;
  Value current = start;
  Operation *startOp = start.getDefiningOp();
  bool begun = startOp == nullptr;
  llvm::SmallPtrSet<Operation *, 16> done;
  for (Operation &op : func.getBody().front()) {
    if (&op == startOp) {
      begun = true;
      continue;
    }
    if (!begun || isa<relay::ConstantOp>(op) || done.contains(&op))
      continue;
    if (auto region = relay::unaryRegionBehind(current); region && region->ops.front() == &op)
      if (auto function = unaryFunctionOf(region->ops, current)) {
        ElementwiseStep step(Kind::Lookup);
        step.function = std::move(*function);
        chain.steps.push_back(std::move(step));
        done.insert(region->ops.begin(), region->ops.end());
        current = region->result;
        continue;
      }
    if (isa<func::ReturnOp>(op)) {
      if (op.getNumOperands() != 1 || op.getOperand(0) != current) {
        why = "a fused function must return the end of its chain";
        return std::nullopt;
      }
      continue;
    }
    if (!llvm::is_contained(op.getOperands(), current)) {
      why = op.getName().getStringRef().str() + " is not part of one chain of operators";
      return std::nullopt;
    }
    if (shapeOf(op.getResult(0)) != shapeOf(current)) {
      why = op.getName().getStringRef().str() + " changes the shape within a fused function";
      return std::nullopt;
    }
    if (!chain.append(&op, current, why))
      return std::nullopt;
    current = op.getResult(0);
  }
  return chain;
}

std::optional<ElementwiseChain> ElementwiseChain::ofOperator(Operation *op, std::string &why) {
  ElementwiseChain chain;
  chain.anyOperand = chain.mayRepeat = true;
  for (Value operand : op->getOperands())
    if (!relay::constantOf(operand) && shapeOf(operand) == shapeOf(op->getResult(0)))
      return chain.append(op, operand, why) ? std::optional(std::move(chain)) : std::nullopt;
  why = "no computed operand has the shape of the result";
  return std::nullopt;
}

bool ElementwiseChain::perChannel() const {
  return llvm::any_of(steps, [](const ElementwiseStep &s) { return s.kind == Kind::Vector; });
}

bool ElementwiseChain::overwritesRepeated(size_t i) const {
  return llvm::any_of(
      steps, [&](const ElementwiseStep &s) { return s.kind == Kind::LookupRepeated && s.tensor == i; });
}

bool ElementwiseChain::inverted(size_t tensor) const {
  return llvm::any_of(
      steps, [&](const ElementwiseStep &s) { return s.kind == Kind::LookupTensor && s.tensor == tensor; });
}

std::optional<size_t> ElementwiseChain::tensorIndex(unsigned argument) const {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].argument == argument)
      return i;
  return std::nullopt;
}

SmallVector<Place> ElementwiseChain::tensorPlaces(KernelBuilder &kb, ConstantPool &pool,
                                                  const std::vector<TensorRef> &inputs) const {
  SmallVector<Place> places;
  for (const TensorOperand &t : tensors) {
    if (!t.argument) {
      places.push_back(kb.place(pool.add(halvesOf(t.constant), "tensor"), false, 0));
      continue;
    }
    places.push_back(placeOf(kb, inputs[*t.argument]));
  }
  return places;
}

int64_t ElementwiseChain::tensorsInDdr(const std::vector<TensorRef> &inputs) const {
  return llvm::count_if(tensors,
                        [&](const TensorOperand &t) { return !t.argument || !inputs[*t.argument].inLlb; });
}

static bool usesTable(const ElementwiseStep &s) {
  return s.kind == Kind::Lookup || s.kind == Kind::LookupTensor || s.kind == Kind::LookupRepeated;
}

int64_t ElementwiseChain::l1Bytes() const {
  int64_t bytes = 0;
  for (const ElementwiseStep &s : steps) {
    if (usesTable(s))
      bytes += tableBytes;
    bytes += schedule::paddedBytes(static_cast<int64_t>(s.vector.size()) * 2);
  }
  return bytes;
}

ElementwiseChain ElementwiseChain::forColumns(int64_t first, int64_t count, int64_t pixels) const {
  ElementwiseChain chain = *this;
  for (ElementwiseStep &s : chain.steps) {
    if (s.kind != Kind::Vector)
      continue;
    std::vector<float> repeated;
    for (int64_t pixel = 0; pixel < pixels; ++pixel)
      repeated.insert(repeated.end(), s.vector.begin() + first, s.vector.begin() + first + count);
    s.vector = std::move(repeated);
  }
  return chain;
}

std::optional<std::pair<BinaryKind, std::vector<float>>> ElementwiseChain::takeLeadingVector() {
  if (steps.empty() || steps.front().kind != Kind::Vector)
    return std::nullopt;
  std::pair<BinaryKind, std::vector<float>> leading(steps.front().op, std::move(steps.front().vector));
  steps.erase(steps.begin());
  return leading;
}

void ElementwiseChain::prepare(KernelBuilder &kb, ConstantPool &pool) {
  // One copy per table, however often it is used.
  std::map<std::string, Value> tables;
  SmallVector<std::tuple<Value, Value, Value, int64_t>> moves;
  auto bring = [&](std::vector<uint8_t> bytes, StringRef name) {
    int64_t size = static_cast<int64_t>(bytes.size());
    Value global = kb.ddr(pool.add(std::move(bytes), name));
    Value llb = kb.alloc(MemoryLevel::LLB, size, name);
    Value l1 = kb.alloc(MemoryLevel::L1, size, name);
    moves.push_back({global, llb, l1, size});
    return l1;
  };
  buffers.clear();
  for (ElementwiseStep &s : steps) {
    Value buffer;
    if (usesTable(s)) {
      Value &known = tables[s.function.name];
      if (!known)
        known = bring(lookupTable(s.function), "table");
      buffer = known;
    } else if (s.kind == Kind::Vector) {
      buffer = bring(halvesOf(s.vector), "vector");
    }
    buffers.push_back(buffer);
  }
  if (moves.empty())
    return;
  kb.onMaster([&] {
    for (auto [global, llb, l1, size] : moves)
      kb.dma(llb, kb.constant(0), global, kb.constant(0), kb.constant(size), size);
  });
  kb.barrier();
  for (auto [global, llb, l1, size] : moves)
    kb.broadcastLinear(l1, kb.constant(0), llb, kb.constant(0), kb.constant(size / 2), size / 2);
}

void ElementwiseChain::emit(KernelBuilder &kb, Value dst, Value dstStride, Value src, Value srcStride,
                            Value rows, Value columns, Value firstChannel, ArrayRef<Value> tensorTiles,
                            Value tensorStride, ArrayRef<RepeatedTile> repeatedTiles) const {
  OpBuilder &b = kb.builder();
  Location loc = kb.location();
  if (steps.empty()) {
    UnaryOp::create(b, loc, UnaryKind::copy, dst, src, rows, columns, dstStride, srcStride);
    return;
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    const ElementwiseStep &s = steps[i];
    bool last = i + 1 == steps.size();
    Value to = last ? dst : src, toStride = last ? dstStride : srcStride;
    llvm::APFloat scalar(s.scalar);
    switch (s.kind) {
    case Kind::Scalar:
      BinaryScalarOp::create(b, loc, s.op, scalar, to, src, rows, columns, toStride, srcStride);
      break;
    case Kind::Vector: {
      Value vector = kb.view(buffers[i], kb.mul(firstChannel, halfBytes));
      BinaryVectorOp::create(b, loc, s.op, Axis::columns, to, src, vector, rows, columns, toStride,
                             srcStride);
      break;
    }
    case Kind::Self:
      BinaryOp::create(b, loc, s.op, to, src, src, rows, columns, toStride, srcStride, srcStride);
      break;
    case Kind::Tensor: {
      Value tensor = tensorTiles[s.tensor];
      if (s.reversed)
        BinaryOp::create(b, loc, s.op, to, tensor, src, rows, columns, toStride, tensorStride, srcStride);
      else
        BinaryOp::create(b, loc, s.op, to, src, tensor, rows, columns, toStride, srcStride, tensorStride);
      break;
    }
    case Kind::Repeated: {
      auto [form, tile] = repeatedTiles[s.tensor];
      if (form == RepeatedTile::Form::Matrix) {
        BinaryOp::create(b, loc, s.op, to, src, tile, rows, columns, toStride, srcStride, kb.constant(0));
        break;
      }
      Axis axis = form == RepeatedTile::Form::PerRow ? Axis::rows : Axis::columns;
      BinaryVectorOp::create(b, loc, s.op, axis, to, src, tile, rows, columns, toStride, srcStride);
      break;
    }
    case Kind::LookupRepeated: {
      auto [form, tile] = repeatedTiles[s.tensor];
      Value zero = kb.constant(0), one = kb.constant(1);
      LookupOp::create(b, loc, tile, tile, kb.view(buffers[i]),
                       form == RepeatedTile::Form::Matrix ? rows : one,
                       form == RepeatedTile::Form::PerRow ? rows : columns, zero, zero);
      break;
    }
    case Kind::Lookup:
      LookupOp::create(b, loc, to, src, kb.view(buffers[i]), rows, columns, toStride, srcStride);
      break;
    case Kind::LookupTensor: {
      Value tensor = tensorTiles[s.tensor];
      LookupOp::create(b, loc, tensor, tensor, kb.view(buffers[i]), rows, columns, tensorStride,
                       tensorStride);
      break;
    }
    }
  }
}
