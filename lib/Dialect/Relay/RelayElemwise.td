// Element-wise operators. Binary ones broadcast as NumPy does.
include "RelayBase.td"

class Relay_Unary<string mn, string text> : Relay_Op<mn, [Relay_ElementwiseUnary]> {
  let summary = text;
  let arguments = (ins Relay_Tensor:$data);
  let results = (outs Relay_Tensor:$result);
  let shapeRule = "c.sameAs(op.getData())";
}
class Relay_FloatUnary<string mn, string text> : Relay_Unary<mn, text> {
  let constraints = [C<1, "isFloatTensor(op.getData())", "data must be floating-point", ["elementType(op.getData())"]>];
}
class Relay_Predicate<string mn, string text> : Relay_Op<mn, [Relay_ElementwiseUnary]> {
  let summary = text;
  let arguments = (ins Relay_Tensor:$data);
  let results = (outs Relay_Tensor:$result);
  let shapeRule = "c.add(shapeOf(op.getData()), c.boolType())";
}
class Relay_Broadcast<string mn, string text> : Relay_Op<mn, [Relay_ElementwiseBinary]> {
  let summary = text;
  let arguments = (ins Relay_Tensor:$lhs, Relay_Tensor:$rhs);
  let results = (outs Relay_Tensor:$result);
  let constraints = [
    C<1, "elementType(op.getLhs()) == elementType(op.getRhs())", "lhs and rhs must have the same element type",
      ["elementType(op.getLhs())", "elementType(op.getRhs())"]>,
    C<2, "broadcastable({op.getLhs(), op.getRhs()})", "the shapes of lhs and rhs must broadcast",
      ["str(shapeOf(op.getLhs()))", "str(shapeOf(op.getRhs()))"]>
  ];
}
class Relay_Binary<string mn, string text> : Relay_Broadcast<mn, text> {
  let shapeRule = "c.broadcast({op.getLhs(), op.getRhs()}, elementType(op.getLhs()))";
}
class Relay_Compare<string mn, string text> : Relay_Broadcast<mn, text> {
  let shapeRule = "c.broadcast({op.getLhs(), op.getRhs()}, c.boolType())";
}
class Relay_Logical<string mn, string text> : Relay_Binary<mn, text> {
  let constraints = [
    C<1, "elementType(op.getLhs()).isInteger(1) && elementType(op.getRhs()).isInteger(1)", "lhs and rhs must be bool",
      ["elementType(op.getLhs())", "elementType(op.getRhs())"]>,
    C<2, "broadcastable({op.getLhs(), op.getRhs()})", "the shapes of lhs and rhs must broadcast",
      ["str(shapeOf(op.getLhs()))", "str(shapeOf(op.getRhs()))"]>
  ];
}
class Relay_Bitwise<string mn, string text> : Relay_Binary<mn, text> {
  let constraints = [
    C<1, "elementType(op.getLhs()) == elementType(op.getRhs()) && !isFloatTensor(op.getLhs())",
      "lhs and rhs must have the same integer type", ["elementType(op.getLhs())", "elementType(op.getRhs())"]>,
    C<2, "broadcastable({op.getLhs(), op.getRhs()})", "the shapes of lhs and rhs must broadcast",
      ["str(shapeOf(op.getLhs()))", "str(shapeOf(op.getRhs()))"]>
  ];
}

def Relay_AddOp : Relay_Binary<"add", "sum">;
def Relay_SubtractOp : Relay_Binary<"subtract", "difference">;
def Relay_MultiplyOp : Relay_Binary<"multiply", "product">;
def Relay_DivideOp : Relay_Binary<"divide", "quotient; integers are rounded towards zero">;
def Relay_PowerOp : Relay_Binary<"power", "lhs to the power of rhs">;
def Relay_MaximumOp : Relay_Binary<"maximum", "the larger value">;
def Relay_MinimumOp : Relay_Binary<"minimum", "the smaller value">;
def Relay_ModOp : Relay_Binary<"mod", "remainder with the sign of lhs, as in C">;
def Relay_FloorModOp : Relay_Binary<"floor_mod", "remainder with the sign of rhs">;
def Relay_FloorDivideOp : Relay_Binary<"floor_divide", "quotient rounded down">;
def Relay_TruncDivideOp : Relay_Binary<"trunc_divide", "quotient rounded towards zero">;
def Relay_TruncModOp : Relay_Binary<"trunc_mod", "remainder of trunc_divide">;
def Relay_BitwiseAndOp : Relay_Bitwise<"bitwise_and", "bitwise and">;
def Relay_BitwiseOrOp : Relay_Bitwise<"bitwise_or", "bitwise or">;
def Relay_BitwiseXorOp : Relay_Bitwise<"bitwise_xor", "bitwise exclusive or">;
def Relay_LeftShiftOp : Relay_Bitwise<"left_shift", "lhs shifted left by rhs bits">;
def Relay_RightShiftOp : Relay_Bitwise<"right_shift", "lhs shifted right by rhs bits">;
def Relay_EqualOp : Relay_Compare<"equal", "lhs == rhs">;
def Relay_NotEqualOp : Relay_Compare<"not_equal", "lhs != rhs">;
def Relay_LessOp : Relay_Compare<"less", "lhs < rhs">;
def Relay_LessEqualOp : Relay_Compare<"less_equal", "lhs <= rhs">;
def Relay_GreaterOp : Relay_Compare<"greater", "lhs > rhs">;
def Relay_GreaterEqualOp : Relay_Compare<"greater_equal", "lhs >= rhs">;
def Relay_LogicalAndOp : Relay_Logical<"logical_and", "both">;
def Relay_LogicalOrOp : Relay_Logical<"logical_or", "at least one">;
def Relay_LogicalXorOp : Relay_Logical<"logical_xor", "exactly one">;

