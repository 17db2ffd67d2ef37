#include "Transforms/RelayPass.h"
#include "Transforms/Elements.h"
#include "Transforms/Evaluate.h"
#include <numeric>

namespace tensorturbo::relay {

mlir::LogicalResult applyPatterns(Operation *root, mlir::RewritePatternSet &&patterns) {
  mlir::GreedyRewriteConfig config;
  // Constants are ours to fold (FoldConstant); the driver only removes dead operators.
  config.enableConstantCSE(false);
  config.enableFolding(false);
  config.setMaxIterations(64);
  config.setRegionSimplificationLevel(mlir::GreedySimplifyRegionLevel::Disabled);
  mlir::FrozenRewritePatternSet frozen(std::move(patterns));
  return mlir::applyPatternsGreedily(root, frozen, config);
}

Value build(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name, mlir::ValueRange operands,
            ArrayRef<mlir::NamedAttribute> attributes) {
  auto op = createOp(b, loc, name, operands, attributes);
  return mlir::succeeded(op) ? Value((*op)->getResult(0)) : Value();
}

Operation *rebuild(mlir::OpBuilder &b, Operation *op, mlir::ValueRange operands,
                   ArrayRef<mlir::NamedAttribute> changed) {
  mlir::NamedAttrList attributes(op->getAttrDictionary());
  for (const mlir::NamedAttribute &a : changed)
    attributes.set(a.getName(), a.getValue());
  auto made = createOp(b, op->getLoc(), op->getName().stripDialect(), operands, attributes.getAttrs());
  return mlir::succeeded(made) ? *made : nullptr;
}

Value buildTranspose(mlir::OpBuilder &b, mlir::Location loc, Value v, ArrayRef<int64_t> axes) {
  return build(b, loc, "transpose", v, b.getNamedAttr("axes", b.getDenseI64ArrayAttr(axes)));
}

Value buildReshape(mlir::OpBuilder &b, mlir::Location loc, Value v, ArrayRef<int64_t> shape) {
  // allowzero: extents of 0 are meant literally.
  SmallVector<mlir::NamedAttribute> attributes = {b.getNamedAttr("newshape", b.getDenseI64ArrayAttr(shape))};
  if (llvm::is_contained(shape, 0))
    attributes.push_back(b.getNamedAttr("allowzero", b.getBoolAttr(true)));
  return build(b, loc, "reshape", v, attributes);
}

SmallVector<int64_t> permutationOf(TransposeOp op) {
  int64_t rank = shapeOf(op.getData()).size();
  SmallVector<int64_t> out(rank);
  for (int64_t i = 0; i < rank; ++i)
    out[i] = op.getAxes() ? normalizeAxis((*op.getAxes())[i], rank) : rank - 1 - i;
  return out;
}

bool isIdentity(ArrayRef<int64_t> permutation) {
  for (size_t i = 0; i < permutation.size(); ++i)
    if (permutation[i] != static_cast<int64_t>(i))
      return false;
  return true;
}

SmallVector<int64_t> inverse(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> out(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    out[permutation[i]] = i;
  return out;
}

bool keepsOrder(ArrayRef<int64_t> permutation, ArrayRef<int64_t> shape) {
  int64_t last = -1;
  for (int64_t p : permutation) {
    if (shape[p] == 1)
      continue;
    if (p < last)
      return false;
    last = p;
  }
  return true;
}

bool isFloatConstant(Value v) {
  auto constant = constantOf(v);
  return constant && isFloat(constant->dtype);
}

std::optional<std::vector<double>> floatsOf(Value v) {
  auto constant = constantOf(v);
  if (!constant || !isFloat(constant->dtype))
    return std::nullopt;
  return loadDoubles(*constant);
}

Value floatConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, ArrayRef<int64_t> shape,
                    ArrayRef<double> values) {
  DType dtype = *dtypeOf(type);
  return createConstant(b, loc, dtype, shape, storeDoubles(dtype, values));
}

std::optional<std::vector<double>> channelValues(Value v, ArrayRef<int64_t> shape, int64_t axis) {
  ArrayRef<int64_t> own = shapeOf(v);
  int64_t shift = static_cast<int64_t>(shape.size()) - static_cast<int64_t>(own.size());
  if (shift < 0)
    return std::nullopt;
  for (size_t i = 0; i < own.size(); ++i)
    if (own[i] != 1 && (static_cast<int64_t>(i) + shift != axis || own[i] != shape[axis]))
      return std::nullopt;
  // Only now: a constant of another shape may be large.
  auto values = floatsOf(v);
  if (values && values->size() == 1)
    values->assign(shape[axis], values->front());
  return values;
}

Value foldNow(mlir::OpBuilder &b, Value result) {
  Operation *op = result.getDefiningOp();
  std::vector<Constant> operands;
  for (Value v : op->getOperands()) {
    auto c = constantOf(v);
    if (!c)
      return result;
    operands.push_back(std::move(*c));
  }
  auto results = evaluate(op, operands);
  if (!results || results->size() != 1)
    return result;
  return createConstant(b, op->getLoc(), results->front());
}

mlir::LogicalResult replaceByOperand(mlir::PatternRewriter &rewriter, Operation *op, Value operand) {
  bool returned =
      llvm::any_of(op->getUsers(), [](Operation *u) { return llvm::isa<mlir::func::ReturnOp>(u); });
  if (returned && (llvm::isa<mlir::BlockArgument>(operand) || operand.getDefiningOp<ConstantOp>())) {
    if (llvm::isa<CopyOp>(op))
      return mlir::failure();
    operand = build(rewriter, op->getLoc(), "copy", operand);
  }
  rewriter.replaceAllUsesWith(op->getResult(0), operand);
  if (op->use_empty())
    rewriter.eraseOp(op);
  return mlir::success();
}

} // namespace tensorturbo::relay
