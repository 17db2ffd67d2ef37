// The second list scheduling: an instruction moves with its CSR writes, operands that share bytes keep their order.
// RUN: tt-opt %s -npu-post-insn-schedule=ncore=8 | FileCheck %s
// RUN: tt-opt %s -npu-post-insn-schedule=ncore=8 -npu-csrw-elim | FileCheck %s --check-prefix=ELIM

// The load of the second turn goes in front of the store of the first.
// CHECK-LABEL: func.func @two_turns
func.func @two_turns() {
  %zero = arith.constant 0 : i32
  // 1 row of 4096 halves, for MTE and VME.
  %shape = arith.constant 0x10000001 : i32
  %x0 = arith.constant 0xC0000000 : i32
  %x1 = arith.constant 0xC0002000 : i32
  %y0 = arith.constant 0xC0004000 : i32
  %y1 = arith.constant 0xC0006000 : i32
  %in0 = arith.constant 0xF8000000 : i32
  %in1 = arith.constant 0xF8002000 : i32
  %out0 = arith.constant 0xF8004000 : i32
  %out1 = arith.constant 0xF8006000 : i32
  // CHECK: npu.mov.l1.llb
  // CHECK: npu.csrw "mte_shape"
  // CHECK-NEXT: npu.csrw "mte_stride_llb"
  // CHECK-NEXT: npu.mov.l1.llb
  // CHECK: npu.mov.llb.l1
  // ELIM-COUNT-5: npu.csrw
  // ELIM-NOT: npu.csrw
  // ELIM: return
  npu.csrw "mte_shape", %shape
  npu.csrw "mte_stride_llb", %zero
  npu.mov.l1.llb %x0, %in0
  npu.csrw "shape_s1", %shape
  npu.csrw "stride_d", %zero
  npu.csrw "stride_s", %zero
  npu.mov.m %y0, %x0
  npu.csrw "mte_shape", %shape
  npu.csrw "mte_stride_llb", %zero
  npu.mov.llb.l1 %out0, %y0
  npu.csrw "mte_shape", %shape
  npu.csrw "mte_stride_llb", %zero
  npu.mov.l1.llb %x1, %in1
  npu.csrw "shape_s1", %shape
  npu.csrw "stride_d", %zero
  npu.csrw "stride_s", %zero
  npu.mov.m %y1, %x1
  npu.csrw "mte_shape", %shape
  npu.csrw "mte_stride_llb", %zero
  npu.mov.llb.l1 %out1, %y1
  return
}

// The same with one slot: the second load overwrites what the first store reads.
// CHECK-LABEL: func.func @one_slot
func.func @one_slot() {
  %zero = arith.constant 0 : i32
  %shape = arith.constant 0x10000001 : i32
  %x = arith.constant 0xC0000000 : i32
  // The last byte of x is the first of y.
  %y = arith.constant 0xC0001FFE : i32
  %in = arith.constant 0xF8000000 : i32
  %out = arith.constant 0xF8004000 : i32
  // CHECK: npu.mov.l1.llb
  // CHECK: npu.mov.llb.l1
  // CHECK: npu.mov.l1.llb
  npu.csrw "mte_shape", %shape
  npu.csrw "mte_stride_llb", %zero
  npu.mov.l1.llb %x, %in
  npu.csrw "shape_s1", %shape
  npu.csrw "stride_d", %zero
  npu.csrw "stride_s", %zero
  npu.mov.m %y, %x
  npu.csrw "mte_shape", %shape
  npu.csrw "mte_stride_llb", %zero
  npu.mov.llb.l1 %out, %y
  npu.csrw "mte_shape", %shape
  npu.csrw "mte_stride_llb", %zero
  npu.mov.l1.llb %x, %in
  npu.csrw "shape_s1", %shape
  npu.csrw "stride_d", %zero
  npu.csrw "stride_s", %zero
  npu.mov.m %x, %x
  return
}

// Nothing crosses sync, and nothing moves where an instruction relies on CSR writes from further up.
// CHECK-LABEL: func.func @stays
func.func @stays(%x0: i32, %x1: i32) {
  %zero = arith.constant 0 : i32
  %shape = arith.constant 0x10000001 : i32
  %y0 = arith.constant 0xC0004000 : i32
  %x = arith.constant 0xC0000000 : i32
  %in0 = arith.constant 0xF8000000 : i32
  %out0 = arith.constant 0xF8004000 : i32
  // CHECK: npu.mov.l1.llb
  // CHECK: npu.mov.m
  // CHECK: npu.mov.llb.l1
  // CHECK: npu.mov.l1.llb
  // CHECK: npu.sync
  npu.csrw "mte_shape", %shape
  npu.csrw "mte_stride_llb", %zero
  npu.mov.l1.llb %x, %in0
  npu.csrw "shape_s1", %shape
  npu.csrw "stride_d", %zero
  npu.csrw "stride_s", %zero
  npu.mov.m %y0, %x
  npu.csrw "mte_shape", %shape
  npu.mov.llb.l1 %out0, %y0
  npu.mov.l1.llb %x0, %x1
  npu.sync
  return
}
