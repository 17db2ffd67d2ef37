// The split of depthwise convolutions between the engines.
#include "Schedule/DepthwisePlan.h"
#include "Target/Target.h"
#include <gtest/gtest.h>

using namespace tensorturbo::schedule;

namespace {

WindowShape layer(int64_t channels, int64_t size, int64_t stride) {
  WindowShape w;
  w.batch = 16;
  w.height = w.width = size;
  w.channels = w.outChannels = channels;
  w.kernelHeight = w.kernelWidth = 3;
  w.strideHeight = w.strideWidth = stride;
  w.top = w.left = w.bottom = w.right = 1;
  w.outHeight = w.outWidth = (size + 2 - 3) / stride + 1;
  return w;
}

TEST(DepthwisePlan, SplitsTheChannels) {
  for (auto [channels, size] : {std::pair{144, 56}, {192, 28}, {384, 14}, {576, 14}, {960, 7}}) {
    auto plan = planDepthwise(layer(channels, size, 1));
    ASSERT_TRUE(plan) << channels;
    // Stride 1: both engines have a share, and blocks of the matrix engine come out even.
    EXPECT_GT(plan->vector, 0) << channels;
    EXPECT_LT(plan->vector, channels);
    EXPECT_EQ((channels - plan->vector) % plan->merged, 0);
    EXPECT_EQ(plan->merged % 2, 0) << "products of one channel must meet in one accumulator";
  }
}

TEST(DepthwisePlan, DependsOnTheLayerAlone) {
  WindowShape w = layer(384, 14, 1);
  auto plan = planDepthwise(w);
  w.batch = 2;
  auto other = planDepthwise(w);
  ASSERT_TRUE(plan && other);
  EXPECT_EQ(plan->vector, other->vector);
  EXPECT_EQ(plan->merged, other->merged);
}

TEST(DepthwisePlan, LeavesWhatItCannotDo) {
  EXPECT_FALSE(planDepthwise(layer(20, 14, 1))) << "channels must come in eights";
  EXPECT_FALSE(planDepthwise(layer(64, 15, 2))) << "rows must have whole pairs of pixels";
  EXPECT_FALSE(planDepthwise(layer(64, 33, 3)));
  EXPECT_FALSE(planDepthwise(layer(4096, 56, 1))) << "a row must fit the stride fields";
  WindowShape uneven = layer(64, 14, 2);
  uneven.strideHeight = 1;
  EXPECT_FALSE(planDepthwise(uneven));
}

TEST(DepthwisePlan, TilesFillTheCores) {
  WindowShape w = layer(144, 56, 1);
  auto plan = planDepthwise(w);
  ASSERT_TRUE(plan);
  ChunkPlan chunk;
  chunk.imagesPerChunk = 16;
  int64_t many = depthwiseRows(w, *plan, chunk, 8, 0, 3, 0);
  EXPECT_GT(many, 1);
  EXPECT_LE(many, 56);
  // One image: no core may be without a tile.
  chunk.imagesPerChunk = 1;
  EXPECT_LE(depthwiseRows(w, *plan, chunk, 8, 0, 3, 0), 7);
  // Nothing fits beside an epilogue that takes all of L1.
  EXPECT_EQ(depthwiseRows(w, *plan, chunk, 8, 0, 3, int64_t(tensorturbo::target::p920().l1().size)), 0);
}

TEST(DepthwisePlan, PairsForFewChannels) {
  EXPECT_TRUE(pairsAreCheaper(layer(32, 112, 1)));
  EXPECT_TRUE(pairsAreCheaper(layer(144, 56, 1)));
  EXPECT_FALSE(pairsAreCheaper(layer(384, 14, 1))) << "weights of 2 KiB for each channel";
  EXPECT_FALSE(pairsAreCheaper(layer(96, 112, 2)));
  EXPECT_FALSE(pairsAreCheaper(layer(64, 7, 1))) << "an odd number of pixels in a row";
  DepthwisePlan pairs;
  pairs.pairs = true;
  ChunkPlan chunk;
  chunk.imagesPerChunk = 2;
  int64_t rows = depthwiseRows(layer(144, 56, 1), pairs, chunk, 8, 0, 3, 0);
  EXPECT_GT(rows, 0);
  EXPECT_EQ(rows % 2, 0);
}

} // namespace
