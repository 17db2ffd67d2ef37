// Chunks of a kernel's tensors on their way between DDR and LLB while other chunks are worked on.
#pragma once
#include "Conversion/RelayToTile/KernelBuilder.h"
#include "llvm/ADT/SmallVector.h"

namespace tensorturbo::tile {

/// What moves for a chunk: its number and its slot, 0 and 1 in turn. The list has the same length for all
/// chunks.
using ChunkCopies =
    llvm::function_ref<llvm::SmallVector<KernelBuilder::Copy>(mlir::Value index, mlir::Value slot)>;

/// Runs `body` for `count` (at least 2) chunks on all cores. Chunk i + 1 comes and the results of chunk i - 1
/// go while chunk i is worked on. No copy has more than schedule::longestCopy bytes.
void forEachOverlappedChunk(KernelBuilder &kb, int64_t count, ChunkCopies copiesIn, ChunkCopies copiesOut,
                            llvm::function_ref<void(mlir::Value index, mlir::Value slot)> body);

} // namespace tensorturbo::tile
