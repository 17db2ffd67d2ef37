// RUN: tt-opt %s --FoldScaleAxis | FileCheck %s

// CHECK-LABEL: func.func @behind
// CHECK-SAME: (%[[X:.*]]: tensor<1x1x4x4xf32>)
func.func @behind(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = relay.constant dense<[[[[1.0]]], [[[2.0]]]]> : tensor<2x1x1x1xf32>
  %b = relay.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %scale = relay.constant dense<[[[3.0]], [[5.0]]]> : tensor<2x1x1xf32>
  %shift = relay.constant dense<[[[0.5]], [[0.25]]]> : tensor<2x1x1xf32>
  // (x w + b) scale + shift
  // CHECK-DAG: %[[W:.*]] = relay.constant dense<{{.*}}3.000000e+00{{.*}}1.000000e+01{{.*}}> : tensor<2x1x1x1xf32>
  // CHECK-DAG: %[[C:.*]] = relay.nn.conv2d %[[X]], %[[W]]
  // CHECK-DAG: %[[B:.*]] = relay.constant dense<[3.500000e+00, -4.750000e+00]> : tensor<2xf32>
  // CHECK: %[[R:.*]] = relay.nn.bias_add %[[C]], %[[B]] :
  // CHECK: return %[[R]]
  %0 = relay.nn.conv2d %x, %w : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = relay.nn.bias_add %0, %b : (tensor<1x2x4x4xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %2 = relay.multiply %1, %scale : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %3 = relay.add %shift, %2 : (tensor<2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %3 : tensor<1x2x4x4xf32>
}

// Two groups: input channel 1 belongs to output channel 1 alone.
// CHECK-LABEL: func.func @in_front
func.func @in_front(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = relay.constant dense<1.0> : tensor<2x1x1x1xf32>
  %scale = relay.constant dense<[[[2.0]], [[4.0]]]> : tensor<2x1x1xf32>
  %mean = relay.constant dense<8.0> : tensor<f32>
  // (x - 8) / scale
  // CHECK-DAG: %[[W:.*]] = relay.constant dense<{{.*}}5.000000e-01{{.*}}2.500000e-01{{.*}}> : tensor<2x1x1x1xf32>
  // CHECK-DAG: %[[B:.*]] = relay.constant dense<[-4.000000e+00, -2.000000e+00]>
  // CHECK-DAG: relay.nn.conv2d %arg0, %[[W]] {groups = 2 : i64}
  // CHECK: relay.nn.bias_add %{{.*}}, %[[B]]
  %0 = relay.subtract %x, %mean : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %1 = relay.divide %0, %scale : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %2 = relay.nn.conv2d %1, %w {groups = 2 : i64} : (tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %2 : tensor<1x2x4x4xf32>
}

// Padding is not shifted: the offset stays, the factor goes.
// CHECK-LABEL: func.func @padded
func.func @padded(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  // CHECK: relay.add
  // CHECK-NEXT: relay.nn.conv2d
  %w = relay.constant dense<1.0> : tensor<1x1x3x3xf32>
  %c = relay.constant dense<2.0> : tensor<f32>
  %0 = relay.add %x, %c : (tensor<1x1x4x4xf32>, tensor<f32>) -> tensor<1x1x4x4xf32>
  %1 = relay.nn.conv2d %0, %w {padding = array<i64: 1, 1, 1, 1>} : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  return %1 : tensor<1x1x4x4xf32>
}

// Other users want the layer as it is; a factor that differs along the width is none per channel.
// CHECK-LABEL: func.func @kept
func.func @kept(%x: tensor<1x1x1x2xf32>) -> (tensor<1x1x1x2xf32>, tensor<1x1x1x2xf32>, tensor<1x1x1x2xf32>) {
  // CHECK: relay.multiply
  // CHECK: relay.multiply
  %w = relay.constant dense<1.0> : tensor<1x1x1x1xf32>
  %c = relay.constant dense<2.0> : tensor<f32>
  %d = relay.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0 = relay.nn.conv2d %x, %w : (tensor<1x1x1x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x2xf32>
  %1 = relay.multiply %0, %c : (tensor<1x1x1x2xf32>, tensor<f32>) -> tensor<1x1x1x2xf32>
  %2 = relay.nn.conv2d %x, %w : (tensor<1x1x1x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x2xf32>
  %3 = relay.multiply %2, %d : (tensor<1x1x1x2xf32>, tensor<2xf32>) -> tensor<1x1x1x2xf32>
  return %0, %1, %3 : tensor<1x1x1x2xf32>, tensor<1x1x1x2xf32>, tensor<1x1x1x2xf32>
}

// CHECK-LABEL: func.func @dense
func.func @dense(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  // CHECK-DAG: %[[W:.*]] = relay.constant dense<{{\[\[}}1.000000e+01, 2.000000e+01], [3.000000e+02, 4.000000e+02]]>
  // CHECK: relay.nn.dense %{{.*}}, %[[W]]
  // CHECK-NEXT: return
  %w = relay.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %c = relay.constant dense<[10.0, 100.0]> : tensor<2xf32>
  %0 = relay.nn.dense %x, %w : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %1 = relay.multiply %0, %c : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @norm
func.func @norm(%x: tensor<2x2x4xf32>) -> tensor<2x2x4xf32> {
  // CHECK-DAG: %[[G:.*]] = relay.constant dense<[3.000000e+00, 8.000000e+00]>
  // CHECK-DAG: %[[B:.*]] = relay.constant dense<[4.000000e+00, 5.000000e+00]>
  // CHECK: relay.nn.instance_norm %{{.*}}, %[[G]], %[[B]]
  // CHECK-NEXT: return
  %g = relay.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = relay.constant dense<1.0> : tensor<2xf32>
  %c = relay.constant dense<[[3.0], [4.0]]> : tensor<2x1xf32>
  %one = relay.constant dense<1.0> : tensor<f32>
  %0 = relay.nn.instance_norm %x, %g, %b : (tensor<2x2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x4xf32>
  %1 = relay.multiply %0, %c : (tensor<2x2x4xf32>, tensor<2x1xf32>) -> tensor<2x2x4xf32>
  %2 = relay.add %1, %one : (tensor<2x2x4xf32>, tensor<f32>) -> tensor<2x2x4xf32>
  return %2 : tensor<2x2x4xf32>
}
