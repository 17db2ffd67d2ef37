// The types of the arguments are what counts; all errors come in one run, without their consequences.
// RUN: tt-opt %s --InferType --mlir-very-unsafe-disable-verifier-on-parsing --verify-each=false -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%{{.*}}: tensor<4x3x16x16xf32>, %{{.*}}: tensor<8x3x3x3xf32>) -> tensor<4x8xf32>
func.func @main(%x: tensor<4x3x16x16xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<1x8xf32> {
  // CHECK: relay.nn.conv2d {{.*}} -> tensor<4x8x14x14xf32>
  %0 = relay.nn.conv2d %x, %w : (tensor<4x3x16x16xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x6x6xf32>
  // CHECK: relay.nn.global_avg_pool2d {{.*}} -> tensor<4x8x1x1xf32>
  %1 = relay.nn.global_avg_pool2d %0 : (tensor<1x8x6x6xf32>) -> tensor<1x8x1x1xf32>
  // CHECK: relay.reshape {{.*}} -> tensor<4x8xf32>
  %2 = relay.reshape %1 {newshape = array<i64: 0, -1>} : (tensor<1x8x1x1xf32>) -> tensor<1x8xf32>
  return %2 : tensor<1x8xf32>
}

// -----

func.func @errors(%x: tensor<1x3x4x4xf32>, %w: tensor<8x3x5x5xf32>, %v: tensor<2x3xf32>) -> tensor<1x8x1x1xf32> {
  // expected-error @+1 {{(C13) the dilated kernel must fit into the padded data, got [0, 0]}}
  %0 = relay.nn.conv2d %x, %w : (tensor<1x3x4x4xf32>, tensor<8x3x5x5xf32>) -> tensor<1x8x1x1xf32>
  // Its operand is bad: not reported.
  %1 = relay.nn.global_avg_pool2d %0 : (tensor<1x8x1x1xf32>) -> tensor<1x8x1x1xf32>
  // expected-error @+1 {{(C1) the elements must fit newshape, got [2, 3] and [4]}}
  %2 = relay.reshape %v {newshape = array<i64: 4>} : (tensor<2x3xf32>) -> tensor<4xf32>
  return %1 : tensor<1x8x1x1xf32>
}
