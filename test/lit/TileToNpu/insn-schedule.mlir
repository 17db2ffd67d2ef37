// Order of instructions before the memory plan: stores over the back edge, loads in front of stores.
// RUN: tt-opt %s -tile-insn-schedule=ncore=8 | FileCheck %s

// The store of one turn goes behind the load of the next, in front of what overwrites its source.
// CHECK-LABEL: func.func @back_edge
func.func @back_edge() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %c30 = arith.constant 30 : i32
  %c256 = arith.constant 256 : i32
  %in = tile.alloc "in" 7680 : !tile.buffer<LLB>
  %out = tile.alloc "out" 7680 : !tile.buffer<LLB>
  %rows = tile.alloc "rows" 256 : !tile.buffer<L1>
  %result = tile.alloc "result" 256 : !tile.buffer<L1>
  %core = tile.core_id
  // CHECK: %[[OFFSET:.*]] = scf.for %[[I:.*]] = %[[CORE:.*]] to %{{.*}} step %{{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}}) -> (i32)
  // CHECK: tile.load
  // CHECK: %[[LATER:.*]] = arith.cmpi ne, %[[I]], %[[CORE]]
  // CHECK: scf.if %[[LATER]] {
  // CHECK: tile.view %{{.*}}[%[[BEFORE]]]
  // CHECK: tile.store
  // CHECK: tile.unary copy
  // CHECK-NOT: tile.store
  // CHECK: scf.yield
  // CHECK: tile.view %{{.*}}[%[[OFFSET]]]
  // CHECK: tile.store
  scf.for %i = %core to %c30 step %c8 : i32 {
    %at = arith.muli %i, %c256 : i32
    %pin = tile.view %in[%at] : !tile.buffer<LLB> -> !tile.ptr<LLB>
    %pout = tile.view %out[%at] : !tile.buffer<LLB> -> !tile.ptr<LLB>
    %prows = tile.view %rows[%c0] : !tile.buffer<L1> -> !tile.ptr<L1>
    %presult = tile.view %result[%c0] : !tile.buffer<L1> -> !tile.ptr<L1>
    tile.load %prows, %pin rows %c1 columns %c8 stride %c0 : !tile.ptr<L1>, !tile.ptr<LLB>
    tile.unary copy %presult, %prows size(%c1, %c8) strides(%c0, %c0) : !tile.ptr<L1>, !tile.ptr<L1>
    tile.store %pout, %presult rows %c1 columns %c8 stride %c0 : !tile.ptr<LLB>, !tile.ptr<L1>
  }
  return
}

// Where the load writes what is stored, or a barrier stands in the loop, nothing moves.
// CHECK-LABEL: func.func @stays
func.func @stays() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %in = tile.alloc "in" 4096 : !tile.buffer<LLB>
  %out = tile.alloc "out" 4096 : !tile.buffer<LLB>
  %rows = tile.alloc "rows" 256 : !tile.buffer<L1>
  %other = tile.alloc "other" 256 : !tile.buffer<L1>
  %pin = tile.view %in[%c0] : !tile.buffer<LLB> -> !tile.ptr<LLB>
  %pout = tile.view %out[%c0] : !tile.buffer<LLB> -> !tile.ptr<LLB>
  %prows = tile.view %rows[%c0] : !tile.buffer<L1> -> !tile.ptr<L1>
  %pother = tile.view %other[%c0] : !tile.buffer<L1> -> !tile.ptr<L1>
  // CHECK: scf.for
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: tile.unary
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: }
  scf.for %i = %c0 to %c8 step %c1 : i32 {
    tile.load %prows, %pin rows %c1 columns %c8 stride %c0 : !tile.ptr<L1>, !tile.ptr<LLB>
    tile.unary copy %prows, %prows size(%c1, %c8) strides(%c0, %c0) : !tile.ptr<L1>, !tile.ptr<L1>
    tile.store %pout, %prows rows %c1 columns %c8 stride %c0 : !tile.ptr<LLB>, !tile.ptr<L1>
  }
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: tile.unary
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: }
  scf.for %i = %c0 to %c8 step %c1 : i32 {
    tile.load %prows, %pin rows %c1 columns %c8 stride %c0 : !tile.ptr<L1>, !tile.ptr<LLB>
    tile.unary copy %pother, %prows size(%c1, %c8) strides(%c0, %c0) : !tile.ptr<L1>, !tile.ptr<L1>
    tile.store %pout, %pother rows %c1 columns %c8 stride %c0 : !tile.ptr<LLB>, !tile.ptr<L1>
    tile.barrier
  }
  return
}

