// Every form of instruction prints as it was read.
// RUN: tt-opt %s | tt-opt | FileCheck %s

// CHECK-LABEL: func.func @forms
func.func @forms(%d: i32, %a: i32, %b: i32, %f: f32) {
  // CHECK-NEXT: npu.csrw "shape_s1", %arg0
  npu.csrw "shape_s1", %d
  // CHECK-NEXT: npu.veadd.mm %arg0, %arg1, %arg2
  npu.veadd.mm %d, %a, %b
  // CHECK-NEXT: npu.veadd.mv %arg0, %arg1, %arg2{{$}}
  npu.veadd.mv %d, %a, %b
  // CHECK-NEXT: npu.veadd.mv %arg0, %arg1, %arg2 dm
  npu.veadd.mv %d, %a, %b dm
  // CHECK-NEXT: npu.velkrelu.mf %arg0, %arg1, %arg3
  npu.velkrelu.mf %d, %a, %f
  // CHECK-NEXT: npu.veacc.m %arg0, %arg1 dm
  npu.veacc.m %d, %a dm
  // CHECK-NEXT: [[SUM:%.+]] = npu.veacc.m.full %arg1
  %sum = npu.veacc.m.full %a
  // CHECK-NEXT: npu.veemacc.mf %arg0, %arg1, [[SUM]]
  npu.veemacc.mf %d, %a, %sum
  // CHECK-NEXT: npu.veemul.x8.hf.mf %arg0, %arg1, %arg3
  npu.veemul.x8.hf.mf %d, %a, %f
  // CHECK-NEXT: npu.mov.f %arg0, %arg3
  npu.mov.f %d, %f
  // CHECK-NEXT: npu.memul.mm %arg0, %arg1, %arg2 dm
  npu.memul.mm %d, %a, %b dm
  // CHECK-NEXT: npu.meconv.hf.x8.mm %arg0, %arg1, %arg2
  npu.meconv.hf.x8.mm %d, %a, %b
  // CHECK-NEXT: npu.mov.l1.llb %arg0, %arg1
  npu.mov.l1.llb %d, %a
  // CHECK-NEXT: npu.icmov %arg0, %arg1, %arg2
  npu.icmov %d, %a, %b
  // CHECK-NEXT: [[HALF:%.+]] = npu.flhw %arg1
  %half = npu.flhw %a
  // CHECK-NEXT: npu.fshw %arg0, [[HALF]]
  npu.fshw %d, %half
  // CHECK-NEXT: [[ID:%.+]] = npu.core_id
  %id = npu.core_id
  // CHECK-NEXT: npu.store32 %arg0, [[ID]]
  npu.store32 %d, %id
  // CHECK-NEXT: npu.wait %arg0, %arg1
  npu.wait %d, %a
  // CHECK-NEXT: npu.sync
  npu.sync
  return
}
