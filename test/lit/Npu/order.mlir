// Generic clean-ups neither remove, merge nor reorder instructions.
// RUN: tt-opt %s -canonicalize -cse | FileCheck %s

// CHECK-LABEL: func.func @same
func.func @same(%d: i32, %a: i32) {
  // CHECK-NEXT: npu.veadd.mm
  // CHECK-NEXT: npu.veadd.mm
  // CHECK-NEXT: npu.load32
  // CHECK-NEXT: npu.sync
  // CHECK-NEXT: npu.sync
  // CHECK-NEXT: return
  npu.veadd.mm %d, %d, %a
  npu.veadd.mm %d, %d, %a
  %unused = npu.load32 %d
  npu.sync
  npu.sync
  %also_unused = npu.core_id
  return
}
