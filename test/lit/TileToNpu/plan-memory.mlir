// Buffers of L1 share bytes when their uses do not meet; LLB is never reused within a kernel.
// RUN: tt-opt %s -split-input-file -tile-plan-memory -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @shared
func.func @shared() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  // CHECK: tile.alloc "a" 65536 {offset = 0 : i64}
  // CHECK: tile.alloc "b" 1000 {offset = 65536 : i64}
  // CHECK: tile.alloc "c" 32768 {offset = 0 : i64}
  // CHECK: tile.alloc "x" 4096 {offset = 0 : i64}
  // CHECK: tile.alloc "y" 4096 {offset = 4096 : i64}
  %a = tile.alloc "a" 65536 : !tile.buffer<L1>
  %b = tile.alloc "b" 1000 : !tile.buffer<L1>
  %c = tile.alloc "c" 32768 : !tile.buffer<L1>
  %x = tile.alloc "x" 4096 : !tile.buffer<LLB>
  %y = tile.alloc "y" 4096 : !tile.buffer<LLB>
  %pa = tile.view %a[%c0] : !tile.buffer<L1> -> !tile.ptr<L1>
  %pb = tile.view %b[%c0] : !tile.buffer<L1> -> !tile.ptr<L1>
  %px = tile.view %x[%c0] : !tile.buffer<LLB> -> !tile.ptr<LLB>
  tile.load %pa, %px rows %c1 columns %c64 stride %c0 : !tile.ptr<L1>, !tile.ptr<LLB>
  scf.for %i = %c0 to %c64 step %c1 : i32 {
    tile.unary copy %pb, %pa size(%c1, %c64) strides(%c0, %c0) : !tile.ptr<L1>, !tile.ptr<L1>
  }
  %pc = tile.view %c[%c0] : !tile.buffer<L1> -> !tile.ptr<L1>
  %py = tile.view %y[%c0] : !tile.buffer<LLB> -> !tile.ptr<LLB>
  tile.unary copy %pc, %pb size(%c1, %c64) strides(%c0, %c0) : !tile.ptr<L1>, !tile.ptr<L1>
  tile.store %py, %pc rows %c1 columns %c64 stride %c0 : !tile.ptr<LLB>, !tile.ptr<L1>
  return
}

// -----

// expected-error @+1 {{buffer 'two' (200000 bytes, steps 5 to 6) does not fit in IM: placed at 200000, capacity 262144 bytes, at least 400000 needed at once}}
func.func @too_large() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = tile.alloc "one" 200000 : !tile.buffer<IM>
  %two = tile.alloc "two" 200000 : !tile.buffer<IM>
  %p = tile.view %one[%c0] : !tile.buffer<IM> -> !tile.ptr<IM>
  %q = tile.view %two[%c0] : !tile.buffer<IM> -> !tile.ptr<IM>
  tile.unary copy %p, %q size(%c1, %c1) strides(%c0, %c0) : !tile.ptr<IM>, !tile.ptr<IM>
  return
}
