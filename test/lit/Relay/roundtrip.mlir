// Operators of every family are parsed, verified and printed with default attributes left out.
// RUN: tt-opt %s | tt-opt | FileCheck %s

// CHECK-LABEL: func.func @families
func.func @families(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>) -> tensor<1x4xf32> {
  // CHECK: relay.constant dense<0.000000e+00> : tensor<f32>
  %zero = relay.constant dense<0.0> : tensor<f32>
  // CHECK: relay.nn.conv2d %{{.*}}, %{{.*}} {padding = array<i64: 1, 1, 1, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  %0 = relay.nn.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  // CHECK: relay.nn.bias_add %{{.*}}, %{{.*}} : (
  %1 = relay.nn.bias_add %0, %b : (tensor<1x4x8x8xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %2 = relay.nn.relu %1 : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  // CHECK: relay.nn.max_pool2d %{{.*}} {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>}
  %3 = relay.nn.max_pool2d %2 {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: relay.split %{{.*}} {axis = 1 : i64, indices_or_sections = 2 : i64} : (tensor<1x4x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>)
  %4:2 = relay.split %3 {indices_or_sections = 2 : i64, axis = 1 : i64} : (tensor<1x4x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>)
  %5 = relay.concatenate %4#1, %4#0 {axis = 1 : i64} : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x4x4x4xf32>
  %6 = relay.add %5, %zero : (tensor<1x4x4x4xf32>, tensor<f32>) -> tensor<1x4x4x4xf32>
  %7 = relay.nn.global_avg_pool2d %6 : (tensor<1x4x4x4xf32>) -> tensor<1x4x1x1xf32>
  // CHECK: relay.reshape %{{.*}} {newshape = array<i64: 0, -1>} : (tensor<1x4x1x1xf32>) -> tensor<1x4xf32>
  %8 = relay.reshape %7 {newshape = array<i64: 0, -1>} : (tensor<1x4x1x1xf32>) -> tensor<1x4xf32>
  %9 = relay.nn.softmax %8 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return %9 : tensor<1x4xf32>
}

// CHECK-LABEL: func.func @stored
func.func @stored() -> tensor<64x3x7x7xf32> {
  // CHECK: relay.constant #relay.const<7, 12345> : tensor<64x3x7x7xf32>
  %0 = relay.constant #relay.const<7, 12345> : tensor<64x3x7x7xf32>
  return %0 : tensor<64x3x7x7xf32>
}
