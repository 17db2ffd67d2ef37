// RUN: tt-opt %s --ConvertLayout | FileCheck %s

// Transposes remain at the borders; the residual addition, the concatenation and the axis follow.
// CHECK-LABEL: func.func @network
// CHECK-SAME: (%[[X:.*]]: tensor<1x3x8x8xf32>)
func.func @network(%x: tensor<1x3x8x8xf32>) -> tensor<1x8x4x4xf32> {
  // CHECK-DAG: %[[T:.*]] = relay.transpose %[[X]] {axes = array<i64: 0, 2, 3, 1>}
  // CHECK-DAG: %[[W:.*]] = relay.constant {{.*}} : tensor<3x3x3x4xf32>
  // CHECK: %[[C:.*]] = relay.nn.conv2d %[[T]], %[[W]] {data_layout = "NHWC", kernel_layout = "HWIO", padding = array<i64: 1, 1, 1, 1>}
  // CHECK-NOT: relay.transpose
  // CHECK: relay.nn.bias_add %[[C]], %{{.*}} {axis = 3 : i64}
  // CHECK-NOT: relay.transpose
  // CHECK: relay.concatenate %{{.*}} {axis = 3 : i64}
  // CHECK-NOT: relay.transpose
  // CHECK: relay.nn.max_pool2d %{{.*}} {layout = "NHWC"
  // CHECK-NEXT: %[[R:.*]] = relay.transpose %{{.*}} {axes = array<i64: 0, 3, 1, 2>}
  // CHECK-NEXT: return %[[R]]
  %w = relay.constant dense<0.5> : tensor<4x3x3x3xf32>
  %b = relay.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %scale = relay.constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1, 1, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  %1 = relay.nn.bias_add %0, %b : (tensor<1x4x8x8xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %2 = relay.multiply %1, %scale : (tensor<1x4x8x8xf32>, tensor<4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %3 = relay.add %2, %0 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %4 = relay.concatenate %3, %0 {axis = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x8x8x8xf32>
  %5 = relay.nn.relu %4 : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %6 = relay.nn.max_pool2d %5 {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x8x8x8xf32>) -> tensor<1x8x4x4xf32>
  return %6 : tensor<1x8x4x4xf32>
}

// The constant [4, 1, 1] follows the channels.
// CHECK-LABEL: func.func @constant
func.func @constant(%x: tensor<1x4x2x2xf32>) -> tensor<1x4x1x1xf32> {
  // CHECK-DAG: relay.constant {{.*}} : tensor<1x1x1x4xf32>
  // CHECK: relay.multiply {{.*}} : (tensor<1x1x1x4xf32>, tensor<1x1x1x4xf32>)
  %scale = relay.constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>
  %0 = relay.nn.max_pool2d %x {pool_size = array<i64: 2, 2>} : (tensor<1x4x2x2xf32>) -> tensor<1x4x1x1xf32>
  %1 = relay.multiply %scale, %0 : (tensor<4x1x1xf32>, tensor<1x4x1x1xf32>) -> tensor<1x4x1x1xf32>
  return %1 : tensor<1x4x1x1xf32>
}

// After the global pooling there is nothing to transpose.
// CHECK-LABEL: func.func @classifier
func.func @classifier(%x: tensor<2x4x4x4xf32>) -> tensor<2x3xf32> {
  // CHECK: relay.transpose
  // CHECK: relay.nn.global_avg_pool2d %{{.*}} {layout = "NHWC"}
  // CHECK: relay.reshape %{{.*}} {newshape = array<i64: 2, 4>}
  // CHECK-NEXT: relay.nn.dense
  // CHECK-NEXT: return
  %w = relay.constant dense<0.5> : tensor<3x4xf32>
  %0 = relay.nn.global_avg_pool2d %x : (tensor<2x4x4x4xf32>) -> tensor<2x4x1x1xf32>
  %1 = relay.nn.batch_flatten %0 : (tensor<2x4x1x1xf32>) -> tensor<2x4xf32>
  %2 = relay.nn.dense %1, %w : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// Flattened images: the weights change their order.
// CHECK-LABEL: func.func @flatten
func.func @flatten(%x: tensor<1x2x2x2xf32>) -> tensor<1x1xf32> {
  // c, h, w = 0..7 becomes h, w, c.
  // CHECK-DAG: relay.constant dense<{{\[\[}}0.000000e+00, 4.000000e+00, 1.000000e+00, 5.000000e+00, 2.000000e+00, 6.000000e+00, 3.000000e+00, 7.000000e+00]]>
  // CHECK: relay.reshape
  // CHECK-NEXT: relay.nn.dense
  // CHECK-NEXT: return
  %w = relay.constant dense<[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]]> : tensor<1x8xf32>
  %0 = relay.nn.avg_pool2d %x {pool_size = array<i64: 1, 1>} : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %1 = relay.reshape %0 {newshape = array<i64: 0, -1>} : (tensor<1x2x2x2xf32>) -> tensor<1x8xf32>
  %2 = relay.nn.dense %1, %w : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x1xf32>
  return %2 : tensor<1x1xf32>
}

// ShuffleNet's channel shuffle stays one transpose, now of the last two dimensions.
// CHECK-LABEL: func.func @shuffle
func.func @shuffle(%x: tensor<1x6x4x4xf32>) -> tensor<1x6x4x4xf32> {
  // CHECK: relay.nn.max_pool2d
  // CHECK-NEXT: relay.reshape %{{.*}} {newshape = array<i64: 1, 4, 4, 2, 3>}
  // CHECK-NEXT: relay.transpose %{{.*}} {axes = array<i64: 0, 1, 2, 4, 3>}
  // CHECK-NEXT: relay.reshape %{{.*}} {newshape = array<i64: 1, 4, 4, 6>}
  // CHECK-NEXT: relay.nn.max_pool2d
  // CHECK-NEXT: relay.transpose
  // CHECK-NEXT: return
  %0 = relay.nn.max_pool2d %x {pool_size = array<i64: 1, 1>} : (tensor<1x6x4x4xf32>) -> tensor<1x6x4x4xf32>
  %1 = relay.reshape %0 {newshape = array<i64: 1, 2, 3, 4, 4>} : (tensor<1x6x4x4xf32>) -> tensor<1x2x3x4x4xf32>
  %2 = relay.transpose %1 {axes = array<i64: 0, 2, 1, 3, 4>} : (tensor<1x2x3x4x4xf32>) -> tensor<1x3x2x4x4xf32>
  %3 = relay.reshape %2 {newshape = array<i64: 1, 6, 4, 4>} : (tensor<1x3x2x4x4xf32>) -> tensor<1x6x4x4xf32>
  %4 = relay.nn.max_pool2d %3 {pool_size = array<i64: 1, 1>} : (tensor<1x6x4x4xf32>) -> tensor<1x6x4x4xf32>
  return %4 : tensor<1x6x4x4xf32>
}

// Axes, pads, slices and reductions are renumbered.
// CHECK-LABEL: func.func @axes
func.func @axes(%x: tensor<1x4x6x6xf32>) -> (tensor<1x2x6x6xf32>, tensor<1x6x6xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6x9xf32>) {
  // CHECK: relay.strided_slice %{{.*}} {axes = array<i64: 3>
  // CHECK: relay.sum %{{.*}} {axis = array<i64: 3>} : (tensor<1x6x6x4xf32>) -> tensor<1x6x6xf32>
  // CHECK-NOT: relay.transpose %{{.*}} : (tensor<1x6x6xf32>)
  // CHECK: relay.nn.softmax %{{.*}} {axis = 3 : i64}
  // CHECK: relay.nn.pad %{{.*}} {pad_width = array<i64: 0, 0, 0, 0, 1, 2, 0, 0>}
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.max_pool2d %x {pool_size = array<i64: 1, 1>} : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %1 = relay.strided_slice %0 {begin = array<i64: 1>, end = array<i64: 3>, axes = array<i64: 1>} : (tensor<1x4x6x6xf32>) -> tensor<1x2x6x6xf32>
  %2 = relay.sum %0 {axis = array<i64: 1>} : (tensor<1x4x6x6xf32>) -> tensor<1x6x6xf32>
  %3 = relay.nn.softmax %0 {axis = 1 : i64} : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %4 = relay.nn.pad %0, %zero {pad_width = array<i64: 0, 0, 0, 0, 0, 0, 1, 2>} : (tensor<1x4x6x6xf32>, tensor<f32>) -> tensor<1x4x6x9xf32>
  return %1, %2, %3, %4 : tensor<1x2x6x6xf32>, tensor<1x6x6xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6x9xf32>
}

// A computed tensor of another layout keeps the transpose where it is.
// CHECK-LABEL: func.func @mixed
func.func @mixed(%x: tensor<1x4x6x6xf32>, %y: tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32> {
  // CHECK: relay.nn.max_pool2d
  // CHECK-NEXT: relay.transpose
  // CHECK-NEXT: relay.add
  // CHECK-NEXT: return
  %0 = relay.nn.max_pool2d %x {pool_size = array<i64: 1, 1>} : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %1 = relay.add %0, %y : (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  return %1 : tensor<1x4x6x6xf32>
}

// One-dimensional layers are images of height 1.
// CHECK-LABEL: func.func @narrow
func.func @narrow(%x: tensor<1x2x9xf32>) -> tensor<1x2x3xf32> {
  // CHECK: relay.nn.conv2d %{{.*}} {data_layout = "NHWC", groups = 2 : i64, kernel_layout = "HWIO", padding = array<i64: 0, 1, 0, 0>, strides = array<i64: 1, 2>} : (tensor<1x1x9x2xf32>, tensor<1x3x1x2xf32>) -> tensor<1x1x4x2xf32>
  // CHECK-NEXT: relay.nn.max_pool2d %{{.*}} {layout = "NHWC", pool_size = array<i64: 1, 2>}
  %w = relay.constant dense<1.0> : tensor<2x1x3xf32>
  %0 = relay.nn.conv1d %x, %w {strides = array<i64: 2>, padding = array<i64: 1, 0>, groups = 2} : (tensor<1x2x9xf32>, tensor<2x1x3xf32>) -> tensor<1x2x4xf32>
  %1 = relay.nn.max_pool1d %0 {pool_size = array<i64: 2>} : (tensor<1x2x4xf32>) -> tensor<1x2x3xf32>
  return %1 : tensor<1x2x3xf32>
}