// Two turns in a row: the second load does not wait for the first store. Slots of a buffer are told apart, the
// broadcasts keep their order.
// CHECK-LABEL: func.func @straight
func.func @straight() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4096 = arith.constant 4096 : i32
  %c8192 = arith.constant 8192 : i32
  %in = tile.alloc "in" 16384 : !tile.buffer<LLB>
  %out = tile.alloc "out" 16384 : !tile.buffer<LLB>
  %rows = tile.alloc "rows" 16384 : !tile.buffer<L1>
  %result = tile.alloc "result" 16384 : !tile.buffer<L1>
  %i0 = tile.view %in[%c0] : !tile.buffer<LLB> -> !tile.ptr<LLB>
  %i1 = tile.view %in[%c8192] : !tile.buffer<LLB> -> !tile.ptr<LLB>
  %o0 = tile.view %out[%c0] : !tile.buffer<LLB> -> !tile.ptr<LLB>
  %o1 = tile.view %out[%c8192] : !tile.buffer<LLB> -> !tile.ptr<LLB>
  %x0 = tile.view %rows[%c0] : !tile.buffer<L1> -> !tile.ptr<L1>
  %x1 = tile.view %rows[%c8192] : !tile.buffer<L1> -> !tile.ptr<L1>
  %y0 = tile.view %result[%c0] : !tile.buffer<L1> -> !tile.ptr<L1>
  %y1 = tile.view %result[%c8192] : !tile.buffer<L1> -> !tile.ptr<L1>
  // CHECK: tile.broadcast
  // CHECK-NEXT: tile.broadcast
  // CHECK: tile.unary
  // CHECK: tile.unary
  // CHECK: tile.store
  tile.broadcast %x0, %i0 rows %c1 columns %c4096 stride %c0 : !tile.ptr<L1>, !tile.ptr<LLB>
  tile.unary copy %y0, %x0 size(%c1, %c4096) strides(%c0, %c0) : !tile.ptr<L1>, !tile.ptr<L1>
  tile.store %o0, %y0 rows %c1 columns %c4096 stride %c0 : !tile.ptr<LLB>, !tile.ptr<L1>
  tile.broadcast %x1, %i1 rows %c1 columns %c4096 stride %c0 : !tile.ptr<L1>, !tile.ptr<LLB>
  tile.unary copy %y1, %x1 size(%c1, %c4096) strides(%c0, %c0) : !tile.ptr<L1>, !tile.ptr<L1>
  tile.store %o1, %y1 rows %c1 columns %c4096 stride %c0 : !tile.ptr<LLB>, !tile.ptr<L1>
  return
}

// Results in place of residuals, in two slots: the store of one turn and the load of the next touch different tiles.
// CHECK-LABEL: func.func @in_place
// CHECK: scf.for
// CHECK: tile.load
// CHECK: arith.cmpi ne
// CHECK: scf.if
// CHECK: tile.store
// CHECK: tile.unary
// CHECK-NOT: tile.store
// CHECK: scf.yield
// CHECK: tile.store
// CHECK: return
func.func @in_place() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c8 = arith.constant 8 : i32
  %c128 = arith.constant 128 : i32
  %c256 = arith.constant 256 : i32
  %c1000 = arith.constant 1000 : i32
  %out = tile.alloc "out" 256000 : !tile.buffer<LLB>
  %tiles = tile.alloc "tiles" 512 : !tile.buffer<L1>
  %core = tile.core_id
  scf.for %i = %core to %c1000 step %c8 : i32 {
    %since = arith.subi %i, %core : i32
    %turn = arith.divui %since, %c8 : i32
    %slot = arith.remui %turn, %c2 : i32
    %from = arith.muli %slot, %c256 : i32
    %at = arith.muli %i, %c256 : i32
    %pout = tile.view %out[%at] : !tile.buffer<LLB> -> !tile.ptr<LLB>
    %ptile = tile.view %tiles[%from] : !tile.buffer<L1> -> !tile.ptr<L1>
    tile.load %ptile, %pout rows %c1 columns %c128 stride %c0 : !tile.ptr<L1>, !tile.ptr<LLB>
    tile.unary copy %ptile, %ptile size(%c1, %c128) strides(%c0, %c0) : !tile.ptr<L1>, !tile.ptr<L1>
    tile.store %pout, %ptile rows %c1 columns %c128 stride %c0 : !tile.ptr<LLB>, !tile.ptr<L1>
  }
  return
}

// The same with tiles that overlap by half: nothing moves.
// CHECK-LABEL: func.func @overlapping
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: return
func.func @overlapping() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c128 = arith.constant 128 : i32
  %c1000 = arith.constant 1000 : i32
  %out = tile.alloc "out" 256000 : !tile.buffer<LLB>
  %in = tile.alloc "in" 512 : !tile.buffer<L1>
  %result = tile.alloc "result" 512 : !tile.buffer<L1>
  %pin = tile.view %in[%c0] : !tile.buffer<L1> -> !tile.ptr<L1>
  %presult = tile.view %result[%c0] : !tile.buffer<L1> -> !tile.ptr<L1>
  scf.for %i = %c0 to %c1000 step %c1 : i32 {
    %at = arith.muli %i, %c128 : i32
    %pout = tile.view %out[%at] : !tile.buffer<LLB> -> !tile.ptr<LLB>
    tile.load %pin, %pout rows %c1 columns %c128 stride %c0 : !tile.ptr<L1>, !tile.ptr<LLB>
    tile.unary copy %presult, %pin size(%c1, %c128) strides(%c0, %c0) : !tile.ptr<L1>, !tile.ptr<L1>
    tile.store %pout, %presult rows %c1 columns %c128 stride %c0 : !tile.ptr<LLB>, !tile.ptr<L1>
  }
  return
}
