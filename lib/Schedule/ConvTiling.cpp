#include "Schedule/ConvTiling.h"
#include "Schedule/MemoryPlan.h"
#include "Target/Target.h"
#include <algorithm>
#include <cmath>

using namespace tensorturbo;
using namespace tensorturbo::schedule;

// Memory left for a kernel's own use; the margin covers alignment of the single buffers.
static constexpr int64_t margin = 2048;
static int64_t l1Bytes() {
  return int64_t(target::p920().l1().size) - margin;
}
static int64_t imBytes() {
  return target::p920().im().size;
}
// Alignment of the single buffers in LLB.
static constexpr int64_t reserve = 16 * 1024;

static double ddrBytesPerCycle() {
  static const target::Costs cost = *target::p920().costs("base");
  return cost.ddrBytesPerSecond / cost.clock;
}

int64_t schedule::goodChunkCount(int64_t bytes) {
  // Exposed are a chunk's way in and a chunk's way out; a chunk costs a barrier and the ends of its
  // pipelines.
  constexpr double chunkCycles = 2500;
  double cycles = double(bytes) / ddrBytesPerCycle();
  return std::clamp<int64_t>(std::llround(std::sqrt(cycles / chunkCycles)), 1, 16);
}

int64_t schedule::goodChunkCount(const WindowShape &w, const Staging &staging) {
  return goodChunkCount((staging.input ? w.batch * w.height * w.inputRowBytes() : 0) +
                        staging.outputs * w.batch * w.outHeight * w.outputRowBytes());
}

std::optional<ChunkPlan> schedule::chooseChunk(const WindowShape &w, const Staging &staging,
                                               int64_t fixedBytes, int64_t pieces) {
  int64_t room = staging.room - reserve - fixedBytes;
  if (room < 0)
    return std::nullopt;
  auto inBytes = [&](int64_t rows) { return std::min(w.inputRows(rows), w.height) * w.inputRowBytes(); };
  auto bytes = [&](int64_t inRows, int64_t outRows) {
    return (staging.input ? paddedBytes(inRows * w.inputRowBytes()) : 0) +
           staging.outputs * paddedBytes(outRows * w.outputRowBytes());
  };
  int64_t image = bytes(w.height, w.outHeight);
  if (image == 0)
    return ChunkPlan{w.batch, 0, 1};
  auto imagesIn = [&](int64_t most, int64_t slots) {
    // Equal chunks beat one full and one nearly empty.
    int64_t chunks = ceilDiv(w.batch, std::min(w.batch, most));
    return ChunkPlan{ceilDiv(w.batch, chunks), 0, slots};
  };
  if (pieces > 1) {
    auto fits = [&](int64_t images, int64_t inRows, int64_t outRows) {
      return 2 * images * bytes(inRows, outRows) <= room &&
             images * std::max(inRows * w.inputRowBytes(), outRows * w.outputRowBytes()) <= longestCopy;
    };
    int64_t images = std::max<int64_t>(w.batch / pieces, 1);
    while (images > 1 && !fits(images, w.height, w.outHeight))
      --images;
    int64_t bands = ceilDiv(pieces, w.batch);
    if (bands == 1 && w.batch > 1 && fits(images, w.height, w.outHeight))
      return imagesIn(images, 2);
    for (bands = std::max<int64_t>(bands, 2); bands <= w.outHeight; ++bands) {
      int64_t rows = ceilDiv(w.outHeight, bands);
      if (fits(1, inBytes(rows) / w.inputRowBytes(), rows))
        return ChunkPlan{1, rows, 2};
    }
  }
  if (image <= room)
    return imagesIn(room / image, 1);
  for (int64_t chunks = 2; chunks <= w.outHeight; ++chunks) {
    int64_t rows = ceilDiv(w.outHeight, chunks);
    if (bytes(std::min(w.inputRows(rows), w.height), rows) <= room)
      return ChunkPlan{1, rows, 1};
  }
  return std::nullopt;
}

std::optional<ChunkPlan> schedule::chooseChunk(const WindowShape &w, const Staging &staging,
                                               int64_t fixedBytes) {
  return chooseChunk(w, staging, fixedBytes, goodChunkCount(w, staging));
}

namespace {
/// One candidate of the menu, sized and priced.
struct Candidate {
  const ConvProblem &p;
  ConvTiling t;
  /// Bytes of weights that the kernel brings from DDR while it runs.
  int64_t streamed = 0;

