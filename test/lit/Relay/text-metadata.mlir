// The metadata section: a JSON graph and the array in TVM's binary form.
// RUN: tt-opt %s --relay-text -o /dev/null | FileCheck %s

// CHECK: add(%x, meta[relay.Constant][0] /* ty=Tensor[(2), float32] */) /* ty=Tensor[(2), float32] */
// CHECK: {"type_key": "Map", "keys": ["relay.Constant"], "data": [2]},
// CHECK: {"type_key": "Array", "data": [3]},
// CHECK: {"type_key": "relay.Constant", "attrs": {"_checked_type_": "4", "data": "0", "span": "0", "virtual_device_": "0"}},
// CHECK: {"type_key": "relay.TensorType", "attrs": {"dtype": "float32", "shape": "5", "span": "0"}},
// CHECK: {"type_key": "Array", "data": [6]},
// CHECK: {"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": "2"}}
// CHECK: "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAACAPwAAAEA="
func.func @main(%x: tensor<2xf32> {relay.name = "x"}) -> tensor<2xf32> {
  %c = relay.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = relay.add %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
