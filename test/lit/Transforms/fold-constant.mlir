// RUN: tt-opt %s --FoldConstant | FileCheck %s

// CHECK-LABEL: func.func @moves
func.func @moves() -> (tensor<3x2xf32>, tensor<2x2xf32>, tensor<1x5xi64>, tensor<2x3xi8>, tensor<4xf32>, tensor<2x4xi32>) {
  %a = relay.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  // CHECK-DAG: relay.constant dense<{{\[\[}}1.000000e+00, 4.000000e+00], [2.000000e+00, 5.000000e+00], [3.000000e+00, 6.000000e+00]]> : tensor<3x2xf32>
  %0 = relay.transpose %a : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK-DAG: relay.constant dense<{{\[\[}}6.000000e+00, 4.000000e+00], [3.000000e+00, 1.000000e+00]]> : tensor<2x2xf32>
  %1 = relay.strided_slice %a {begin = array<i64: -1, -1>, end = array<i64: -9, -9>, strides = array<i64: -1, -2>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  %i = relay.constant dense<[[1, 2]]> : tensor<1x2xi64>
  %j = relay.constant dense<[[3, 4, 5]]> : tensor<1x3xi64>
  // CHECK-DAG: relay.constant dense<{{\[\[}}1, 2, 3, 4, 5]]> : tensor<1x5xi64>
  %2 = relay.concatenate %i, %j {axis = -1 : i64} : (tensor<1x2xi64>, tensor<1x3xi64>) -> tensor<1x5xi64>
  %k = relay.constant dense<[[7], [8]]> : tensor<2x1xi8>
  // CHECK-DAG: relay.constant dense<{{\[\[}}7, 7, 7], [8, 8, 8]]> : tensor<2x3xi8>
  %3 = relay.broadcast_to %k {shape = array<i64: 2, 3>} : (tensor<2x1xi8>) -> tensor<2x3xi8>
  %v = relay.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %zero = relay.constant dense<0.0> : tensor<f32>
  // CHECK-DAG: relay.constant dense<[0.000000e+00, 1.000000e+00, 2.000000e+00, 0.000000e+00]> : tensor<4xf32>
  %4 = relay.nn.pad %v, %zero {pad_width = array<i64: 1, 1>} : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %t = relay.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  // CHECK-DAG: relay.constant dense<{{\[\[}}1, 2, 1, 2], [3, 4, 3, 4]]> : tensor<2x4xi32>
  %5 = relay.tile %t {reps = array<i64: 2>} : (tensor<2x2xi32>) -> tensor<2x4xi32>
  return %0, %1, %2, %3, %4, %5 : tensor<3x2xf32>, tensor<2x2xf32>, tensor<1x5xi64>, tensor<2x3xi8>, tensor<4xf32>, tensor<2x4xi32>
}

// CHECK-LABEL: func.func @arithmetic
func.func @arithmetic(%x: tensor<5x7xf32>) -> (tensor<2x2xf32>, tensor<3xi32>, tensor<2xi1>, tensor<2xf16>, tensor<i64>, tensor<2xi64>, tensor<2xf32>) {
  %a = relay.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %b = relay.constant dense<[10.0, 20.0]> : tensor<2xf32>
  // CHECK-DAG: relay.constant dense<{{\[\[}}1.100000e+01, 2.100000e+01], [1.200000e+01, 2.200000e+01]]> : tensor<2x2xf32>
  %0 = relay.add %a, %b : (tensor<2x1xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %c = relay.constant dense<[7, -7, 2147483647]> : tensor<3xi32>
  %d = relay.constant dense<2> : tensor<i32>
  // CHECK-DAG: relay.constant dense<[3, -3, 1073741823]> : tensor<3xi32>
  %1 = relay.divide %c, %d : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  // CHECK-DAG: relay.constant dense<[false, true]> : tensor<2xi1>
  %e = relay.constant dense<15.0> : tensor<f32>
  %2 = relay.greater %b, %e : (tensor<2xf32>, tensor<f32>) -> tensor<2xi1>
  // 65520 is beyond float16, 2^-25 a tie that goes to even.
  // CHECK-DAG: relay.constant dense<[0x7C00, 0.000000e+00]> : tensor<2xf16>
  %f = relay.constant dense<[65520.0, 2.98023223876953125e-8]> : tensor<2xf32>
  %3 = relay.cast %f {dtype = "float16"} : (tensor<2xf32>) -> tensor<2xf16>
  %g = relay.constant dense<[[3, 4], [5, 6]]> : tensor<2x2xi64>
  // CHECK-DAG: relay.constant dense<360> : tensor<i64>
  %4 = relay.prod %g : (tensor<2x2xi64>) -> tensor<i64>
  // The operand need not be constant.
  // CHECK-DAG: relay.constant dense<[5, 7]> : tensor<2xi64>
  %5 = relay.shape_of %x {dtype = "int64"} : (tensor<5x7xf32>) -> tensor<2xi64>
  // CHECK-DAG: relay.constant dense<[1.000000e+00, 2.000000e+01]> : tensor<2xf32>
  %one = relay.constant dense<1.0> : tensor<f32>
  %6 = relay.where %2, %b, %one : (tensor<2xi1>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<2x2xf32>, tensor<3xi32>, tensor<2xi1>, tensor<2xf16>, tensor<i64>, tensor<2xi64>, tensor<2xf32>
}

// Nothing is made of a division by zero, of an index out of range, of a result that is far too large, or of an
// operand that the store does not hold.
// CHECK-LABEL: func.func @kept
func.func @kept() -> (tensor<2xi32>, tensor<1xf32>, tensor<1024x1024x64xf32>, tensor<3x2xf32>) {
  %a = relay.constant dense<[1, 2]> : tensor<2xi32>
  %z = relay.constant dense<0> : tensor<i32>
  // CHECK: relay.divide
  %0 = relay.divide %a, %z : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %v = relay.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %i = relay.constant dense<5> : tensor<1xi64>
  // CHECK: relay.gather
  %1 = relay.gather %v, %i {axis = 0 : i64} : (tensor<2xf32>, tensor<1xi64>) -> tensor<1xf32>
  %s = relay.constant dense<0.0> : tensor<f32>
  // CHECK: relay.full
  %2 = relay.full %s {shape = array<i64: 1024, 1024, 64>} : (tensor<f32>) -> tensor<1024x1024x64xf32>
  %u = relay.constant #relay.const<99, 1> : tensor<2x3xf32>
  // CHECK: relay.transpose
  %3 = relay.transpose %u : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0, %1, %2, %3 : tensor<2xi32>, tensor<1xf32>, tensor<1024x1024x64xf32>, tensor<3x2xf32>
}

// Zeros, subnormals and signs in half precision.
// CHECK-LABEL: func.func @halves
func.func @halves() -> tensor<6xf16> {
  %a = relay.constant dense<[0.0, -0.0, 1.0, 5.9604645e-08, -6.1035156e-05, 0.333251953]> : tensor<6xf32>
  // CHECK: relay.constant dense<[0.000000e+00, -0.000000e+00, 1.000000e+00, 5.960460e-08, -6.103520e-05, 3.332520e-01]> : tensor<6xf16>
  %0 = relay.cast %a {dtype = "float16"} : (tensor<6xf32>) -> tensor<6xf16>
  return %0 : tensor<6xf16>
}

// Every range of float16: subnormal, tie to even, carry into the exponent, largest, overflow, signed zero, NaN.
// CHECK-LABEL: func.func @half
func.func @half() -> (tensor<10xf16>, tensor<10xf32>) {
  %0 = relay.constant dense<[0.0, -0.0, 5.96046448e-8, 8.94069672e-8, 6.09755516e-5, 1.00048828125, 2047.5, 65519.0, -65520.0, 0x7FC00000]> : tensor<10xf32>
  // CHECK-DAG: relay.constant dense<[0.000000e+00, -0.000000e+00, 5.960460e-08, 1.192090e-07, 6.097560e-05, 1.000000e+00, 2.048000e+03, 6.550400e+04, 0xFC00, 0x7E00]> : tensor<10xf16>
  %1 = relay.cast %0 {dtype = "float16"} : (tensor<10xf32>) -> tensor<10xf16>
  // CHECK-DAG: relay.constant dense<[0.000000e+00, -0.000000e+00, 5.96046448E-8, 1.1920929E-7, 6.09755516E-5, 1.000000e+00, 2.048000e+03, 6.550400e+04, 0xFF800000, 0x7FC00000]> : tensor<10xf32>
  %2 = relay.cast %1 {dtype = "float32"} : (tensor<10xf16>) -> tensor<10xf32>
  return %1, %2 : tensor<10xf16>, tensor<10xf32>
}
