// RUN: tt-opt %s --Legalize | FileCheck %s

// Kernel 3, stride 2, padding 1: two taps for each of the 2 x 2 phases; phase (0, 0) sees taps 2 and 0.
// CHECK-LABEL: func.func @conv_transpose
func.func @conv_transpose(%x: tensor<1x4x4x1xf32>) -> tensor<1x7x7x1xf32> {
  // CHECK-DAG: %[[W:.*]] = relay.constant dense<{{\[\[\[\[}}9.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]], {{\[\[}}7.000000e+00, 8.000000e+00, 0.000000e+00, 0.000000e+00]]], {{\[\[\[}}3.000000e+00, 0.000000e+00, 6.000000e+00, 0.000000e+00]], {{\[\[}}1.000000e+00, 2.000000e+00, 4.000000e+00, 5.000000e+00]]]]> : tensor<2x2x1x4xf32>
  // CHECK-DAG: %[[C:.*]] = relay.nn.conv2d %arg0, %[[W]] {data_layout = "NHWC", kernel_layout = "HWIO", padding = array<i64: 1, 1, 0, 0>} : (tensor<1x4x4x1xf32>, tensor<2x2x1x4xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: relay.reshape %[[C]] {newshape = array<i64: 4, 4, 2, 2>}
  // CHECK-NEXT: relay.transpose %{{.*}} {axes = array<i64: 0, 2, 1, 3>}
  // CHECK-NEXT: relay.reshape %{{.*}} {newshape = array<i64: 1, 8, 8, 1>}
  // CHECK-NEXT: relay.strided_slice %{{.*}} {axes = array<i64: 1>, begin = array<i64: 1>, end = array<i64: 8>}
  // CHECK-NEXT: relay.strided_slice %{{.*}} {axes = array<i64: 2>, begin = array<i64: 1>, end = array<i64: 8>}
  %w = relay.constant dense<[[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]]> : tensor<1x1x3x3xf32>
  %0 = relay.nn.conv2d_transpose %x, %w {strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>, data_layout = "NHWC"} : (tensor<1x4x4x1xf32>, tensor<1x1x3x3xf32>) -> tensor<1x7x7x1xf32>
  return %0 : tensor<1x7x7x1xf32>
}