  bool fits() {
    const WindowShape &w = p.window;
    int64_t slabRows =
        t.gatherRows ? w.dilationWidth * (w.kernelHeight - 1) + 1 : std::min(w.inputRows(t.rows), w.height);
    int64_t slab = paddedBytes(slabRows * w.width * t.blockIn * 2);
    int64_t tile = paddedBytes(t.rows * w.outWidth * t.blockOut * 2);
    int64_t rows = t.chunk.rowsPerChunk ? t.chunk.rowsPerChunk : w.outHeight;
    t.tilesPerCore = ceilDiv(t.chunk.imagesPerChunk * ceilDiv(rows, t.rows), t.coreRows);
    int64_t slabs = t.stationary ? t.tilesPerCore : 2;
    int64_t weights = t.stationary ? 2 * paddedBytes(t.weightBlockBytes(p) / t.parts)
                                   : t.weightSlots * paddedBytes(t.weightBlockBytes(p));
    int64_t l1 = slabs * slab + weights + 2 * tile * (1 + p.residuals) + paddedBytes(p.epilogueBytes);
    int64_t im = tile * (t.parts > 1 ? 3 : 2);
    if (t.stationary && t.parts > 1) {
      t.accumulatorSets = (2 * t.tilesPerCore + 2) * tile <= imBytes() ? 2 : 1;
      im = (t.accumulatorSets * t.tilesPerCore + 2) * tile;
    }
    return l1 <= l1Bytes() && im <= imBytes() && slabRows * w.width <= 65535 && t.rows * w.outWidth <= 65535;
  }

  void price() {
    const WindowShape &w = p.window;
    static const target::Costs cost = *target::p920().costs("base");
    auto tiles = double(t.tilesPerCore);
    auto blocks = double(ceilDiv(t.blocks, t.coreBlocks)), parts = double(t.parts);
    double pixels = double(t.rows * w.outWidth);
    uint64_t terms = uint64_t(w.kernelHeight * w.kernelWidth * t.partIn);
    double matrix =
        parts * cost.matmulCycles(uint64_t(t.rows * w.outWidth), uint64_t(t.blockOut), terms, false);
    double vector = (parts + 1 + double(p.residuals)) *
                    cost.vectorCycles(uint64_t(t.rows * w.outWidth), uint64_t(t.blockOut));
    double inRows = double(std::min(w.inputRows(t.rows), w.height));
    double bytesPerCycle = std::min(cost.mteBytesPerCycle, cost.llbBytesPerCycle / p.ncore);
    double load = cost.mteFixed + inRows * double(w.width * t.blockIn) * 2 / bytesPerCycle;
    double stores =
        double(1 + p.residuals) * (cost.mteFixed + pixels * double(t.blockOut) * 2 / bytesPerCycle);
    // Cores that all take the same blocks share one read of LLB.
    double weightRate = t.coreBlocks == 1 ? cost.mteBytesPerCycle : bytesPerCycle;
    double weightBytes = double(t.weightBlockBytes(p));
    if (t.stationary) {
      double chunk = cost.mteFixed + weightBytes / parts / weightRate;
      double moves = tiles * load + blocks * (parts * chunk + tiles * stores);
      double start = chunk + load, end = vector / (parts + 1) + stores;
      t.cycles = start + std::max({blocks * tiles * matrix, blocks * tiles * vector, moves - start}) + end;
      return withTransfers();
    }
    double weights = cost.mteFixed + weightBytes / weightRate, moves = load + stores;
    // Engines overlap from one tile to the next; the first load and the last epilogue of a block do not, and
    // the weights only if the next block is loaded ahead. Loads are shared with the weights.
    double tilesTime = tiles * std::max({matrix, vector, moves}) + std::min(moves, matrix) + vector;
    double block = t.weightSlots == 2 ? std::max(tilesTime, tiles * moves + weights) : tilesTime + weights;
    t.cycles = blocks * block + (t.weightSlots == 2 ? weights : 0);
    withTransfers();
  }

private:
  /// From the cycles of a chunk to those of all, with their transfers.
  void withTransfers() {
    const WindowShape &w = p.window;
    constexpr double chunkCycles = 500;
    auto chunks = double(t.chunk.count(w));
    int64_t rows = t.chunk.rowsPerChunk ? t.chunk.rowsPerChunk : w.outHeight;
    double rate = ddrBytesPerCycle();
    double in = p.staging.input ? double(std::min(w.inputRows(rows), w.height) * w.inputRowBytes()) : 0;
    double out = double(p.staging.outputs * rows * w.outputRowBytes());
    in *= double(t.chunk.imagesPerChunk) / rate;
    out *= double(t.chunk.imagesPerChunk) / rate;
    // Hidden work is not quite free: the last chunk's is not hidden.
    if (t.chunk.slots == 2)
      t.cycles = in + out + chunks * (std::max(t.cycles, in + out) + chunkCycles) + t.cycles;
    else
      t.cycles = chunks * (t.cycles + in + out);
    double weights = chunks * double(streamed) / rate;
    if (t.groupSlots == 2)
      t.cycles = std::max(t.cycles, weights) + 0.05 * t.cycles;
    else
      t.cycles += weights;
  }
};
} // namespace

/// Splits the reduction of a block so that no accumulator chain is longer than `limit` terms.
static void splitReduction(const ConvProblem &p, ConvTiling &t, int64_t limit) {
  int64_t taps = p.window.kernelHeight * p.window.kernelWidth;
  t.parts = 1;
  t.partIn = t.blockIn;
  if (taps * t.blockIn <= limit)
    return;
  // An even number of channels per part keeps the two accumulators balanced.
  int64_t want = ceilDiv(taps * t.blockIn, limit);
  for (int64_t parts = want; parts <= t.blockIn; ++parts)
    if (t.blockIn % parts == 0) {
      t.parts = parts;
      t.partIn = t.blockIn / parts;
      return;
    }
}

