// Every kind of shape rule: the types in this file are wrong, InferType puts them right.
// RUN: tt-opt %s --InferType --mlir-very-unsafe-disable-verifier-on-parsing | FileCheck %s

// CHECK-LABEL: func.func @r0_nn_conv1d(
// CHECK: relay.nn.conv1d {{.*}} -> tensor<2x4x5xf32>{{$}}
func.func @r0_nn_conv1d(%a0: tensor<2x3x10xf32>, %a1: tensor<4x3x3xf32>) {
  %0 = relay.nn.conv1d %a0, %a1 {padding = array<i64: 1, 0>, strides = array<i64: 2>} : (tensor<2x3x10xf32>, tensor<4x3x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r1_nn_conv2d(
// CHECK: relay.nn.conv2d {{.*}} -> tensor<1x4x8x6xf32>{{$}}
func.func @r1_nn_conv2d(%a0: tensor<1x8x8x4xf32>, %a1: tensor<3x3x2x6xf32>) {
  %0 = relay.nn.conv2d %a0, %a1 {groups = 2 : i64, data_layout = "NHWC", kernel_layout = "HWIO", dilation = array<i64: 2, 1>, padding = array<i64: 0, 1, 0, 1>} : (tensor<1x8x8x4xf32>, tensor<3x3x2x6xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r2_nn_conv3d(
// CHECK: relay.nn.conv3d {{.*}} -> tensor<1x3x4x5x6xf32>{{$}}
func.func @r2_nn_conv3d(%a0: tensor<1x2x5x6x7xf32>, %a1: tensor<3x2x2x2x2xf32>) {
  %0 = relay.nn.conv3d %a0, %a1 : (tensor<1x2x5x6x7xf32>, tensor<3x2x2x2x2xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r3_nn_conv1d_transpose(
// CHECK: relay.nn.conv1d_transpose {{.*}} -> tensor<1x2x8xf32>{{$}}
func.func @r3_nn_conv1d_transpose(%a0: tensor<1x3x4xf32>, %a1: tensor<3x2x3xf32>) {
  %0 = relay.nn.conv1d_transpose %a0, %a1 {strides = array<i64: 2>, output_padding = array<i64: 1>, padding = array<i64: 1, 1>} : (tensor<1x3x4xf32>, tensor<3x2x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r4_nn_conv2d_transpose(
// CHECK: relay.nn.conv2d_transpose {{.*}} -> tensor<1x4x11x7xf32>{{$}}
func.func @r4_nn_conv2d_transpose(%a0: tensor<1x4x5x5xf32>, %a1: tensor<4x2x3x3xf32>) {
  %0 = relay.nn.conv2d_transpose %a0, %a1 {groups = 2 : i64, strides = array<i64: 2, 1>} : (tensor<1x4x5x5xf32>, tensor<4x2x3x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r5_nn_conv3d_transpose(
// CHECK: relay.nn.conv3d_transpose {{.*}} -> tensor<1x1x4x4x4xf32>{{$}}
func.func @r5_nn_conv3d_transpose(%a0: tensor<1x1x2x2x2xf32>, %a1: tensor<1x1x2x2x2xf32>) {
  %0 = relay.nn.conv3d_transpose %a0, %a1 {strides = array<i64: 2, 2, 2>} : (tensor<1x1x2x2x2xf32>, tensor<1x1x2x2x2xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r6_nn_max_pool1d(
// CHECK: relay.nn.max_pool1d {{.*}} -> tensor<1x2x4xf32>{{$}}
func.func @r6_nn_max_pool1d(%a0: tensor<1x2x7xf32>) {
  %0 = relay.nn.max_pool1d %a0 {pool_size = array<i64: 2>, strides = array<i64: 2>, ceil_mode = true} : (tensor<1x2x7xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r7_nn_max_pool2d(
// CHECK: relay.nn.max_pool2d {{.*}} -> tensor<1x2x4x2xf32>{{$}}
func.func @r7_nn_max_pool2d(%a0: tensor<1x2x7x7xf32>) {
  %0 = relay.nn.max_pool2d %a0 {pool_size = array<i64: 3, 2>, strides = array<i64: 2, 2>, dilation = array<i64: 1, 3>, padding = array<i64: 1, 0, 1, 0>} : (tensor<1x2x7x7xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r8_nn_max_pool3d(
// CHECK: relay.nn.max_pool3d {{.*}} -> tensor<1x2x3x3x3xf32>{{$}}
func.func @r8_nn_max_pool3d(%a0: tensor<1x2x4x4x4xf32>) {
  %0 = relay.nn.max_pool3d %a0 {pool_size = array<i64: 2, 2, 2>} : (tensor<1x2x4x4x4xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r9_nn_avg_pool1d(
// CHECK: relay.nn.avg_pool1d {{.*}} -> tensor<1x2x3xf32>{{$}}
func.func @r9_nn_avg_pool1d(%a0: tensor<1x2x7xf32>) {
  %0 = relay.nn.avg_pool1d %a0 {pool_size = array<i64: 2>, strides = array<i64: 2>} : (tensor<1x2x7xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r10_nn_avg_pool2d(
// CHECK: relay.nn.avg_pool2d {{.*}} -> tensor<1x5x5x2xf32>{{$}}
func.func @r10_nn_avg_pool2d(%a0: tensor<1x7x7x2xf32>) {
  %0 = relay.nn.avg_pool2d %a0 {pool_size = array<i64: 3, 3>, layout = "NHWC"} : (tensor<1x7x7x2xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r11_nn_avg_pool3d(
// CHECK: relay.nn.avg_pool3d {{.*}} -> tensor<1x2x1x1x1xf32>{{$}}
func.func @r11_nn_avg_pool3d(%a0: tensor<1x2x4x4x4xf32>) {
  %0 = relay.nn.avg_pool3d %a0 {pool_size = array<i64: 4, 4, 4>} : (tensor<1x2x4x4x4xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r12_nn_global_avg_pool2d(
// CHECK: relay.nn.global_avg_pool2d {{.*}} -> tensor<2x3x1x1xf32>{{$}}
func.func @r12_nn_global_avg_pool2d(%a0: tensor<2x3x4x5xf32>) {
  %0 = relay.nn.global_avg_pool2d %a0 : (tensor<2x3x4x5xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r13_nn_global_max_pool2d(
// CHECK: relay.nn.global_max_pool2d {{.*}} -> tensor<2x1x1x3xf32>{{$}}
func.func @r13_nn_global_max_pool2d(%a0: tensor<2x4x5x3xf32>) {
  %0 = relay.nn.global_max_pool2d %a0 {layout = "NHWC"} : (tensor<2x4x5x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r14_nn_adaptive_avg_pool1d(
// CHECK: relay.nn.adaptive_avg_pool1d {{.*}} -> tensor<2x3x3xf32>{{$}}
func.func @r14_nn_adaptive_avg_pool1d(%a0: tensor<2x3x8xf32>) {
  %0 = relay.nn.adaptive_avg_pool1d %a0 {output_size = array<i64: 3>} : (tensor<2x3x8xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r15_nn_adaptive_avg_pool2d(
// CHECK: relay.nn.adaptive_avg_pool2d {{.*}} -> tensor<2x3x3x3xf32>{{$}}
func.func @r15_nn_adaptive_avg_pool2d(%a0: tensor<2x3x8x8xf32>) {
  %0 = relay.nn.adaptive_avg_pool2d %a0 {output_size = array<i64: 3>} : (tensor<2x3x8x8xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r16_nn_adaptive_avg_pool3d(
// CHECK: relay.nn.adaptive_avg_pool3d {{.*}} -> tensor<2x3x8x8x8xf32>{{$}}
func.func @r16_nn_adaptive_avg_pool3d(%a0: tensor<2x3x8x8x8xf32>) {
  %0 = relay.nn.adaptive_avg_pool3d %a0 : (tensor<2x3x8x8x8xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r17_nn_adaptive_max_pool1d(
// CHECK: relay.nn.adaptive_max_pool1d {{.*}} -> tensor<2x3x5xf32>{{$}}
func.func @r17_nn_adaptive_max_pool1d(%a0: tensor<2x3x8xf32>) {
  %0 = relay.nn.adaptive_max_pool1d %a0 {output_size = array<i64: 5>} : (tensor<2x3x8xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r18_nn_adaptive_max_pool2d(
// CHECK: relay.nn.adaptive_max_pool2d {{.*}} -> tensor<2x3x4x3xf32>{{$}}
func.func @r18_nn_adaptive_max_pool2d(%a0: tensor<2x8x8x3xf32>) {
  %0 = relay.nn.adaptive_max_pool2d %a0 {output_size = array<i64: 3, 4>, layout = "NHWC"} : (tensor<2x8x8x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r19_nn_adaptive_max_pool3d(
// CHECK: relay.nn.adaptive_max_pool3d {{.*}} -> tensor<2x3x1x2x3xf32>{{$}}
func.func @r19_nn_adaptive_max_pool3d(%a0: tensor<2x3x8x8x8xf32>) {
  %0 = relay.nn.adaptive_max_pool3d %a0 {output_size = array<i64: 1, 2, 3>} : (tensor<2x3x8x8x8xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r20_nn_upsampling(
// CHECK: relay.nn.upsampling {{.*}} -> tensor<1x2x6x6xf32>{{$}}
func.func @r20_nn_upsampling(%a0: tensor<1x2x3x4xf32>) {
  %0 = relay.nn.upsampling %a0 {scale_h = 2.0, scale_w = 1.5} : (tensor<1x2x3x4xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r21_image_resize1d(
// CHECK: relay.image.resize1d {{.*}} -> tensor<1x2x9xf32>{{$}}
func.func @r21_image_resize1d(%a0: tensor<1x2x3xf32>) {
  %0 = relay.image.resize1d %a0 {size = array<i64: 9>} : (tensor<1x2x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r22_image_resize2d(
// CHECK: relay.image.resize2d {{.*}} -> tensor<1x2x5x6xf16>{{$}}
func.func @r22_image_resize2d(%a0: tensor<1x2x3x4xf32>) {
  %0 = relay.image.resize2d %a0 {size = array<i64: 5, 6>, out_dtype = "float16"} : (tensor<1x2x3x4xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r23_image_resize3d(
// CHECK: relay.image.resize3d {{.*}} -> tensor<1x2x6x7x8xf32>{{$}}
func.func @r23_image_resize3d(%a0: tensor<1x2x3x4x5xf32>) {
  %0 = relay.image.resize3d %a0 {size = array<i64: 6, 7, 8>} : (tensor<1x2x3x4x5xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r24_nn_dense(
// CHECK: relay.nn.dense {{.*}} -> tensor<2x3x5xf32>{{$}}
func.func @r24_nn_dense(%a0: tensor<2x3x4xf32>, %a1: tensor<5x4xf32>) {
  %0 = relay.nn.dense %a0, %a1 {units = 5 : i64} : (tensor<2x3x4xf32>, tensor<5x4xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r25_nn_matmul(
// CHECK: relay.nn.matmul {{.*}} -> tensor<3x5xf32>{{$}}
func.func @r25_nn_matmul(%a0: tensor<4x3xf32>, %a1: tensor<4x5xf32>) {
  %0 = relay.nn.matmul %a0, %a1 {transpose_a = true} : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r26_nn_matmul(
// CHECK: relay.nn.matmul {{.*}} -> tensor<2x4x5xf32>{{$}}
func.func @r26_nn_matmul(%a0: tensor<2x4x3xf32>, %a1: tensor<5x3xf32>) {
  %0 = relay.nn.matmul %a0, %a1 {transpose_b = true} : (tensor<2x4x3xf32>, tensor<5x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r27_nn_batch_matmul(
// CHECK: relay.nn.batch_matmul {{.*}} -> tensor<6x4x5xf16>{{$}}
func.func @r27_nn_batch_matmul(%a0: tensor<1x4x3xf32>, %a1: tensor<6x5x3xf32>) {
  %0 = relay.nn.batch_matmul %a0, %a1 {transpose_b = true, out_dtype = "float16"} : (tensor<1x4x3xf32>, tensor<6x5x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r28_nn_bias_add(
// CHECK: relay.nn.bias_add {{.*}} -> tensor<2x3x4xf32>{{$}}
func.func @r28_nn_bias_add(%a0: tensor<2x3x4xf32>, %a1: tensor<4xf32>) {
  %0 = relay.nn.bias_add %a0, %a1 {axis = -1 : i64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r29_nn_batch_norm(
// CHECK: relay.nn.batch_norm {{.*}} -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>){{$}}
func.func @r29_nn_batch_norm(%a0: tensor<2x3x4xf32>, %a1: tensor<3xf32>, %a2: tensor<3xf32>, %a3: tensor<3xf32>, %a4: tensor<3xf32>) {
  %0:3 = relay.nn.batch_norm %a0, %a1, %a2, %a3, %a4 : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<9x9x9xf32>, tensor<9x9x9xf32>, tensor<9x9x9xf32>)
  return
}
// CHECK-LABEL: func.func @r30_nn_instance_norm(
// CHECK: relay.nn.instance_norm {{.*}} -> tensor<2x3x4xf32>{{$}}
func.func @r30_nn_instance_norm(%a0: tensor<2x3x4xf32>, %a1: tensor<3xf32>, %a2: tensor<3xf32>) {
  %0 = relay.nn.instance_norm %a0, %a1, %a2 : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r31_nn_layer_norm(
// CHECK: relay.nn.layer_norm {{.*}} -> tensor<2x3x4xf32>{{$}}
func.func @r31_nn_layer_norm(%a0: tensor<2x3x4xf32>, %a1: tensor<4xf32>, %a2: tensor<4xf32>) {
  %0 = relay.nn.layer_norm %a0, %a1, %a2 : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r32_nn_group_norm(
// CHECK: relay.nn.group_norm {{.*}} -> tensor<2x6x4xf32>{{$}}
func.func @r32_nn_group_norm(%a0: tensor<2x6x4xf32>, %a1: tensor<6xf32>, %a2: tensor<6xf32>) {
  %0 = relay.nn.group_norm %a0, %a1, %a2 {num_groups = 3 : i64} : (tensor<2x6x4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r33_nn_l2_normalize(
// CHECK: relay.nn.l2_normalize {{.*}} -> tensor<2x6xf32>{{$}}
func.func @r33_nn_l2_normalize(%a0: tensor<2x6xf32>) {
  %0 = relay.nn.l2_normalize %a0 {eps = 0.001, axis = array<i64: 1>} : (tensor<2x6xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r34_nn_lrn(
// CHECK: relay.nn.lrn {{.*}} -> tensor<1x6x2x2xf32>{{$}}
func.func @r34_nn_lrn(%a0: tensor<1x6x2x2xf32>) {
  %0 = relay.nn.lrn %a0 : (tensor<1x6x2x2xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r35_nn_prelu(
// CHECK: relay.nn.prelu {{.*}} -> tensor<1x6x2xf32>{{$}}
func.func @r35_nn_prelu(%a0: tensor<1x6x2xf32>, %a1: tensor<6xf32>) {
  %0 = relay.nn.prelu %a0, %a1 : (tensor<1x6x2xf32>, tensor<6xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r36_nn_softmax(
// CHECK: relay.nn.softmax {{.*}} -> tensor<2x6xf32>{{$}}
func.func @r36_nn_softmax(%a0: tensor<2x6xf32>) {
  %0 = relay.nn.softmax %a0 : (tensor<2x6xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r37_nn_log_softmax(
// CHECK: relay.nn.log_softmax {{.*}} -> tensor<2x6xf32>{{$}}
func.func @r37_nn_log_softmax(%a0: tensor<2x6xf32>) {
  %0 = relay.nn.log_softmax %a0 {axis = 0 : i64} : (tensor<2x6xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r38_nn_dropout(
// CHECK: relay.nn.dropout {{.*}} -> (tensor<2x6xf32>, tensor<2x6xf32>){{$}}
func.func @r38_nn_dropout(%a0: tensor<2x6xf32>) {
  %0:2 = relay.nn.dropout %a0 : (tensor<2x6xf32>) -> (tensor<9x9x9xf32>, tensor<9x9x9xf32>)
  return
}
// CHECK-LABEL: func.func @r39_nn_batch_flatten(
// CHECK: relay.nn.batch_flatten {{.*}} -> tensor<2x12xf32>{{$}}
func.func @r39_nn_batch_flatten(%a0: tensor<2x3x4xf32>) {
  %0 = relay.nn.batch_flatten %a0 : (tensor<2x3x4xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r40_nn_pad(
// CHECK: relay.nn.pad {{.*}} -> tensor<3x8xf32>{{$}}
func.func @r40_nn_pad(%a0: tensor<2x3xf32>, %a1: tensor<f32>) {
  %0 = relay.nn.pad %a0, %a1 {pad_width = array<i64: 0, 1, 2, 3>, pad_mode = "edge"} : (tensor<2x3xf32>, tensor<f32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r41_nn_depth_to_space(
// CHECK: relay.nn.depth_to_space {{.*}} -> tensor<1x2x4x6xf32>{{$}}
func.func @r41_nn_depth_to_space(%a0: tensor<1x8x2x3xf32>) {
  %0 = relay.nn.depth_to_space %a0 {block_size = 2 : i64} : (tensor<1x8x2x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r42_nn_space_to_depth(
// CHECK: relay.nn.space_to_depth {{.*}} -> tensor<1x2x3x8xf32>{{$}}
func.func @r42_nn_space_to_depth(%a0: tensor<1x4x6x2xf32>) {
  %0 = relay.nn.space_to_depth %a0 {block_size = 2 : i64, layout = "NHWC"} : (tensor<1x4x6x2xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r43_add(
// CHECK: relay.add {{.*}} -> tensor<2x3x4xf32>{{$}}
func.func @r43_add(%a0: tensor<2x1x4xf32>, %a1: tensor<3x1xf32>) {
  %0 = relay.add %a0, %a1 : (tensor<2x1x4xf32>, tensor<3x1xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r44_less(
// CHECK: relay.less {{.*}} -> tensor<2x4xi1>{{$}}
func.func @r44_less(%a0: tensor<4xi32>, %a1: tensor<2x1xi32>) {
  %0 = relay.less %a0, %a1 : (tensor<4xi32>, tensor<2x1xi32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r45_logical_and(
// CHECK: relay.logical_and {{.*}} -> tensor<2xi1>{{$}}
func.func @r45_logical_and(%a0: tensor<2xi1>, %a1: tensor<1xi1>) {
  %0 = relay.logical_and %a0, %a1 : (tensor<2xi1>, tensor<1xi1>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r46_left_shift(
// CHECK: relay.left_shift {{.*}} -> tensor<2xui8>{{$}}
func.func @r46_left_shift(%a0: tensor<2xui8>, %a1: tensor<2xui8>) {
  %0 = relay.left_shift %a0, %a1 : (tensor<2xui8>, tensor<2xui8>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r47_isnan(
// CHECK: relay.isnan {{.*}} -> tensor<2x2xi1>{{$}}
func.func @r47_isnan(%a0: tensor<2x2xf32>) {
  %0 = relay.isnan %a0 : (tensor<2x2xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r48_clip(
// CHECK: relay.clip {{.*}} -> tensor<2x2xf32>{{$}}
func.func @r48_clip(%a0: tensor<2x2xf32>) {
  %0 = relay.clip %a0 {a_min = 0.0, a_max = 1.0} : (tensor<2x2xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r49_cast(
// CHECK: relay.cast {{.*}} -> tensor<2x2xbf16>{{$}}
func.func @r49_cast(%a0: tensor<2x2xf32>) {
  %0 = relay.cast %a0 {dtype = "bfloat16"} : (tensor<2x2xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r50_where(
// CHECK: relay.where {{.*}} -> tensor<2x3xf32>{{$}}
func.func @r50_where(%a0: tensor<2x1xi1>, %a1: tensor<3xf32>, %a2: tensor<f32>) {
  %0 = relay.where %a0, %a1, %a2 : (tensor<2x1xi1>, tensor<3xf32>, tensor<f32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r51_sum(
// CHECK: relay.sum {{.*}} -> tensor<3xf32>{{$}}
func.func @r51_sum(%a0: tensor<2x3x4xf32>) {
  %0 = relay.sum %a0 {axis = array<i64: 0, -1>} : (tensor<2x3x4xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r52_mean(
// CHECK: relay.mean {{.*}} -> tensor<2x1x4xf32>{{$}}
func.func @r52_mean(%a0: tensor<2x3x4xf32>) {
  %0 = relay.mean %a0 {axis = array<i64: 1>, keepdims = true} : (tensor<2x3x4xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r53_max(
// CHECK: relay.max {{.*}} -> tensor<3xf32>{{$}}
func.func @r53_max(%a0: tensor<2x3x4xf32>) {
  %0 = relay.max %a0 {axis = array<i64: 1>, exclude = true} : (tensor<2x3x4xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r54_prod(
// CHECK: relay.prod {{.*}} -> tensor<f32>{{$}}
func.func @r54_prod(%a0: tensor<2x3x4xf32>) {
  %0 = relay.prod %a0 : (tensor<2x3x4xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r55_all(
// CHECK: relay.all {{.*}} -> tensor<3xi1>{{$}}
func.func @r55_all(%a0: tensor<2x3xi1>) {
  %0 = relay.all %a0 {axis = array<i64: 0>} : (tensor<2x3xi1>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r56_argmax(
// CHECK: relay.argmax {{.*}} -> tensor<2xi32>{{$}}
func.func @r56_argmax(%a0: tensor<2x3xf32>) {
  %0 = relay.argmax %a0 {axis = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r57_variance(
// CHECK: relay.variance {{.*}} -> tensor<2xf32>{{$}}
func.func @r57_variance(%a0: tensor<2x3xf32>, %a1: tensor<2x1xf32>) {
  %0 = relay.variance %a0, %a1 {axis = array<i64: 1>} : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r58_cumsum(
// CHECK: relay.cumsum {{.*}} -> tensor<2x3xf64>{{$}}
func.func @r58_cumsum(%a0: tensor<2x3xf32>) {
  %0 = relay.cumsum %a0 {axis = 1 : i64, dtype = "float64"} : (tensor<2x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r59_cumprod(
// CHECK: relay.cumprod {{.*}} -> tensor<6xf32>{{$}}
func.func @r59_cumprod(%a0: tensor<2x3xf32>) {
  %0 = relay.cumprod %a0 : (tensor<2x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r60_sort(
// CHECK: relay.sort {{.*}} -> tensor<2x3xf32>{{$}}
func.func @r60_sort(%a0: tensor<2x3xf32>) {
  %0 = relay.sort %a0 : (tensor<2x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r61_argsort(
// CHECK: relay.argsort {{.*}} -> tensor<2x3xi64>{{$}}
func.func @r61_argsort(%a0: tensor<2x3xf32>) {
  %0 = relay.argsort %a0 {dtype = "int64"} : (tensor<2x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r62_topk(
// CHECK: relay.topk {{.*}} -> (tensor<2x3xf32>, tensor<2x3xi32>){{$}}
func.func @r62_topk(%a0: tensor<2x5xf32>) {
  %0:2 = relay.topk %a0 {k = 3 : i64, axis = 1 : i64} : (tensor<2x5xf32>) -> (tensor<9x9x9xf32>, tensor<9x9x9xf32>)
  return
}
// CHECK-LABEL: func.func @r63_topk(
// CHECK: relay.topk {{.*}} -> tensor<1x5xi64>{{$}}
func.func @r63_topk(%a0: tensor<2x5xf32>) {
  %0 = relay.topk %a0 {k = 1 : i64, axis = 0 : i64, ret_type = "indices", dtype = "int64"} : (tensor<2x5xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r64_reshape(
// CHECK: relay.reshape {{.*}} -> tensor<6x2x2x5xf32>{{$}}
func.func @r64_reshape(%a0: tensor<2x3x4x5xf32>) {
  %0 = relay.reshape %a0 {newshape = array<i64: -3, -4, 2, -1, -2>} : (tensor<2x3x4x5xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r65_reshape(
// CHECK: relay.reshape {{.*}} -> tensor<2x12xf32>{{$}}
func.func @r65_reshape(%a0: tensor<2x3x4xf32>) {
  %0 = relay.reshape %a0 {newshape = array<i64: 0, -1>} : (tensor<2x3x4xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r66_transpose(
// CHECK: relay.transpose {{.*}} -> tensor<4x3x2xf32>{{$}}
func.func @r66_transpose(%a0: tensor<2x3x4xf32>) {
  %0 = relay.transpose %a0 : (tensor<2x3x4xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r67_concatenate(
// CHECK: relay.concatenate {{.*}} -> tensor<2x4xf32>{{$}}
func.func @r67_concatenate(%a0: tensor<2x3xf32>, %a1: tensor<2x1xf32>) {
  %0 = relay.concatenate %a0, %a1 {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r68_stack(
// CHECK: relay.stack {{.*}} -> tensor<2x3x2xf32>{{$}}
func.func @r68_stack(%a0: tensor<2x3xf32>, %a1: tensor<2x3xf32>) {
  %0 = relay.stack %a0, %a1 {axis = -1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r69_split(
// CHECK: relay.split {{.*}} -> (tensor<2x1xf32>, tensor<2x3xf32>, tensor<2x2xf32>){{$}}
func.func @r69_split(%a0: tensor<2x6xf32>) {
  %0:3 = relay.split %a0 {indices_or_sections = array<i64: 1, 4>, axis = 1 : i64} : (tensor<2x6xf32>) -> (tensor<9x9x9xf32>, tensor<9x9x9xf32>, tensor<9x9x9xf32>)
  return
}
// CHECK-LABEL: func.func @r70_squeeze(
// CHECK: relay.squeeze {{.*}} -> tensor<1x3xf32>{{$}}
func.func @r70_squeeze(%a0: tensor<1x3x1xf32>) {
  %0 = relay.squeeze %a0 {axis = array<i64: -1>} : (tensor<1x3x1xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r71_squeeze(
// CHECK: relay.squeeze {{.*}} -> tensor<3xf32>{{$}}
func.func @r71_squeeze(%a0: tensor<1x3x1xf32>) {
  %0 = relay.squeeze %a0 : (tensor<1x3x1xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r72_expand_dims(
// CHECK: relay.expand_dims {{.*}} -> tensor<2x3x1x1xf32>{{$}}
func.func @r72_expand_dims(%a0: tensor<2x3xf32>) {
  %0 = relay.expand_dims %a0 {axis = -1 : i64, num_newaxis = 2 : i64} : (tensor<2x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r73_broadcast_to(
// CHECK: relay.broadcast_to {{.*}} -> tensor<2x3x4xf32>{{$}}
func.func @r73_broadcast_to(%a0: tensor<3x1xf32>) {
  %0 = relay.broadcast_to %a0 {shape = array<i64: 2, 3, 4>} : (tensor<3x1xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r74_tile(
// CHECK: relay.tile {{.*}} -> tensor<2x2x6xf32>{{$}}
func.func @r74_tile(%a0: tensor<2x3xf32>) {
  %0 = relay.tile %a0 {reps = array<i64: 2, 1, 2>} : (tensor<2x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r75_repeat(
// CHECK: relay.repeat {{.*}} -> tensor<4x3xf32>{{$}}
func.func @r75_repeat(%a0: tensor<2x3xf32>) {
  %0 = relay.repeat %a0 {repeats = 2 : i64, axis = 0 : i64} : (tensor<2x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r76_reverse(
// CHECK: relay.reverse {{.*}} -> tensor<2x3xf32>{{$}}
func.func @r76_reverse(%a0: tensor<2x3xf32>) {
  %0 = relay.reverse %a0 {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r77_strided_slice(
// CHECK: relay.strided_slice {{.*}} -> tensor<2x3xf32>{{$}}
func.func @r77_strided_slice(%a0: tensor<5x6xf32>) {
  %0 = relay.strided_slice %a0 {begin = array<i64: 1, -1>, end = array<i64: 4, -7>, strides = array<i64: 2, -2>} : (tensor<5x6xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r78_strided_slice(
// CHECK: relay.strided_slice {{.*}} -> tensor<5x4xf32>{{$}}
func.func @r78_strided_slice(%a0: tensor<5x6xf32>) {
  %0 = relay.strided_slice %a0 {begin = array<i64: 2>, end = array<i64: -1>, axes = array<i64: 1>, slice_mode = "size"} : (tensor<5x6xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r79_layout_transform(
// CHECK: relay.layout_transform {{.*}} -> tensor<1x3x4x2xf32>{{$}}
func.func @r79_layout_transform(%a0: tensor<1x2x3x4xf32>) {
  %0 = relay.layout_transform %a0 {src_layout = "NCHW", dst_layout = "NHWC"} : (tensor<1x2x3x4xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r80_full(
// CHECK: relay.full {{.*}} -> tensor<2x3xf32>{{$}}
func.func @r80_full(%a0: tensor<f32>) {
  %0 = relay.full %a0 {shape = array<i64: 2, 3>} : (tensor<f32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r81_zeros(
// CHECK: relay.zeros {{.*}} -> tensor<2xi8>{{$}}
func.func @r81_zeros() {
  %0 = relay.zeros  {shape = array<i64: 2>, dtype = "int8"} : () -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r82_shape_of(
// CHECK: relay.shape_of {{.*}} -> tensor<3xi32>{{$}}
func.func @r82_shape_of(%a0: tensor<2x3x4xf32>) {
  %0 = relay.shape_of %a0 : (tensor<2x3x4xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r83_ndarray_size(
// CHECK: relay.ndarray_size {{.*}} -> tensor<i64>{{$}}
func.func @r83_ndarray_size(%a0: tensor<2x3x4xf32>) {
  %0 = relay.ndarray_size %a0 {dtype = "int64"} : (tensor<2x3x4xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r84_take(
// CHECK: relay.take {{.*}} -> tensor<4x2x3xf32>{{$}}
func.func @r84_take(%a0: tensor<4x5xf32>, %a1: tensor<2x3xi64>) {
  %0 = relay.take %a0, %a1 {axis = 1 : i64} : (tensor<4x5xf32>, tensor<2x3xi64>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r85_take(
// CHECK: relay.take {{.*}} -> tensor<2xf32>{{$}}
func.func @r85_take(%a0: tensor<4x5xf32>, %a1: tensor<2xi32>) {
  %0 = relay.take %a0, %a1 : (tensor<4x5xf32>, tensor<2xi32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r86_gather(
// CHECK: relay.gather {{.*}} -> tensor<2x7xf32>{{$}}
func.func @r86_gather(%a0: tensor<4x5xf32>, %a1: tensor<2x7xi64>) {
  %0 = relay.gather %a0, %a1 {axis = 1 : i64} : (tensor<4x5xf32>, tensor<2x7xi64>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r87_gather_nd(
// CHECK: relay.gather_nd {{.*}} -> tensor<3x6xf32>{{$}}
func.func @r87_gather_nd(%a0: tensor<4x5x6xf32>, %a1: tensor<2x3xi64>) {
  %0 = relay.gather_nd %a0, %a1 : (tensor<4x5x6xf32>, tensor<2x3xi64>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r88_scatter_elements(
// CHECK: relay.scatter_elements {{.*}} -> tensor<4x5xf32>{{$}}
func.func @r88_scatter_elements(%a0: tensor<4x5xf32>, %a1: tensor<2x5xi64>, %a2: tensor<2x5xf32>) {
  %0 = relay.scatter_elements %a0, %a1, %a2 : (tensor<4x5xf32>, tensor<2x5xi64>, tensor<2x5xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r89_scatter_nd(
// CHECK: relay.scatter_nd {{.*}} -> tensor<4x5xf32>{{$}}
func.func @r89_scatter_nd(%a0: tensor<4x5xf32>, %a1: tensor<1x3xi64>, %a2: tensor<3x5xf32>) {
  %0 = relay.scatter_nd %a0, %a1, %a2 : (tensor<4x5xf32>, tensor<1x3xi64>, tensor<3x5xf32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r90_one_hot(
// CHECK: relay.one_hot {{.*}} -> tensor<4x2xf32>{{$}}
func.func @r90_one_hot(%a0: tensor<2xi32>, %a1: tensor<f32>, %a2: tensor<f32>) {
  %0 = relay.one_hot %a0, %a1, %a2 {depth = 4 : i64, axis = 0 : i64, dtype = "float32"} : (tensor<2xi32>, tensor<f32>, tensor<f32>) -> tensor<9x9x9xf32>
  return
}
// CHECK-LABEL: func.func @r91_trilu(
// CHECK: relay.trilu {{.*}} -> tensor<3x3xf32>{{$}}
func.func @r91_trilu(%a0: tensor<3x3xf32>, %a1: tensor<i64>) {
  %0 = relay.trilu %a0, %a1 : (tensor<3x3xf32>, tensor<i64>) -> tensor<9x9x9xf32>
  return
}
