// Every violated constraint of an op is reported, with its number and the actual values.
// RUN: tt-opt %s -split-input-file -verify-diagnostics

func.func @conv(%x: tensor<1x3x8x8xf32>, %w: tensor<4x5x3x3xf32>) {
  // expected-error @+4 {{'relay.nn.conv2d' op (C5) strides must be 2 positive values, got [0, 1]}}
  // expected-error @+3 {{'relay.nn.conv2d' op (C7) padding must be 4 values of at least 0 (all begins, then all ends), got [1, 1]}}
  // expected-error @+2 {{'relay.nn.conv2d' op (C9) channels of data must be groups times those of the weight, got 3 and 1 and [4, 5, 3, 3]}}
  // expected-error @+1 {{'relay.nn.conv2d' op (C12) channels must be the weight's output channels, got 7 and 4}}
  %0 = relay.nn.conv2d %x, %w {strides = array<i64: 0, 1>, padding = array<i64: 1, 1>, channels = 7} : (tensor<1x3x8x8xf32>, tensor<4x5x3x3xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @too_small(%x: tensor<1x3x2x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{'relay.nn.conv2d' op (C13) the dilated kernel must fit into the padded data, got [0, 6]}}
  %0 = relay.nn.conv2d %x, %w : (tensor<1x3x2x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x1x6xf32>
  return
}

// -----

func.func @broadcast(%x: tensor<2x3xf32>, %y: tensor<4xi32>) {
  // expected-error @+2 {{'relay.add' op (C1) lhs and rhs must have the same element type, got 'f32' and 'i32'}}
  // expected-error @+1 {{'relay.add' op (C2) the shapes of lhs and rhs must broadcast, got [2, 3] and [4]}}
  %0 = relay.add %x, %y : (tensor<2x3xf32>, tensor<4xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @wrong_result(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'relay.exp' op failed to infer returned types}}
  // expected-error @+1 {{'relay.exp' op inferred type(s) 'tensor<2x3xf32>' are incompatible with return type(s) of operation 'tensor<3x2xf32>'}}
  %0 = relay.exp %x : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @reshape(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'relay.reshape' op (C1) the elements must fit newshape, got [2, 3] and [4, -1]}}
  %0 = relay.reshape %x {newshape = array<i64: 4, -1>} : (tensor<2x3xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @huge(%x: tensor<1024x1024xf32>) {
  // expected-error @+1 {{'relay.tile' op result is too large: shape [1073741824, 1073741824]}}
  %0 = relay.tile %x {reps = array<i64: 1048576, 1048576>} : (tensor<1024x1024xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @dynamic(%x: tensor<?x3xf32>) {
  // expected-error @+1 {{'relay.exp' op operand #0 must be static tensor of a Relay element type, but got 'tensor<?x3xf32>'}}
  %0 = relay.exp %x : (tensor<?x3xf32>) -> tensor<?x3xf32>
  return
}
