// What has no kernel is refused with the rule and the values.
// RUN: tt-opt %s -split-input-file --relay-to-tile -verify-diagnostics

// What is repeated is kept in LLB whole.
func.func private @shapes(%x: tensor<2x1024x1024xf16>, %y: tensor<1024x1024xf16>) -> tensor<2x1024x1024xf16> attributes {relay.primitive} {
  // expected-error @+1 {{not on the NPU: a tensor that is repeated must have at most 524288 elements, got [1, 1024, 1024]}}
  %0 = relay.add %x, %y : (tensor<2x1024x1024xf16>, tensor<1024x1024xf16>) -> tensor<2x1024x1024xf16>
  return %0 : tensor<2x1024x1024xf16>
}

// -----

func.func private @exponent(%x: tensor<8xf16>, %y: tensor<8xf16>) -> tensor<8xf16> attributes {relay.primitive} {
  // expected-error @+1 {{not on the NPU: relay.power must have a constant exponent of one element}}
  %0 = relay.power %x, %y : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  return %0 : tensor<8xf16>
}

// -----

func.func private @order(%x: tensor<2x3x4x5xf16>) -> tensor<5x3x4x2xf16> attributes {relay.primitive} {
  // expected-error @+1 {{not on the NPU: only permutations that exchange two neighbouring groups of axes, got [3, 1, 2, 0]}}
  %0 = relay.transpose %x {axes = array<i64: 3, 1, 2, 0>} : (tensor<2x3x4x5xf16>) -> tensor<5x3x4x2xf16>
  return %0 : tensor<5x3x4x2xf16>
}

// -----

func.func private @integers(%x: tensor<8xi32>) -> tensor<8xi32> attributes {relay.primitive} {
  // expected-error @+1 {{not on the NPU: element type must be float16 or float32}}
  %0 = relay.abs %x : (tensor<8xi32>) -> tensor<8xi32>
  return %0 : tensor<8xi32>
}
