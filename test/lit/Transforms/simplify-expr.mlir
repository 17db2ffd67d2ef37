// RUN: tt-opt %s --SimplifyExpr | FileCheck %s

// CHECK-LABEL: func.func @identities
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
func.func @identities(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK-NEXT: %[[R:.*]] = relay.exp %[[X]]
  // CHECK-NEXT: return %[[R]]
  %zero = relay.constant dense<0.0> : tensor<f32>
  %one = relay.constant dense<1.0> : tensor<1x3xf32>
  %0 = relay.copy %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = relay.cast %0 {dtype = "float32"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = relay.reshape %1 {newshape = array<i64: 2, 3>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = relay.add %zero, %2 : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = relay.divide %3, %one : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  %5 = relay.concatenate %4 {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = relay.strided_slice %5 {begin = array<i64: 0>, end = array<i64: 99>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %7 = relay.exp %6 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %7 : tensor<2x3xf32>
}

// A factor of 1 that broadcasts makes another shape.
// CHECK-LABEL: func.func @kept
func.func @kept(%x: tensor<1x3xf32>) -> tensor<2x3xf32> {
  // CHECK: relay.multiply
  %one = relay.constant dense<1.0> : tensor<2x3xf32>
  %0 = relay.multiply %x, %one : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// A function does not return its own argument.
// CHECK-LABEL: func.func @returned
func.func @returned(%x: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK-NEXT: relay.copy
  %0 = relay.reshape %x {newshape = array<i64: 3>} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: func.func @shapes
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
func.func @shapes(%x: tensor<2x3x4xf32>) -> (tensor<24xf32>, tensor<2x4x3xf32>, tensor<4x2x3xf32>) {
  // CHECK-DAG: relay.reshape %[[X]] {newshape = array<i64: 24>}
  %0 = relay.expand_dims %x {axis = 0 : i64} : (tensor<2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %1 = relay.reshape %0 {newshape = array<i64: -1>} : (tensor<1x2x3x4xf32>) -> tensor<24xf32>
  // CHECK-DAG: relay.transpose %[[X]] {axes = array<i64: 0, 2, 1>}
  %2 = relay.transpose %x {axes = array<i64: 1, 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  %3 = relay.transpose %2 {axes = array<i64: 1, 2, 0>} : (tensor<3x2x4xf32>) -> tensor<2x4x3xf32>
  // CHECK-DAG: relay.transpose %[[X]] {axes = array<i64: 2, 0, 1>}
  %4 = relay.transpose %x : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  %5 = relay.transpose %4 {axes = array<i64: 0, -1, 1>} : (tensor<4x3x2xf32>) -> tensor<4x2x3xf32>
  return %1, %3, %5 : tensor<24xf32>, tensor<2x4x3xf32>, tensor<4x2x3xf32>
}

// Only a dimension of length 1 moves.
// CHECK-LABEL: func.func @moves_nothing
func.func @moves_nothing(%x: tensor<2x1x1x8xf32>) -> tensor<2x8x1x1xf32> {
  // CHECK-NEXT: relay.reshape %{{.*}} {newshape = array<i64: 2, 8, 1, 1>}
  %0 = relay.transpose %x {axes = array<i64: 0, 3, 1, 2>} : (tensor<2x1x1x8xf32>) -> tensor<2x8x1x1xf32>
  return %0 : tensor<2x8x1x1xf32>
}

// CHECK-LABEL: func.func @casts
func.func @casts(%x: tensor<3xf16>, %y: tensor<3xf32>) -> (tensor<3xi32>, tensor<3xf32>) {
  // CHECK-NEXT: relay.cast %{{.*}} {dtype = "int32"} : (tensor<3xf16>)
  %0 = relay.cast %x {dtype = "float32"} : (tensor<3xf16>) -> tensor<3xf32>
  %1 = relay.cast %0 {dtype = "int32"} : (tensor<3xf32>) -> tensor<3xi32>
  // Loses bits, so both stay.
  // CHECK-NEXT: relay.cast %{{.*}} {dtype = "float16"}
  // CHECK-NEXT: relay.cast %{{.*}} {dtype = "float32"}
  %2 = relay.cast %y {dtype = "float16"} : (tensor<3xf32>) -> tensor<3xf16>
  %3 = relay.cast %2 {dtype = "float32"} : (tensor<3xf16>) -> tensor<3xf32>
  return %1, %3 : tensor<3xi32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @relu6
func.func @relu6(%x: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK-NEXT: relay.clip %{{.*}} {a_max = 6.000000e+00 : f64, a_min = 0.000000e+00 : f64}
  // CHECK-NEXT: return
  %zero = relay.constant dense<0.0> : tensor<f32>
  %six = relay.constant dense<6.0> : tensor<f32>
  %0 = relay.maximum %x, %zero : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %1 = relay.minimum %0, %six : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %2 = relay.nn.relu %1 : (tensor<3xf32>) -> tensor<3xf32>
  return %2 : tensor<3xf32>
}

// CHECK-LABEL: func.func @global_pool
func.func @global_pool(%x: tensor<1x8x5x5xf32>) -> tensor<1x8xf32> {
  // CHECK-NEXT: relay.nn.global_avg_pool2d %{{.*}} : (tensor<1x8x5x5xf32>)
  // CHECK-NEXT: relay.reshape
  %0 = relay.mean %x {axis = array<i64: -2, -1>} : (tensor<1x8x5x5xf32>) -> tensor<1x8xf32>
  return %0 : tensor<1x8xf32>
}

// CHECK-LABEL: func.func @group_norm
// CHECK-SAME: (%[[X:.*]]: tensor<2x6x4x4xf32>)
func.func @group_norm(%x: tensor<2x6x4x4xf32>) -> tensor<2x6x4x4xf32> {
  // CHECK: relay.nn.group_norm %[[X]], %{{.*}}, %{{.*}} {epsilon = 1.000000e-03 : f64, num_groups = 3 : i64}
  // CHECK-NEXT: return
  %one = relay.constant dense<1.0> : tensor<3xf32>
  %zero = relay.constant dense<0.0> : tensor<3xf32>
  %0 = relay.reshape %x {newshape = array<i64: 0, 3, -1>} : (tensor<2x6x4x4xf32>) -> tensor<2x3x32xf32>
  %1 = relay.nn.instance_norm %0, %one, %zero {epsilon = 1.0e-3} : (tensor<2x3x32xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x32xf32>
  %2 = relay.reshape %1 {newshape = array<i64: 2, 6, 4, 4>} : (tensor<2x3x32xf32>) -> tensor<2x6x4x4xf32>
  return %2 : tensor<2x6x4x4xf32>
}

// A scale of its own belongs to groups, not to channels.
// CHECK-LABEL: func.func @scaled_groups
func.func @scaled_groups(%x: tensor<2x6x4x4xf32>) -> tensor<2x6x4x4xf32> {
  // CHECK: relay.nn.instance_norm
  %two = relay.constant dense<2.0> : tensor<3xf32>
  %zero = relay.constant dense<0.0> : tensor<3xf32>
  %0 = relay.reshape %x {newshape = array<i64: 0, 3, -1>} : (tensor<2x6x4x4xf32>) -> tensor<2x3x32xf32>
  %1 = relay.nn.instance_norm %0, %two, %zero : (tensor<2x3x32xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x32xf32>
  %2 = relay.reshape %1 {newshape = array<i64: 2, 6, 4, 4>} : (tensor<2x3x32xf32>) -> tensor<2x6x4x4xf32>
  return %2 : tensor<2x6x4x4xf32>
}
