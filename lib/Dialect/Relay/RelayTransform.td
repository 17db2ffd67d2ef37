// Shape and layout changes, creation.
include "RelayBase.td"

class Relay_Transform<string mn, string text, string rule, list<C> cs = []> : Relay_Op<mn> {
  let summary = text;
  let results = (outs Relay_Tensor:$result);
  let shapeRule = rule;
  let constraints = cs;
}
def Relay_ReshapeOp : Relay_Transform<"reshape", "the same elements in another shape",
    "c.add(*shape, elementType(op.getData()))", [
    C<1, "shape.has_value()", "the elements must fit newshape", ["str(shapeOf(op.getData()))", "str(op.getNewshape())"]>]> {
  let description = "Codes in newshape: 0 keeps a dimension, -1 infers one, -2 keeps all the rest, -3 merges two, -4 splits one into the next two values.";
  let arguments = (ins Relay_Tensor:$data, Relay_Ints:$newshape, Def<Relay_Bool, "false">:$allowzero);
  let prelude = "auto shape = resolveReshape(shapeOf(op.getData()), op.getNewshape(), op.getAllowzero());";
}
def Relay_TransposeOp : Relay_Transform<"transpose", "dimensions in another order (reversed without axes)",
    "inferTranspose(c, op.getData(), op.getAxes())", [
    C<1, "!op.getAxes() || isPermutation(*op.getAxes(), rank(op.getData()))", "axes must be a permutation of the dimensions",
      ["str(*op.getAxes())", "rank(op.getData())"]>]> {
  let arguments = (ins Relay_Tensor:$data, Opt<Relay_Ints>:$axes);
}
def Relay_ConcatenateOp : Relay_Transform<"concatenate", "tensors side by side along an axis",
    "inferConcatenate(c, op.getData(), op.getAxis())", [
    C<1, "!op.getData().empty()", "at least one input is needed">,
    C<2, "op.getData().empty() || axisOk(op.getAxis(), rank(op.getData().front()))", "axis must name a dimension", ["op.getAxis()"]>,
    C<3, "sameExceptAxis(op.getData(), op.getAxis())", "inputs must agree in rank and in all dimensions but the axis", ["shapes(op.getData())"]>,
    C<4, "sameElementType(op.getData())", "inputs must have the same element type", ["types(op.getData())"]>]> {
  let arguments = (ins Variadic<Relay_Tensor>:$data, Def<Relay_Int, "0">:$axis);
}
def Relay_StackOp : Relay_Transform<"stack", "tensors along a new axis", "inferStack(c, op.getData(), op.getAxis())", [
    C<1, "!op.getData().empty()", "at least one input is needed">,
    C<2, "op.getData().empty() || axisOk(op.getAxis(), rank(op.getData().front()) + 1)", "axis must name a dimension of the result", ["op.getAxis()"]>,
    C<3, "sameShape(op.getData())", "inputs must have the same shape", ["shapes(op.getData())"]>,
    C<4, "sameElementType(op.getData())", "inputs must have the same element type", ["types(op.getData())"]>]> {
  let arguments = (ins Variadic<Relay_Tensor>:$data, Def<Relay_Int, "0">:$axis);
}
def Relay_SplitOp : Relay_Op<"split"> {
  let summary = "parts along an axis: a number of equal ones, or those between the given points";
  let arguments = (ins Relay_Tensor:$data, Relay_IntOrInts:$indices_or_sections, Def<Relay_Int, "0">:$axis);
  let results = (outs Variadic<Relay_Tensor>:$results);
  let prelude = "auto sizes = splitSizes(dim(op.getData(), op.getAxis()), op.getIndicesOrSections());";
  let shapeRule = "inferSplit(c, op.getData(), *sizes, op.getAxis())";
  let constraints = [
    C<1, "axisOk(op.getAxis(), rank(op.getData()))", "axis must name a dimension of data", ["op.getAxis()", "rank(op.getData())"]>,
    C<2, "sizes.has_value()", "sections must divide the axis, points must rise within it", ["dim(op.getData(), op.getAxis())", "op.getIndicesOrSections()"]>
  ];
}
def Relay_SqueezeOp : Relay_Transform<"squeeze", "dimensions of length 1 removed", "inferSqueeze(c, op.getData(), op.getAxis())", [
    C<1, "!op.getAxis() || axesOk(*op.getAxis(), rank(op.getData()))", "axis must list different dimensions of data", ["str(*op.getAxis())", "rank(op.getData())"]>,
    C<2, "squeezable(op.getData(), op.getAxis())", "removed dimensions must have length 1", ["str(shapeOf(op.getData()))"]>]> {
  let arguments = (ins Relay_Tensor:$data, Opt<Relay_Ints>:$axis);
}
def Relay_ExpandDimsOp : Relay_Transform<"expand_dims", "dimensions of length 1 inserted", "inferExpandDims(c, op.getData(), op.getAxis(), op.getNumNewaxis())", [
    C<1, "axisOk(op.getAxis(), rank(op.getData()) + 1)", "axis must name a dimension of the result", ["op.getAxis()", "rank(op.getData())"]>,
    C<2, "op.getNumNewaxis() >= 0 && op.getNumNewaxis() <= 16", "num_newaxis must be 0 to 16", ["op.getNumNewaxis()"]>]> {
  let arguments = (ins Relay_Tensor:$data, Relay_Int:$axis, Def<Relay_Int, "1">:$num_newaxis);
}
def Relay_BroadcastToOp : Relay_Transform<"broadcast_to", "data repeated to a shape", "c.add(op.getShape(), elementType(op.getData()))", [
    C<1, "shapeOk(op.getShape())", "shape must hold values of at least 0", ["str(op.getShape())"]>,
    C<2, "broadcastsTo(shapeOf(op.getData()), op.getShape())", "data must broadcast to shape", ["str(shapeOf(op.getData()))", "str(op.getShape())"]>]> {
  let arguments = (ins Relay_Tensor:$data, Relay_Ints:$shape, DefDType:$dtype);
}
def Relay_TileOp : Relay_Transform<"tile", "data repeated along each axis", "inferTile(c, op.getData(), op.getReps())", [
    C<1, "shapeOk(op.getReps())", "reps must hold values of at least 0", ["str(op.getReps())"]>]> {
  let arguments = (ins Relay_Tensor:$data, Relay_Ints:$reps);
}
def Relay_RepeatOp : Relay_Transform<"repeat", "every element repeated along an axis (flattened without one)", "inferRepeat(c, op.getData(), op.getRepeats(), op.getAxis())", [
    C<1, "op.getRepeats() >= 1", "repeats must be at least 1", ["op.getRepeats()"]>,
    C<2, "!op.getAxis() || axisOk(*op.getAxis(), rank(op.getData()))", "axis must name a dimension of data", ["*op.getAxis()", "rank(op.getData())"]>]> {
  let arguments = (ins Relay_Tensor:$data, Relay_Int:$repeats, Opt<Relay_Int>:$axis);
}
def Relay_ReverseOp : Relay_Transform<"reverse", "an axis in reverse order", "c.sameAs(op.getData())", [
    C<1, "axisOk(op.getAxis(), rank(op.getData()))", "axis must name a dimension of data", ["op.getAxis()", "rank(op.getData())"]>]> {
  let arguments = (ins Relay_Tensor:$data, Def<Relay_Int, "0">:$axis);
}
def Relay_StridedSliceOp : Relay_Transform<"strided_slice", "part of a tensor, with steps",
    "c.add(sliceShape(*slices), elementType(op.getData()))", [
    C<1, "slices.has_value()", "begin, end, strides and axes must have equal lengths, strides must not be 0, axes must be different dimensions",
      ["str(op.getBegin())", "str(op.getEnd())"]>]> {
  let description = "slice_mode size: end holds lengths, -1 up to the end. Negative positions count from the end.";
  let arguments = (ins Relay_Tensor:$data, Relay_Ints:$begin, Relay_Ints:$end, Opt<Relay_Ints>:$strides,
    DefStr<"end">:$slice_mode, Opt<Relay_Ints>:$axes);
  let prelude = "auto slices = resolveSlices(shapeOf(op.getData()), op.getBegin(), op.getEnd(), op.getStrides(), op.getSliceMode(), op.getAxes());";
}
def Relay_LayoutTransformOp : Relay_Transform<"layout_transform", "dimensions reordered from one layout to another",
    "inferTranspose(c, op.getData(), layoutPermutation(op.getSrcLayout(), op.getDstLayout()))", [
    C<1, "(int64_t)op.getSrcLayout().size() == rank(op.getData())", "src_layout must name every dimension of data", ["quote(op.getSrcLayout())", "rank(op.getData())"]>,
    C<2, "isLayout(op.getDstLayout(), op.getSrcLayout())", "dst_layout must name the axes of src_layout", ["quote(op.getSrcLayout())", "quote(op.getDstLayout())"]>]> {
  let arguments = (ins Relay_Tensor:$data, Relay_String:$src_layout, Relay_String:$dst_layout);
}
def Relay_FullOp : Relay_Transform<"full", "a tensor of one value", "c.add(op.getShape(), c.dtype(op.getDtype(), op.getFillValue()))", [
    C<1, "shapeOk(op.getShape())", "shape must hold values of at least 0", ["str(op.getShape())"]>,
    C<2, "count(op.getFillValue()) == 1", "fill_value must be a scalar", ["str(shapeOf(op.getFillValue()))"]>]> {
  let arguments = (ins Relay_Tensor:$fill_value, Relay_Ints:$shape, DefDType:$dtype);
}
class Relay_Filled<string mn, string text> : Relay_Transform<mn, text, "c.add(op.getShape(), c.dtype(op.getDtype(), {}))", [
    C<1, "shapeOk(op.getShape())", "shape must hold values of at least 0", ["str(op.getShape())"]>,
    C<2, "!op.getDtype().empty()", "dtype must not be empty">]> {
  let arguments = (ins Relay_Ints:$shape, Relay_DType:$dtype);
}
def Relay_ZerosOp : Relay_Filled<"zeros", "a tensor of zeros">;
def Relay_OnesOp : Relay_Filled<"ones", "a tensor of ones">;
def Relay_ArangeOp : Relay_Transform<"arange", "start, start + step, ... below (step < 0: above) stop; the inputs must be constants",
    "c.add({*length}, c.dtype(op.getDtype(), op.getStart()))", [
    C<1, "length.has_value()", "start, stop and step must be scalar constants, step must not be 0">]> {
  let arguments = (ins Relay_Tensor:$start, Relay_Tensor:$stop, Relay_Tensor:$step, DefDType:$dtype);
  let prelude = "auto length = arangeLength(op.getStart(), op.getStop(), op.getStep());";
}
def Relay_ShapeOfOp : Relay_Transform<"shape_of", "the shape as a vector", "c.add({rank(op.getData())}, op.getDtype().empty() ? c.intType(32) : c.dtype(op.getDtype(), {}))"> {
  let arguments = (ins Relay_Tensor:$data, DefDType:$dtype);
}
def Relay_NdarraySizeOp : Relay_Transform<"ndarray_size", "the number of elements", "c.add({}, op.getDtype().empty() ? c.intType(32) : c.dtype(op.getDtype(), {}))"> {
  let arguments = (ins Relay_Tensor:$data, DefDType:$dtype);
}
