// Layer normalisation: rows in two buffers; mean and variance by pairwise sums.
// RUN: tt-opt %s -split-input-file -verify-diagnostics --relay-to-tile='ncore=2' | FileCheck %s
// RUN: tt-opt %s -split-input-file --relay-to-tile --tile-plan-memory -o /dev/null -verify-diagnostics

// CHECK-LABEL: func.func @npu_norm()
// CHECK: tile.alloc "rows" {{[0-9]+}} : <L1>
// The first tile is loaded ahead of the loop, the next ones inside of it.
// CHECK: tile.load
// CHECK: scf.for
// CHECK: tile.load
// 192 columns: 96 pairs, then 48, then a fold.
// CHECK: tile.binary add {{.*}} size(%{{.*}}, %c96_i32
// CHECK: tile.binary add {{.*}} size(%{{.*}}, %c48_i32
// CHECK: tile.reduce sum rows {{.*}}scale =
// CHECK: tile.binary_vector sub rows
// CHECK: tile.binary_scalar mul {{.*}} 6.250000e-02
// CHECK: tile.reduce sum rows
// CHECK: tile.unary sqrt
// CHECK: tile.unary reciprocal
// CHECK: tile.binary_vector mul rows
// CHECK: tile.binary_vector mul columns
// Offsets that are all zero are left out.
// CHECK-NOT: tile.binary_vector add columns
// CHECK: tile.store
func.func private @norm(%x: tensor<2x400x192xf16>) -> tensor<2x400x192xf16> attributes {relay.primitive} {
  %gamma = relay.constant dense<2.0> : tensor<192xf16>
  %beta = relay.constant dense<0.0> : tensor<192xf16>
  %0 = relay.nn.layer_norm %x, %gamma, %beta : (tensor<2x400x192xf16>, tensor<192xf16>, tensor<192xf16>) -> tensor<2x400x192xf16>
  return %0 : tensor<2x400x192xf16>
}

// -----

func.func private @axis(%x: tensor<4x8xf16>) -> tensor<4x8xf16> attributes {relay.primitive} {
  %v = relay.constant dense<1.0> : tensor<4xf16>
  // expected-error @+1 {{not on the NPU: axis must be the last one, got 0 of 2}}
  %0 = relay.nn.layer_norm %x, %v, %v {axis = 0 : i64} : (tensor<4x8xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<4x8xf16>
  return %0 : tensor<4x8xf16>
}

// -----

func.func private @computed(%x: tensor<4x8xf16>, %v: tensor<8xf16>) -> tensor<4x8xf16> attributes {relay.primitive} {
  // expected-error @+1 {{not on the NPU: gamma and beta must be constant}}
  %0 = relay.nn.layer_norm %x, %v, %v : (tensor<4x8xf16>, tensor<8xf16>, tensor<8xf16>) -> tensor<4x8xf16>
  return %0 : tensor<4x8xf16>
}

// -----

func.func private @wide(%x: tensor<2x40000xf16>) -> tensor<2x40000xf16> attributes {relay.primitive} {
  %v = relay.constant dense<1.0> : tensor<40000xf16>
  // expected-error @+1 {{not on the NPU: the last axis must have at most 32767 elements, got 40000}}
  %0 = relay.nn.layer_norm %x, %v, %v : (tensor<2x40000xf16>, tensor<40000xf16>, tensor<40000xf16>) -> tensor<2x40000xf16>
  return %0 : tensor<2x40000xf16>
}
