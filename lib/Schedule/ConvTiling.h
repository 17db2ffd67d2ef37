// Chooses how a convolution (or dense layer) is cut over LLB chunks, cores and matrix-engine tiles.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace tensorturbo::schedule {

/// A window operator on an NHWC feature map. Extents in elements, FP16.
struct WindowShape {
  int64_t batch = 1, height = 1, width = 1, channels = 1;
  int64_t outHeight = 1, outWidth = 1, outChannels = 1;
  int64_t kernelHeight = 1, kernelWidth = 1;
  int64_t strideHeight = 1, strideWidth = 1;
  int64_t dilationHeight = 1, dilationWidth = 1;
  int64_t top = 0, left = 0, bottom = 0, right = 0;

  int64_t extentHeight() const { return dilationHeight * (kernelHeight - 1) + 1; }
  int64_t extentWidth() const { return dilationWidth * (kernelWidth - 1) + 1; }
  int64_t inputRowBytes() const { return width * channels * 2; }
  int64_t outputRowBytes() const { return outWidth * outChannels * 2; }
  /// Input rows that `rows` output rows read (padding included).
  int64_t inputRows(int64_t rows) const { return (rows - 1) * strideHeight + extentHeight(); }
};

/// How much of the batch lies in LLB at once: whole images, or bands of output rows of one image.
struct ChunkPlan {
  int64_t imagesPerChunk = 1;
  /// 0: whole images.
  int64_t rowsPerChunk = 0;
  /// 2: neighbouring chunks lie in LLB beside each other, so that one is on its way while the other is worked
  /// on.
  int64_t slots = 1;

  int64_t count(const WindowShape &w) const {
    return (w.batch + imagesPerChunk - 1) / imagesPerChunk *
           (rowsPerChunk ? (w.outHeight + rowsPerChunk - 1) / rowsPerChunk : 1);
  }
};

/// What of a kernel's tensors has to be staged through LLB because it lives in DDR, and the room for it.
struct Staging {
  bool input = true;
  /// Tensors of the output's shape (the output itself, residuals) that are staged.
  int64_t outputs = 1;
  /// Bytes of LLB that the kernel may use.
  int64_t room = int64_t(8) << 20;
};

struct ConvProblem {
  WindowShape window;
  int64_t groups = 1;
  /// Tensors of the output's shape that the epilogue reads (residuals).
  int64_t residuals = 0;
  Staging staging;
  /// Bytes of L1 that the epilogue needs besides (tables, vectors).
  int64_t epilogueBytes = 0;
  /// Weights of more bytes are not brought at once.
  int64_t weightGroupBytes = int64_t(8) << 20;
  int ncore = 8;
};

struct ConvTiling {
  ChunkPlan chunk;
  /// Output rows of a tile.
  int64_t rows = 1;
  /// Output channels of a weight block; input channels it reads and, for grouped convolutions, how many
  /// consecutive blocks read the same input channels (0: all blocks do).
  int64_t blockOut = 64, blockIn = 0, blocksPerInput = 0;
  int64_t blocks = 1;
  /// The reduction is cut into this many parts of `partIn` input channels each; the vector engine adds them.
  int64_t parts = 1, partIn = 0;
  /// Cores = coreRows * coreBlocks: the former share out tiles, the latter weight blocks.
  int64_t coreRows = 8, coreBlocks = 1;
  /// Weight blocks that lie in LLB at once, and of how many such groups: 2 if one comes while the other is
  /// used.
  int64_t blocksPerGroup = 1, groupSlots = 1;
  /// Weight blocks that fit L1 at once: 2 if the next one is loaded ahead.
  int64_t weightSlots = 1;
  /// Rows are gathered one by one because strides or dilations of the two axes differ.
  bool gatherRows = false;
  /// Input-stationary: the rows of all tiles of a core stay in L1, and weights pass by in chunks of one part
  /// of a block, through two slots. Otherwise a weight block stays in L1 and rows pass by.
  bool stationary = false;
  /// Tiles of the busiest core in a chunk.
  int64_t tilesPerCore = 1;
  /// Estimated cycles of the slowest core, to compare tilings.
  double cycles = 0;

  /// Bytes of one packed weight block: parts * kernel * partIn * blockOut halves.
  int64_t weightBlockBytes(const ConvProblem &p) const {
    return parts * p.window.kernelHeight * p.window.kernelWidth * partIn * blockOut * 2;
  }
  /// Sets of accumulators of an input-stationary kernel whose reduction has several parts: 2 if the next
  /// block may begin while the vector engine still reads the sums of the last one.
  int64_t accumulatorSets = 1;
};

/// Weights that are cut into groups with a kernel each: groups may be somewhat larger than wanted.
inline bool comesInGroups(const ConvProblem &p, int64_t groupBytes) {
  return groupBytes <= 2 * p.weightGroupBytes;
}

/// The best tiling by the cost estimate, or nothing with the rule that no tiling meets in `why`.
std::optional<ConvTiling> chooseConvTiling(const ConvProblem &problem, std::string &why);

/// Longest copy of a transfer beside the program, in bytes.
constexpr int64_t longestCopy = (int64_t(4) << 20) - 64;

/// How many chunks hide transfers well: the first and the last one are exposed, each one costs some time.
int64_t goodChunkCount(const WindowShape &w, const Staging &staging);
/// The same for `bytes` that move in all.
int64_t goodChunkCount(int64_t bytes);

/// The largest chunks whose staged tensors and `fixedBytes` fit the room in LLB; one of them if that is
/// possible and `pieces` is 1. For more `pieces` about so many, in two slots if two slots fit.
std::optional<ChunkPlan> chooseChunk(const WindowShape &w, const Staging &staging, int64_t fixedBytes,
                                     int64_t pieces);
/// With a good number of pieces.
std::optional<ChunkPlan> chooseChunk(const WindowShape &w, const Staging &staging, int64_t fixedBytes);

} // namespace tensorturbo::schedule
