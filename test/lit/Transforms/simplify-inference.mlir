// RUN: tt-opt %s --SimplifyInference | FileCheck %s

// CHECK-LABEL: func.func @batch_norm
// CHECK-SAME: (%[[X:.*]]: tensor<1x2x4x4xf32>)
func.func @batch_norm(%x: tensor<1x2x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<2xf32>) {
  %gamma = relay.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %beta = relay.constant dense<[1.0, 0.5]> : tensor<2xf32>
  %mean = relay.constant dense<[10.0, 4.0]> : tensor<2xf32>
  %var = relay.constant dense<[0.75, 3.75]> : tensor<2xf32>
  // CHECK-DAG: %[[MEAN:.*]] = relay.constant dense<[1.000000e+01, 4.000000e+00]>
  // CHECK-DAG: %[[SCALE:.*]] = relay.constant dense<{{\[\[\[}}2.000000e+00]], {{\[\[}}1.500000e+00]]]> : tensor<2x1x1xf32>
  // CHECK-DAG: %[[SHIFT:.*]] = relay.constant dense<{{\[\[\[}}-1.900000e+01]], {{\[\[}}-5.500000e+00]]]> : tensor<2x1x1xf32>
  // CHECK: %[[M:.*]] = relay.multiply %[[X]], %[[SCALE]]
  // CHECK: %[[A:.*]] = relay.add %[[M]], %[[SHIFT]]
  // CHECK: return %[[A]], %[[MEAN]]
  %0:3 = relay.nn.batch_norm %x, %gamma, %beta, %mean, %var {epsilon = 0.25 : f64} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<1x2x4x4xf32>, tensor<2xf32>
}

// Without scale gamma does not count; statistics that are not constant are computed.
// CHECK-LABEL: func.func @computed
// CHECK-SAME: (%{{.*}}: tensor<4x2xf32>, %{{.*}}: tensor<2xf32>, %[[BETA:.*]]: tensor<2xf32>, %[[MEAN:.*]]: tensor<2xf32>, %[[VAR:.*]]: tensor<2xf32>)
func.func @computed(%x: tensor<4x2xf32>, %g: tensor<2xf32>, %b: tensor<2xf32>, %m: tensor<2xf32>, %v: tensor<2xf32>) -> tensor<4x2xf32> {
  // CHECK: %[[S:.*]] = relay.add %[[VAR]], %{{.*}}
  // CHECK: %[[R:.*]] = relay.rsqrt %[[S]]
  // CHECK: relay.multiply %[[MEAN]], %[[R]]
  // CHECK: relay.add %[[BETA]]
  %0:3 = relay.nn.batch_norm %x, %g, %b, %m, %v {axis = -1 : i64, scale = false} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return %0#0 : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @dropout
func.func @dropout(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-DAG: %[[E:.*]] = relay.exp
  // CHECK-DAG: %[[ONES:.*]] = relay.ones_like
  // CHECK: return %[[E]], %[[ONES]]
  %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1:2 = relay.nn.dropout %0 : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %1#0, %1#1 : tensor<4xf32>, tensor<4xf32>
}
