#include "Schedule/DepthwisePlan.h"
#include "Schedule/MemoryPlan.h"
#include "Target/Target.h"
#include <algorithm>
#include <array>
#include <map>
#include <mutex>

using namespace tensorturbo;
using namespace tensorturbo::schedule;

/// Largest byte stride and largest extent of the instructions' fields.
static constexpr int64_t mostStride = 65534, mostExtent = 65535;
static constexpr int64_t table = 131072;

/// Larger weights of the dense convolutions take too long to arrive.
static constexpr int64_t mostPairWeights = 320 * 1024;

static int64_t pairWeights(const WindowShape &w) {
  return (w.kernelHeight + 1) * (w.kernelWidth + 1) * w.channels * 128;
}

static bool pairsFit(const WindowShape &w, int64_t rows, int64_t epilogueBytes) {
  int64_t in = paddedBytes(std::min(w.inputRows(rows), w.height) * w.inputRowBytes());
  int64_t plane = paddedBytes(ceilDiv(rows, 2) * w.outputRowBytes()),
          sum = paddedBytes(ceilDiv(rows, 2) * w.outWidth * 64);
  return 2 * in + 4 * plane + pairWeights(w) + 2 * w.channels + epilogueBytes + 4096 <=
             int64_t(target::p920().l1().size) &&
         2 * sum <= int64_t(target::p920().im().size) &&
         std::min(w.inputRows(rows), w.height) * w.width <= mostExtent;
}

static bool fits(const WindowShape &w, const DepthwisePlan &plan, int64_t rows, int64_t residuals,
                 int64_t epilogueBytes) {
  if (plan.pairs)
    return rows % 2 == 0 && pairsFit(w, rows, epilogueBytes);
  int64_t inRows = std::min(w.inputRows(rows), w.height), matrix = w.channels - plan.vector;
  int64_t part = paddedBytes(rows * w.outWidth * plan.vector * 2),
          tile = paddedBytes(rows * w.outWidth * matrix * 2);
  int64_t l1 = epilogueBytes + 4096 + plan.matrixWeights(w) + 2 * paddedBytes(inRows * w.width * matrix * 2) +
               2 * (1 + residuals) * tile;
  if (plan.vector) {
    int64_t guard = paddedBytes(plan.guardElements(w) * 2);
    l1 += 2 * w.strideWidth * (guard + paddedBytes(inRows * (w.width / w.strideWidth) * plan.vector * 2)) +
          guard;
    l1 += (w.kernelWidth + 2 * (1 + residuals)) * part + plan.vectorWeights(w) * (1 + w.outWidth) + 4096;
  }
  return l1 <= int64_t(target::p920().l1().size) && 2 * tile <= int64_t(target::p920().im().size) &&
         inRows * w.width <= mostExtent && rows * w.outWidth <= mostExtent;
}

namespace {
/// Cycles of a tile on each engine.
struct TileCost {
  double matrix = 0, vector = 0, moves = 0;
  double overlapped() const { return std::max({matrix, vector, moves}); }
};
} // namespace

static TileCost tileCost(const WindowShape &w, const DepthwisePlan &plan, int64_t rows, int ncore,
                         int64_t residuals, int64_t steps, const target::Costs &cost) {
  auto u = [](int64_t v) { return static_cast<uint64_t>(v); };
  int64_t matrix = w.channels - plan.vector, taps = w.kernelHeight * w.kernelWidth;
  TileCost t;
  double rate = std::min(cost.mteBytesPerCycle, cost.llbBytesPerCycle / ncore);
  double inRows = double(std::min(w.inputRows(rows), w.height));
  double bytes =
      2.0 * double(w.channels) * (inRows * double(w.width) + double((1 + residuals) * rows * w.outWidth));
  if (plan.pairs) {
    int64_t pixels = ceilDiv(rows, 2) * (w.outWidth / 2), blocks = w.channels / 16;
    int64_t terms = (w.kernelHeight + 1) * (w.kernelWidth + 1) * 16;
    t.matrix = double(blocks) * cost.matmulCycles(u(pixels), 64, u(terms), false);
    t.vector = double(4 * blocks) * cost.vectorCycles(u(pixels), 16) +
               2.0 * double(std::max<int64_t>(steps - 1, 0)) *
                   cost.vectorCycles(u(ceilDiv(rows, 2)), u(w.outWidth * w.channels));
    t.moves = 3 * cost.mteFixed + bytes / rate;
    return t;
  }
  t.matrix = double(plan.blocks(w)) *
             cost.matmulCycles(u(rows * w.outWidth), u(plan.merged), u(taps * plan.merged), false);
  double passes = double(std::max<int64_t>(steps, 1));
  if (plan.vector) {
    t.vector +=
        double(rows * w.kernelWidth) * cost.vectorCycles(u(w.kernelHeight), u(w.outWidth * plan.vector));
    t.vector +=
        (double(w.kernelWidth - 1) + passes) * cost.vectorCycles(u(rows), u(w.outWidth * plan.vector));
  }
  if (matrix)
    t.vector += passes * cost.vectorCycles(u(rows), u(w.outWidth * matrix));
  double transfers = double((plan.vector ? w.strideWidth + 1 + residuals : 0) + (matrix ? 2 + residuals : 0));
  t.moves = transfers * cost.mteFixed + bytes / rate;
  return t;
}

