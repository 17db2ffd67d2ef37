// Loops with loads become straight code while it stays short; turns that not every core makes get a condition.
// RUN: tt-opt %s -tile-dma-load-unroll="ncore=8 turns=100" -canonicalize | FileCheck %s
// RUN: tt-opt %s -tile-dma-load-unroll="ncore=8 turns=2" -canonicalize | FileCheck %s --check-prefix=FEW

// CHECK-LABEL: func.func @turns
// CHECK-NOT: scf.for
// CHECK-COUNT-3: tile.load
// CHECK: scf.if
// CHECK-NEXT: tile.view
// CHECK-NEXT: tile.load
// CHECK-NOT: tile.load
// CHECK: return
// FEW-LABEL: func.func @turns
// FEW: scf.for
// FEW-COUNT-1: tile.load
// FEW-NOT: tile.load
// FEW: return
func.func @turns(%in: !tile.buffer<LLB>, %to: !tile.ptr<L1>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %c30 = arith.constant 30 : i32
  %core = tile.core_id
  scf.for %i = %core to %c30 step %c8 : i32 {
    %from = tile.view %in[%i] : !tile.buffer<LLB> -> !tile.ptr<LLB>
    tile.load %to, %from rows %c1 columns %c8 stride %c0 : !tile.ptr<L1>, !tile.ptr<LLB>
  }
  return
}

// No loads, a barrier, too much code: these stay.
// CHECK-LABEL: func.func @loops
// CHECK-COUNT-3: scf.for
// CHECK: return
func.func @loops(%from: !tile.ptr<LLB>, %to: !tile.ptr<L1>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %c60 = arith.constant 60 : i32
  scf.for %i = %c0 to %c4 step %c1 : i32 {
    tile.fill %to, 0.0 size(%c1, %c4) stride %c0 : !tile.ptr<L1>
  }
  scf.for %i = %c0 to %c4 step %c1 : i32 {
    tile.load %to, %from rows %c1 columns %c4 stride %c0 : !tile.ptr<L1>, !tile.ptr<LLB>
    tile.barrier
  }
  scf.for %i = %c0 to %c60 step %c1 : i32 {
    tile.load %to, %from rows %c1 columns %c4 stride %c0 : !tile.ptr<L1>, !tile.ptr<LLB>
  }
  return
}
