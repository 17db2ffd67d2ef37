// RUN: tt-opt %s --RecogniseLayerNorm | FileCheck %s

// Means, squares and a root with scale and offset behind them.
// CHECK-LABEL: func.func @written_out
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
// CHECK-DAG: %[[GAMMA:.*]] = relay.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
// CHECK-DAG: %[[BETA:.*]] = relay.constant dense<5.000000e-01> : tensor<4xf32>
// CHECK: %[[N:.*]] = relay.nn.layer_norm %[[X]], %[[GAMMA]], %[[BETA]] {epsilon = 2.500000e-01 : f64}
// CHECK-NEXT: return %[[N]]
func.func @written_out(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %two = relay.constant dense<2.0> : tensor<f32>
  %epsilon = relay.constant dense<0.25> : tensor<f32>
  %gamma = relay.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %beta = relay.constant dense<0.5> : tensor<f32>
  %m = relay.mean %x {axis = array<i64: -1>, keepdims = true} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
  %c = relay.subtract %x, %m : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %q = relay.power %c, %two : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
  %v = relay.mean %q {axis = array<i64: 2>, keepdims = true} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
  %s = relay.add %v, %epsilon : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %r = relay.sqrt %s : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %n = relay.divide %c, %r : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %g = relay.multiply %n, %gamma : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %o = relay.add %beta, %g : (tensor<f32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %o : tensor<2x3x4xf32>
}

// Two axes are one axis of reshaped data; the centred data may be computed twice.
// CHECK-LABEL: func.func @two_axes
// CHECK: %[[F:.*]] = relay.reshape %{{.*}} -> tensor<2x12xf32>
// CHECK: %[[N:.*]] = relay.nn.layer_norm %[[F]]
// CHECK: relay.reshape %[[N]] {{.*}} -> tensor<2x3x4xf32>
func.func @two_axes(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %epsilon = relay.constant dense<0.25> : tensor<f32>
  %m = relay.mean %x {axis = array<i64: 1, 2>, keepdims = true} : (tensor<2x3x4xf32>) -> tensor<2x1x1xf32>
  %c = relay.subtract %x, %m : (tensor<2x3x4xf32>, tensor<2x1x1xf32>) -> tensor<2x3x4xf32>
  %d = relay.subtract %x, %m : (tensor<2x3x4xf32>, tensor<2x1x1xf32>) -> tensor<2x3x4xf32>
  %q = relay.multiply %d, %d : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %v = relay.mean %q {axis = array<i64: 1, 2>, keepdims = true} : (tensor<2x3x4xf32>) -> tensor<2x1x1xf32>
  %s = relay.add %epsilon, %v : (tensor<f32>, tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %r = relay.rsqrt %s : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %n = relay.multiply %r, %c : (tensor<2x1x1xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %n : tensor<2x3x4xf32>
}

// The squares are of something else; the axis is not the last; the variance is over another axis.
// CHECK-LABEL: func.func @others
// CHECK-NOT: layer_norm
func.func @others(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %epsilon = relay.constant dense<0.25> : tensor<f32>
  %m = relay.mean %x {axis = array<i64: 1>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %c = relay.subtract %x, %m : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %d = relay.subtract %y, %m : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %q = relay.multiply %d, %d : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %v = relay.mean %q {axis = array<i64: 1>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %s = relay.add %v, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %r = relay.rsqrt %s : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %n = relay.multiply %c, %r : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %m0 = relay.mean %x {axis = array<i64: 0>, keepdims = true} : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %c0 = relay.subtract %x, %m0 : (tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  %q0 = relay.multiply %c0, %c0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %v0 = relay.mean %q0 {axis = array<i64: 0>, keepdims = true} : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %s0 = relay.add %v0, %epsilon : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xf32>
  %r0 = relay.rsqrt %s0 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %n0 = relay.multiply %c0, %r0 : (tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  return %n, %n0 : tensor<4x4xf32>, tensor<4x4xf32>
}