// Groups have no such form.
// CHECK-LABEL: func.func @groups
func.func @groups(%x: tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32> {
  // CHECK: relay.nn.conv2d_transpose
  %w = relay.constant dense<1.0> : tensor<2x1x1x1xf32>
  %0 = relay.nn.conv2d_transpose %x, %w {groups = 2, data_layout = "NHWC"} : (tensor<1x4x4x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x4x4x2xf32>
  return %0 : tensor<1x4x4x2xf32>
}

// CHECK-LABEL: func.func @resize
func.func @resize(%x: tensor<1x3x4x2xf32>) -> (tensor<1x6x12x2xf32>, tensor<1x6x8x2xf32>) {
  // CHECK: relay.reshape %arg0 {newshape = array<i64: 12, 2>}
  // CHECK-NEXT: relay.concatenate %{{.*}} {axis = 1 : i64} : (tensor<12x2xf32>, tensor<12x2xf32>, tensor<12x2xf32>) -> tensor<12x6xf32>
  // CHECK-NEXT: relay.reshape %{{.*}} {newshape = array<i64: 3, 24>}
  // CHECK-NEXT: relay.concatenate %{{.*}} : (tensor<3x24xf32>, tensor<3x24xf32>)
  // CHECK-NEXT: relay.reshape %{{.*}} {newshape = array<i64: 1, 6, 12, 2>}
  %0 = relay.image.resize2d %x {size = array<i64: 6, 12>, layout = "NHWC", method = "nearest_neighbor", coordinate_transformation_mode = "asymmetric", rounding_method = "floor"} : (tensor<1x3x4x2xf32>) -> tensor<1x6x12x2xf32>
  // Ties: pixel 1 is half way between 0 and 1.
  // CHECK-NEXT: relay.image.resize2d
  %1 = relay.image.resize2d %x {size = array<i64: 6, 8>, layout = "NHWC", method = "nearest_neighbor", coordinate_transformation_mode = "asymmetric", rounding_method = "round"} : (tensor<1x3x4x2xf32>) -> tensor<1x6x8x2xf32>
  return %0, %1 : tensor<1x6x12x2xf32>, tensor<1x6x8x2xf32>
}

// CHECK-LABEL: func.func @spaces
func.func @spaces(%x: tensor<1x2x2x8xf32>) -> (tensor<1x4x4x2xf32>, tensor<1x1x1x32xf32>) {
  // CHECK: relay.transpose %{{.*}} {axes = array<i64: 0, 1, 2, 4, 3>} : (tensor<1x2x2x2x4xf32>)
  // CHECK-NEXT: relay.reshape
  // CHECK-NEXT: relay.transpose %{{.*}} {axes = array<i64: 0, 1, 3, 2, 4, 5>} : (tensor<1x2x2x2x2x2xf32>)
  %0 = relay.nn.depth_to_space %x {block_size = 2, layout = "NHWC", mode = "CDR"} : (tensor<1x2x2x8xf32>) -> tensor<1x4x4x2xf32>
  // CHECK: relay.transpose %{{.*}} {axes = array<i64: 0, 1, 3, 2, 4, 5>} : (tensor<1x1x2x1x2x8xf32>)
  %1 = relay.nn.space_to_depth %x {block_size = 2, layout = "NHWC"} : (tensor<1x2x2x8xf32>) -> tensor<1x1x1x32xf32>
  return %0, %1 : tensor<1x4x4x2xf32>, tensor<1x1x1x32xf32>
}

// CHECK-LABEL: func.func @adaptive
func.func @adaptive(%x: tensor<1x6x4x2xf32>) -> (tensor<1x3x1x2xf32>, tensor<1x1x1x2xf32>, tensor<1x4x4x2xf32>) {
  // CHECK: relay.nn.avg_pool2d %{{.*}} {layout = "NHWC", pool_size = array<i64: 2, 4>, strides = array<i64: 2, 4>}
  %0 = relay.nn.adaptive_avg_pool2d %x {output_size = array<i64: 3, 1>, layout = "NHWC"} : (tensor<1x6x4x2xf32>) -> tensor<1x3x1x2xf32>
  // CHECK: relay.nn.global_max_pool2d
  %1 = relay.nn.adaptive_max_pool2d %x {output_size = array<i64: 1>, layout = "NHWC"} : (tensor<1x6x4x2xf32>) -> tensor<1x1x1x2xf32>
  // Windows of different sizes.
  // CHECK: relay.nn.adaptive_avg_pool2d
  %2 = relay.nn.adaptive_avg_pool2d %x {output_size = array<i64: 4, 4>, layout = "NHWC"} : (tensor<1x6x4x2xf32>) -> tensor<1x4x4x2xf32>
  return %0, %1, %2 : tensor<1x3x1x2xf32>, tensor<1x1x1x2xf32>, tensor<1x4x4x2xf32>
}

// Groups of two channels: means over the map, then over the group by a product with a constant matrix.
// CHECK-LABEL: func.func @group_norm
// CHECK: %[[M:.*]] = relay.mean %[[X:.*]] {axis = array<i64: 1, 2>, keepdims = true}
// CHECK: %[[F:.*]] = relay.reshape %[[M]] {{.*}} -> tensor<2x4xf32>
// CHECK: %[[D:.*]] = relay.nn.dense %[[F]]
// CHECK: %[[R:.*]] = relay.reshape %[[D]] {{.*}} -> tensor<2x1x1x4xf32>
// CHECK: relay.subtract %[[X]], %[[R]]
// CHECK: relay.rsqrt
// CHECK-NOT: group_norm
func.func @group_norm(%x: tensor<2x3x3x4xf32>) -> tensor<2x3x3x4xf32> {
  %gamma = relay.constant dense<2.0> : tensor<4xf32>
  %beta = relay.constant dense<0.5> : tensor<4xf32>
  %0 = relay.nn.group_norm %x, %gamma, %beta {num_groups = 2 : i64, axis = 3 : i64} : (tensor<2x3x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x3x4xf32>
  return %0 : tensor<2x3x3x4xf32>
}

// Single channels need no matrix; the axis may be the second.
// CHECK-LABEL: func.func @instance_norm
// CHECK: relay.mean %{{.*}} {axis = array<i64: 2>, keepdims = true}
// CHECK-NOT: relay.nn.dense
// CHECK: relay.rsqrt
func.func @instance_norm(%x: tensor<2x4x9xf32>) -> tensor<2x4x9xf32> {
  %gamma = relay.constant dense<2.0> : tensor<4xf32>
  %beta = relay.constant dense<0.5> : tensor<4xf32>
  %0 = relay.nn.instance_norm %x, %gamma, %beta : (tensor<2x4x9xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x9xf32>
  return %0 : tensor<2x4x9xf32>
}

// Indices that the importer counts from the front are counted by the kernel.
// CHECK-LABEL: func.func @from_end
// CHECK-SAME: (%[[I:.*]]: tensor<3xi64>, %{{.*}}: tensor<3xi64>
// CHECK: relay.take %{{.*}}, %[[I]] {axis = 0 : i64, mode = "fast"}
// CHECK: %[[W:.*]] = relay.where
// CHECK: relay.take %{{.*}}, %[[W]] {axis = 0 : i64}
func.func @from_end(%i: tensor<3xi64>, %k: tensor<3xi64>, %x: tensor<8x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %zero = relay.constant dense<0> : tensor<i64>
  %eight = relay.constant dense<8> : tensor<i64>
  %nine = relay.constant dense<9> : tensor<i64>
  %n = relay.less %i, %zero : (tensor<3xi64>, tensor<i64>) -> tensor<3xi1>
  %s = relay.add %i, %eight : (tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
  %w = relay.where %n, %s, %i : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %0 = relay.take %x, %w {axis = 0 : i64} : (tensor<8x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  // Another number than the table's rows.
  %t = relay.add %i, %nine : (tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
  %v = relay.where %n, %t, %i : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %1 = relay.take %x, %v {axis = 0 : i64} : (tensor<8x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<3x4xf32>
}

// The factor of attention's scores joins the product.
// CHECK-LABEL: func.func @scores
// CHECK: %[[P:.*]] = relay.nn.batch_matmul
// CHECK-NEXT: %[[D:.*]] = relay.divide %[[P]]
// CHECK-NEXT: relay.reshape %[[D]]
func.func @scores(%q: tensor<6x5x4xf32>, %k: tensor<6x7x4xf32>) -> tensor<2x3x5x7xf32> {
  %root = relay.constant dense<2.0> : tensor<f32>
  %0 = relay.nn.batch_matmul %q, %k {transpose_b = true} : (tensor<6x5x4xf32>, tensor<6x7x4xf32>) -> tensor<6x5x7xf32>
  %1 = relay.reshape %0 {newshape = array<i64: 2, 3, 5, 7>} : (tensor<6x5x7xf32>) -> tensor<2x3x5x7xf32>
  %2 = relay.divide %1, %root : (tensor<2x3x5x7xf32>, tensor<f32>) -> tensor<2x3x5x7xf32>
  return %2 : tensor<2x3x5x7xf32>
}

// The bias behind a transposed convolution is added to every phase, in front of the data's way to its places.
// CHECK-LABEL: func.func @transposed_bias
// CHECK: %[[C:.*]] = relay.nn.conv2d
// CHECK: %[[B:.*]] = relay.nn.bias_add %[[C]], %{{.*}} {axis = 3 : i64} : (tensor<{{.*}}x12xf32>, tensor<12xf32>)
// CHECK-NOT: bias_add
// CHECK: return
func.func @transposed_bias(%x: tensor<1x4x4x2xf32>) -> tensor<1x8x8x3xf32> {
  %w = relay.constant dense<0.5> : tensor<2x2x3x2xf32>
  %b = relay.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = relay.nn.conv2d_transpose %x, %w {channels = 3 : i64, data_layout = "NHWC", kernel_layout = "HWOI", kernel_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x4x4x2xf32>, tensor<2x2x3x2xf32>) -> tensor<1x8x8x3xf32>
  %1 = relay.nn.bias_add %0, %b {axis = 3 : i64} : (tensor<1x8x8x3xf32>, tensor<3xf32>) -> tensor<1x8x8x3xf32>
  return %1 : tensor<1x8x8x3xf32>
}

// A convolution of concatenated channels: the sum of two, as its result is smaller than what is concatenated.
// CHECK-LABEL: func.func @skip
// CHECK-SAME: (%[[A:.*]]: tensor<1x4x4x1xf32>, %[[B:.*]]: tensor<1x4x4x2xf32>)
// CHECK-DAG: %[[WA:.*]] = relay.constant dense<1.000000e+00> : tensor<1x1x1x2xf32>
// CHECK-DAG: %[[WB:.*]] = relay.constant dense<{{.*}}2.000000e+00, 2.000000e+00], [3.000000e+00, 3.000000e+00]{{.*}}> : tensor<1x1x2x2xf32>
// CHECK-DAG: %[[SB:.*]] = relay.nn.conv2d %[[B]], %[[WB]]
// CHECK-DAG: %[[SA:.*]] = relay.nn.conv2d %[[A]], %[[WA]]
// CHECK: relay.add %[[SA]], %[[SB]]
func.func @skip(%a: tensor<1x4x4x1xf32>, %b: tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32> {
  %w = relay.constant dense<[[[[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]]]> : tensor<1x1x3x2xf32>
  %0 = relay.concatenate %a, %b {axis = 3 : i64} : (tensor<1x4x4x1xf32>, tensor<1x4x4x2xf32>) -> tensor<1x4x4x3xf32>
  %1 = relay.nn.conv2d %0, %w {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x4x4x3xf32>, tensor<1x1x3x2xf32>) -> tensor<1x4x4x2xf32>
  return %1 : tensor<1x4x4x2xf32>
}
