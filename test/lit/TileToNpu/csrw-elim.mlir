// RUN: tt-opt %s -npu-csrw-elim | FileCheck %s

// CHECK-LABEL: func.func @block
func.func @block(%v: i32, %w: i32) {
  // CHECK-COUNT-2: npu.csrw
  // CHECK-NEXT: npu.mov.m
  // CHECK-NEXT: npu.csrw "stride_s", %arg1
  // CHECK-NEXT: npu.mov.m
  // CHECK-NEXT: npu.csrw "stride_s", %arg0
  // CHECK-NEXT: return
  npu.csrw "shape_s1", %v
  npu.csrw "stride_s", %v
  npu.mov.m %v, %w
  npu.csrw "shape_s1", %v
  npu.csrw "stride_s", %w
  npu.mov.m %v, %w
  npu.csrw "stride_s", %v
  return
}

// Equal constants are the same value.
// CHECK-LABEL: func.func @constants
func.func @constants(%v: i32) {
  %a = arith.constant 7 : i32
  %b = arith.constant 7 : i32
  // CHECK-COUNT-1: npu.csrw
  // CHECK-NOT: npu.csrw
  npu.csrw "shape_s1", %a
  npu.mov.m %v, %v
  npu.csrw "shape_s1", %b
  npu.mov.m %v, %v
  return
}

// What every iteration writes goes in front of the loop, also through two levels; what differs stays.
// CHECK-LABEL: func.func @loops
func.func @loops(%v: i32, %w: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // CHECK: npu.csrw "shape_s1", %arg0
  // CHECK-NEXT: scf.for
  scf.for %i = %c0 to %n step %c1 : i32 {
    // CHECK-NEXT: npu.csrw "stride_d", %{{arg[0-9]+}}
    // CHECK-NEXT: scf.for
    scf.for %j = %c0 to %n step %c1 : i32 {
      // CHECK-NEXT: npu.mov.m
      // CHECK-NEXT: npu.csrw "stride_s", %arg0
      // CHECK-NEXT: npu.mov.m
      // CHECK-NEXT: npu.csrw "stride_s", %arg1
      npu.csrw "shape_s1", %v
      npu.csrw "stride_d", %i
      npu.mov.m %v, %w
      npu.csrw "stride_s", %v
      npu.mov.m %v, %w
      npu.csrw "stride_s", %w
    }
  }
  return
}

// The first iteration reads the old contents: the write stays where it is.
// CHECK-LABEL: func.func @old_contents
func.func @old_contents(%v: i32, %w: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  npu.csrw "shape_s1", %v
  // CHECK: scf.for
  // CHECK-NEXT: npu.mov.m
  // CHECK-NEXT: npu.csrw "shape_s1", %arg1
  scf.for %i = %c0 to %n step %c1 : i32 {
    npu.mov.m %v, %w
    npu.csrw "shape_s1", %w
  }
  return
}

// One branch changes the contents: afterwards they are unknown.
// CHECK-LABEL: func.func @branch
func.func @branch(%v: i32, %w: i32, %c: i1) {
  npu.csrw "shape_s1", %v
  npu.csrw "stride_s", %v
  // CHECK: scf.if
  // CHECK-NEXT: npu.csrw "shape_s1", %arg1
  // CHECK-NEXT: }
  // CHECK-NEXT: npu.csrw "shape_s1", %arg0
  // CHECK-NEXT: return
  scf.if %c {
    npu.csrw "shape_s1", %w
    npu.csrw "stride_s", %v
  }
  npu.csrw "shape_s1", %v
  npu.csrw "stride_s", %v
  return
}
