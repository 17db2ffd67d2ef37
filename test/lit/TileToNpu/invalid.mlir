// RUN: tt-opt %s -split-input-file -tile-to-npu -verify-diagnostics

func.func @field() {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %big = arith.constant 70000 : i32
  %l1 = tile.alloc "l1" 4096 {offset = 0 : i64} : !tile.buffer<L1>
  %p = tile.view %l1[%c0] : !tile.buffer<L1> -> !tile.ptr<L1>
  // expected-error @+2 {{rows and columns must be between 0 and 65535, got 70000}}
  // expected-error @+1 {{destination stride must be between 0 and 65535, got 70000}}
  tile.unary copy %p, %p size(%c8, %big) strides(%big, %c0) : !tile.ptr<L1>, !tile.ptr<L1>
  return
}

// -----

func.func @unplanned() {
  // expected-error @+1 {{has no offset: the memory has not been planned}}
  %l1 = tile.alloc "l1" 4096 : !tile.buffer<L1>
  return
}

// -----

tile.global @x {bytes = 4096 : i64}
func.func @no_address() {
  // expected-error @+1 {{names a tensor without address: @x}}
  %x = tile.global_buffer @x : !tile.buffer<DDR>
  return
}
