// Matrix products, normalisation, activation, padding.
include "RelayBase.td"

class Relay_NnSame<string mn, list<C> cs = []> : Relay_Op<mn> {
  let results = (outs Relay_Tensor:$result);
  let shapeRule = "c.sameAs(op.getData())";
  let constraints = cs;
}

def Relay_DenseOp : Relay_Op<"nn.dense"> {
  let summary = "data (.., k) times the transposed weight (units, k)";
  let arguments = (ins Relay_Tensor:$data, Relay_Tensor:$weight, Opt<Relay_Int>:$units, DefDType:$out_dtype);
  let results = (outs Relay_Tensor:$result);
  let shapeRule = "inferDense(c, op.getData(), op.getWeight(), op.getOutDtype())";
  let constraints = [
    C<1, "rank(op.getData()) >= 1", "data must have at least rank 1", ["rank(op.getData())"]>,
    C<2, "rank(op.getWeight()) == 2", "weight must have rank 2", ["rank(op.getWeight())"]>,
    C<3, "dim(op.getData(), -1) == dim(op.getWeight(), 1)", "the last dimension of data must be the weight's second",
      ["str(shapeOf(op.getData()))", "str(shapeOf(op.getWeight()))"]>,
    C<4, "!op.getUnits() || *op.getUnits() == dim(op.getWeight(), 0)", "units must be the weight's first dimension",
      ["*op.getUnits()", "dim(op.getWeight(), 0)"]>,
    C<5, "elementType(op.getData()) == elementType(op.getWeight())", "data and weight must have the same element type",
      ["elementType(op.getData())", "elementType(op.getWeight())"]>
  ];
}

def Relay_MatmulOp : Relay_Op<"nn.matmul"> {
  let summary = "product of data (.., m, k) and a matrix (k, n)";
  let arguments = (ins Relay_Tensor:$tensor_a, Relay_Tensor:$tensor_b, Opt<Relay_Int>:$units, DefDType:$out_dtype,
    Def<Relay_Bool, "false">:$transpose_a, Def<Relay_Bool, "false">:$transpose_b);
  let results = (outs Relay_Tensor:$result);
  let prelude = "MatmulInfo i(op);";
  let shapeRule = "i.inferMatmul(c, op)";
  let constraints = [
    C<1, "rank(op.getTensorA()) >= (op.getTransposeA() ? 2 : 1)", "tensor_a must have at least rank 1 (2 if transposed)", ["rank(op.getTensorA())"]>,
    C<2, "rank(op.getTensorB()) == 2", "tensor_b must have rank 2", ["rank(op.getTensorB())"]>,
    C<3, "i.ka == i.kb", "the inner dimensions must agree", ["i.ka", "i.kb"]>,
    C<4, "!op.getUnits() || *op.getUnits() == i.n", "units must be the columns of tensor_b", ["*op.getUnits()", "i.n"]>,
    C<5, "elementType(op.getTensorA()) == elementType(op.getTensorB())", "both inputs must have the same element type",
      ["elementType(op.getTensorA())", "elementType(op.getTensorB())"]>
  ];
}

def Relay_BatchMatmulOp : Relay_Op<"nn.batch_matmul"> {
  let summary = "matrix products of a batch: (b, m, k) times (b, k, n); a batch of 1 is repeated";
  let arguments = (ins Relay_Tensor:$tensor_a, Relay_Tensor:$tensor_b, DefDType:$out_dtype,
    Def<Relay_Bool, "false">:$transpose_a, Def<Relay_Bool, "false">:$transpose_b);
  let results = (outs Relay_Tensor:$result);
  let prelude = "MatmulInfo i(op);";
  let shapeRule = "i.inferBatch(c, op)";
  let constraints = [
    C<1, "rank(op.getTensorA()) == 3", "tensor_a must have rank 3", ["rank(op.getTensorA())"]>,
    C<2, "rank(op.getTensorB()) == 3", "tensor_b must have rank 3", ["rank(op.getTensorB())"]>,
    C<3, "i.ka == i.kb", "the inner dimensions must agree", ["i.ka", "i.kb"]>,
    C<4, "dim(op.getTensorA(), 0) == dim(op.getTensorB(), 0) || dim(op.getTensorA(), 0) == 1 || dim(op.getTensorB(), 0) == 1",
      "the batches must be equal or one of them 1", ["dim(op.getTensorA(), 0)", "dim(op.getTensorB(), 0)"]>,
    C<5, "elementType(op.getTensorA()) == elementType(op.getTensorB())", "both inputs must have the same element type",
      ["elementType(op.getTensorA())", "elementType(op.getTensorB())"]>
  ];
}

