// Gathering and scattering.
include "RelayBase.td"

class Relay_Index<string mn, string text, string rule, list<C> cs = []> : Relay_Op<mn> {
  let summary = text;
  let results = (outs Relay_Tensor:$result);
  let shapeRule = rule;
  let constraints = cs;
}
def Relay_TakeOp : Relay_Index<"take", "slices at indices along an axis (of the flattened data without one)",
    "inferTake(c, op.getData(), op.getIndices(), op.getBatchDims(), op.getAxis())", [
    C<1, "!op.getAxis() || axisOk(*op.getAxis(), rank(op.getData()))", "axis must name a dimension of data", ["*op.getAxis()", "rank(op.getData())"]>,
    C<2, "isIntTensor(op.getIndices())", "indices must be integers", ["elementType(op.getIndices())"]>,
    C<3, "oneOf(op.getMode(), {\"clip\", \"wrap\", \"fast\"})", "mode must be clip, wrap or fast", ["quote(op.getMode())"]>,
    C<4, "batchDimsOk(op.getData(), op.getIndices(), op.getBatchDims(), op.getAxis())", "batch_dims must name equal leading dimensions before the axis", ["op.getBatchDims()"]>]> {
  let arguments = (ins Relay_Tensor:$data, Relay_Tensor:$indices, Def<Relay_Int, "0">:$batch_dims, Opt<Relay_Int>:$axis, DefStr<"clip">:$mode);
}
def Relay_GatherOp : Relay_Index<"gather", "elements at indices along an axis; indices have data's rank",
    "c.add(shapeOf(op.getIndices()), elementType(op.getData()))", [
    C<1, "axisOk(op.getAxis(), rank(op.getData()))", "axis must name a dimension of data", ["op.getAxis()", "rank(op.getData())"]>,
    C<2, "isIntTensor(op.getIndices())", "indices must be integers", ["elementType(op.getIndices())"]>,
    C<3, "withinExceptAxis(op.getIndices(), op.getData(), op.getAxis())", "indices must have data's rank and be no larger but along the axis",
      ["str(shapeOf(op.getIndices()))", "str(shapeOf(op.getData()))"]>]> {
  let arguments = (ins Relay_Tensor:$data, Relay_Tensor:$indices, Relay_Int:$axis);
}
def Relay_GatherNdOp : Relay_Index<"gather_nd", "slices at index tuples, which are the first axis of indices",
    "inferGatherNd(c, op.getData(), op.getIndices(), op.getBatchDims())", [
    C<1, "isIntTensor(op.getIndices())", "indices must be integers", ["elementType(op.getIndices())"]>,
    C<2, "rank(op.getIndices()) >= 1 && op.getBatchDims() >= 0 && op.getBatchDims() < rank(op.getIndices()) && dim(op.getIndices(), 0) + op.getBatchDims() <= rank(op.getData())",
      "an index tuple and batch_dims together must not be longer than data's rank", ["str(shapeOf(op.getIndices()))", "rank(op.getData())"]>]> {
  let arguments = (ins Relay_Tensor:$data, Relay_Tensor:$indices, Def<Relay_Int, "0">:$batch_dims, Opt<Relay_Int>:$index_rank);
}
def Relay_ScatterElementsOp : Relay_Index<"scatter_elements", "data with elements at indices along an axis updated", "c.sameAs(op.getData())", [
    C<1, "axisOk(op.getAxis(), rank(op.getData()))", "axis must name a dimension of data", ["op.getAxis()", "rank(op.getData())"]>,
    C<2, "isIntTensor(op.getIndices())", "indices must be integers", ["elementType(op.getIndices())"]>,
    C<3, "shapeOf(op.getIndices()) == shapeOf(op.getUpdates())", "indices and updates must have the same shape", ["str(shapeOf(op.getIndices()))", "str(shapeOf(op.getUpdates()))"]>,
    C<4, "withinExceptAxis(op.getIndices(), op.getData(), op.getAxis())", "indices must have data's rank and be no larger but along the axis",
      ["str(shapeOf(op.getIndices()))", "str(shapeOf(op.getData()))"]>,
    C<5, "elementType(op.getData()) == elementType(op.getUpdates())", "data and updates must have the same element type", ["elementType(op.getData())", "elementType(op.getUpdates())"]>,
    C<6, "oneOf(op.getReduction(), {\"update\", \"add\", \"mul\", \"min\", \"max\", \"mean\"})", "reduction must be update, add, mul, min, max or mean", ["quote(op.getReduction())"]>]> {
  let arguments = (ins Relay_Tensor:$data, Relay_Tensor:$indices, Relay_Tensor:$updates, Def<Relay_Int, "0">:$axis, DefStr<"update">:$reduction);
}
def Relay_ScatterNdOp : Relay_Index<"scatter_nd", "data with slices at index tuples updated", "c.sameAs(op.getData())", [
    C<1, "isIntTensor(op.getIndices())", "indices must be integers", ["elementType(op.getIndices())"]>,
    C<2, "rank(op.getIndices()) >= 1 && dim(op.getIndices(), 0) <= rank(op.getData())", "an index tuple must not be longer than data's rank", ["str(shapeOf(op.getIndices()))", "rank(op.getData())"]>,
    C<3, "elementType(op.getData()) == elementType(op.getUpdates())", "data and updates must have the same element type", ["elementType(op.getData())", "elementType(op.getUpdates())"]>,
    C<4, "scatterNdOk(op.getData(), op.getIndices(), op.getUpdates())", "updates must have the shape of the indexed slices",
      ["str(shapeOf(op.getUpdates()))", "str(shapeOf(op.getIndices()))"]>,
    C<5, "oneOf(op.getMode(), {\"update\", \"add\", \"mul\", \"min\", \"max\"})", "mode must be update, add, mul, min or max", ["quote(op.getMode())"]>]> {
  let arguments = (ins Relay_Tensor:$data, Relay_Tensor:$indices, Relay_Tensor:$updates, DefStr<"update">:$mode);
}
def Relay_OneHotOp : Relay_Index<"one_hot", "on_value where the index along the new axis is that of indices, else off_value",
    "inferOneHot(c, op.getIndices(), op.getDepth(), op.getAxis(), op.getDtype(), op.getOnValue())", [
    C<1, "axisOk(op.getAxis(), rank(op.getIndices()) + 1)", "axis must name a dimension of the result", ["op.getAxis()", "rank(op.getIndices())"]>,
    C<2, "op.getDepth() >= 1", "depth must be at least 1", ["op.getDepth()"]>,
    C<3, "isIntTensor(op.getIndices())", "indices must be integers", ["elementType(op.getIndices())"]>,
    C<4, "count(op.getOnValue()) == 1 && count(op.getOffValue()) == 1", "on_value and off_value must be scalars">]> {
  let arguments = (ins Relay_Tensor:$indices, Relay_Tensor:$on_value, Relay_Tensor:$off_value, Def<Relay_Int, "1">:$depth, Def<Relay_Int, "-1">:$axis, DefDType:$dtype);
}
def Relay_TriluOp : Relay_Index<"trilu", "the upper or lower triangle, other elements 0", "c.sameAs(op.getData())", [
    C<1, "rank(op.getData()) >= 2", "data must have at least rank 2", ["rank(op.getData())"]>,
    C<2, "count(op.getK()) == 1 && isIntTensor(op.getK())", "k must be an integer scalar", ["str(shapeOf(op.getK()))"]>]> {
  let arguments = (ins Relay_Tensor:$data, Relay_Tensor:$k, Def<Relay_Bool, "true">:$upper);
}
