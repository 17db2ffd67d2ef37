// One tile op at a time: CSR writes, then the instruction.
// RUN: tt-opt %s -tile-to-npu=ncore=4 -canonicalize | FileCheck %s

tile.global @x {bytes = 4096 : i64, address = 0x2000000 : i64}

// CHECK-LABEL: func.func @moves
// CHECK-DAG: [[L1:%.+]] = arith.constant -1073741760 : i32
// CHECK-DAG: [[LLB:%.+]] = arith.constant -134213632 : i32
// CHECK-DAG: [[SHAPE:%.+]] = arith.constant 4194312 : i32
// CHECK-DAG: [[STRIDE:%.+]] = arith.constant 256 : i32
// CHECK-DAG: [[MAP:%.+]] = arith.constant 15 : i32
func.func @moves() {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %c64 = arith.constant 64 : i32
  %c256 = arith.constant 256 : i32
  %l1 = tile.alloc "l1" 4096 {offset = 64 : i64} : !tile.buffer<L1>
  %llb = tile.alloc "llb" 4096 {offset = 4096 : i64} : !tile.buffer<LLB>
  %p = tile.view %l1[%c0] : !tile.buffer<L1> -> !tile.ptr<L1>
  %q = tile.view %llb[%c0] : !tile.buffer<LLB> -> !tile.ptr<LLB>
  // CHECK: npu.csrw "mte_shape", [[SHAPE]]
  // CHECK-NEXT: npu.csrw "mte_stride_llb", [[STRIDE]]
  // CHECK-NEXT: npu.mov.l1.llb [[L1]], [[LLB]]
  tile.load %p, %q rows %c8 columns %c64 stride %c256 : !tile.ptr<L1>, !tile.ptr<LLB>
  // CHECK: npu.mov.llb.l1 [[LLB]], [[L1]]
  tile.store %q, %p rows %c8 columns %c64 stride %c256 : !tile.ptr<LLB>, !tile.ptr<L1>
  // CHECK-NEXT: npu.csrw "mte_coremap", [[MAP]]
  // CHECK: npu.pld [[L1]], [[LLB]]
  tile.broadcast %p, %q rows %c8 columns %c64 stride %c256 : !tile.ptr<L1>, !tile.ptr<LLB>
  // CHECK-NEXT: npu.sync
  tile.barrier
  // CHECK-NEXT: return
  return
}

// A block transfer: descriptor, start, wait, clear. 16 rows of 65538 bytes, 131072 bytes apart.
// CHECK-LABEL: func.func @dma
// CHECK-DAG: [[CONTROL:%.+]] = arith.constant -1610612736 : i32
// CHECK-DAG: [[BLOCK0:%.+]] = arith.constant 1048578 : i32
// CHECK-DAG: [[BLOCK1:%.+]] = arith.constant 16908288 : i32
// CHECK-DAG: [[SOURCE:%.+]] = arith.constant 33554432 : i32
// CHECK-DAG: [[DESTINATION:%.+]] = arith.constant -134217728 : i32
// CHECK: npu.store32 {{.*}}, [[CONTROL]]
// CHECK-NEXT: npu.store32 {{.*}}, [[BLOCK0]]
// CHECK-NEXT: npu.store32 {{.*}}, [[BLOCK1]]
// CHECK-NEXT: npu.store32 {{.*}}, [[SOURCE]]
// CHECK-NEXT: npu.store32 {{.*}}, [[DESTINATION]]
// CHECK-COUNT-7: npu.store32
// CHECK-NEXT: npu.wait
// CHECK-NEXT: npu.store32
// CHECK-NEXT: return
func.func @dma() {
  %c0 = arith.constant 0 : i32
  %rows = arith.constant 16 : i32
  %width = arith.constant 65538 : i32
  %stride = arith.constant 131072 : i32
  %x = tile.global_buffer @x : !tile.buffer<DDR>
  %llb = tile.alloc "llb" 4096 {offset = 0 : i64} : !tile.buffer<LLB>
  %p = tile.view %llb[%c0] : !tile.buffer<LLB> -> !tile.ptr<LLB>
  %q = tile.view %x[%c0] : !tile.buffer<DDR> -> !tile.ptr<DDR>
  tile.dma %p, %q rows %rows bytes %width stride %stride : !tile.ptr<LLB>, !tile.ptr<DDR>
  return
}

// CHECK-LABEL: func.func @conv
// CHECK-DAG: [[KERNEL:%.+]] = arith.constant 84083201 : i32
// CHECK-DAG: [[PADDING:%.+]] = arith.constant 16843009 : i32
// CHECK-DAG: [[MAP:%.+]] = arith.constant 524296 : i32
// CHECK: npu.csrw "conv_FM_in", [[MAP]]
// CHECK-NEXT: npu.csrw "conv_Depth_in"
// CHECK-NEXT: npu.csrw "conv_FM_out", [[MAP]]
// CHECK-NEXT: npu.csrw "conv_Depth_out"
// CHECK-NEXT: npu.csrw "conv_S_kernel"
// CHECK-NEXT: npu.csrw "conv_kernel", [[KERNEL]]
// CHECK-NEXT: npu.csrw "conv_padding", [[PADDING]]
// CHECK-NEXT: npu.meconv.mm
func.func @conv() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %c16 = arith.constant 16 : i32
  %l1 = tile.alloc "l1" 4096 {offset = 0 : i64} : !tile.buffer<L1>
  %im = tile.alloc "im" 4096 {offset = 0 : i64} : !tile.buffer<IM>
  %p = tile.view %l1[%c0] : !tile.buffer<L1> -> !tile.ptr<L1>
  %d = tile.view %im[%c0] : !tile.buffer<IM> -> !tile.ptr<IM>
  tile.conv %d, %p, %p in(%c8, %c8, %c16, %c0) out(%c8, %c8, %c16, %c0) wstride %c0 pad(%c1, %c1, %c1, %c1)
    {kernel_height = 3 : i32, kernel_width = 5 : i32, dilation = 2 : i32, stride = 1 : i32}
    : !tile.ptr<IM>, !tile.ptr<L1>, !tile.ptr<L1>
  return
}

// CHECK-LABEL: func.func @vector
func.func @vector(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %l1 = tile.alloc "l1" 4096 {offset = 0 : i64} : !tile.buffer<L1>
  %p = tile.view %l1[%n] : !tile.buffer<L1> -> !tile.ptr<L1>
  // CHECK: [[AT:%.+]] = arith.addi %arg0
  // CHECK: npu.csrw "shape_s1"
  // CHECK: npu.csrw "stride_d", %arg0
  // CHECK: npu.csrw "stride_s"
  // CHECK: npu.veemul.mv [[AT]], [[AT]], [[AT]] dm
  tile.binary_vector mul rows %p, %p, %p size(%c8, %c8) strides(%n, %n) : !tile.ptr<L1>, !tile.ptr<L1>, !tile.ptr<L1>
  // Strides of a single row are never looked at.
  // CHECK: npu.csrw "stride_d", %c0
  // CHECK: npu.vemax.mf [[AT]], [[AT]], %cst
  tile.binary_scalar max %p, %p, 0.0 size(%c1, %c8) strides(%n, %n) : !tile.ptr<L1>, !tile.ptr<L1>
  // CHECK: npu.veemacc.mf [[AT]], [[AT]], %cst{{.*}} dm
  tile.reduce sum rows %p, %p size(%c8, %c8) strides(%n, %n) {scale = 2.0 : f32} : !tile.ptr<L1>, !tile.ptr<L1>
  return
}
