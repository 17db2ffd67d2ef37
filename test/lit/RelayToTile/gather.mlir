// Rows of a table at computed indices.
// RUN: tt-opt %s -split-input-file -verify-diagnostics --relay-to-tile='ncore=2' | FileCheck %s
// RUN: tt-opt %s -split-input-file -verify-diagnostics --relay-to-tile --tile-plan-memory -o /dev/null

// A small table goes to LLB, the cores copy rows. An index of 64 bits is two words; what does not fit 32 bits becomes
// the largest number of its sign.
// CHECK: tile.global @small_in_1 {bytes = 320 : i64}
// CHECK-LABEL: func.func @npu_small()
// CHECK: tile.alloc "table" 12800 : <LLB>
// CHECK: tile.barrier
// CHECK: [[LOW:%[0-9]+]] = tile.load_word
// CHECK: [[HIGH:%[0-9]+]] = tile.load_word
// CHECK: [[SIGN:%[0-9]+]] = arith.shrsi [[LOW]]
// CHECK: arith.cmpi eq, [[HIGH]], [[SIGN]]
// CHECK: arith.select
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: tile.load
// CHECK: tile.store
func.func private @small(%x: tensor<100x64xf16>, %i: tensor<40xi64>) -> tensor<40x64xf16> attributes {relay.primitive} {
  %0 = relay.take %x, %i {axis = 0 : i64} : (tensor<100x64xf16>, tensor<40xi64>) -> tensor<40x64xf16>
  return %0 : tensor<40x64xf16>
}

// -----

// Few rows of a large one come by system DMA; negative indices count from the end.
// CHECK-LABEL: func.func @npu_large()
// CHECK-NOT: tile.alloc "table"
// CHECK: [[INDEX:%[0-9]+]] = tile.load_word
// CHECK: [[NEGATIVE:%[0-9]+]] = arith.cmpi slt, [[INDEX]]
// CHECK: [[END:%[0-9]+]] = arith.addi [[INDEX]]
// CHECK: arith.select [[NEGATIVE]], [[END]], [[INDEX]]
// CHECK: tile.dma
func.func private @large(%x: tensor<30000x768xf16>, %i: tensor<4xi32>) -> tensor<4x768xf16> attributes {relay.primitive} {
  %0 = relay.take %x, %i {axis = 0 : i64, mode = "fast"} : (tensor<30000x768xf16>, tensor<4xi32>) -> tensor<4x768xf16>
  return %0 : tensor<4x768xf16>
}

// -----

func.func private @wrap(%x: tensor<8x4xf16>, %i: tensor<4xi32>) -> tensor<4x4xf16> attributes {relay.primitive} {
  // expected-error @+1 {{not on the NPU: mode must be clip or fast, got wrap}}
  %0 = relay.take %x, %i {axis = 0 : i64, mode = "wrap"} : (tensor<8x4xf16>, tensor<4xi32>) -> tensor<4x4xf16>
  return %0 : tensor<4x4xf16>
}

// -----

func.func private @bytes(%x: tensor<8x4xf16>, %i: tensor<4xi8>) -> tensor<4x4xf16> attributes {relay.primitive} {
  // expected-error @+1 {{not on the NPU: indices must be int32 or int64}}
  %0 = relay.take %x, %i {axis = 0 : i64} : (tensor<8x4xf16>, tensor<4xi8>) -> tensor<4x4xf16>
  return %0 : tensor<4x4xf16>
}

// -----

func.func private @table(%x: tensor<8x4xi32>, %i: tensor<4xi32>) -> tensor<4x4xi32> attributes {relay.primitive} {
  // expected-error @+1 {{not on the NPU: element type must be float16 or float32}}
  %0 = relay.take %x, %i {axis = 0 : i64} : (tensor<8x4xi32>, tensor<4xi32>) -> tensor<4x4xi32>
  return %0 : tensor<4x4xi32>
}
