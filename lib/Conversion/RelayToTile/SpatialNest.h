// The loops that all window operators on NHWC maps share: chunks of the batch or of the rows in LLB, tiles of
// output rows in L1. Results and inputs stay in DDR; core 0 drives the system DMA.
#pragma once
#include "Conversion/RelayToTile/KernelBuilder.h"
#include "Schedule/ConvTiling.h"
#include "llvm/ADT/SmallVector.h"
#include <functional>
#include <string>

namespace tensorturbo::tile {

/// One band of output rows of one image, as values of the running kernel.
struct SpatialTile {
  /// Image within the chunk; first output row within the image and number of rows.
  mlir::Value image, outRow, outRows;
  /// First real input row (within the image), number of real input rows, missing rows above and below.
  mlir::Value inRow, inRows, top, bottom;
  /// Byte offsets of the band in the LLB buffers of input, output and residuals.
  mlir::Value inOffset, outOffset;
  llvm::SmallVector<mlir::Value> residualOffsets;
};

/// One of several kernels that work on the same single chunk one after the other: the first one brings the
/// inputs, the last one writes the output back.
struct Turn {
  bool first = true, last = true;
  /// The buffer in LLB, of so many bytes, for the tensor of that name; null: the kernel's own.
  std::function<mlir::Value(llvm::StringRef name, int64_t bytes)> shared;
};

class SpatialNest {
public:
  /// `residuals` have the output's shape. What lives in DDR is staged through an LLB buffer of its own.
  SpatialNest(KernelBuilder &kb, const schedule::WindowShape &window, const schedule::ChunkPlan &chunk,
              const Place &input, const Place &output, llvm::ArrayRef<Place> residuals, Turn turn = {});

  /// LLB buffers of the chunk.
  mlir::Value inputLlb() const { return in.llb; }
  mlir::Value outputLlb() const { return out.llb; }
  mlir::Value residualLlb(size_t i) const { return residuals[i].llb; }

  /// Whether all chunks have the same number of tiles.
  bool chunksAreEqual() const {
    return window.batch % chunk.imagesPerChunk == 0 &&
           (!chunk.rowsPerChunk || window.outHeight % chunk.rowsPerChunk == 0);
  }
  /// Whether a chunk begins with a transfer from DDR and a barrier behind it.
  bool stagesInputs() const;
  /// For each chunk: brings the inputs, runs `body` on all cores between two barriers, writes the output
  /// back.
  void forEachChunk(llvm::function_ref<void()> body);
  /// Inside a chunk: the tiles of `rows` output rows number `first`, `first + step`, ...
  void forEachTile(int64_t rows, mlir::Value first, int64_t step,
                   llvm::function_ref<void(const SpatialTile &)> body);
  /// The same; `number` counts the tiles of the core from 0.
  void forEachNumberedTile(int64_t rows, mlir::Value first, int64_t step,
                           llvm::function_ref<void(const SpatialTile &, mlir::Value number)> body);
  /// The tile of that number of the core, if there is one.
  void whenTile(int64_t rows, mlir::Value first, int64_t step, mlir::Value number,
                llvm::function_ref<void(const SpatialTile &)> body);
  /// The same with double buffers: `prefetch` of a tile runs before `body` of the one before it, so that
  /// loads overlap with compute. `slot` is 0 and 1 in turn. `started` runs once, behind the first prefetch.
  void forEachTilePipelined(int64_t rows, mlir::Value first, int64_t step,
                            llvm::function_ref<void(const SpatialTile &, mlir::Value slot)> prefetch,
                            llvm::function_ref<void()> started,
                            llvm::function_ref<void(const SpatialTile &, mlir::Value slot)> body);

private:
  /// A tensor and its buffer in LLB, which for a resident tensor is the tensor itself.
  struct Staged {
    Place place;
    mlir::Value llb;
    bool resident = false;
    /// Bytes of a chunk; slots follow one another.
    int64_t slotBytes = 0;
  };
  /// A chunk as values of the running kernel: its images and rows, and its bytes in DDR.
  struct Chunk {
    mlir::Value images, firstImage, firstRow, rows, firstInRow;
    mlir::Value inStart, inBytes, outStart, outBytes;
  };
  Staged stage(const Place &place, int64_t bytes, const std::string &name);

  KernelBuilder &kb;
  schedule::WindowShape window;
  schedule::ChunkPlan chunk;
  Turn turn;
  Staged in, out;
  llvm::SmallVector<Staged> residuals;
  // The chunk that the code being built runs in, and its slot.
  Chunk now;
  mlir::Value chunkSlot;

  Chunk chunkAt(mlir::Value index);
  llvm::SmallVector<KernelBuilder::Copy> copiesIn(const Chunk &c, mlir::Value slot);
  llvm::SmallVector<KernelBuilder::Copy> copiesOut(const Chunk &c, mlir::Value slot);
  void copyNow(llvm::ArrayRef<KernelBuilder::Copy> copies);
  void singleChunk(llvm::function_ref<void()> body);

  /// Number of tiles of the chunk.
  mlir::Value tileCount(int64_t rowsPerTile);
  void withTile(int64_t rowsPerTile, mlir::Value index, llvm::function_ref<void(const SpatialTile &)> body);
  mlir::Value offsetOf(const Staged &s, mlir::Value image, mlir::Value row, mlir::Value firstRowOfChunk,
                       int64_t imageBytes, int64_t rowBytes);
};

} // namespace tensorturbo::tile
