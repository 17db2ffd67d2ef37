// Element types: bool lies in bytes, unsigned integers are signless, half precision is computed in float32 and
// rounded once.
// RUN: tt-run-host %s --print-ir | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %{{.*}}: tensor<4xf16>, %{{.*}}: tensor<4xf16>, %{{.*}}: tensor<4xi8>, %{{.*}}: tensor<4xi8>) -> (tensor<4xf16>, tensor<4xi8>, tensor<4xi8>)
func.func @main(%x: tensor<4xf16>, %y: tensor<4xf16>, %u: tensor<4xui8>, %b: tensor<4xi1>)
    -> (tensor<4xf16>, tensor<4xui8>, tensor<4xi1>) {
  // CHECK: linalg.generic
  // CHECK: arith.extf %{{.*}} : f16 to f32
  // CHECK: arith.extf %{{.*}} : f16 to f32
  // CHECK: arith.addf %{{.*}} : f32
  // CHECK: arith.truncf %{{.*}} : f32 to f16
  %0 = relay.add %x, %y : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  // CHECK: linalg.generic
  // CHECK: arith.maxui %{{.*}} : i8
  %1 = relay.maximum %u, %u : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  // CHECK: linalg.generic
  // CHECK: arith.cmpi ne
  // CHECK: arith.xori %{{.*}} : i1
  // CHECK: arith.extui %{{.*}} : i1 to i8
  %2 = relay.logical_not %b : (tensor<4xi1>) -> tensor<4xi1>
  return %0, %1, %2 : tensor<4xf16>, tensor<4xui8>, tensor<4xi1>
}
// CHECK: output 'out0' float16 4
// CHECK: output 'out1' uint8 4
// CHECK: output 'out2' bool 4
