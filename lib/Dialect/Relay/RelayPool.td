// Pooling and resizing.
include "RelayBase.td"

class Relay_PoolBase<string mn, int n, string spatial> : Relay_Op<mn> {
  let results = (outs Relay_Tensor:$result);
  let prelude = "PoolInfo i(op, \"" # spatial # "\");";
  let shapeRule = "i.infer(c, op)";
  let constraints = [
    C<1, "i.rankOk", "data must have rank " # !add(n, 2), ["rank(op.getData())"]>,
    C<2, "i.layoutOk", "layout must name the axes N, C and " # spatial # " once each", ["quote(op.getLayout())"]>,
    C<3, "positive(op.getPoolSize(), " # n # ")", "pool_size must be " # n # " positive values", ["str(op.getPoolSize())"]>,
    C<4, "positive(op.getStrides(), " # n # ")", "strides must be " # n # " positive values", ["str(op.getStrides())"]>,
    C<5, "positive(op.getDilation(), " # n # ")", "dilation must be " # n # " positive values", ["str(op.getDilation())"]>,
    C<6, "nonNegative(op.getPadding(), " # !mul(2, n) # ")",
      "padding must be " # !mul(2, n) # " values of at least 0 (all begins, then all ends)", ["str(op.getPadding())"]>,
    C<7, "!i.complete() || i.outputsPositive()", "the window must fit into the padded data", ["str(i.outputSpatial)"]>,
    C<8, "op.getOutLayout().empty() || op.getOutLayout() == op.getLayout()", "out_layout must be empty or the layout",
      ["quote(op.getOutLayout())"]>
  ];
}
class Relay_MaxPool<string mn, int n, string spatial, string ones, string zeros, string layout>
    : Relay_PoolBase<mn, n, spatial> {
  let arguments = (ins Relay_Tensor:$data, Relay_Ints:$pool_size, Def<Relay_Ints, ones>:$strides,
    Def<Relay_Ints, ones>:$dilation, Def<Relay_Ints, zeros>:$padding, DefStr<layout>:$layout,
    DefStr<"">:$out_layout, Def<Relay_Bool, "false">:$ceil_mode);
}
class Relay_AvgPool<string mn, int n, string spatial, string ones, string zeros, string layout>
    : Relay_PoolBase<mn, n, spatial> {
  let arguments = (ins Relay_Tensor:$data, Relay_Ints:$pool_size, Def<Relay_Ints, ones>:$strides,
    Def<Relay_Ints, ones>:$dilation, Def<Relay_Ints, zeros>:$padding, DefStr<layout>:$layout,
    DefStr<"">:$out_layout, Def<Relay_Bool, "false">:$ceil_mode, Def<Relay_Bool, "false">:$count_include_pad);
}
def Relay_MaxPool1DOp : Relay_MaxPool<"nn.max_pool1d", 1, "W", "{1}", "{0, 0}", "NCW"> {
  let summary = "1-D maximum of each window";
}
def Relay_MaxPool2DOp : Relay_MaxPool<"nn.max_pool2d", 2, "HW", "{1, 1}", "{0, 0, 0, 0}", "NCHW"> {
  let summary = "2-D maximum of each window";
}
def Relay_MaxPool3DOp : Relay_MaxPool<"nn.max_pool3d", 3, "DHW", "{1, 1, 1}", "{0, 0, 0, 0, 0, 0}", "NCDHW"> {
  let summary = "3-D maximum of each window";
}
def Relay_AvgPool1DOp : Relay_AvgPool<"nn.avg_pool1d", 1, "W", "{1}", "{0, 0}", "NCW"> {
  let summary = "1-D mean of each window";
}
def Relay_AvgPool2DOp : Relay_AvgPool<"nn.avg_pool2d", 2, "HW", "{1, 1}", "{0, 0, 0, 0}", "NCHW"> {
  let summary = "2-D mean of each window; without count_include_pad only elements of the data count";
}
def Relay_AvgPool3DOp : Relay_AvgPool<"nn.avg_pool3d", 3, "DHW", "{1, 1, 1}", "{0, 0, 0, 0, 0, 0}", "NCDHW"> {
  let summary = "3-D mean of each window";
}

