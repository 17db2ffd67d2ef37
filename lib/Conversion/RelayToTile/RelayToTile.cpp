#include "Conversion/RelayToTile/RelayToTile.h"
#include "Conversion/RelayToTile/Lowerings.h"
#include "Dialect/Relay/Relay.h"
#include <algorithm>

using namespace mlir;
using namespace tensorturbo;
using namespace tensorturbo::tile;

/// In order of preference: the first family that handles an operator gets it.
static const Family *const families[] = {&depthwiseFamily, &convFamily,     &matmulFamily, &elementwiseFamily,
                                         &gatherFamily,    &poolFamily,     &reduceFamily, &normFamily,
                                         &moveFamily,      &transposeFamily};

static const Family *familyOf(Operation *op) {
  for (const Family *f : families)
    if (f->handles(op))
      return f;
  return nullptr;
}

int64_t tile::product(ArrayRef<int64_t> extents) {
  int64_t n = 1;
  for (int64_t e : extents)
    n *= e;
  return n;
}

std::string tile::shapeText(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

unsigned tile::argumentNumber(Value argument) {
  return cast<BlockArgument>(argument).getArgNumber();
}

Place tile::placeOf(KernelBuilder &kb, const TensorRef &tensor) {
  return kb.place(tensor.global, tensor.inLlb, tensor.iterationBytes, tensor.parts);
}

Place tile::inputPlace(KernelBuilder &kb, Value argument, const KernelSpec &spec) {
  return placeOf(kb, spec.inputs[argumentNumber(argument)]);
}

Place tile::operandPlace(KernelBuilder &kb, Value operand, const KernelSpec &spec, ConstantPool &pool) {
  auto constant = relay::constantOf(operand);
  if (!constant)
    return inputPlace(kb, operand, spec);
  std::vector<uint8_t> rounded;
  const uint8_t *bytes = constant->data;
  auto size = static_cast<int64_t>(constant->bytes);
  if (isFloat(constant->dtype)) {
    bytes = halvesOf(*constant, rounded);
    size = constant->elements() * halfBytes;
  }
  return kb.place(pool.add(std::vector<uint8_t>(bytes, bytes + size), "tensor"), false, 0);
}

Place tile::outputPlace(KernelBuilder &kb, const KernelSpec &spec, size_t i) {
  return placeOf(kb, spec.outputs[i]);
}

KernelBuilder tile::builderFor(const KernelSpec &spec, LoweringContext &context) {
  // Of several kernels for one call the first has the plain name.
  size_t number = context.made.names.size();
  context.made.names.push_back(number ? spec.name + "_group" + std::to_string(number) : spec.name);
  return KernelBuilder(context.module, context.made.names.back(), spec.primitive->getLoc(), context.ncore,
                       spec.iterated);
}

schedule::Staging tile::stagingOf(const KernelSpec &spec, Value argument, int64_t inDdr) {
  schedule::Staging staging;
  staging.input = !spec.inputs[argumentNumber(argument)].inLlb;
  staging.outputs = (spec.outputs[0].inLlb ? 0 : 1) + inDdr;
  staging.room = spec.llbRoom;
  return staging;
}

int64_t tile::freeL1(const KernelBuilder &kb) {
  // The margin covers the alignment of the buffers to come.
  return levelCapacity(MemoryLevel::L1) - kb.allocated(MemoryLevel::L1) - 1024;
}

bool tile::isAlias(Operation *op) {
  return isa<relay::ReshapeOp, relay::SqueezeOp, relay::ExpandDimsOp, relay::BatchFlattenOp>(op);
}

/// Indices may have an integer type: the scalar core reads them.
static bool isIndex(Operation *op, Value operand) {
  auto take = dyn_cast<relay::TakeOp>(op);
  return take && operand == take.getIndices();
}

std::string tile::whyNotNpu(Operation *op, int ncore) {
  SmallVector<Type> types(op->getResultTypes());
  for (Value operand : op->getOperands())
    if (!isIndex(op, operand))
      types.push_back(operand.getType());
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !(tensor.getElementType().isF16() || tensor.getElementType().isF32()))
      return "element type must be float16 or float32";
    if (tensor.getNumElements() == 0)
      return "an empty tensor needs no kernel";
  }
  if (isAlias(op))
    return "";
  const Family *family = familyOf(op);
  if (!family)
    return op->getName().getStringRef().str() + " has no NPU kernel";
  return family->whyNot(op, ncore);
}

/// The operator that a primitive begins with.
static Operation *leadingOf(func::FuncOp primitive) {
  for (Operation &op : primitive.getBody().front())
    if (!isa<relay::ConstantOp>(op))
      return &op;
  return nullptr;
}

int tile::inPlaceArgument(func::FuncOp primitive) {
  Operation *leading = leadingOf(primitive);
  // Residuals of a convolution are read tile by tile like the result is written.
  if (!leading || familyOf(leading) != &convFamily || primitive.getNumResults() != 1)
    return -1;
  for (BlockArgument argument : primitive.getArguments())
    if (argument.getType() == primitive.getResultTypes()[0] && !argument.use_empty() &&
        llvm::none_of(argument.getUsers(), [&](Operation *user) { return user == leading; }))
      return static_cast<int>(argument.getArgNumber());
  return -1;
}

bool tile::lowerKernel(const KernelSpec &spec, LoweringContext &context) {
  context.made = {};
  Operation *leading = leadingOf(spec.primitive);
  std::string why;
  const Family *family = leading ? familyOf(leading) : nullptr;
  if (!family)
    why = "no kernel for a function that begins with " +
          (leading ? leading->getName().getStringRef().str() : std::string("nothing"));
  if (why.empty() && family->lower(leading, spec, context, why))
    return true;
  context.diags.resourceError("cannot place " + func::FuncOp(spec.primitive).getName().str() +
                                  " on the NPU: " + why,
                              relay::nodeName(spec.primitive->getLoc()),
                              "please report the model; disabled_pass=[\"FuseConvAddBnRelu\"] may avoid it");
  return false;
}
