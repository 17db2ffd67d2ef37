// RUN: tt-opt %s --ToFP16 | FileCheck %s

// Inputs and outputs that only the NPU sees become float16 and remember the model's type.
// CHECK-LABEL: func.func @npu
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf16> {relay.model_dtype = "float32", relay.name = "x"}) -> (tensor<2x4xf16> {relay.model_dtype = "float32"})
func.func @npu(%x: tensor<2x4xf32> {relay.name = "x"}) -> tensor<2x4xf32> {
  // CHECK-NEXT: %[[W:.*]] = relay.constant dense<9.997550e-02> : tensor<4x4xf16>
  // CHECK-NEXT: %[[D:.*]] = relay.nn.dense %[[X]], %[[W]] {out_dtype = "float16", tt.where = "npu"} : (tensor<2x4xf16>, tensor<4x4xf16>) -> tensor<2x4xf16>
  // CHECK-NEXT: return %[[D]]
  %w = relay.constant dense<0.1> : tensor<4x4xf32>
  %0 = relay.nn.dense %x, %w {out_dtype = "float32", tt.where = "npu"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// The host keeps float32: casts at the borders, and the input that both use stays.
// CHECK-LABEL: func.func @mixed
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>) -> (tensor<4xf16> {relay.model_dtype = "float32"}, tensor<4xf32>)
func.func @mixed(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-DAG: %[[XH:.*]] = relay.cast %[[X]] {dtype = "float16", tt.where = "host"}
  // CHECK-DAG: %[[E:.*]] = relay.exp %[[XH]] {tt.where = "npu"} : (tensor<4xf16>)
  // CHECK-DAG: %[[EF:.*]] = relay.cast %[[E]] {dtype = "float32", tt.where = "host"}
  // CHECK: %[[S:.*]] = relay.sort %[[EF]] {tt.where = "host"} : (tensor<4xf32>)
  // CHECK-NEXT: %[[SH:.*]] = relay.cast %[[S]] {dtype = "float16", tt.where = "host"}
  // CHECK-NEXT: %[[A:.*]] = relay.add %[[SH]], %[[XH]] {tt.where = "npu"}
  // CHECK-NEXT: %[[H:.*]] = relay.sort %[[X]]
  // CHECK-NEXT: return %[[A]], %[[H]]
  %0 = relay.exp %x {tt.where = "npu"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.sort %0 {tt.where = "host"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.add %1, %x {tt.where = "npu"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = relay.sort %x {tt.where = "host"} : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// Integers are left alone.
// CHECK-LABEL: func.func @integers
func.func @integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  // CHECK-NEXT: relay.add %{{.*}} : (tensor<4xi32>, tensor<4xi32>)
  %0 = relay.add %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