def Relay_BiasAddOp : Relay_NnSame<"nn.bias_add", [
    C<1, "axisOk(op.getAxis(), rank(op.getData()))", "axis must name a dimension of data", ["op.getAxis()", "rank(op.getData())"]>,
    C<2, "isVector(op.getBias(), dim(op.getData(), op.getAxis()))", "bias must be a vector of the axis's length",
      ["str(shapeOf(op.getBias()))", "dim(op.getData(), op.getAxis())"]>,
    C<3, "elementType(op.getData()) == elementType(op.getBias())", "data and bias must have the same element type",
      ["elementType(op.getData())", "elementType(op.getBias())"]>]> {
  let summary = "a vector added along one axis";
  let arguments = (ins Relay_Tensor:$data, Relay_Tensor:$bias, Def<Relay_Int, "1">:$axis);
}

def Relay_BatchNormOp : Relay_Op<"nn.batch_norm"> {
  let summary = "normalisation with stored statistics";
  let arguments = (ins Relay_Tensor:$data, Relay_Tensor:$gamma, Relay_Tensor:$beta, Relay_Tensor:$moving_mean,
    Relay_Tensor:$moving_var, Def<Relay_Int, "1">:$axis, Def<Relay_Float, "1e-5">:$epsilon, Def<Relay_Bool, "true">:$center,
    Def<Relay_Bool, "true">:$scale);
  let results = (outs Relay_Tensor:$result, Relay_Tensor:$mean, Relay_Tensor:$variance);
  let prelude = "int64_t n = dim(op.getData(), op.getAxis());";
  let shapeRule = "c.sameAs({op.getData(), op.getMovingMean(), op.getMovingVar()})";
  let constraints = [
    C<1, "axisOk(op.getAxis(), rank(op.getData()))", "axis must name a dimension of data", ["op.getAxis()", "rank(op.getData())"]>,
    C<2, "isVector(op.getGamma(), n)", "gamma must be a vector of the axis's length", ["str(shapeOf(op.getGamma()))", "n"]>,
    C<3, "isVector(op.getBeta(), n)", "beta must be a vector of the axis's length", ["str(shapeOf(op.getBeta()))", "n"]>,
    C<4, "isVector(op.getMovingMean(), n)", "moving_mean must be a vector of the axis's length", ["str(shapeOf(op.getMovingMean()))", "n"]>,
    C<5, "isVector(op.getMovingVar(), n)", "moving_var must be a vector of the axis's length", ["str(shapeOf(op.getMovingVar()))", "n"]>,
    C<6, "isFloatTensor(op.getData())", "data must be floating-point", ["elementType(op.getData())"]>
  ];
}

