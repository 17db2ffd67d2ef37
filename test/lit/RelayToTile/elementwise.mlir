// Chains of element-wise operators: scalars, vectors, tensors, operands that repeat, tables.
// RUN: tt-opt %s -split-input-file --relay-to-tile='ncore=2' | FileCheck %s
// RUN: tt-opt %s -split-input-file --relay-to-tile --tile-plan-memory -o /dev/null

// Two rounds of the vector engine on one tile; the last writes the result's tile.
// CHECK-DAG: tile.global @chain_in_0 {bytes = 12800 : i64}
// CHECK-DAG: tile.global @chain_out_0 {bytes = 12800 : i64}
// CHECK-LABEL: func.func @npu_chain()
// CHECK: tile.load
// CHECK: tile.binary add [[TILE:%[a-z0-9_]+]], [[TILE]], {{.*}}
// CHECK: tile.binary_scalar max {{.*}} 0.000000e+00
// CHECK: tile.store
// CHECK-NOT: func.func private @chain
func.func private @chain(%x: tensor<1x10x10x64xf16>, %y: tensor<1x10x10x64xf16>) -> tensor<1x10x10x64xf16> attributes {relay.primitive} {
  %0 = relay.add %x, %y : (tensor<1x10x10x64xf16>, tensor<1x10x10x64xf16>) -> tensor<1x10x10x64xf16>
  %1 = relay.nn.relu %0 : (tensor<1x10x10x64xf16>) -> tensor<1x10x10x64xf16>
  return %1 : tensor<1x10x10x64xf16>
}

// -----

// One element for each row: brought to LLB once, the rows of a tile to L1.
// CHECK-LABEL: func.func @npu_per_row()
// CHECK: tile.alloc "repeated" 80 : <LLB>
// CHECK: tile.dma
// CHECK: tile.barrier
// CHECK: tile.binary_vector sub rows
func.func private @per_row(%x: tensor<2x20x768xf16>, %m: tensor<2x20x1xf16>) -> tensor<2x20x768xf16> attributes {relay.primitive} {
  %0 = relay.subtract %x, %m : (tensor<2x20x768xf16>, tensor<2x20x1xf16>) -> tensor<2x20x768xf16>
  return %0 : tensor<2x20x768xf16>
}

// -----

// Division: the divisors of the tile become their inverses in place.
// CHECK-LABEL: func.func @npu_quotient()
// CHECK: tile.lookup [[V:%[a-z0-9_]+]], [[V]]
// CHECK: tile.binary_vector mul rows
func.func private @quotient(%x: tensor<2x20x768xf16>, %m: tensor<2x20x1xf16>) -> tensor<2x20x768xf16> attributes {relay.primitive} {
  %0 = relay.divide %x, %m : (tensor<2x20x768xf16>, tensor<2x20x1xf16>) -> tensor<2x20x768xf16>
  return %0 : tensor<2x20x768xf16>
}

// -----

// A row of channels for each image, in two buffers; 49 rows share it, so that a tile has 1, 7 or 49 of them.
// CHECK-LABEL: func.func @npu_per_image()
// CHECK: tile.alloc "repeated" 384 : <L1>
// CHECK: tile.binary_vector mul columns
func.func private @per_image(%x: tensor<4x7x7x96xf16>, %s: tensor<4x1x1x96xf16>) -> tensor<4x7x7x96xf16> attributes {relay.primitive} {
  %0 = relay.multiply %s, %x : (tensor<4x1x1x96xf16>, tensor<4x7x7x96xf16>) -> tensor<4x7x7x96xf16>
  return %0 : tensor<4x7x7x96xf16>
}

// -----

// The square needs no table, other powers do.
// CHECK-LABEL: func.func @npu_square()
// CHECK-NOT: tile.lookup
// CHECK: tile.binary mul
func.func private @square(%x: tensor<64xf16>) -> tensor<64xf16> attributes {relay.primitive} {
  %two = relay.constant dense<2.0> : tensor<f16>
  %0 = relay.power %x, %two : (tensor<64xf16>, tensor<f16>) -> tensor<64xf16>
  return %0 : tensor<64xf16>
}

// -----

// CHECK-LABEL: func.func @npu_cube()
// CHECK: tile.alloc "table" 131072 : <L1>
// CHECK: tile.lookup
func.func private @cube(%x: tensor<64xf16>) -> tensor<64xf16> attributes {relay.primitive} {
  %three = relay.constant dense<3.0> : tensor<f16>
  %0 = relay.power %x, %three : (tensor<64xf16>, tensor<f16>) -> tensor<64xf16>
  return %0 : tensor<64xf16>
}

// -----

// A vector needs the last axis for columns: a factor of all rows of a tile is spread over one row.
// CHECK-LABEL: func.func @npu_per_channel()
// CHECK: tile.alloc "element" {{[0-9]+}} : <L1>
// CHECK: tile.spread rows
// CHECK: tile.binary_vector mul columns
func.func private @per_channel(%x: tensor<3x6x7x9xf16>, %s: tensor<3x6x1x1xf16>) -> tensor<3x6x7x9xf16> attributes {relay.primitive} {
  %v = relay.constant dense<2.0> : tensor<9xf16>
  %0 = relay.multiply %x, %s : (tensor<3x6x7x9xf16>, tensor<3x6x1x1xf16>) -> tensor<3x6x7x9xf16>
  %1 = relay.add %0, %v : (tensor<3x6x7x9xf16>, tensor<9xf16>) -> tensor<3x6x7x9xf16>
  return %1 : tensor<3x6x7x9xf16>
}

// -----

// A matrix that all heads share (attention mask): rows of it beside the tile's rows.
// CHECK-LABEL: func.func @npu_mask()
// CHECK-NOT: tile.binary_vector
// CHECK: tile.binary add
func.func private @mask(%x: tensor<2x4x200x200xf16>, %m: tensor<200x200xf16>) -> tensor<2x4x200x200xf16> attributes {relay.primitive} {
  %0 = relay.add %x, %m : (tensor<2x4x200x200xf16>, tensor<200x200xf16>) -> tensor<2x4x200x200xf16>
  return %0 : tensor<2x4x200x200xf16>
}

// -----

// CHECK-LABEL: func.func @npu_broadcast()
// CHECK: tile.spread columns
// CHECK: tile.store
func.func private @broadcast(%x: tensor<1x96xf16>) -> tensor<50x96xf16> attributes {relay.primitive} {
  %0 = relay.broadcast_to %x {shape = array<i64: 50, 96>} : (tensor<1x96xf16>) -> tensor<50x96xf16>
  return %0 : tensor<50x96xf16>
}

// -----

// x * sigmoid(x): one table.
// CHECK-LABEL: func.func @npu_swish()
// CHECK: tile.lookup
// CHECK-NOT: tile.lookup
// CHECK-NOT: tile.binary
// CHECK: tile.store
func.func private @swish(%x: tensor<64xf16>) -> tensor<64xf16> attributes {relay.primitive} {
  %0 = relay.sigmoid %x : (tensor<64xf16>) -> tensor<64xf16>
  %1 = relay.multiply %x, %0 : (tensor<64xf16>, tensor<64xf16>) -> tensor<64xf16>
  return %1 : tensor<64xf16>
}
