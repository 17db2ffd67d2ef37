// From tiles to instructions.
#pragma once
#include "Support/Diagnostics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tensorturbo::tile {

/// Gives every tile.alloc of a kernel its `offset`: buffers of one level share bytes if they are used at
/// different times. Resource errors name the buffers that do not fit. Kernels are planned one by one, because
/// nothing in LLB, L1 or IM outlives a kernel.
bool planKernelMemory(mlir::func::FuncOp kernel, Diagnostics &diags);

/// tile-dma-load-unroll: loops with loads of at most `turns` turns, as far as the code stays small.
std::unique_ptr<mlir::Pass> createDmaLoadUnrollPass(int ncore = 8, int turns = 100);

/// tile-dmaadd-sch: less arithmetic for the addresses and sizes of moves, by bounds of loop variables.
std::unique_ptr<mlir::Pass> createDmaAddSchedulePass(int ncore = 8);

/// tile-insn-schedule: order of instructions, and stores over the back edges of loops, before the memory
/// plan.
std::unique_ptr<mlir::Pass> createInsnSchedulePass(int ncore = 8);

/// planKernelMemory for every kernel of the module (pass tile-plan-memory).
std::unique_ptr<mlir::Pass> createPlanMemoryPass();

/// tile-to-npu: every tile op becomes CSR writes and instructions, every buffer its address. Wants planned
/// memory (tile.alloc with `offset`, tile.global with `address`); removes the tile.globals. `ncore` is the
/// number of cores that run the kernels.
std::unique_ptr<mlir::Pass> createTileToNpuPass(int ncore = 8);

/// npu-post-insn-schedule: order of instructions by the bytes that they touch. Does nothing where an
/// instruction relies on CSR writes other than those directly in front of it; so it comes before
/// npu-csrw-elim.
std::unique_ptr<mlir::Pass> createPostInsnSchedulePass(int ncore = 8);

/// npu-csrw-elim: drops writes that repeat what a CSR holds already. A write that a loop repeats with one
/// value is put in front of the loop first. Kernels start with unknown contents.
std::unique_ptr<mlir::Pass> createCsrwEliminationPass();

/// Registers these passes with tt-opt.
void registerTileToNpuPasses();

} // namespace tensorturbo::tile
