// Convolutions. Data and kernel layouts are strings of axis letters; "HWIO" holds [kh, kw, cin / groups, cout] for
// depthwise convolutions too.
include "RelayBase.td"

class Relay_ConvBase<string mn, int n, string spatial> : Relay_Op<mn> {
  let results = (outs Relay_Tensor:$result);
  let prelude = "ConvInfo i(op, \"" # spatial # "\", " #
                !if(!ne(!find(mn, "transpose"), -1), "true", "false") # ");";
  let shapeRule = "i.infer(c, op)";
  let constraints = [
    C<1, "i.rankOk(op.getData())", "data must have rank " # !add(n, 2), ["rank(op.getData())"]>,
    C<2, "i.rankOk(op.getWeight())", "weight must have rank " # !add(n, 2), ["rank(op.getWeight())"]>,
    C<3, "i.dataLayoutOk", "data_layout must name the axes N, C and " # spatial # " once each", ["quote(op.getDataLayout())"]>,
    C<4, "i.kernelLayoutOk", "kernel_layout must name the axes O, I and " # spatial # " once each", ["quote(op.getKernelLayout())"]>,
    C<5, "positive(op.getStrides(), " # n # ")", "strides must be " # n # " positive values", ["str(op.getStrides())"]>,
    C<6, "positive(op.getDilation(), " # n # ")", "dilation must be " # n # " positive values", ["str(op.getDilation())"]>,
    C<7, "nonNegative(op.getPadding(), " # !mul(2, n) # ")",
      "padding must be " # !mul(2, n) # " values of at least 0 (all begins, then all ends)", ["str(op.getPadding())"]>,
    C<8, "op.getGroups() >= 1", "groups must be at least 1", ["op.getGroups()"]>,
    C<9, "!i.shapesOk || i.channelsMatch()", "channels of data must be groups times those of the weight",
      ["i.cin", "op.getGroups()", "str(shapeOf(op.getWeight()))"]>,
    C<10, "!i.shapesOk || i.groupsDivide()", "groups must divide the output channels", ["op.getGroups()", "i.cout"]>,
    C<11, "!i.shapesOk || !op.getKernelSize() || equal(*op.getKernelSize(), i.kernel)",
      "kernel_size must be the weight's", ["str(*op.getKernelSize())", "str(i.kernel)"]>,
    C<12, "!i.shapesOk || !op.getChannels() || *op.getChannels() == i.cout",
      "channels must be the weight's output channels", ["*op.getChannels()", "i.cout"]>,
    C<13, "!i.complete() || i.outputsPositive()", "the dilated kernel must fit into the padded data",
      ["str(i.outputSpatial)"]>,
    C<14, "elementType(op.getData()) == elementType(op.getWeight())", "data and weight must have the same element type",
      ["elementType(op.getData())", "elementType(op.getWeight())"]>,
    C<15, "op.getOutLayout().empty() || op.getOutLayout() == op.getDataLayout()",
      "out_layout must be empty or the data_layout", ["quote(op.getOutLayout())"]>
  ];
}

class Relay_Conv<string mn, int n, string spatial, string ones, string zeros, string data, string kernel>
    : Relay_ConvBase<mn, n, spatial> {
  let arguments = (ins Relay_Tensor:$data, Relay_Tensor:$weight, Def<Relay_Ints, ones>:$strides,
    Def<Relay_Ints, zeros>:$padding, Def<Relay_Ints, ones>:$dilation, Def<Relay_Int, "1">:$groups,
    Opt<Relay_Int>:$channels, Opt<Relay_Ints>:$kernel_size, DefStr<data>:$data_layout,
    DefStr<kernel>:$kernel_layout, DefStr<"">:$out_layout, DefDType:$out_dtype);
}
class Relay_ConvTranspose<string mn, int n, string spatial, string ones, string outZeros, string zeros, string data, string kernel>
    : Relay_ConvBase<mn, n, spatial> {
  let arguments = (ins Relay_Tensor:$data, Relay_Tensor:$weight, Opt<Relay_Int>:$channels, Opt<Relay_Ints>:$kernel_size,
    Def<Relay_Ints, ones>:$strides, Def<Relay_Ints, outZeros>:$output_padding, Def<Relay_Ints, zeros>:$padding,
    Def<Relay_Ints, ones>:$dilation, Def<Relay_Int, "1">:$groups, DefStr<data>:$data_layout,
    DefStr<kernel>:$kernel_layout, DefStr<"">:$out_layout, DefDType:$out_dtype);
}

def Relay_Conv1DOp : Relay_Conv<"nn.conv1d", 1, "W", "{1}", "{0, 0}", "NCW", "OIW"> {
  let summary = "1-D convolution";
}
def Relay_Conv2DOp : Relay_Conv<"nn.conv2d", 2, "HW", "{1, 1}", "{0, 0, 0, 0}", "NCHW", "OIHW"> {
  let summary = "2-D convolution, grouped and depthwise included";
}
def Relay_Conv3DOp : Relay_Conv<"nn.conv3d", 3, "DHW", "{1, 1, 1}", "{0, 0, 0, 0, 0, 0}", "NCDHW", "OIDHW"> {
  let summary = "3-D convolution";
}
def Relay_Conv1DTransposeOp
    : Relay_ConvTranspose<"nn.conv1d_transpose", 1, "W", "{1}", "{0}", "{0, 0}", "NCW", "IOW"> {
  let summary = "1-D transposed convolution; the weight's I axis is the input's channels";
}
def Relay_Conv2DTransposeOp
    : Relay_ConvTranspose<"nn.conv2d_transpose", 2, "HW", "{1, 1}", "{0, 0}", "{0, 0, 0, 0}", "NCHW", "IOHW"> {
  let summary = "2-D transposed convolution; the weight's I axis is the input's channels";
}
def Relay_Conv3DTransposeOp
    : Relay_ConvTranspose<"nn.conv3d_transpose", 3, "DHW", "{1, 1, 1}", "{0, 0, 0}", "{0, 0, 0, 0, 0, 0}", "NCDHW", "IODHW"> {
  let summary = "3-D transposed convolution; the weight's I axis is the input's channels";
}
