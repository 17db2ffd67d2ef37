// Everything that has no host code is reported at once, with the names of the nodes.
// RUN: not tt-run-host %s 2>&1 | FileCheck %s

func.func private @elsewhere(tensor<2xf32>) -> tensor<2xf32>
func.func @main(%x: tensor<2xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
  // CHECK: resource error: node 'first': operator relay.scatter_elements cannot run on the host: reduction 'mean' is not supported
  %0 = relay.scatter_elements %x, %i, %x {reduction = "mean"} : (tensor<2xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<2xf32> loc("first")
  %1 = relay.add %0, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: resource error: node 'second': operator func.call cannot run on the host: calls of unknown functions have no host code
  %2 = func.call @elsewhere(%1) : (tensor<2xf32>) -> tensor<2xf32> loc("second")
  // CHECK: resource error: node 'third': operator relay.broadcast_to cannot run on the host: its result needs more than 16 GiB
  %3 = relay.broadcast_to %x {shape = array<i64: 1048576, 8192, 2>} : (tensor<2xf32>) -> tensor<1048576x8192x2xf32> loc("third")
  return %2 : tensor<2xf32>
}
