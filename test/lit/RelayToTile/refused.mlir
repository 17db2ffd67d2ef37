// What has no kernel is refused with the rule and the values.
// RUN: tt-opt %s -split-input-file --relay-to-tile -verify-diagnostics

func.func private @shapes(%x: tensor<4x5x6xf16>, %y: tensor<5x1xf16>) -> tensor<4x5x6xf16> attributes {relay.primitive} {
  // expected-error @+1 {{not on the NPU: operands of relay.add must have equal shapes, or one of them a single element or row for each row, got [5, 1] and [4, 5, 6]}}
  %0 = relay.add %x, %y : (tensor<4x5x6xf16>, tensor<5x1xf16>) -> tensor<4x5x6xf16>
  return %0 : tensor<4x5x6xf16>
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
