// The loops that all window operators on NHWC maps share: chunks of the batch or of the rows in LLB, tiles of
// output rows in L1. Results and inputs stay in DDR; core 0 drives the system DMA.
#pragma once
#include "Conversion/RelayToTile/KernelBuilder.h"
#include "Schedule/ConvTiling.h"
#include "llvm/ADT/SmallVector.h"

namespace tensorturbo::tile {

/// One band of output rows of one image, as values of the running kernel.
struct SpatialTile {
  /// Image within the chunk; first output row within the image and number of rows.
  mlir::Value image, outRow, outRows;
  /// First real input row (within the image), number of real input rows, missing rows above and below.
  mlir::Value inRow, inRows, top, bottom;
  /// Byte offsets of the band in the chunk's LLB buffers.
  mlir::Value inOffset, outOffset;
};

class SpatialNest {
public:
  /// `residuals` are DDR buffers of the output's shape; they get LLB buffers of their own.
  SpatialNest(KernelBuilder &kb, const schedule::WindowShape &window, const schedule::ChunkPlan &chunk,
              mlir::Value input, mlir::Value output, llvm::ArrayRef<mlir::Value> residuals);

  /// LLB buffers of the chunk.
  mlir::Value inputLlb() const { return inLlb; }
  mlir::Value outputLlb() const { return outLlb; }
  mlir::Value residualLlb(size_t i) const { return residualsLlb[i]; }

  /// For each chunk: brings the inputs, runs `body` on all cores between two barriers, writes the output
  /// back.
  void forEachChunk(llvm::function_ref<void()> body);
  /// Inside a chunk: the tiles of `rows` output rows number `first`, `first + step`, ...
  void forEachTile(int64_t rows, mlir::Value first, int64_t step,
                   llvm::function_ref<void(const SpatialTile &)> body);

private:
  KernelBuilder &kb;
  schedule::WindowShape window;
  schedule::ChunkPlan chunk;
  mlir::Value input, output;
  llvm::SmallVector<mlir::Value> residuals, residualsLlb;
  mlir::Value inLlb, outLlb;
  // The chunk that the code being built runs in.
  mlir::Value images, firstRow, rows, firstInRow;
};

} // namespace tensorturbo::tile