class Relay_GlobalPool<string mn> : Relay_Op<mn> {
  let arguments = (ins Relay_Tensor:$data, DefStr<"NCHW">:$layout, DefStr<"">:$out_layout);
  let results = (outs Relay_Tensor:$result);
  let shapeRule = "inferGlobalPool(c, op.getData(), op.getLayout())";
  let constraints = [
    C<1, "rank(op.getData()) == 4", "data must have rank 4", ["rank(op.getData())"]>,
    C<2, "isLayout(op.getLayout(), \"NCHW\")", "layout must name the axes N, C, H and W once each", ["quote(op.getLayout())"]>,
    C<3, "op.getOutLayout().empty() || op.getOutLayout() == op.getLayout()", "out_layout must be empty or the layout",
      ["quote(op.getOutLayout())"]>,
    C<4, "count(op.getData()) != 0", "data must not be empty", ["str(shapeOf(op.getData()))"]>
  ];
}
def Relay_GlobalAvgPool2DOp : Relay_GlobalPool<"nn.global_avg_pool2d"> { let summary = "mean over height and width"; }
def Relay_GlobalMaxPool2DOp : Relay_GlobalPool<"nn.global_max_pool2d"> { let summary = "maximum over height and width"; }

class Relay_AdaptivePool<string mn, int n, string spatial, string layout> : Relay_Op<mn> {
  let arguments = (ins Relay_Tensor:$data, Def<Relay_Ints, "{}">:$output_size, DefStr<layout>:$layout,
    DefStr<"">:$out_layout);
  let results = (outs Relay_Tensor:$result);
  let shapeRule = "inferAdaptivePool(c, op.getData(), op.getOutputSize(), op.getLayout(), \"" # spatial # "\")";
  let constraints = [
    C<1, "rank(op.getData()) == " # !add(n, 2), "data must have rank " # !add(n, 2), ["rank(op.getData())"]>,
    C<2, "isLayout(op.getLayout(), \"NC" # spatial # "\")", "layout must name the axes N, C and " # spatial # " once each",
      ["quote(op.getLayout())"]>,
    C<3, "op.getOutputSize().empty() || positive(op.getOutputSize(), 1) || positive(op.getOutputSize(), " # n # ")",
      "output_size must be empty, one or " # n # " positive values", ["str(op.getOutputSize())"]>,
    C<4, "count(op.getData()) != 0", "data must not be empty", ["str(shapeOf(op.getData()))"]>
  ];
}
def Relay_AdaptiveAvgPool1DOp : Relay_AdaptivePool<"nn.adaptive_avg_pool1d", 1, "W", "NCW"> {
  let summary = "1-D mean pooling to a given output size";
}
def Relay_AdaptiveAvgPool2DOp : Relay_AdaptivePool<"nn.adaptive_avg_pool2d", 2, "HW", "NCHW"> {
  let summary = "2-D mean pooling to a given output size";
}
def Relay_AdaptiveAvgPool3DOp : Relay_AdaptivePool<"nn.adaptive_avg_pool3d", 3, "DHW", "NCDHW"> {
  let summary = "3-D mean pooling to a given output size";
}
def Relay_AdaptiveMaxPool1DOp : Relay_AdaptivePool<"nn.adaptive_max_pool1d", 1, "W", "NCW"> {
  let summary = "1-D maximum pooling to a given output size";
}
def Relay_AdaptiveMaxPool2DOp : Relay_AdaptivePool<"nn.adaptive_max_pool2d", 2, "HW", "NCHW"> {
  let summary = "2-D maximum pooling to a given output size";
}
def Relay_AdaptiveMaxPool3DOp : Relay_AdaptivePool<"nn.adaptive_max_pool3d", 3, "DHW", "NCDHW"> {
  let summary = "3-D maximum pooling to a given output size";
}

