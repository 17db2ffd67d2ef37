// Base class of the passes and helpers they share. Private to this folder.
#pragma once
#include "Dialect/Relay/Relay.h"
#include "Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tensorturbo::relay {

/// A module pass whose name and summary come from the table.
template <typename Derived>
class RelayPass : public mlir::PassWrapper<Derived, mlir::OperationPass<mlir::ModuleOp>> {
public:
  llvm::StringRef getArgument() const final { return Derived::passName; }
  llvm::StringRef getName() const override { return Derived::passName; }
  llvm::StringRef getDescription() const final {
    for (const PassRow &row : passTable())
      if (getArgument() == row.name)
        return row.summary;
    return "";
  }
};

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Operation;
using mlir::Value;

/// Runs patterns to a fixed point; the pass fails if they do not converge.
mlir::LogicalResult applyPatterns(Operation *root, mlir::RewritePatternSet &&patterns);

/// createOp for rewrites: operands are known to be good, a failure is an internal error that is reported.
/// Null after a failure.
Value build(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name, mlir::ValueRange operands,
            ArrayRef<mlir::NamedAttribute> attributes = {});
/// An operator again with other operands and some attributes changed; discardable attributes are kept.
/// Null after a failure.
Operation *rebuild(mlir::OpBuilder &b, Operation *op, mlir::ValueRange operands,
                   ArrayRef<mlir::NamedAttribute> changed = {});

Value buildTranspose(mlir::OpBuilder &b, mlir::Location loc, Value v, ArrayRef<int64_t> axes);
Value buildReshape(mlir::OpBuilder &b, mlir::Location loc, Value v, ArrayRef<int64_t> shape);

/// The permutation of a transpose, also where axes are not given (reversed).
SmallVector<int64_t> permutationOf(TransposeOp op);
bool isIdentity(ArrayRef<int64_t> permutation);
SmallVector<int64_t> inverse(ArrayRef<int64_t> permutation);
/// Whether a permutation of a tensor of this shape leaves the elements' order as it is.
bool keepsOrder(ArrayRef<int64_t> permutation, ArrayRef<int64_t> shape);

/// Whether a value is a floating-point constant whose data is at hand; looks at none of it.
bool isFloatConstant(Value v);
/// Elements of a floating-point constant (any float type) as doubles; nullopt for others.
std::optional<std::vector<double>> floatsOf(Value v);
/// A constant of `type` (a float type) with these values, rounded to nearest even.
Value floatConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, ArrayRef<int64_t> shape,
                    ArrayRef<double> values);
/// The constant that a new operator computes if its operands are constant, else its result. The operator
/// stays unused then: pattern drivers remove it.
Value foldNow(mlir::OpBuilder &b, Value result);
/// Replaces an op that does nothing by its operand. A function must not return its own argument or a constant
/// as it is, so there a copy stays. Fails if the op is that copy.
mlir::LogicalResult replaceByOperand(mlir::PatternRewriter &rewriter, Operation *op, Value operand);
/// A constant that broadcasts against `shape` and varies along `axis` only, as one value per index of the
/// axis; a scalar is repeated. Nullopt for anything else.
std::optional<std::vector<double>> channelValues(Value v, ArrayRef<int64_t> shape, int64_t axis);

} // namespace tensorturbo::relay
