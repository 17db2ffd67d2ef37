// Every operation prints as it was parsed.
// RUN: tt-opt %s | tt-opt | FileCheck %s

// CHECK: tile.global @weights {bytes = 128 : i64, constant = 1 : i64}
tile.global @weights {bytes = 128 : i64, constant = 1 : i64}

// CHECK-LABEL: func.func @kernel
func.func @kernel(%n: i32, %l1: !tile.ptr<L1>, %im: !tile.ptr<IM>, %llb: !tile.ptr<LLB>, %ddr: !tile.ptr<DDR>) {
  // CHECK: tile.global_buffer @weights : <DDR>
  %g = tile.global_buffer @weights : !tile.buffer<DDR>
  // CHECK: tile.alloc "a" 64 {offset = 128 : i64} : <LLB>
  %a = tile.alloc "a" 64 {offset = 128 : i64} : !tile.buffer<LLB>
  // CHECK: tile.view %{{.*}}[%{{.*}}] : <LLB> -> <LLB>
  %v = tile.view %a[%n] : !tile.buffer<LLB> -> !tile.ptr<LLB>
  // CHECK: tile.core_id
  %id = tile.core_id
  // CHECK: tile.barrier
  tile.barrier
  // CHECK: tile.dma %{{.*}}, %{{.*}} rows %{{.*}} bytes %{{.*}} stride %{{.*}} : <LLB>, <DDR>
  tile.dma %llb, %ddr rows %n bytes %n stride %n : !tile.ptr<LLB>, !tile.ptr<DDR>
  // CHECK: tile.load
  tile.load %l1, %llb rows %n columns %n stride %n : !tile.ptr<L1>, !tile.ptr<LLB>
  // CHECK: tile.store
  tile.store %llb, %l1 rows %n columns %n stride %n : !tile.ptr<LLB>, !tile.ptr<L1>
  // CHECK: tile.broadcast
  tile.broadcast %l1, %llb rows %n columns %n stride %n : !tile.ptr<L1>, !tile.ptr<LLB>
  // CHECK: tile.send
  tile.send %l1, %l1 bytes %n core %n : !tile.ptr<L1>, !tile.ptr<L1>
  // CHECK: tile.conv %{{.*}} in(%{{.*}}) out(%{{.*}}) wstride %{{.*}} pad(%{{.*}}) {dilation = 1 : i32, kernel_height = 3 : i32, kernel_width = 3 : i32, stride = 2 : i32}
  tile.conv %im, %l1, %l1 in(%n, %n, %n, %n) out(%n, %n, %n, %n) wstride %n pad(%n, %n, %n, %n)
    {dilation = 1 : i32, kernel_height = 3 : i32, kernel_width = 3 : i32, stride = 2 : i32} : !tile.ptr<IM>, !tile.ptr<L1>, !tile.ptr<L1>
  // CHECK: tile.matmul %{{.*}} {transposed}
  tile.matmul %im, %l1, %l1 size(%n, %n, %n) strides(%n, %n, %n) {transposed} : !tile.ptr<IM>, !tile.ptr<L1>, !tile.ptr<L1>
  // CHECK: tile.transpose
  tile.transpose %im, %l1 size(%n, %n) strides(%n, %n) : !tile.ptr<IM>, !tile.ptr<L1>
  // CHECK: tile.binary sub
  tile.binary sub %l1, %im, %l1 size(%n, %n) strides(%n, %n, %n) : !tile.ptr<L1>, !tile.ptr<IM>, !tile.ptr<L1>
  // CHECK: tile.binary_vector mul rows
  tile.binary_vector mul rows %l1, %im, %l1 size(%n, %n) strides(%n, %n) : !tile.ptr<L1>, !tile.ptr<IM>, !tile.ptr<L1>
  // CHECK: tile.binary_scalar max %{{.*}}, %{{.*}}, 5.000000e-01
  tile.binary_scalar max %l1, %im, 5.000000e-01 size(%n, %n) strides(%n, %n) : !tile.ptr<L1>, !tile.ptr<IM>
  // CHECK: tile.unary copy
  tile.unary copy %l1, %im size(%n, %n) strides(%n, %n) : !tile.ptr<L1>, !tile.ptr<IM>
  // CHECK: tile.lookup
  tile.lookup %l1, %im, %l1 size(%n, %n) strides(%n, %n) : !tile.ptr<L1>, !tile.ptr<IM>, !tile.ptr<L1>
  // CHECK: tile.fill %{{.*}}, 1.000000e+00
  tile.fill %l1, 1.000000e+00 size(%n, %n) stride %n : !tile.ptr<L1>
  // CHECK: tile.spread columns
  tile.spread columns %l1, %l1 size(%n, %n) stride %n : !tile.ptr<L1>, !tile.ptr<L1>
  // CHECK: tile.reduce sum rows %{{.*}} {scale = 2.500000e-01 : f32}
  tile.reduce sum rows %l1, %im size(%n, %n) strides(%n, %n) {scale = 2.500000e-01 : f32} : !tile.ptr<L1>, !tile.ptr<IM>
  // CHECK: tile.dot rows
  tile.dot rows %l1, %im, %im size(%n, %n) strides(%n, %n, %n) : !tile.ptr<L1>, !tile.ptr<IM>, !tile.ptr<IM>
  return
}

// CHECK-LABEL: func.func @transfers
func.func @transfers(%n: i32, %llb: !tile.ptr<LLB>, %ddr: !tile.ptr<DDR>, %there: !tile.buffer<DDR>) {
  %mine = tile.alloc "rows" 4096 : !tile.buffer<LLB>
  // CHECK: tile.bring %{{.*}}, %{{.*}} bytes 4096 : <LLB>, <DDR>
  tile.bring %mine, %there bytes 4096 : !tile.buffer<LLB>, !tile.buffer<DDR>
  // CHECK: tile.bring %{{.*}} bytes 1024 from 64 part 2048 :
  tile.bring %mine, %there bytes 1024 from 64 part 2048 : !tile.buffer<LLB>, !tile.buffer<DDR>
  // CHECK: tile.write_back %{{.*}} bytes 1024 part 2048 : <DDR>, <LLB>
  tile.write_back %there, %mine bytes 1024 part 2048 : !tile.buffer<DDR>, !tile.buffer<LLB>
  // CHECK: tile.dma_start %{{.*}}, %{{.*}} from %{{.*}}, %{{.*}} bytes %{{.*}}, %{{.*}} channel 3 :
  tile.dma_start %llb, %ddr from %ddr, %llb bytes %n, %n channel 3
    : !tile.ptr<LLB>, !tile.ptr<DDR> from !tile.ptr<DDR>, !tile.ptr<LLB>
  // CHECK: tile.dma_wait channel 3
  tile.dma_wait channel 3
  return
}
