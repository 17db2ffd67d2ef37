// Tilings of random convolutions: they cover every output and every term once, and fit all memories.
#include "Schedule/ConvTiling.h"
#include "Target/Target.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace tensorturbo;
using namespace tensorturbo::schedule;

namespace {

class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 2654435761u + 1) {}
  int64_t operator()(int64_t low, int64_t high) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return low + static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(high - low + 1));
  }
  bool oneIn(int64_t n) { return (*this)(1, n) == 1; }

private:
  uint64_t state;
};

int64_t outputs(int64_t input, int64_t extent, int64_t stride, int64_t pads) {
  return (input + pads - extent) / stride + 1;
}

ConvProblem randomProblem(uint64_t seed) {
  Random r(seed);
  ConvProblem p;
  WindowShape &w = p.window;
  w.batch = r.oneIn(3) ? r(1, 40) : r(1, 4);
  w.height = r.oneIn(4) ? r(1, 600) : r(1, 80);
  w.width = r.oneIn(4) ? r(1, 600) : r(1, 80);
  w.kernelHeight = std::min(r(1, 7), w.height);
  w.kernelWidth = std::min(r(1, 7), w.width);
  w.strideHeight = w.strideWidth = r(1, 3);
  if (r.oneIn(6))
    w.strideWidth = r(1, 3);
  w.top = r(0, w.kernelHeight - 1), w.bottom = r(0, w.kernelHeight - 1);
  w.left = r(0, w.kernelWidth - 1), w.right = r(0, w.kernelWidth - 1);
  if (r.oneIn(3)) {
    // Grouped; depthwise in half of the cases.
    p.groups = r(2, 300);
    w.channels = p.groups * (r.oneIn(2) ? 1 : r(1, 16));
    w.outChannels = p.groups * (r.oneIn(2) ? 1 : r(1, 16));
  } else {
    w.channels = r.oneIn(3) ? r(1, 4096) : r(1, 300);
    w.outChannels = r.oneIn(3) ? r(1, 4096) : r(1, 300);
  }
  w.outHeight = outputs(w.height, w.extentHeight(), w.strideHeight, w.top + w.bottom);
  w.outWidth = outputs(w.width, w.extentWidth(), w.strideWidth, w.left + w.right);
  p.residuals = r(0, 2);
  p.staging.input = !r.oneIn(3);
  p.staging.outputs = r(0, 1 + p.residuals);
  if (r.oneIn(3))
    p.staging.room = int64_t(1) << r(20, 23);
  p.epilogueBytes = r.oneIn(4) ? 131072 : 0;
  p.ncore = 1 << r(0, 3);
  return p;
}

void checkCover(const ConvProblem &p, const ConvTiling &t) {
  const WindowShape &w = p.window;
  EXPECT_GE(t.rows, 1);
  EXPECT_LE(t.rows, w.outHeight);
  EXPECT_EQ(t.coreRows * t.coreBlocks, p.ncore);
  EXPECT_EQ(t.parts * t.partIn, t.blockIn);
  EXPECT_GE(t.blocks * t.blockOut, w.outChannels);
  EXPECT_LT((t.blocks - 1) * t.blockOut, w.outChannels) << "a block without output";
  EXPECT_GE(t.blocksPerGroup, 1);
  EXPECT_LE(t.blocksPerGroup, t.blocks);
  int64_t groupIn = w.channels / p.groups, groupOut = w.outChannels / p.groups;
  if (p.groups == 1) {
    EXPECT_EQ(t.blockIn, w.channels);
    return;
  }
  // Every output channel of a block finds its group's inputs among those that the block reads.
  ASSERT_GE(t.blocksPerInput, 1);
  for (int64_t out = 0; out < w.outChannels; ++out) {
    int64_t first = out / t.blockOut / t.blocksPerInput * t.blockIn, own = out / groupOut * groupIn;
    ASSERT_GE(own, first) << "output channel " << out;
    ASSERT_LE(own + groupIn, first + t.blockIn) << "output channel " << out;
  }
}

void checkChunk(const WindowShape &w, const ChunkPlan &chunk, const Staging &staging, int64_t fixed) {
  ASSERT_GE(chunk.imagesPerChunk, 1);
  ASSERT_LE(chunk.imagesPerChunk, w.batch);
  ASSERT_LT(chunk.rowsPerChunk, std::max<int64_t>(w.outHeight, 2));
  int64_t outRows = chunk.rowsPerChunk ? chunk.rowsPerChunk : w.outHeight;
  int64_t inRows = chunk.rowsPerChunk ? std::min(w.inputRows(outRows), w.height) : w.height;
  int64_t bytes = fixed;
  if (staging.input)
    bytes += chunk.imagesPerChunk * inRows * w.inputRowBytes();
  bytes += staging.outputs * chunk.imagesPerChunk * outRows * w.outputRowBytes();
  EXPECT_LE(bytes, staging.room);
}

