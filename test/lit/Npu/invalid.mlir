// What can be known of operands without running is checked.
// RUN: tt-opt %s -split-input-file -verify-diagnostics

func.func @csr(%v: i32) {
  // expected-error @+1 {{names no CSR of the chip: 'shape_s'; did you mean 'shape_s1'?}}
  npu.csrw "shape_s", %v
  return
}

// -----

func.func @matmul() {
  %l1 = arith.constant 0xC0000000 : i32
  %im = arith.constant 0xC0400000 : i32
  // expected-error @+2 {{rd must lie in IM, got 0xC0000000}}
  // expected-error @+1 {{rs2 must lie in L1, got 0xC0400000}}
  npu.memul.mm %l1, %l1, %im
  return
}

// -----

func.func @vector(%x: i32) {
  %llb = arith.constant 0xF8000000 : i32
  // expected-error @+1 {{rs1 must lie in L1 or IM, got 0xF8000000}}
  npu.veadd.mm %x, %llb, %x
  return
}

// -----

func.func @move() {
  %l1 = arith.constant 0xC0000000 : i32
  // expected-error @+1 {{rs1 must lie in LLB, got 0xC0000000}}
  npu.mov.l1.llb %l1, %l1
  return
}

// -----

func.func @full_reduction() {
  %llb = arith.constant 0xF8000000 : i32
  // expected-error @+1 {{rs1 must lie in L1 or IM, got 0xF8000000}}
  %sum = npu.veacc.m.full %llb
  return
}

// -----

func.func @odd(%x: i32) {
  %odd = arith.constant 0xC0000001 : i32
  npu.vecvt.hf.x8.m %x, %odd
  npu.mov.l1.llb %odd, %x
  // expected-error @+1 {{rs1 must be a multiple of 2 bytes, got 0xC0000001}}
  npu.veexp.m %x, %odd
  return
}

// -----

func.func @words(%x: i32) {
  %half = arith.constant 0xC0000002 : i32
  // expected-error @+1 {{rs1 must be a multiple of 4 bytes, got 0xC0000002}}
  npu.veemul.x32.mv %x, %half, %x
  return
}