def Relay_UpsamplingOp : Relay_Op<"nn.upsampling"> {
  let summary = "height and width scaled by factors";
  let arguments = (ins Relay_Tensor:$data, Relay_Float:$scale_h, Relay_Float:$scale_w, DefStr<"NCHW">:$layout,
    DefStr<"nearest_neighbor">:$method, Def<Relay_Bool, "false">:$align_corners);
  let results = (outs Relay_Tensor:$result);
  let shapeRule = "inferUpsampling(c, op.getData(), op.getScaleH(), op.getScaleW(), op.getLayout())";
  let constraints = [
    C<1, "rank(op.getData()) == 4", "data must have rank 4", ["rank(op.getData())"]>,
    C<2, "isLayout(op.getLayout(), \"NCHW\")", "layout must name the axes N, C, H and W once each", ["quote(op.getLayout())"]>,
    C<3, "op.getScaleH() > 0 && op.getScaleW() > 0 && op.getScaleH() <= 65536 && op.getScaleW() <= 65536",
      "scales must be positive and at most 65536", ["op.getScaleH()", "op.getScaleW()"]>,
    C<4, "oneOf(op.getMethod(), {\"nearest_neighbor\", \"bilinear\", \"bicubic\"})",
      "method must be nearest_neighbor, bilinear or bicubic", ["quote(op.getMethod())"]>
  ];
}

class Relay_Resize<string mn, int n, string spatial, string layout> : Relay_Op<mn> {
  let arguments = (ins Relay_Tensor:$data, Relay_Ints:$size, Opt<Relay_Floats>:$roi, DefStr<layout>:$layout,
    DefStr<"linear">:$method, DefStr<"half_pixel">:$coordinate_transformation_mode,
    DefStr<"round">:$rounding_method, Def<Relay_Float, "-0.5">:$cubic_alpha,
    Def<Relay_Int, "0">:$cubic_exclude, Def<Relay_Float, "0.0">:$extrapolation_value, DefDType:$out_dtype);
  let results = (outs Relay_Tensor:$result);
  let shapeRule = "inferResize(c, op.getData(), op.getSize(), op.getLayout(), \"" # spatial # "\", op.getOutDtype())";
  let constraints = [
    C<1, "rank(op.getData()) == " # !add(n, 2), "data must have rank " # !add(n, 2), ["rank(op.getData())"]>,
    C<2, "isLayout(op.getLayout(), \"NC" # spatial # "\")", "layout must name the axes N, C and " # spatial # " once each",
      ["quote(op.getLayout())"]>,
    C<3, "positive(op.getSize(), " # n # ")", "size must be " # n # " positive values", ["str(op.getSize())"]>,
    C<4, "oneOf(op.getMethod(), {\"nearest_neighbor\", \"linear\", \"cubic\"})",
      "method must be nearest_neighbor, linear or cubic", ["quote(op.getMethod())"]>,
    C<5, "oneOf(op.getCoordinateTransformationMode(), {\"half_pixel\", \"align_corners\", \"asymmetric\", \"pytorch_half_pixel\", \"tf_half_pixel_for_nn\", \"tf_crop_and_resize\"})",
      "coordinate_transformation_mode must be half_pixel, align_corners, asymmetric, pytorch_half_pixel, tf_half_pixel_for_nn or tf_crop_and_resize",
      ["quote(op.getCoordinateTransformationMode())"]>,
    C<6, "oneOf(op.getRoundingMethod(), {\"\", \"round\", \"round_prefer_floor\", \"round_prefer_ceil\", \"floor\", \"ceil\"})",
      "rounding_method must be round, round_prefer_floor, round_prefer_ceil, floor or ceil", ["quote(op.getRoundingMethod())"]>,
    C<7, "count(op.getData()) != 0", "data must not be empty", ["str(shapeOf(op.getData()))"]>
  ];
}
def Relay_Resize1DOp : Relay_Resize<"image.resize1d", 1, "W", "NCW"> { let summary = "1-D resampling to a given size"; }
def Relay_Resize2DOp : Relay_Resize<"image.resize2d", 2, "HW", "NCHW"> { let summary = "2-D resampling to a given size"; }
def Relay_Resize3DOp : Relay_Resize<"image.resize3d", 3, "DHW", "NCDHW"> { let summary = "3-D resampling to a given size"; }