def Relay_AbsOp : Relay_Unary<"abs", "absolute value">;
def Relay_NegativeOp : Relay_Unary<"negative", "-x">;
def Relay_SignOp : Relay_Unary<"sign", "-1, 0 or 1">;
def Relay_FloorOp : Relay_Unary<"floor", "rounded down">;
def Relay_CeilOp : Relay_Unary<"ceil", "rounded up">;
def Relay_RoundOp : Relay_Unary<"round", "rounded to nearest, ties to even">;
def Relay_TruncOp : Relay_Unary<"trunc", "rounded towards zero">;
def Relay_CopyOp : Relay_Unary<"copy", "the same tensor again">;
def Relay_ZerosLikeOp : Relay_Unary<"zeros_like", "zeros of the type of data">;
def Relay_OnesLikeOp : Relay_Unary<"ones_like", "ones of the type of data">;
def Relay_BitwiseNotOp : Relay_Unary<"bitwise_not", "all bits inverted"> {
  let constraints = [C<1, "!isFloatTensor(op.getData())", "data must be an integer", ["elementType(op.getData())"]>];
}
def Relay_LogicalNotOp : Relay_Unary<"logical_not", "not x"> {
  let constraints = [C<1, "elementType(op.getData()).isInteger(1)", "data must be bool", ["elementType(op.getData())"]>];
}
def Relay_ExpOp : Relay_FloatUnary<"exp", "e to the power of x">;
def Relay_LogOp : Relay_FloatUnary<"log", "natural logarithm">;
def Relay_Log2Op : Relay_FloatUnary<"log2", "logarithm to base 2">;
def Relay_Log10Op : Relay_FloatUnary<"log10", "logarithm to base 10">;
def Relay_SqrtOp : Relay_FloatUnary<"sqrt", "square root">;
def Relay_RsqrtOp : Relay_FloatUnary<"rsqrt", "1 / square root">;
def Relay_SigmoidOp : Relay_FloatUnary<"sigmoid", "1 / (1 + exp(-x))">;
def Relay_TanhOp : Relay_FloatUnary<"tanh", "hyperbolic tangent">;
def Relay_SinOp : Relay_FloatUnary<"sin", "sine">;
def Relay_CosOp : Relay_FloatUnary<"cos", "cosine">;
def Relay_TanOp : Relay_FloatUnary<"tan", "tangent">;
def Relay_AsinOp : Relay_FloatUnary<"asin", "inverse sine">;
def Relay_AcosOp : Relay_FloatUnary<"acos", "inverse cosine">;
def Relay_AtanOp : Relay_FloatUnary<"atan", "inverse tangent">;
def Relay_SinhOp : Relay_FloatUnary<"sinh", "hyperbolic sine">;
def Relay_CoshOp : Relay_FloatUnary<"cosh", "hyperbolic cosine">;
def Relay_AsinhOp : Relay_FloatUnary<"asinh", "inverse hyperbolic sine">;
def Relay_AcoshOp : Relay_FloatUnary<"acosh", "inverse hyperbolic cosine">;
def Relay_AtanhOp : Relay_FloatUnary<"atanh", "inverse hyperbolic tangent">;
def Relay_ErfOp : Relay_FloatUnary<"erf", "error function">;
def Relay_IsnanOp : Relay_Predicate<"isnan", "whether x is not a number">;
def Relay_IsinfOp : Relay_Predicate<"isinf", "whether x is infinite">;
def Relay_IsfiniteOp : Relay_Predicate<"isfinite", "whether x is finite">;

def Relay_ClipOp : Relay_Op<"clip", [Relay_ElementwiseUnary]> {
  let summary = "x limited to [a_min, a_max]";
  let arguments = (ins Relay_Tensor:$data, Relay_Float:$a_min, Relay_Float:$a_max);
  let results = (outs Relay_Tensor:$result);
  let shapeRule = "c.sameAs(op.getData())";
}
def Relay_CastOp : Relay_Op<"cast", [Relay_ElementwiseUnary]> {
  let summary = "x in another element type";
  let arguments = (ins Relay_Tensor:$data, Relay_DType:$dtype);
  let results = (outs Relay_Tensor:$result);
  let shapeRule = "c.add(shapeOf(op.getData()), c.dtype(op.getDtype(), op.getData()))";
  let constraints = [C<1, "!op.getDtype().empty()", "dtype must not be empty">];
}
def Relay_WhereOp : Relay_Op<"where"> {
  let summary = "x where the condition holds, else y; all three broadcast";
  let arguments = (ins Relay_Tensor:$condition, Relay_Tensor:$x, Relay_Tensor:$y);
  let results = (outs Relay_Tensor:$result);
  let shapeRule = "c.broadcast({op.getCondition(), op.getX(), op.getY()}, elementType(op.getX()))";
  let constraints = [
    C<1, "elementType(op.getX()) == elementType(op.getY())", "x and y must have the same element type",
      ["elementType(op.getX())", "elementType(op.getY())"]>,
    C<2, "broadcastable({op.getCondition(), op.getX(), op.getY()})", "the three shapes must broadcast",
      ["str(shapeOf(op.getCondition()))", "str(shapeOf(op.getX()))", "str(shapeOf(op.getY()))"]>,
    C<3, "!isFloatTensor(op.getCondition())", "condition must be bool or integer", ["elementType(op.getCondition())"]>
  ];
}
