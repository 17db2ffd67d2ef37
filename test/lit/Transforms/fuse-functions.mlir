// RUN: tt-opt %s --FuseConvAddBnRelu | FileCheck %s

// Gelu is one function of an element: it joins the layer as a single step, whatever uses the value in between.
// CHECK-LABEL: func.func @gelu
// CHECK: %[[R:.*]] = call @fused_nn_dense_divide_erf_add_multiply_multiply
// CHECK-NEXT: return %[[R]]
func.func @gelu(%x: tensor<4x8xf16>) -> tensor<4x16xf16> {
  %w = relay.constant dense<1.0> : tensor<16x8xf16>
  %root = relay.constant dense<1.414> : tensor<f16>
  %one = relay.constant dense<1.0> : tensor<f16>
  %half = relay.constant dense<0.5> : tensor<f16>
  %0 = relay.nn.dense %x, %w : (tensor<4x8xf16>, tensor<16x8xf16>) -> tensor<4x16xf16>
  %1 = relay.divide %0, %root : (tensor<4x16xf16>, tensor<f16>) -> tensor<4x16xf16>
  %2 = relay.erf %1 : (tensor<4x16xf16>) -> tensor<4x16xf16>
  %3 = relay.add %2, %one : (tensor<4x16xf16>, tensor<f16>) -> tensor<4x16xf16>
  %4 = relay.multiply %0, %3 : (tensor<4x16xf16>, tensor<4x16xf16>) -> tensor<4x16xf16>
  %5 = relay.multiply %4, %half : (tensor<4x16xf16>, tensor<f16>) -> tensor<4x16xf16>
  return %5 : tensor<4x16xf16>
}

// A value in between that is used elsewhere keeps the operators apart.
// CHECK-LABEL: func.func @not_closed
// CHECK: call @fused_nn_dense{{[(_]}}
// CHECK: call @fused_erf
func.func @not_closed(%x: tensor<4x8xf16>) -> (tensor<4x16xf16>, tensor<4x16xf16>) {
  %w = relay.constant dense<1.0> : tensor<16x8xf16>
  %0 = relay.nn.dense %x, %w : (tensor<4x8xf16>, tensor<16x8xf16>) -> tensor<4x16xf16>
  %1 = relay.erf %0 : (tensor<4x16xf16>) -> tensor<4x16xf16>
  %2 = relay.multiply %0, %1 : (tensor<4x16xf16>, tensor<4x16xf16>) -> tensor<4x16xf16>
  return %1, %2 : tensor<4x16xf16>, tensor<4x16xf16>
}