void checkFit(const ConvProblem &p, const ConvTiling &t) {
  const WindowShape &w = p.window;
  int64_t slabRows =
      t.gatherRows ? w.dilationWidth * (w.kernelHeight - 1) + 1 : std::min(w.inputRows(t.rows), w.height);
  int64_t slab = slabRows * w.width * t.blockIn * 2, tile = t.rows * w.outWidth * t.blockOut * 2;
  int64_t slabs = 2, weights = t.weightSlots * t.weightBlockBytes(p), sums = t.parts > 1 ? 3 : 2;
  if (t.stationary) {
    // Every tile of a core has its rows and, if the reduction has parts, its sums.
    int64_t rows = t.chunk.rowsPerChunk ? t.chunk.rowsPerChunk : w.outHeight;
    int64_t tiles = t.chunk.imagesPerChunk * ((rows + t.rows - 1) / t.rows);
    EXPECT_GE(t.tilesPerCore * t.coreRows, tiles);
    slabs = t.tilesPerCore;
    weights = 2 * t.weightBlockBytes(p) / t.parts;
    if (t.parts > 1)
      sums = t.accumulatorSets * t.tilesPerCore + 2;
  }
  int64_t l1 = slabs * slab + weights + 2 * tile * (1 + p.residuals) + p.epilogueBytes;
  EXPECT_LE(l1, int64_t(target::p920().l1().size));
  EXPECT_LE(tile * sums, int64_t(target::p920().im().size));
  checkChunk(w, t.chunk, p.staging, t.blocksPerGroup * t.weightBlockBytes(p));
  // An accumulator's chain of terms is bounded unless a single channel exceeds it.
  EXPECT_TRUE(t.partIn == 1 || w.kernelHeight * w.kernelWidth * t.partIn <= 2304);
}

TEST(ConvTiling, RandomProblemsAreCoveredAndFit) {
  size_t found = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ConvProblem p = randomProblem(seed);
    std::string why;
    auto t = chooseConvTiling(p, why);
    EXPECT_EQ(t.has_value(), why.empty()) << why;
    if (!t)
      continue;
    ++found;
    checkCover(p, *t);
    checkFit(p, *t);
    if (testing::Test::HasFatalFailure())
      return;
  }
  EXPECT_GE(found, 1500u) << "most of these layers have a place on the chip";
}

TEST(ConvTiling, SameProblemSameTiling) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    ConvProblem p = randomProblem(seed);
    std::string why;
    auto a = chooseConvTiling(p, why), b = chooseConvTiling(p, why);
    ASSERT_EQ(a.has_value(), b.has_value());
    if (a) {
      EXPECT_EQ(a->cycles, b->cycles);
      EXPECT_EQ(a->rows, b->rows);
      EXPECT_EQ(a->blockOut, b->blockOut);
    }
  }
}

TEST(ConvTiling, WhatCannotFitIsRefusedWithTheRule) {
  ConvProblem p;
  p.window.height = p.window.outHeight = 8;
  p.window.width = p.window.outWidth = 65535;
  p.window.channels = p.window.outChannels = 512;
  std::string why;
  EXPECT_FALSE(chooseConvTiling(p, why));
  EXPECT_NE(why.find("L1"), std::string::npos) << why;
  EXPECT_NE(why.find(std::to_string(p.window.inputRowBytes())), std::string::npos) << why;
}

TEST(ChunkPlan, RandomChunksFitAndAreEven) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ConvProblem p = randomProblem(seed + 1000);
    auto chunk = chooseChunk(p.window, p.staging, 100000);
    if (!chunk)
      continue;
    checkChunk(p.window, *chunk, p.staging, 100000);
    if (!chunk->rowsPerChunk) {
      // No chunk could be one image smaller with as many chunks.
      int64_t chunks = (p.window.batch + chunk->imagesPerChunk - 1) / chunk->imagesPerChunk;
      EXPECT_GT(chunk->imagesPerChunk * chunks, p.window.batch - chunks);
      EXPECT_LT((chunk->imagesPerChunk - 1) * chunks, p.window.batch);
    }
  }
}

TEST(ChunkPlan, NothingStagedNeedsNoChunks) {
  WindowShape w;
  w.batch = 16, w.height = w.outHeight = 1000, w.width = w.outWidth = 1000, w.channels = w.outChannels = 64;
  Staging staging;
  staging.input = false;
  staging.outputs = 0;
  auto chunk = chooseChunk(w, staging, 0);
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->imagesPerChunk, 16);
  EXPECT_EQ(chunk->rowsPerChunk, 0);
}

} // namespace
