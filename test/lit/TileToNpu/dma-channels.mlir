// Transfers beside the program: a chain of descriptors on the channel's own registers, and the wait for its end.
// RUN: tt-opt %s --tile-to-npu --canonicalize | FileCheck %s

// Channel 0 is the second channel of the first controller. Of two descriptors the first points at the second, which
// ends the chain; the channel gets the first one's address and is started.
// CHECK-LABEL: func.func @two_copies
// CHECK-DAG: %[[FIRST:.+]] = arith.constant -907013056 : i32
// CHECK-DAG: %[[SECOND:.+]] = arith.constant -907013024 : i32
// CHECK-DAG: %[[LINK:.+]] = arith.constant -907013036 : i32
// CHECK-DAG: %[[END:.+]] = arith.constant -907013004 : i32
// CHECK-DAG: %[[POINTER:.+]] = arith.constant -907017708 : i32
// CHECK-DAG: %[[START:.+]] = arith.constant -907018236 : i32
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-DAG: %[[CHANNEL:.+]] = arith.constant 2 : i32
// CHECK: npu.store32 %[[FIRST]]
// CHECK: npu.store32 %[[LINK]], %[[SECOND]]
// CHECK: npu.store32 %[[SECOND]]
// CHECK: npu.store32 %[[END]], %[[ZERO]]
// CHECK: npu.store32 %[[POINTER]], %[[FIRST]]
// CHECK: npu.store32 %[[START]], %[[CHANNEL]]
func.func @two_copies(%n: i32) {
  %c0 = arith.constant 0 : i32
  %llb = tile.alloc "llb" 4096 {offset = 0 : i64} : !tile.buffer<LLB>
  %p = tile.view %llb[%c0] : !tile.buffer<LLB> -> !tile.ptr<LLB>
  tile.dma_start %p, %p from %p, %p bytes %n, %n channel 0
    : !tile.ptr<LLB>, !tile.ptr<LLB> from !tile.ptr<LLB>, !tile.ptr<LLB>
  return
}

// CHECK-LABEL: func.func @end
// CHECK-DAG: %[[STATUS:.+]] = arith.constant -772800492 : i32
// CHECK-DAG: %[[DONE:.+]] = arith.constant 4 : i32
// CHECK: npu.wait %[[STATUS]], %[[DONE]]
// CHECK-NEXT: npu.store32 %[[STATUS]], %[[DONE]]
func.func @end() {
  tile.dma_wait channel 2
  return
}
