// Layers: convolution with its epilogue, in chunks; dense layers; results written out between chunks.
// RUN: tt-opt %s -split-input-file --relay-to-tile | FileCheck %s
// RUN: tt-opt %s -split-input-file --relay-to-tile --tile-plan-memory -o /dev/null
// RUN: tt-opt %s -split-input-file --relay-to-tile='llb-inputs' | FileCheck %s --check-prefix=RESIDENT

// CHECK-LABEL: func.func @npu_conv()
// CHECK-DAG: tile.alloc "weights"
// CHECK: tile.conv {{.*}} kernel_height = 3 : i32, kernel_width = 3 : i32
// CHECK: tile.binary_scalar max {{.*}} 0.000000e+00
func.func private @conv(%x: tensor<1x16x16x32xf16>) -> tensor<1x16x16x64xf16> attributes {relay.primitive} {
  %w = relay.constant dense<0.5> : tensor<3x3x32x64xf16>
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1, 1, 1>, data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x16x16x32xf16>, tensor<3x3x32x64xf16>) -> tensor<1x16x16x64xf16>
  %1 = relay.nn.relu %0 : (tensor<1x16x16x64xf16>) -> tensor<1x16x16x64xf16>
  return %1 : tensor<1x16x16x64xf16>
}

// -----

// The result of 16 MiB needs several chunks. Where the input needs no staging, nothing but the barrier behind the
// master's transfer keeps the other cores from overwriting the results that it still reads.
// RESIDENT-LABEL: func.func @npu_large()
// RESIDENT: tile.conv
// RESIDENT: tile.store
// RESIDENT: tile.barrier
// RESIDENT: scf.if
// RESIDENT: tile.dma
// RESIDENT: tile.barrier
// RESIDENT: return
func.func private @large(%x: tensor<1x256x512x4xf16>) -> tensor<1x256x512x64xf16> attributes {relay.primitive} {
  %w = relay.constant dense<0.5> : tensor<1x3x4x64xf16>
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 0, 1, 0, 1>, data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x256x512x4xf16>, tensor<1x3x4x64xf16>) -> tensor<1x256x512x64xf16>
  return %0 : tensor<1x256x512x64xf16>
}

// -----

// A reduction longer than the accumulators' chain is cut; the vector engine adds the parts.
// CHECK-LABEL: func.func @npu_deep()
// CHECK: tile.alloc "partial"
// CHECK: tile.conv
// CHECK: tile.conv
// CHECK: tile.binary add
func.func private @deep(%x: tensor<4x4608xf16>) -> tensor<4x32xf16> attributes {relay.primitive} {
  %w = relay.constant dense<0.5> : tensor<32x4608xf16>
  %0 = relay.nn.dense %x, %w : (tensor<4x4608xf16>, tensor<32x4608xf16>) -> tensor<4x32xf16>
  return %0 : tensor<4x32xf16>
}

// -----

// A product of two tensors whose right one is stored transposed: both operands of the next tile are loaded ahead; the
// shared left one is brought to LLB once.
// CHECK-LABEL: func.func @npu_product()
// CHECK: tile.dma
// CHECK: scf.for
// CHECK: tile.transpose
// CHECK: tile.matmul
// CHECK: tile.store
func.func private @product(%x: tensor<1x40x64xf16>, %y: tensor<12x50x64xf16>) -> tensor<12x40x50xf16> attributes {relay.primitive} {
  %0 = relay.nn.batch_matmul %x, %y {transpose_b = true} : (tensor<1x40x64xf16>, tensor<12x50x64xf16>) -> tensor<12x40x50xf16>
  return %0 : tensor<12x40x50xf16>
}

// -----

// Depthwise: some channels as sums of products on the vector engine, the others as dense convolutions of 16 channels
// with their zeros; for each row of the result work for both.
// CHECK-LABEL: func.func @npu_depthwise()
// CHECK: tile.bring
// CHECK: tile.spread columns
// CHECK: tile.conv {{.*}} kernel_height = 3
// CHECK: tile.dot columns
// CHECK: tile.binary add
// CHECK: tile.store
// CHECK: tile.store
func.func private @depthwise(%x: tensor<8x28x28x192xf16>) -> tensor<8x28x28x192xf16> attributes {relay.primitive} {
  %w = relay.constant dense<0.5> : tensor<3x3x1x192xf16>
  %0 = relay.nn.conv2d %x, %w {channels = 192 : i64, data_layout = "NHWC", groups = 192 : i64, kernel_layout = "HWIO", kernel_size = array<i64: 3, 3>, padding = array<i64: 1, 1, 1, 1>} : (tensor<8x28x28x192xf16>, tensor<3x3x1x192xf16>) -> tensor<8x28x28x192xf16>
  return %0 : tensor<8x28x28x192xf16>
}

// -----

// Few channels: 2 x 2 pixels of 16 channels are the 64 output channels of a convolution with stride 2; the bias brings
// each of the four to its place.
// CHECK-LABEL: func.func @npu_pairs()
// CHECK: tile.conv {{.*}} kernel_height = 4 : i32, kernel_width = 4 : i32, stride = 2 : i32
// CHECK-COUNT-4: tile.binary_vector add columns
// CHECK: tile.binary_scalar max
// CHECK: tile.store
func.func private @pairs(%x: tensor<8x56x56x64xf16>) -> tensor<8x56x56x64xf16> attributes {relay.primitive} {
  %w = relay.constant dense<0.5> : tensor<3x3x1x64xf16>
  %b = relay.constant dense<1.0> : tensor<64xf16>
  %0 = relay.nn.conv2d %x, %w {channels = 64 : i64, data_layout = "NHWC", groups = 64 : i64, kernel_layout = "HWIO", kernel_size = array<i64: 3, 3>, padding = array<i64: 1, 1, 1, 1>} : (tensor<8x56x56x64xf16>, tensor<3x3x1x64xf16>) -> tensor<8x56x56x64xf16>
  %1 = relay.nn.bias_add %0, %b {axis = 3 : i64} : (tensor<8x56x56x64xf16>, tensor<64xf16>) -> tensor<8x56x56x64xf16>
  %2 = relay.nn.relu %1 : (tensor<8x56x56x64xf16>) -> tensor<8x56x56x64xf16>
  return %2 : tensor<8x56x56x64xf16>
}
