// Without fusion every operator is a kernel of its own; after it only what is left.
// RUN: tt-opt %s --OutlinePrimitives | FileCheck %s
// RUN: tt-opt %s --FuseConvAddBnRelu --OutlinePrimitives | FileCheck %s --check-prefix=FUSED

// CHECK: call @fused_exp(
// CHECK: call @fused_nn_relu(
// CHECK: call @fused_exp_0(
// FUSED: call @fused_exp_nn_relu_exp(
// FUSED-NOT: call
func.func @main(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = relay.exp %x : (tensor<4xf16>) -> tensor<4xf16>
  %1 = relay.nn.relu %0 : (tensor<4xf16>) -> tensor<4xf16>
  %2 = relay.exp %1 : (tensor<4xf16>) -> tensor<4xf16>
  return %2 : tensor<4xf16>
}
