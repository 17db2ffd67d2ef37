// RUN: tt-opt %s --FuseConvAddBnRelu --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<1x8x8x4xf16>
func.func @main(%x: tensor<1x8x8x4xf16>) -> (tensor<1x8x8x4xf16>, tensor<1x8x8x4xf16>) {
  // CHECK: %[[A:.*]] = call @fused_nn_conv2d_nn_bias_add_nn_relu(%[[X]]) {{.*}} loc(fused["conv1", "bias1", "relu1"])
  // CHECK: %[[B:.*]] = call @fused_nn_conv2d_add_nn_relu(%[[A]], %[[X]])
  // The sum is used twice, so nothing joins it; the chain behind it is one kernel.
  // CHECK: %[[C:.*]] = call @fused_nn_conv2d(%[[B]])
  // CHECK: %[[D:.*]] = call @fused_multiply_sigmoid(%[[C]])
  // CHECK: %[[P:.*]] = call @fused_nn_max_pool2d(%[[C]])
  // The host's operator and the reshape stay.
  // CHECK: %[[E:.*]] = relay.exp %[[P]] {tt.where = "host"}
  // CHECK: %[[R:.*]] = relay.reshape %[[E]]
  // CHECK: return %[[D]], %[[R]]
  %w = relay.constant dense<0.5> : tensor<1x1x4x4xf16>
  %b = relay.constant dense<1.0> : tensor<4xf16>
  %half = relay.constant dense<0.5> : tensor<f16>
  %0 = relay.nn.conv2d %x, %w {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x8x4xf16>, tensor<1x1x4x4xf16>) -> tensor<1x8x8x4xf16> loc("conv1")
  %1 = relay.nn.bias_add %0, %b {axis = 3} : (tensor<1x8x8x4xf16>, tensor<4xf16>) -> tensor<1x8x8x4xf16> loc("bias1")
  %2 = relay.nn.relu %1 : (tensor<1x8x8x4xf16>) -> tensor<1x8x8x4xf16> loc("relu1")
  %3 = relay.nn.conv2d %2, %w {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x8x4xf16>, tensor<1x1x4x4xf16>) -> tensor<1x8x8x4xf16>
  %4 = relay.add %x, %3 : (tensor<1x8x8x4xf16>, tensor<1x8x8x4xf16>) -> tensor<1x8x8x4xf16>
  %5 = relay.nn.relu %4 : (tensor<1x8x8x4xf16>) -> tensor<1x8x8x4xf16>
  %6 = relay.nn.conv2d %5, %w {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x8x4xf16>, tensor<1x1x4x4xf16>) -> tensor<1x8x8x4xf16>
  %7 = relay.multiply %6, %half : (tensor<1x8x8x4xf16>, tensor<f16>) -> tensor<1x8x8x4xf16>
  %8 = relay.sigmoid %7 : (tensor<1x8x8x4xf16>) -> tensor<1x8x8x4xf16>
  %9 = relay.nn.max_pool2d %6 {pool_size = array<i64: 1, 1>, layout = "NHWC"} : (tensor<1x8x8x4xf16>) -> tensor<1x8x8x4xf16>
  %10 = relay.exp %9 {tt.where = "host"} : (tensor<1x8x8x4xf16>) -> tensor<1x8x8x4xf16>
  %11 = relay.reshape %10 {newshape = array<i64: 1, 8, 8, 4>} : (tensor<1x8x8x4xf16>) -> tensor<1x8x8x4xf16>
  return %8, %11 : tensor<1x8x8x4xf16>, tensor<1x8x8x4xf16>
}

// CHECK: func.func private @fused_nn_conv2d_nn_bias_add_nn_relu(%[[Y:.*]]: tensor<1x8x8x4xf16>
// CHECK-SAME: -> tensor<1x8x8x4xf16> attributes {relay.primitive}
// CHECK-DAG: %[[W:.*]] = relay.constant dense<5.000000e-01>
// CHECK-DAG: relay.nn.conv2d %[[Y]], %[[W]]
// CHECK: relay.nn.bias_add
// CHECK-NEXT: %[[Z:.*]] = relay.nn.relu
// CHECK-NEXT: return %[[Z]]