std::optional<ConvTiling> schedule::chooseConvTiling(const ConvProblem &p, std::string &why) {
  const WindowShape &w = p.window;
  bool gather = w.strideHeight != w.strideWidth || w.dilationHeight != w.dilationWidth;
  std::optional<ConvTiling> best;

  // Blocks of output channels. For grouped convolutions neighbouring groups are merged into one dense block
  // with zeros off the diagonal, up to 32 channels.
  int64_t groupIn = w.channels / p.groups, groupOut = w.outChannels / p.groups;
  int64_t merged = 1;
  if (p.groups > 1)
    for (int64_t m = 1; m <= p.groups; ++m)
      if (p.groups % m == 0 && m * groupOut <= 32 && m * groupIn <= 64)
        merged = m;
  int64_t inputOfBlock = p.groups > 1 ? merged * groupIn : w.channels;
  int64_t outputOfGroup = p.groups > 1 ? merged * groupOut : w.outChannels;

  for (int64_t blockOut :
       std::initializer_list<int64_t>{256, 128, 64, 48, 32, 16, 8, 4, 2, 1, outputOfGroup}) {
    if (blockOut > outputOfGroup || (p.groups > 1 && outputOfGroup % blockOut != 0) || blockOut > 256)
      continue;
    for (int64_t coreBlocks = 1; coreBlocks <= p.ncore; coreBlocks *= 2) {
      Candidate c{p, {}, 0};
      c.t.gatherRows = gather;
      c.t.blockOut = blockOut;
      c.t.blockIn = inputOfBlock;
      c.t.blocksPerInput = p.groups > 1 ? outputOfGroup / blockOut : 0;
      c.t.blocks = p.groups > 1 ? w.outChannels / blockOut : ceilDiv(w.outChannels, blockOut);
      c.t.coreBlocks = coreBlocks;
      c.t.coreRows = p.ncore / coreBlocks;
      splitReduction(p, c.t, 2304);
      int64_t block = paddedBytes(c.t.weightBlockBytes(p)), allWeights = block * c.t.blocks;
      // Weights take what they need of LLB, at most half of it unless that is nearly enough or one block is
      // larger.
      int64_t half = p.staging.room / 2, most = allWeights <= half + half / 2 ? allWeights : half;
      int64_t weightRoom = std::max(block, std::min(allWeights, most));
      c.t.blocksPerGroup = std::min(c.t.blocks, weightRoom / block);
      c.t.groupSlots = 1;
      // Those that do not fit pass through LLB, in two slots if these are not too small.
      int64_t slot = std::min(half * 3 / 4, longestCopy) / (block * coreBlocks) * coreBlocks;
      if (c.t.blocksPerGroup < c.t.blocks && slot > 0) {
        c.t.groupSlots = 2;
        c.t.blocksPerGroup = slot;
        weightRoom = 2 * slot * block;
      }
      c.streamed = c.t.blocksPerGroup < c.t.blocks && !comesInGroups(p, block * coreBlocks) ? allWeights : 0;
      // Weights that pass through LLB in groups would pass again for each chunk.
      int64_t good = c.t.blocksPerGroup == c.t.blocks && allWeights <= p.weightGroupBytes
                         ? goodChunkCount(w, p.staging)
                         : 1;
      for (int64_t pieces : {int64_t(1), good, 2 * good}) {
        if (pieces > 1 && good == 1)
          continue;
        auto chunk = chooseChunk(w, p.staging, weightRoom + paddedBytes(p.epilogueBytes), pieces);
        if (!chunk || (pieces > 1 && chunk->slots == 1))
          continue;
        c.t.chunk = *chunk;
        int64_t rowsInChunk = chunk->rowsPerChunk ? chunk->rowsPerChunk : w.outHeight;
        int64_t mostRows =
            gather ? 1 : std::min<int64_t>(rowsInChunk, std::max<int64_t>(64, 1024 / w.outWidth));
        auto consider = [&](int64_t rows) {
          c.t.rows = rows;
          if (!c.fits())
            return false;
          c.price();
          if (!best || c.t.cycles < best->cycles)
            best = c.t;
          return true;
        };
        c.t.stationary = false;
        for (int64_t slots : {1, 2}) {
          c.t.weightSlots = slots;
          for (int64_t rows = 1; rows <= mostRows && consider(rows); ++rows) {
          }
        }
        if (gather || p.groups > 1)
          continue;
        c.t.stationary = true;
        // Higher tiles share fewer halo rows, but need larger accumulators: not monotonous in L1.
        for (int64_t rows = 1; rows <= mostRows; ++rows)
          consider(rows);
      }
    }
  }
  if (!best)
    why = "no tile of one output row fits L1 (" + std::to_string(target::p920().l1().size) +
          " bytes) and IM (" + std::to_string(imBytes()) + " bytes): input row of " +
          std::to_string(w.inputRowBytes()) + " bytes, kernel " + std::to_string(w.kernelHeight) + "x" +
          std::to_string(w.kernelWidth) + "x" + std::to_string(inputOfBlock);
  return best;
}
