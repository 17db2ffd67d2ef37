// Rules of the tile dialect.
// RUN: tt-opt %s -split-input-file -verify-diagnostics

func.func @ddr_alloc() {
  // expected-error @+1 {{a kernel allocates in LLB, L1 or IM; DDR tensors are tile.global}}
  %a = tile.alloc "a" 64 : !tile.buffer<DDR>
  return
}

// -----

func.func @no_bytes() {
  // expected-error @+1 {{size must be between 1 and the level's 262144}}
  %a = tile.alloc "a" 0 : !tile.buffer<IM>
  return
}

// -----

func.func @larger_than_level() {
  // expected-error @+1 {{size must be between 1 and the level's 1310720}}
  %a = tile.alloc "a" 1310721 : !tile.buffer<L1>
  return
}

// -----

func.func @levels_differ() {
  %c0 = arith.constant 0 : i32
  %a = tile.alloc "a" 64 : !tile.buffer<L1>
  // expected-error @+1 {{pointer and buffer must lie in the same level}}
  %p = tile.view %a[%c0] : !tile.buffer<L1> -> !tile.ptr<LLB>
  return
}

// -----

func.func @load_from_ddr(%to: !tile.ptr<L1>, %from: !tile.ptr<DDR>, %n: i32) {
  // expected-error @+1 {{operand #1 must be pointer into LLB}}
  tile.load %to, %from rows %n columns %n stride %n : !tile.ptr<L1>, !tile.ptr<DDR>
  return
}

// -----

func.func @convolution_into_l1(%p: !tile.ptr<L1>, %n: i32) {
  // expected-error @+1 {{operand #0 must be pointer into IM}}
  tile.matmul %p, %p, %p size(%n, %n, %n) strides(%n, %n, %n) : !tile.ptr<L1>, !tile.ptr<L1>, !tile.ptr<L1>
  return
}