class Relay_AffineNorm<string mn, string axis> : Relay_NnSame<mn, [
    C<1, "axisOk(op.getAxis(), rank(op.getData()))", "axis must name a dimension of data", ["op.getAxis()", "rank(op.getData())"]>,
    C<2, "isVector(op.getGamma(), dim(op.getData(), op.getAxis()))", "gamma must be a vector of the axis's length",
      ["str(shapeOf(op.getGamma()))", "dim(op.getData(), op.getAxis())"]>,
    C<3, "isVector(op.getBeta(), dim(op.getData(), op.getAxis()))", "beta must be a vector of the axis's length",
      ["str(shapeOf(op.getBeta()))", "dim(op.getData(), op.getAxis())"]>,
    C<4, "isFloatTensor(op.getData())", "data must be floating-point", ["elementType(op.getData())"]>]> {
  let arguments = (ins Relay_Tensor:$data, Relay_Tensor:$gamma, Relay_Tensor:$beta, Def<Relay_Int, axis>:$axis,
    Def<Relay_Float, "1e-5">:$epsilon, Def<Relay_Bool, "true">:$center, Def<Relay_Bool, "true">:$scale);
}
def Relay_InstanceNormOp : Relay_AffineNorm<"nn.instance_norm", "1"> {
  let summary = "normalisation of each sample and channel over the other axes";
}
def Relay_LayerNormOp : Relay_AffineNorm<"nn.layer_norm", "-1"> { let summary = "normalisation over one axis"; }
def Relay_GroupNormOp : Relay_NnSame<"nn.group_norm", [
    C<1, "axisOk(op.getAxis(), rank(op.getData()))", "axis must name a dimension of data", ["op.getAxis()", "rank(op.getData())"]>,
    C<2, "isVector(op.getGamma(), dim(op.getData(), op.getAxis()))", "gamma must be a vector of the axis's length",
      ["str(shapeOf(op.getGamma()))", "dim(op.getData(), op.getAxis())"]>,
    C<3, "isVector(op.getBeta(), dim(op.getData(), op.getAxis()))", "beta must be a vector of the axis's length",
      ["str(shapeOf(op.getBeta()))", "dim(op.getData(), op.getAxis())"]>,
    C<4, "op.getNumGroups() >= 1 && dim(op.getData(), op.getAxis()) % std::max<int64_t>(op.getNumGroups(), 1) == 0",
      "num_groups must be at least 1 and divide the axis", ["op.getNumGroups()"]>,
    C<5, "isFloatTensor(op.getData())", "data must be floating-point", ["elementType(op.getData())"]>]> {
  let summary = "normalisation of groups of channels";
  let arguments = (ins Relay_Tensor:$data, Relay_Tensor:$gamma, Relay_Tensor:$beta, Def<Relay_Int, "0">:$num_groups,
    Def<Relay_Int, "1">:$axis, Def<Relay_Float, "1e-5">:$epsilon, Def<Relay_Bool, "true">:$center,
    Def<Relay_Bool, "true">:$scale);
}
def Relay_L2NormalizeOp : Relay_NnSame<"nn.l2_normalize", [
    C<1, "axesOk(op.getAxis(), rank(op.getData()))", "axis must list different dimensions of data", ["str(op.getAxis())"]>]> {
  let summary = "division by the Euclidean norm over the axes";
  let arguments = (ins Relay_Tensor:$data, Relay_Float:$eps, Relay_Ints:$axis);
}
def Relay_LrnOp : Relay_NnSame<"nn.lrn", [
    C<1, "axisOk(op.getAxis(), rank(op.getData()))", "axis must name a dimension of data", ["op.getAxis()"]>,
    C<2, "op.getSize() >= 1", "size must be at least 1", ["op.getSize()"]>]> {
  let summary = "local response normalisation";
  let arguments = (ins Relay_Tensor:$data, Def<Relay_Int, "5">:$size, Def<Relay_Int, "1">:$axis, Def<Relay_Float, "2.0">:$bias,
    Def<Relay_Float, "0.0001">:$alpha, Def<Relay_Float, "0.75">:$beta);
}

def Relay_ReluOp : Relay_Op<"nn.relu", [Relay_ElementwiseUnary]> {
  let summary = "max(x, 0)";
  let arguments = (ins Relay_Tensor:$data);
  let results = (outs Relay_Tensor:$result);
  let shapeRule = "c.sameAs(op.getData())";
}
def Relay_LeakyReluOp : Relay_Op<"nn.leaky_relu", [Relay_ElementwiseUnary]> {
  let summary = "x if x > 0, else alpha x";
  let arguments = (ins Relay_Tensor:$data, Def<Relay_Float, "0.25">:$alpha);
  let results = (outs Relay_Tensor:$result);
  let shapeRule = "c.sameAs(op.getData())";
  let constraints = [C<1, "isFloatTensor(op.getData())", "data must be floating-point", ["elementType(op.getData())"]>];
}
def Relay_PreluOp : Relay_NnSame<"nn.prelu", [
    C<1, "axisOk(op.getAxis(), rank(op.getData()))", "axis must name a dimension of data", ["op.getAxis()"]>,
    C<2, "isVector(op.getAlpha(), dim(op.getData(), op.getAxis()))", "alpha must be a vector of the axis's length",
      ["str(shapeOf(op.getAlpha()))", "dim(op.getData(), op.getAxis())"]>,
    C<3, "elementType(op.getData()) == elementType(op.getAlpha())", "data and alpha must have the same element type",
      ["elementType(op.getData())", "elementType(op.getAlpha())"]>]> {
  let summary = "x if x > 0, else alpha x with one alpha a channel";
  let arguments = (ins Relay_Tensor:$data, Relay_Tensor:$alpha, Def<Relay_Int, "1">:$axis);
}
class Relay_SoftmaxLike<string mn> : Relay_NnSame<mn, [
    C<1, "axisOk(op.getAxis(), rank(op.getData()))", "axis must name a dimension of data", ["op.getAxis()", "rank(op.getData())"]>,
    C<2, "isFloatTensor(op.getData())", "data must be floating-point", ["elementType(op.getData())"]>]> {
  let arguments = (ins Relay_Tensor:$data, Def<Relay_Int, "-1">:$axis);
}
def Relay_SoftmaxOp : Relay_SoftmaxLike<"nn.softmax"> { let summary = "exponentials divided by their sum along an axis"; }
def Relay_LogSoftmaxOp : Relay_SoftmaxLike<"nn.log_softmax"> { let summary = "logarithm of softmax"; }

