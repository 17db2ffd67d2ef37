// RUN: tt-opt %s --relay-text -o /dev/null | FileCheck %s --match-full-lines --strict-whitespace

//      CHECK:#[version = "0.0.5"]
// CHECK-NEXT:def @fused_nn_relu(%p0: Tensor[(1, 4, 2, 2), float32] /* ty=Tensor[(1, 4, 2, 2), float32] */, Primitive=1) -> Tensor[(1, 4, 2, 2), float32] {
// CHECK-NEXT:  nn.relu(%p0) /* ty=Tensor[(1, 4, 2, 2), float32] */
// CHECK-NEXT:}
//CHECK-EMPTY:
// CHECK-NEXT:def @main(%input_0: Tensor[(1, 3, 4, 4), float32] /* ty=Tensor[(1, 3, 4, 4), float32] */, %c: bool /* ty=bool */) -> (Tensor[(1, 2, 2, 2), float32], Tensor[(1, 2, 2, 2), float32]) {
// CHECK-NEXT:  %0 = nn.conv2d(%input_0, meta[relay.Constant][0] /* ty=Tensor[(4, 3, 3, 3), float32] */) /* ty=Tensor[(1, 4, 2, 2), float32] span=conv 1:0:0 */;
// CHECK-NEXT:  %1 = add(%0, 0.1f /* ty=float32 */) /* ty=Tensor[(1, 4, 2, 2), float32] */;
// CHECK-NEXT:  %2 = @fused_nn_relu(%1) /* ty=Tensor[(1, 4, 2, 2), float32] */;
// CHECK-NEXT:  %3 = (%2, %1) /* ty=(Tensor[(1, 4, 2, 2), float32], Tensor[(1, 4, 2, 2), float32]) */;
// CHECK-NEXT:  %4 = concatenate(%3, axis=1) /* ty=Tensor[(1, 8, 2, 2), float32] */;
// CHECK-NEXT:  %5 = nn.pad(%4, 0f /* ty=float32 */, pad_width={{\[\[}}0, 0], [0, 0], [0, 0], [0, 0{{\]\]}}) /* ty=Tensor[(1, 8, 2, 2), float32] */;
// CHECK-NEXT:  %6 = nn.leaky_relu(%5, alpha=0.01f) /* ty=Tensor[(1, 8, 2, 2), float32] */;
// CHECK-NEXT:  %7 = transpose(%6, axes=None) /* ty=Tensor[(2, 2, 8, 1), float32] */;
// CHECK-NEXT:  %8 = reshape(%7, newshape=[1, 8, 2, 2]) /* ty=Tensor[(1, 8, 2, 2), float32] */;
// CHECK-NEXT:  %9 = split(%8, indices_or_sections=4, axis=1) /* ty=(Tensor[(1, 2, 2, 2), float32], Tensor[(1, 2, 2, 2), float32], Tensor[(1, 2, 2, 2), float32], Tensor[(1, 2, 2, 2), float32]) */;
// CHECK-NEXT:  (%9.0, %9.3)
// CHECK-NEXT:}
//CHECK-EMPTY:
// CHECK-NEXT:#[metadata]
func.func @main(%x: tensor<1x3x4x4xf32> {relay.name = "input.0"}, %c: tensor<i1> {relay.name = "c"}) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) {
  %w = relay.constant dense<0.5> : tensor<4x3x3x3xf32>
  %tenth = relay.constant dense<0.1> : tensor<f32>
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.conv2d %x, %w : (tensor<1x3x4x4xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x2x2xf32> loc("conv 1")
  %1 = relay.add %0, %tenth : (tensor<1x4x2x2xf32>, tensor<f32>) -> tensor<1x4x2x2xf32>
  %2 = func.call @fused_nn_relu(%1) : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  %3 = relay.concatenate %2, %1 {axis = 1} : (tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>) -> tensor<1x8x2x2xf32>
  %4 = relay.nn.pad %3, %zero {pad_width = array<i64: 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1x8x2x2xf32>, tensor<f32>) -> tensor<1x8x2x2xf32>
  %5 = relay.nn.leaky_relu %4 {alpha = 0.01} : (tensor<1x8x2x2xf32>) -> tensor<1x8x2x2xf32>
  %6 = relay.transpose %5 : (tensor<1x8x2x2xf32>) -> tensor<2x2x8x1xf32>
  %7 = relay.reshape %6 {newshape = array<i64: 1, 8, 2, 2>} : (tensor<2x2x8x1xf32>) -> tensor<1x8x2x2xf32>
  %8:4 = relay.split %7 {indices_or_sections = 4, axis = 1} : (tensor<1x8x2x2xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>)
  return %8#0, %8#3 : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>
}

func.func private @fused_nn_relu(%y: tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32> attributes {relay.primitive} {
  %0 = relay.nn.relu %y : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  return %0 : tensor<1x4x2x2xf32>
}
