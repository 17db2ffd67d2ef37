// Reductions, scans and sorting.
include "RelayBase.td"

class Relay_ReduceBase<string mn, string text> : Relay_Op<mn> {
  let summary = text;
  let results = (outs Relay_Tensor:$result);
  let constraints = [C<1, "!op.getAxis() || axesOk(*op.getAxis(), rank(op.getData()))",
    "axis must list different dimensions of data", ["str(*op.getAxis())", "rank(op.getData())"]>];
}
class Relay_Reduce<string mn, string text> : Relay_ReduceBase<mn, text> {
  let arguments = (ins Relay_Tensor:$data, Opt<Relay_Ints>:$axis, Def<Relay_Bool, "false">:$keepdims, Def<Relay_Bool, "false">:$exclude);
  let shapeRule = "inferReduce(c, op, elementType(op.getData()))";
}
class Relay_ArgReduce<string mn, string text> : Relay_ReduceBase<mn, text> {
  let arguments = (ins Relay_Tensor:$data, Opt<Relay_Ints>:$axis, Def<Relay_Bool, "false">:$keepdims,
    Def<Relay_Bool, "false">:$select_last_index, Def<Relay_Bool, "false">:$exclude);
  let shapeRule = "inferReduce(c, op, c.intType(32))";
}
class Relay_BoolReduce<string mn, string text> : Relay_Reduce<mn, text> {
  let constraints = [
    C<1, "!op.getAxis() || axesOk(*op.getAxis(), rank(op.getData()))", "axis must list different dimensions of data",
      ["str(*op.getAxis())", "rank(op.getData())"]>,
    C<2, "elementType(op.getData()).isInteger(1)", "data must be bool", ["elementType(op.getData())"]>];
}
def Relay_SumOp : Relay_Reduce<"sum", "sum over axes">;
def Relay_MeanOp : Relay_Reduce<"mean", "mean over axes">;
def Relay_MaxOp : Relay_Reduce<"max", "maximum over axes">;
def Relay_MinOp : Relay_Reduce<"min", "minimum over axes">;
def Relay_ProdOp : Relay_Reduce<"prod", "product over axes">;
def Relay_LogSumExpOp : Relay_Reduce<"logsumexp", "logarithm of the sum of exponentials over axes">;
def Relay_AllOp : Relay_BoolReduce<"all", "whether all elements over axes are true">;
def Relay_AnyOp : Relay_BoolReduce<"any", "whether an element over axes is true">;
def Relay_ArgmaxOp : Relay_ArgReduce<"argmax", "index of the maximum over axes">;
def Relay_ArgminOp : Relay_ArgReduce<"argmin", "index of the minimum over axes">;
def Relay_VarianceOp : Relay_ReduceBase<"variance", "variance over axes, given the mean in keepdims form"> {
  let arguments = (ins Relay_Tensor:$data, Relay_Tensor:$mean, Opt<Relay_Ints>:$axis, Def<Relay_Bool, "false">:$keepdims,
    Def<Relay_Bool, "false">:$exclude, Def<Relay_Bool, "false">:$unbiased);
  let shapeRule = "inferReduce(c, op, elementType(op.getData()))";
}

class Relay_Scan<string mn, string text> : Relay_Op<mn> {
  let summary = text;
  let arguments = (ins Relay_Tensor:$data, Opt<Relay_Int>:$axis, DefDType:$dtype, Def<Relay_Bool, "false">:$exclusive);
  let results = (outs Relay_Tensor:$result);
  let shapeRule = "inferScan(c, op.getData(), op.getAxis().has_value(), op.getDtype())";
  let constraints = [C<1, "!op.getAxis() || axisOk(*op.getAxis(), rank(op.getData()))", "axis must name a dimension of data",
    ["*op.getAxis()", "rank(op.getData())"]>];
}
def Relay_CumsumOp : Relay_Scan<"cumsum", "running sum along an axis (flattened without one)">;
def Relay_CumprodOp : Relay_Scan<"cumprod", "running product along an axis (flattened without one)">;

class Relay_Sorting<string mn, string text, string rule> : Relay_Op<mn> {
  let summary = text;
  let arguments = (ins Relay_Tensor:$data, Def<Relay_Int, "-1">:$axis, Def<Relay_Bool, "true">:$is_ascend, DefDType:$dtype);
  let results = (outs Relay_Tensor:$result);
  let shapeRule = rule;
  let constraints = [C<1, "axisOk(op.getAxis(), rank(op.getData()))", "axis must name a dimension of data",
    ["op.getAxis()", "rank(op.getData())"]>];
}
def Relay_SortOp : Relay_Sorting<"sort", "sorted along an axis", "c.sameAs(op.getData())">;
def Relay_ArgsortOp : Relay_Sorting<"argsort", "indices that sort along an axis",
  "c.add(shapeOf(op.getData()), op.getDtype().empty() ? c.intType(32) : c.dtype(op.getDtype(), op.getData()))">;
def Relay_TopkOp : Relay_Op<"topk"> {
  let summary = "the k largest (smallest with is_ascend) values along an axis and their indices";
  let arguments = (ins Relay_Tensor:$data, Opt<Relay_Int>:$k, Def<Relay_Int, "-1">:$axis, DefStr<"both">:$ret_type,
    Def<Relay_Bool, "false">:$is_ascend, DefDType:$dtype);
  let results = (outs Variadic<Relay_Tensor>:$results);
  let shapeRule = "inferTopk(c, op.getData(), op.getK().value_or(1), op.getAxis(), op.getRetType(), op.getDtype())";
  let constraints = [
    C<1, "axisOk(op.getAxis(), rank(op.getData()))", "axis must name a dimension of data", ["op.getAxis()", "rank(op.getData())"]>,
    C<2, "op.getK().value_or(1) <= dim(op.getData(), op.getAxis())", "k must be at most the length of the axis",
      ["op.getK().value_or(1)", "dim(op.getData(), op.getAxis())"]>,
    C<3, "oneOf(op.getRetType(), {\"both\", \"values\", \"indices\"})", "ret_type must be both, values or indices", ["quote(op.getRetType())"]>
  ];
}
