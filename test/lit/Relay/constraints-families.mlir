// Rules of every family: all that an op breaks are reported.
// RUN: tt-opt %s -split-input-file -verify-diagnostics

func.func @f(%a0: tensor<1x2x4x4xf32>) {
  // expected-error @+2 {{'relay.nn.max_pool2d' op (C2) layout must name the axes N, C and HW once each, got 'NXHW'}}
  // expected-error @+1 {{'relay.nn.max_pool2d' op (C4) strides must be 2 positive values, got [0, 1]}}
  %0 = relay.nn.max_pool2d %a0 {pool_size = array<i64: 5, 2>, strides = array<i64: 0, 1>, layout = "NXHW"} : (tensor<1x2x4x4xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{'relay.nn.max_pool2d' op (C7) the window must fit into the padded data, got [0, 3]}}
  %0 = relay.nn.max_pool2d %a0 {pool_size = array<i64: 5, 2>} : (tensor<1x2x4x4xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{'relay.nn.adaptive_avg_pool2d' op (C3) output_size must be empty, one or 2 positive values, got [1, 2, 3]}}
  %0 = relay.nn.adaptive_avg_pool2d %a0 {output_size = array<i64: 1, 2, 3>} : (tensor<1x2x4x4xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<1x2x4x4xf32>) {
  // expected-error @+2 {{'relay.image.resize2d' op (C3) size must be 2 positive values, got [4]}}
  // expected-error @+1 {{'relay.image.resize2d' op (C4) method must be nearest_neighbor, linear or cubic, got 'area'}}
  %0 = relay.image.resize2d %a0 {size = array<i64: 4>, method = "area"} : (tensor<1x2x4x4xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<4x5xf16>) {
  // expected-error @+3 {{'relay.nn.dense' op (C3) the last dimension of data must be the weight's second, got [2, 3] and [4, 5]}}
  // expected-error @+2 {{'relay.nn.dense' op (C4) units must be the weight's first dimension, got 9 and 4}}
  // expected-error @+1 {{'relay.nn.dense' op (C5) data and weight must have the same element type, got 'f32' and 'f16'}}
  %0 = relay.nn.dense %a0, %a1 {units = 9 : i64} : (tensor<2x3xf32>, tensor<4x5xf16>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3x4xf32>, %a1: tensor<3x5x6xf32>) {
  // expected-error @+2 {{'relay.nn.batch_matmul' op (C3) the inner dimensions must agree, got 4 and 5}}
  // expected-error @+1 {{'relay.nn.batch_matmul' op (C4) the batches must be equal or one of them 1, got 2 and 3}}
  %0 = relay.nn.batch_matmul %a0, %a1 : (tensor<2x3x4xf32>, tensor<3x5x6xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3x4xf32>, %a1: tensor<3xf32>, %a2: tensor<4xf32>, %a3: tensor<3xf32>, %a4: tensor<3x1xf32>) {
  // expected-error @+2 {{'relay.nn.batch_norm' op (C3) beta must be a vector of the axis's length, got [4] and 3}}
  // expected-error @+1 {{'relay.nn.batch_norm' op (C5) moving_var must be a vector of the axis's length, got [3, 1] and 3}}
  %0:3 = relay.nn.batch_norm %a0, %a1, %a2, %a3, %a4 : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3x1xf32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>)
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<3xf32>) {
  // expected-error @+2 {{'relay.nn.bias_add' op (C1) axis must name a dimension of data, got 2 and 2}}
  // expected-error @+1 {{'relay.nn.bias_add' op (C2) bias must be a vector of the axis's length, got [3] and -1}}
  %0 = relay.nn.bias_add %a0, %a1 {axis = 2 : i64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x6x4xf32>, %a1: tensor<6xf32>, %a2: tensor<6xf32>) {
  // expected-error @+1 {{'relay.nn.group_norm' op (C4) num_groups must be at least 1 and divide the axis, got 4}}
  %0 = relay.nn.group_norm %a0, %a1, %a2 {num_groups = 4 : i64} : (tensor<2x6x4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<f32>) {
  // expected-error @+1 {{'relay.nn.pad' op (C5) every pad must be at least 0 (edge and reflect: of a dimension large enough), got [0, 0, 3, 0] and [2, 3]}}
  %0 = relay.nn.pad %a0, %a1 {pad_width = array<i64: 0, 0, 3, 0>, pad_mode = "reflect"} : (tensor<2x3xf32>, tensor<f32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<1x6x2x2xf32>) {
  // expected-error @+2 {{'relay.nn.depth_to_space' op (C4) mode must be DCR or CDR, got 'X'}}
  // expected-error @+1 {{'relay.nn.depth_to_space' op (C5) block_size must divide the dimensions it splits, got 2 and [1, 6, 2, 2]}}
  %0 = relay.nn.depth_to_space %a0 {block_size = 2 : i64, mode = "X"} : (tensor<1x6x2x2xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xi32>) {
  // expected-error @+2 {{'relay.nn.softmax' op (C1) axis must name a dimension of data, got 5 and 2}}
  // expected-error @+1 {{'relay.nn.softmax' op (C2) data must be floating-point, got 'i32'}}
  %0 = relay.nn.softmax %a0 {axis = 5 : i64} : (tensor<2x3xi32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi1>) {
  // expected-error @+2 {{'relay.logical_or' op (C1) lhs and rhs must be bool, got 'f32' and 'i1'}}
  // expected-error @+1 {{'relay.logical_or' op (C2) the shapes of lhs and rhs must broadcast, got [2] and [3]}}
  %0 = relay.logical_or %a0, %a1 : (tensor<2xf32>, tensor<3xi1>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<2xi1>, %a1: tensor<3xf32>, %a2: tensor<4xf32>) {
  // expected-error @+1 {{'relay.where' op (C2) the three shapes must broadcast, got [2] and [3] and [4]}}
  %0 = relay.where %a0, %a1, %a2 : (tensor<2xi1>, tensor<3xf32>, tensor<4xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{'relay.sum' op (C1) axis must list different dimensions of data, got [1, -1] and 2}}
  %0 = relay.sum %a0 {axis = array<i64: 1, -1>} : (tensor<2x3xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>) {
  // expected-error @+2 {{'relay.topk' op (C2) k must be at most the length of the axis, got 4 and 3}}
  // expected-error @+1 {{'relay.topk' op (C3) ret_type must be both, values or indices, got 'x'}}
  %0 = relay.topk %a0 {k = 4 : i64, ret_type = "x"} : (tensor<2x3xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{'relay.transpose' op (C1) axes must be a permutation of the dimensions, got [0, 0] and 2}}
  %0 = relay.transpose %a0 {axes = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<2x4x1xf32>) {
  // expected-error @+1 {{'relay.concatenate' op (C3) inputs must agree in rank and in all dimensions but the axis, got [2, 3], [2, 4, 1]}}
  %0 = relay.concatenate %a0, %a1 {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x4x1xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x6xf32>) {
  // expected-error @+1 {{'relay.split' op (C2) sections must divide the axis, points must rise within it, got 6 and 4 : i64}}
  %0 = relay.split %a0 {indices_or_sections = 4 : i64, axis = 1 : i64} : (tensor<2x6xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x1xf32>) {
  // expected-error @+1 {{'relay.squeeze' op (C2) removed dimensions must have length 1, got [2, 1]}}
  %0 = relay.squeeze %a0 {axis = array<i64: 0>} : (tensor<2x1xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{'relay.broadcast_to' op (C2) data must broadcast to shape, got [2, 3] and [2, 4]}}
  %0 = relay.broadcast_to %a0 {shape = array<i64: 2, 4>} : (tensor<2x3xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<5xf32>) {
  // expected-error @+1 {{'relay.strided_slice' op (C1) begin, end, strides and axes must have equal lengths, strides must not be 0, axes must be different dimensions, got [0] and [5]}}
  %0 = relay.strided_slice %a0 {begin = array<i64: 0>, end = array<i64: 5>, strides = array<i64: 0>} : (tensor<5xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<f32>, %a1: tensor<f32>, %a2: tensor<f32>) {
  // expected-error @+1 {{'relay.arange' op (C1) start, stop and step must be scalar constants, step must not be 0}}
  %0 = relay.arange %a0, %a1, %a2 : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<4x5xf32>, %a1: tensor<2xf32>) {
  // expected-error @+2 {{'relay.take' op (C2) indices must be integers, got 'f32'}}
  // expected-error @+1 {{'relay.take' op (C3) mode must be clip, wrap or fast, got 'wild'}}
  %0 = relay.take %a0, %a1 {axis = 1 : i64, mode = "wild"} : (tensor<4x5xf32>, tensor<2xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<4x5xf32>, %a1: tensor<5x2xi64>) {
  // expected-error @+1 {{'relay.gather' op (C3) indices must have data's rank and be no larger but along the axis, got [5, 2] and [4, 5]}}
  %0 = relay.gather %a0, %a1 {axis = 1 : i64} : (tensor<4x5xf32>, tensor<5x2xi64>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<4x5xf32>, %a1: tensor<1x3xi64>, %a2: tensor<3x4xf32>) {
  // expected-error @+1 {{'relay.scatter_nd' op (C4) updates must have the shape of the indexed slices, got [3, 4] and [1, 3]}}
  %0 = relay.scatter_nd %a0, %a1, %a2 : (tensor<4x5xf32>, tensor<1x3xi64>, tensor<3x4xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a0: tensor<2xf32>, %a1: tensor<f32>, %a2: tensor<2xf32>) {
  // expected-error @+3 {{'relay.one_hot' op (C2) depth must be at least 1, got 0}}
  // expected-error @+2 {{'relay.one_hot' op (C3) indices must be integers, got 'f32'}}
  // expected-error @+1 {{'relay.one_hot' op (C4) on_value and off_value must be scalars}}
  %0 = relay.one_hot %a0, %a1, %a2 {depth = 0 : i64} : (tensor<2xf32>, tensor<f32>, tensor<2xf32>) -> tensor<1xf32>
  return
}