/// Cycles of an image's row in the best tile.
static double rowCycles(const WindowShape &w, const DepthwisePlan &plan, const target::Costs &cost) {
  // The usual epilogue: bias and both bounds of a clipped activation. Room for a residual and two tables.
  constexpr int64_t steps = 3;
  double best = 0;
  for (int64_t rows = 1; rows <= std::min<int64_t>(w.outHeight, 32); ++rows) {
    if (plan.pairs && rows % 2)
      continue;
    if (!fits(w, plan, rows, 1, 2 * table + 4 * w.outWidth * w.channels))
      break;
    double cycles = tileCost(w, plan, rows, 8, 0, steps, cost).overlapped() / double(rows);
    if (best == 0 || cycles < best)
      best = cycles;
  }
  return best;
}

static std::optional<DepthwisePlan> choose(const WindowShape &w) {
  int64_t row = w.outWidth * w.channels * 2;
  bool strides = w.strideWidth == w.strideHeight && w.strideWidth <= 2 && w.width % w.strideWidth == 0;
  if (!strides || row > mostStride || w.width * w.channels * 2 > mostStride ||
      w.strideWidth * w.channels * 2 > mostStride || w.channels % 8 != 0 || w.kernelHeight > 11 ||
      w.kernelWidth > 11 || w.left > 255 || w.right > 255 || w.top >= w.kernelHeight ||
      w.bottom >= w.kernelHeight || w.left >= w.kernelWidth)
    return std::nullopt;
  static const target::Costs base = *target::p920().costs("base"),
                             slow = *target::p920().costs("slow-vector");
  std::optional<DepthwisePlan> best;
  double least = 0, aloneBase = 0, aloneSlow = 0;
  for (int64_t vector = 0; vector <= w.channels; vector += 8) {
    DepthwisePlan plan;
    plan.vector = vector;
    plan.merged = (w.channels - vector) % 16 == 0 ? 16 : 8;
    double first = rowCycles(w, plan, base), second = rowCycles(w, plan, slow);
    if (vector == 0)
      aloneBase = first, aloneSlow = second;
    // Where the matrix engine alone does not fit there is nothing to compare with.
    if (aloneBase == 0)
      return std::nullopt;
    double sum = first / aloneBase + second / aloneSlow;
    if (first > 0 && (!best || sum < least)) {
      best = plan;
      least = sum;
    }
  }
  return best;
}

std::optional<DepthwisePlan> schedule::planDepthwise(const WindowShape &w) {
  // Asked for several times for each layer, and networks repeat layers.
  static std::mutex mutex;
  static std::map<std::array<int64_t, 15>, std::optional<DepthwisePlan>> known;
  std::array<int64_t, 15> key = {w.height,       w.width,       w.channels,     w.outHeight,
                                 w.outWidth,     w.outChannels, w.kernelHeight, w.kernelWidth,
                                 w.strideHeight, w.strideWidth, w.top,          w.left,
                                 w.bottom,       w.right,       w.dilationWidth};
  std::lock_guard<std::mutex> lock(mutex);
  auto [entry, isNew] = known.try_emplace(key);
  if (isNew)
    entry->second = choose(w);
  return entry->second;
}

bool schedule::pairsAreCheaper(const WindowShape &w) {
  auto plan = planDepthwise(w);
  int64_t right = w.outWidth + w.kernelWidth - 1 - w.left - w.width;
  if (!plan || w.strideHeight != 1 || w.strideWidth != 1 || w.channels % 16 != 0 || w.outWidth % 2 != 0 ||
      w.outHeight < 2 || right < 0 || right > w.kernelWidth || pairWeights(w) > mostPairWeights ||
      2 * w.outputRowBytes() > mostStride)
    return false;
  DepthwisePlan pairs;
  pairs.pairs = true;
  double costs[2] = {0, 0};
  for (const char *profile : {"base", "slow-vector"}) {
    target::Costs cost = *target::p920().costs(profile);
    DepthwisePlan alone;
    alone.merged = w.channels % 16 == 0 ? 16 : 8;
    double reference = rowCycles(w, alone, cost), other = rowCycles(w, pairs, cost);
    if (reference == 0 || other == 0)
      return false;
    costs[0] += rowCycles(w, *plan, cost) / reference;
    costs[1] += other / reference;
  }
  return costs[1] < costs[0];
}

int64_t schedule::depthwiseRows(const WindowShape &w, const DepthwisePlan &plan, const ChunkPlan &chunk,
                                int ncore, int64_t residuals, int64_t steps, int64_t epilogueBytes) {
  static const target::Costs base = *target::p920().costs("base");
  int64_t rowsInChunk = chunk.rowsPerChunk ? chunk.rowsPerChunk : w.outHeight, best = 0;
  double least = 0;
  // Pairs of rows: one more than an odd number does no harm.
  for (int64_t rows = 1; rows <= rowsInChunk + (plan.pairs ? 1 : 0); ++rows) {
    if (plan.pairs && rows % 2)
      continue;
    if (!fits(w, plan, rows, residuals, epilogueBytes))
      break;
    TileCost one = tileCost(w, plan, rows, ncore, residuals, steps, base);
    int64_t tiles = ceilDiv(chunk.imagesPerChunk * ceilDiv(rowsInChunk, rows), ncore);
    // The first load and the last epilogue overlap with nothing.
    double cycles = double(tiles) * one.overlapped() + 0.7 * one.moves + 0.5 * one.vector;
    if (best == 0 || cycles < least) {
      best = rows;
      least = cycles;
    }
  }
  return best;
}
