// RUN: tt-opt %s --FoldExplicitPadding | FileCheck %s

// CHECK-LABEL: func.func @conv
func.func @conv(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x8x9xf32> {
  // CHECK-NOT: relay.nn.pad
  // CHECK: relay.nn.conv2d %{{.*}} {padding = array<i64: 1, 1, 1, 2>}
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.pad %x, %zero {pad_width = array<i64: 0, 0, 0, 0, 1, 1, 0, 1>} : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x10x9xf32>
  %1 = relay.nn.conv2d %0, %w {padding = array<i64: 0, 1, 0, 1>} : (tensor<1x3x10x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x9xf32>
  return %1 : tensor<1x4x8x9xf32>
}

// Another value than the convolution's own.
// CHECK-LABEL: func.func @value
func.func @value(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32> {
  // CHECK: relay.nn.pad
  %one = relay.constant dense<1.0> : tensor<f32>
  %0 = relay.nn.pad %x, %one {pad_width = array<i64: 0, 0, 0, 0, 1, 1, 1, 1>} : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x10x10xf32>
  %1 = relay.nn.conv2d %0, %w : (tensor<1x3x10x10xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  return %1 : tensor<1x4x8x8xf32>
}

// Channels cannot be padded by the layer.
// CHECK-LABEL: func.func @channels
func.func @channels(%x: tensor<1x2x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> {
  // CHECK: relay.nn.pad
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.pad %x, %zero {pad_width = array<i64: 0, 0, 0, 1, 0, 0, 0, 0>} : (tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x3x8x8xf32>
  %1 = relay.nn.conv2d %0, %w : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  return %1 : tensor<1x4x6x6xf32>
}

// CHECK-LABEL: func.func @pools
func.func @pools(%x: tensor<1x4x4x2xf32>) -> (tensor<1x3x3x2xf32>, tensor<1x3x3x2xf32>, tensor<1x3x3x2xf32>) {
  %zero = relay.constant dense<0.0> : tensor<f32>
  %low = relay.constant dense<0xFF800000> : tensor<f32>
  // Zeros do not lose against everything.
  // CHECK: relay.nn.pad
  // CHECK-NEXT: relay.nn.max_pool2d
  %0 = relay.nn.pad %x, %zero {pad_width = array<i64: 0, 0, 1, 1, 1, 1, 0, 0>} : (tensor<1x4x4x2xf32>, tensor<f32>) -> tensor<1x6x6x2xf32>
  %1 = relay.nn.max_pool2d %0 {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>, layout = "NHWC"} : (tensor<1x6x6x2xf32>) -> tensor<1x3x3x2xf32>
  // CHECK-NEXT: relay.nn.max_pool2d {{.*}}padding = array<i64: 1, 1, 1, 1>
  %2 = relay.nn.pad %x, %low {pad_width = array<i64: 0, 0, 1, 1, 1, 1, 0, 0>} : (tensor<1x4x4x2xf32>, tensor<f32>) -> tensor<1x6x6x2xf32>
  %3 = relay.nn.max_pool2d %2 {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>, layout = "NHWC"} : (tensor<1x6x6x2xf32>) -> tensor<1x3x3x2xf32>
  // CHECK-NEXT: relay.nn.avg_pool2d {{.*}}count_include_pad = true{{.*}}padding = array<i64: 1, 1, 1, 1>
  %4 = relay.nn.avg_pool2d %0 {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>, layout = "NHWC"} : (tensor<1x6x6x2xf32>) -> tensor<1x3x3x2xf32>
  return %1, %3, %4 : tensor<1x3x3x2xf32>, tensor<1x3x3x2xf32>, tensor<1x3x3x2xf32>
}