def Relay_DropoutOp : Relay_Op<"nn.dropout"> {
  let summary = "identity at inference; the second result is the mask";
  let arguments = (ins Relay_Tensor:$data, Def<Relay_Float, "0.5">:$rate);
  let results = (outs Relay_Tensor:$result, Relay_Tensor:$mask);
  let shapeRule = "c.sameAs({op.getData(), op.getData()})";
}
def Relay_BatchFlattenOp : Relay_Op<"nn.batch_flatten"> {
  let summary = "(n, the product of the other dimensions)";
  let arguments = (ins Relay_Tensor:$data);
  let results = (outs Relay_Tensor:$result);
  let shapeRule = "inferBatchFlatten(c, op.getData())";
  let constraints = [C<1, "rank(op.getData()) >= 1", "data must have at least rank 1", ["rank(op.getData())"]>];
}
def Relay_PadOp : Relay_Op<"nn.pad"> {
  let summary = "data with a border; pad_width holds before and after of each dimension";
  let arguments = (ins Relay_Tensor:$data, Relay_Tensor:$pad_val, Relay_Pairs:$pad_width, DefStr<"constant">:$pad_mode);
  let results = (outs Relay_Tensor:$result);
  let shapeRule = "inferPad(c, op.getData(), op.getPadWidth())";
  let constraints = [
    C<1, "(int64_t)op.getPadWidth().size() == 2 * rank(op.getData())", "pad_width must hold two values a dimension",
      ["str(op.getPadWidth())", "rank(op.getData())"]>,
    C<2, "oneOf(op.getPadMode(), {\"constant\", \"edge\", \"reflect\"})", "pad_mode must be constant, edge or reflect", ["quote(op.getPadMode())"]>,
    C<3, "count(op.getPadVal()) == 1", "pad_val must be a scalar", ["str(shapeOf(op.getPadVal()))"]>,
    C<4, "elementType(op.getData()) == elementType(op.getPadVal())", "data and pad_val must have the same element type",
      ["elementType(op.getData())", "elementType(op.getPadVal())"]>,
    C<5, "padFits(shapeOf(op.getData()), op.getPadWidth(), op.getPadMode())",
      "every pad must be at least 0 (edge and reflect: of a dimension large enough)", ["str(op.getPadWidth())", "str(shapeOf(op.getData()))"]>
  ];
}
class Relay_DepthSpace<string mn, string rule> : Relay_Op<mn> {
  let arguments = (ins Relay_Tensor:$data, Def<Relay_Int, "1">:$block_size, DefStr<"NCHW">:$layout, DefStr<"DCR">:$mode);
  let results = (outs Relay_Tensor:$result);
  let shapeRule = rule # "(c, op.getData(), op.getBlockSize(), op.getLayout())";
  let constraints = [
    C<1, "rank(op.getData()) == 4", "data must have rank 4", ["rank(op.getData())"]>,
    C<2, "isLayout(op.getLayout(), \"NCHW\")", "layout must name the axes N, C, H and W once each", ["quote(op.getLayout())"]>,
    C<3, "op.getBlockSize() >= 1 && op.getBlockSize() <= 65536", "block_size must be 1 to 65536", ["op.getBlockSize()"]>,
    C<4, "oneOf(op.getMode(), {\"DCR\", \"CDR\"})", "mode must be DCR or CDR", ["quote(op.getMode())"]>,
    C<5, rule # "Ok(op.getData(), op.getBlockSize(), op.getLayout())", "block_size must divide the dimensions it splits",
      ["op.getBlockSize()", "str(shapeOf(op.getData()))"]>
  ];
}
def Relay_DepthToSpaceOp : Relay_DepthSpace<"nn.depth_to_space", "depthToSpace"> { let summary = "blocks of channels become height and width"; }
def Relay_SpaceToDepthOp : Relay_DepthSpace<"nn.space_to_depth", "spaceToDepth"> { let summary = "blocks of height and width become channels"; }
