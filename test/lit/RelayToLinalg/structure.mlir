// Calls are inlined, constants become symbols, the innermost loop of a convolution runs along the last axis.
// RUN: tt-run-host %s --print-ir | FileCheck %s

// CHECK: memref.global constant @tt_const_0 : memref<2xf32> {alignment = 64 : i64}
// CHECK-LABEL: func.func @main(
// CHECK-NOT: call
// CHECK: %[[BUFFER:.*]] = memref.get_global @tt_const_0
// CHECK: bufferization.to_tensor %[[BUFFER]] restrict : memref<2xf32> to tensor<2xf32>
// CHECK: linalg.generic
// Loops: batch, group, channel, row, input channel, kernel row, kernel column, column.
// CHECK-SAME: iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel"]
// CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<reassoc,contract>
// CHECK: arith.addf
// CHECK-NOT: call
// CHECK: return
func.func @main(%x: tensor<1x3x6x6xf32>, %w: tensor<2x3x3x3xf32>) -> tensor<1x2x4x4xf32> {
  %0 = func.call @fused(%x, %w) : (tensor<1x3x6x6xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}
func.func private @fused(%x: tensor<1x3x6x6xf32>, %w: tensor<2x3x3x3xf32>) -> tensor<1x2x4x4xf32> attributes {relay.primitive} {
  %b = relay.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = relay.nn.conv2d %x, %w : (tensor<1x3x6x6xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x4x4xf32>
  %1 = relay.nn.bias_add %0, %b : (tensor<1x2x4x4xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  return %1 : tensor<1x2x4x4xf32>
}
