// Addresses and sizes of moves: bounds of loop variables make arithmetic superfluous.
// RUN: tt-opt %s -tile-dmaadd-sch=ncore=8 -canonicalize -cse | FileCheck %s

// CHECK-LABEL: func.func @sizes
func.func @sizes(%in: !tile.buffer<LLB>, %rows: !tile.buffer<L1>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %c64 = arith.constant 64 : i32
  %c392 = arith.constant 392 : i32
  %c25088 = arith.constant 25088 : i32
  %core = tile.core_id
  %to = tile.view %rows[%c0] : !tile.buffer<L1> -> !tile.ptr<L1>
  // CHECK: %[[SIZE:.*]] = arith.constant 392 : i32
  // CHECK: scf.for %[[I:.*]] =
  // CHECK-NEXT: %[[ROW:.*]] = arith.muli %[[I]], %[[SIZE]]
  // CHECK-NEXT: %[[FROM:.*]] = tile.view %{{.*}}[%[[ROW]]]
  // CHECK-NEXT: tile.load %{{.*}}, %[[FROM]] rows %{{.*}} columns %[[SIZE]]
  // CHECK-NEXT: }
  scf.for %i = %core to %c64 step %c8 : i32 {
    %image = arith.divui %i, %c64 : i32
    %tile = arith.remui %i, %c64 : i32
    %row = arith.muli %tile, %c392 : i32
    %left = arith.subi %c25088, %row : i32
    %size = arith.minsi %left, %c392 : i32
    %offset = arith.muli %image, %c25088 : i32
    %at = arith.addi %offset, %row : i32
    %some = arith.cmpi slt, %tile, %c64 : i32
    scf.if %some {
      %from = tile.view %in[%at] : !tile.buffer<LLB> -> !tile.ptr<LLB>
      tile.load %to, %from rows %c1 columns %size stride %c0 : !tile.ptr<L1>, !tile.ptr<LLB>
    }
  }
  return
}

// Where the last tile is short its size is worked out as before.
// CHECK-LABEL: func.func @ragged
func.func @ragged(%in: !tile.buffer<LLB>, %rows: !tile.buffer<L1>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %c64 = arith.constant 64 : i32
  %c392 = arith.constant 392 : i32
  %c25000 = arith.constant 25000 : i32
  %core = tile.core_id
  %to = tile.view %rows[%c0] : !tile.buffer<L1> -> !tile.ptr<L1>
  // CHECK: scf.for
  // CHECK: arith.minsi
  // CHECK: tile.load
  scf.for %i = %core to %c64 step %c8 : i32 {
    %row = arith.muli %i, %c392 : i32
    %left = arith.subi %c25000, %row : i32
    %size = arith.minsi %left, %c392 : i32
    %from = tile.view %in[%row] : !tile.buffer<LLB> -> !tile.ptr<LLB>
    tile.load %to, %from rows %c1 columns %size stride %c0 : !tile.ptr<L1>, !tile.ptr<LLB>
  }
  return
}

// One turn for each core, and at most one.
// CHECK-LABEL: func.func @turns
// CHECK-NOT: scf.for
// CHECK: %[[CORE:.*]] = tile.core_id
// CHECK: tile.fill
// CHECK: %[[SOME:.*]] = arith.cmpi slt, %[[CORE]]
// CHECK: scf.if %[[SOME]]
// CHECK-NEXT: tile.spread
// CHECK-NOT: scf.for
// CHECK: return
func.func @turns(%to: !tile.ptr<L1>, %from: !tile.ptr<L1>) {
  %c0 = arith.constant 0 : i32
  %c5 = arith.constant 5 : i32
  %c8 = arith.constant 8 : i32
  %core = tile.core_id
  scf.for %i = %core to %c8 step %c8 : i32 {
    tile.fill %to, 1.0 size(%c8, %c8) stride %c0 : !tile.ptr<L1>
  }
  scf.for %i = %core to %c5 step %c8 : i32 {
    tile.spread rows %to, %from size(%c8, %c8) stride %c0 : !tile.ptr<L1>, !tile.ptr<L1>
  }
  return
}

// Copies behind each other become a chain; rows with a stride and what stands in between end it.
// CHECK-LABEL: func.func @chain
// CHECK: tile.dma_start
// CHECK-SAME: channel 3
// CHECK-NEXT: tile.dma_wait channel 3
// CHECK-NEXT: tile.dma
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.dma
// CHECK-NOT: tile.dma
// CHECK: return
func.func @chain(%a: !tile.ptr<DDR>, %b: !tile.ptr<DDR>, %x: !tile.ptr<LLB>, %y: !tile.ptr<LLB>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %c64 = arith.constant 64 : i32
  tile.dma %x, %a rows %c1 bytes %c64 stride %c0 : !tile.ptr<LLB>, !tile.ptr<DDR>
  tile.dma %y, %b rows %c1 bytes %c8 stride %c0 : !tile.ptr<LLB>, !tile.ptr<DDR>
  tile.dma %y, %b rows %c8 bytes %c8 stride %c64 : !tile.ptr<LLB>, !tile.ptr<DDR>
  tile.barrier
  tile.dma %x, %a rows %c1 bytes %c64 stride %c0 : !tile.ptr<LLB>, !tile.ptr<DDR>
  return
}
