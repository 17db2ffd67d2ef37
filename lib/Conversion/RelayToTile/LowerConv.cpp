// Convolutions and layers with constant weights (dense, matmul): one direct-convolution instruction a tile,
// the epilogue on the vector engine.
//
//   for each LLB chunk:                          images, or bands of rows
//     for each group of weight blocks in LLB:
//       for each block of this core:             weights to L1
//         for each tile of this core:            rows to L1, conv into IM, epilogue into L1, store to LLB
//
// or, input-stationary: the rows of all tiles to L1, then for each block and part: weights to L1, for each
// tile conv into IM; behind the last part the epilogue.
#include "Conversion/RelayToTile/Lowerings.h"
#include "Conversion/RelayToTile/SpatialNest.h"
#include "Dialect/Relay/Relay.h"
#include "Numerics/Half.h"
#include <cstring>

using namespace mlir;
using namespace tensorturbo;
using namespace tensorturbo::tile;
using schedule::ConvProblem;
using schedule::ConvTiling;
using schedule::WindowShape;

namespace {
/// What the three operators have in common.
struct ConvSource {
  WindowShape window;
  int64_t groups = 1;
  Value input;
  Constant weights;
  /// Strides, in elements, of the constant's axes: kernel row, kernel column, input channel within the group,
  /// output channel.
  int64_t strideKh = 0, strideKw = 0, strideIn = 1, strideOut = 1;
};
} // namespace

static bool handlesConv(Operation *op) {
  if (auto matmul = dyn_cast<relay::MatmulOp>(op))
    return relay::constantOf(matmul.getTensorB()).has_value();
  return isa<relay::Conv2DOp, relay::DenseOp>(op);
}

/// A product X[M][K] * W with W[K][N] or W[N][K] is a 1x1 convolution over M pixels.
static ConvSource productOf(Value x, Constant weights, bool weightsTransposed) {
  ConvSource s;
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t k = shape.back(), m = product(shape.drop_back());
  s.input = x;
  int64_t n = weights.shape[weightsTransposed ? 0 : 1];
  s.window.height = s.window.outHeight = m;
  s.window.channels = k;
  s.window.outChannels = n;
  s.strideIn = weightsTransposed ? 1 : n;
  s.strideOut = weightsTransposed ? k : 1;
  s.weights = std::move(weights);
  return s;
}

static std::optional<ConvSource> sourceOf(Operation *op, std::string &why) {
  if (auto dense = dyn_cast<relay::DenseOp>(op)) {
    auto weights = relay::constantOf(dense.getWeight());
    if (!weights) {
      why = "weights must be constant";
      return std::nullopt;
    }
    return productOf(dense.getData(), std::move(*weights), true);
  }
  if (auto matmul = dyn_cast<relay::MatmulOp>(op)) {
    if (matmul.getTransposeA()) {
      why = "transpose_a must be false";
      return std::nullopt;
    }
    return productOf(matmul.getTensorA(), *relay::constantOf(matmul.getTensorB()), matmul.getTransposeB());
  }
  auto conv = cast<relay::Conv2DOp>(op);
  auto weights = relay::constantOf(conv.getWeight());
  if (!weights) {
    why = "weights must be constant";
    return std::nullopt;
  }
  if (conv.getDataLayout() != "NHWC" || conv.getKernelLayout() != "HWIO") {
    why = "layouts must be NHWC and HWIO, got " + conv.getDataLayout().str() + " and " +
          conv.getKernelLayout().str();
    return std::nullopt;
  }
  ConvSource s;
  s.input = conv.getData();
  ArrayRef<int64_t> in = shapeOf(conv.getData()), out = shapeOf(conv.getResult());
  ArrayRef<int64_t> kernel(weights->shape);
  WindowShape &w = s.window;
  w.batch = in[0], w.height = in[1], w.width = in[2], w.channels = in[3];
  w.outHeight = out[1], w.outWidth = out[2], w.outChannels = out[3];
  w.kernelHeight = kernel[0], w.kernelWidth = kernel[1];
  w.strideHeight = conv.getStrides()[0], w.strideWidth = conv.getStrides()[1];
  w.dilationHeight = conv.getDilation()[0], w.dilationWidth = conv.getDilation()[1];
  // Strides and dilations without effect must not keep a layer from the plain path.
  if (w.outHeight == 1)
    w.strideHeight = w.strideWidth;
  if (w.outWidth == 1)
    w.strideWidth = w.strideHeight;
  if (w.kernelHeight == 1)
    w.dilationHeight = w.dilationWidth;
  if (w.kernelWidth == 1)
    w.dilationWidth = w.dilationHeight;
  ArrayRef<int64_t> pad = conv.getPadding();
  w.top = pad[0], w.left = pad[1], w.bottom = pad[2], w.right = pad[3];
  s.groups = conv.getGroups();
  s.strideOut = 1;
  s.strideIn = kernel[3];
  s.strideKw = kernel[2] * kernel[3];
  s.strideKh = kernel[1] * s.strideKw;
  s.weights = std::move(*weights);
  // A 1x1 convolution over all pixels does not care where images and rows end.
  bool padded = w.top || w.left || w.bottom || w.right;
  if (w.kernelHeight == 1 && w.kernelWidth == 1 && !padded && w.outHeight == w.height &&
      w.outWidth == w.width) {
    w.height = w.outHeight = w.batch * w.height * w.width;
    w.batch = w.width = w.outWidth = 1;
    w.strideHeight = w.strideWidth = w.dilationHeight = w.dilationWidth = 1;
  }
  return s;
}

static std::string whyNotConv(Operation *op, int ncore) {
  std::string why;
  auto s = sourceOf(op, why);
  if (!s)
    return why;
  const WindowShape &w = s->window;
  auto limit = [&](const char *what, int64_t value, int64_t most) {
    if (why.empty() && value > most)
      why = std::string(what) + " must be at most " + std::to_string(most) + ", got " + std::to_string(value);
  };
  limit("kernel height", w.kernelHeight, 255);
  limit("kernel width", w.kernelWidth, 255);
  limit("stride", std::max(w.strideHeight, w.strideWidth), 255);
  limit("dilation", std::max(w.dilationHeight, w.dilationWidth), 255);
  limit("left and right padding", std::max(w.left, w.right), 255);
  limit("padding above and below", std::max(w.top, w.bottom), w.extentHeight() - 1);
  limit("input channels", w.channels, maxStride / halfBytes);
  limit("output channels", w.outChannels, maxStride / halfBytes);
  if (!why.empty())
    return why;
  // Room for a residual and a table, so that fusing never makes a layer too large.
  ConvProblem problem;
  problem.window = w;
  problem.groups = s->groups;
  problem.residuals = 1;
  problem.staging.outputs = 2;
  problem.epilogueBytes = tableBytes + 4 * w.outChannels;
  problem.ncore = ncore;
  schedule::chooseConvTiling(problem, why);
  return why;
}

/// [block][part][kernel row][kernel column][input channel][output channel] as halves.
static std::vector<uint8_t> packWeights(const ConvSource &s, const ConvTiling &t) {
  const WindowShape &w = s.window;
  std::vector<uint8_t> rounded;
  const uint8_t *from = halvesOf(s.weights, rounded);
  int64_t groupIn = w.channels / s.groups, groupOut = w.outChannels / s.groups;
  std::vector<uint8_t> bytes(
      static_cast<size_t>(t.blocks * t.parts * w.kernelHeight * w.kernelWidth * t.partIn * t.blockOut * 2));
  size_t at = 0;
  for (int64_t block = 0; block < t.blocks; ++block) {
    int64_t firstIn = t.blocksPerInput ? block / t.blocksPerInput * t.blockIn : 0;
    for (int64_t part = 0; part < t.parts; ++part)
      for (int64_t ky = 0; ky < w.kernelHeight; ++ky)
        for (int64_t kx = 0; kx < w.kernelWidth; ++kx)
          for (int64_t c = 0; c < t.partIn; ++c) {
            int64_t in = firstIn + part * t.partIn + c;
            for (int64_t o = 0; o < t.blockOut; ++o, at += 2) {
              int64_t out = block * t.blockOut + o;
              // Zeros beside the diagonal of merged groups and behind the last channel.
              if (out >= w.outChannels || in / groupIn != out / groupOut)
                continue;
              int64_t element =
                  ky * s.strideKh + kx * s.strideKw + in % groupIn * s.strideIn + out * s.strideOut;
              std::memcpy(&bytes[at], from + 2 * element, 2);
            }
          }
  }
  return bytes;
}

namespace {
/// Emits one kernel.
class ConvEmitter {
public:
  ConvEmitter(KernelBuilder &kb, const ConvSource &s, const ConvTiling &t, const ElementwiseChain &chain,
              SpatialNest &nest)
      : kb(kb), b(kb.builder()), w(s.window), t(t), chain(chain), nest(nest) {}

  /// Weight blocks `firstBlock` to `firstBlock + count - 1` of the constant.
  void run(Value weightsDdr, int64_t blockBytes, int64_t firstBlock, int64_t count) {
    weightsAt = kb.constant(0);
    int64_t slabRows =
        t.gatherRows ? w.dilationWidth * (w.kernelHeight - 1) + 1 : std::min(w.inputRows(t.rows), w.height);
    int64_t tilePixels = t.rows * w.outWidth;
    // A kernel for a part of the blocks has them all at once.
    int64_t atOnce = count < t.blocks ? count : std::min(t.blocksPerGroup, count);
    bool overlapped = atOnce < count && t.groupSlots == 2;
    weightsLlb = kb.alloc(MemoryLevel::LLB, (overlapped ? 2 : 1) * atOnce * blockBytes, "weights");
    // Two of each, so that engines work on neighbouring tiles at once.
    slabBytes = paddedBytes(slabRows * w.width * t.blockIn * 2);
    tileBytes = paddedBytes(tilePixels * t.blockOut * 2);
    blockStride = paddedBytes(t.stationary ? blockBytes / t.parts : blockBytes);
    weightsL1 = kb.alloc(MemoryLevel::L1, blockStride * (t.stationary ? 2 : t.weightSlots), "weights");
    slab = kb.alloc(MemoryLevel::L1, slabBytes * (t.stationary ? t.tilesPerCore : 2), "rows");
    outTile = kb.alloc(MemoryLevel::L1, tileBytes * 2, "out");
    for (size_t i = 0; i < chain.tensorCount(); ++i)
      residualTiles.push_back(kb.alloc(MemoryLevel::L1, tileBytes * 2, "residual"));
    bool sums = t.stationary && t.parts > 1;
    acc = kb.alloc(MemoryLevel::IM, tileBytes * (sums ? t.accumulatorSets * t.tilesPerCore : 2), "sum");
    if (t.parts > 1)
      partial = kb.alloc(MemoryLevel::IM, tileBytes * (t.stationary ? 2 : 1), "partial");
    if (t.gatherRows && w.dilationWidth > 1)
      FillOp::create(b, kb.location(), llvm::APFloat(0.0f), kb.view(slab),
                     kb.constant(2 * slabBytes / (t.blockIn * 2)), kb.constant(t.blockIn), kb.constant(0));

    bool resident = atOnce == count;
    auto bringWeights = [&](Value first, Value count) {
      kb.onMaster([&] {
        kb.dma(weightsLlb, kb.constant(0), weightsDdr, kb.mul(first, blockBytes), kb.mul(count, blockBytes),
               atOnce * blockBytes);
      });
    };
    if (resident) {
      kb.onMaster([&] {
        BringOp::create(b, kb.location(), weightsLlb, weightsDdr, static_cast<uint64_t>(count * blockBytes),
                        static_cast<uint64_t>(firstBlock * blockBytes));
      });
      if (!nest.stagesInputs())
        kb.barrier();
    }
    nest.forEachChunk([&] {
      if (resident)
        return group(kb.constant(firstBlock), kb.constant(count), blockBytes);
      if (overlapped)
        return overlappedGroups(weightsDdr, blockBytes, count, atOnce);
      kb.loop(firstBlock, firstBlock + count, atOnce, [&](Value first) {
        Value blocks = kb.min(kb.constant(atOnce), kb.sub(kb.constant(firstBlock + count), first));
        bringWeights(first, blocks);
        kb.barrier();
        group(first, blocks, blockBytes);
        kb.barrier();
      });
    });
  }

private:
  /// Groups of weight blocks through two slots of LLB: one comes while the other is used.
  void overlappedGroups(Value weightsDdr, int64_t blockBytes, int64_t count, int64_t atOnce) {
    int64_t groups = ceilDiv(count, atOnce);
    auto blocksOf = [&](Value group) {
      return kb.min(kb.constant(atOnce), kb.sub(kb.constant(count), kb.mul(group, atOnce)));
    };
    auto copyOf = [&](Value group, Value slot) {
      return KernelBuilder::Copy{weightsLlb, kb.mul(slot, atOnce * blockBytes), weightsDdr,
                                 kb.mul(group, atOnce * blockBytes), kb.mul(blocksOf(group), blockBytes)};
    };
    Value zero = kb.constant(0), one = kb.constant(1);
    kb.onMaster([&] { kb.copyNow(copyOf(zero, zero), atOnce * blockBytes); });
    kb.barrier();
    kb.loop(0, groups, 1, [&](Value index) {
      Value slot = kb.rem(index, kb.constant(2)), more = kb.less(index, kb.constant(groups - 1));
      kb.onMaster([&] { kb.when(more, [&] { kb.startDma(copyOf(kb.add(index, 1), kb.sub(one, slot))); }); });
      weightsAt = kb.mul(slot, atOnce * blockBytes);
      group(kb.mul(index, atOnce), blocksOf(index), blockBytes);
      kb.onMaster([&] { kb.when(more, [&] { kb.waitDma(); }); });
      kb.barrier();
    });
  }

  /// Weight block `inGroup` of the group to L1.
  void loadWeights(Value inGroup, Value weightSlot, int64_t blockBytes) {
    moveWeights(weightSlot, kb.mul(inGroup, blockBytes), blockBytes);
  }

  /// Cores that all take the same blocks share one read of LLB.
  void moveWeights(Value weightSlot, Value from, int64_t bytes) {
    Value to = kb.mul(weightSlot, blockStride);
    from = kb.add(weightsAt, from);
    if (t.coreBlocks == 1)
      kb.broadcastLinear(weightsL1, to, weightsLlb, from, kb.constant(bytes / 2), bytes / 2);
    else
      kb.loadLinear(weightsL1, to, weightsLlb, from, kb.constant(bytes / 2), bytes / 2);
  }

  /// Output channels of block `block`, and the input channels it reads.
  void enterBlock(Value block) {
    firstOut = kb.mul(block, t.blockOut);
    channelsOut = w.outChannels % t.blockOut == 0
                      ? kb.constant(t.blockOut)
                      : kb.min(kb.constant(t.blockOut), kb.sub(kb.constant(w.outChannels), firstOut));
    firstIn =
        t.blocksPerInput ? kb.mul(kb.div(block, kb.constant(t.blocksPerInput)), t.blockIn) : kb.constant(0);
  }

  /// Input-stationary: part k of block n for all tiles, while part k + 1 is on its way.
  void stationaryGroup(Value first, Value count, int64_t blockBytes) {
    Value coreBlock = kb.rem(kb.coreId(), kb.constant(t.coreBlocks));
    Value coreRow = kb.div(kb.coreId(), kb.constant(t.coreBlocks));
    int64_t partBytes = blockBytes / t.parts;
    auto load = [&](Value inGroup, Value part, Value slot) {
      moveWeights(slot, kb.add(kb.mul(inGroup, blockBytes), kb.mul(part, partBytes)), partBytes);
    };
    firstIn = kb.constant(0);
    kb.when(kb.less(coreBlock, count), [&] { load(coreBlock, kb.constant(0), kb.constant(0)); });
    // The queue of the move engine is short: rows come while the first part of the first block is on.
    auto loadTile = [&](Value number) {
      nest.whenTile(t.rows, coreRow, t.coreRows, number,
                    [&](const SpatialTile &st) { loadRows(st, number); });
    };
    int64_t ahead = std::min<int64_t>(t.tilesPerCore, 3);
    for (int64_t i = 0; i < ahead; ++i)
      loadTile(kb.constant(i));
    // Every core has all tiles but perhaps the last: a broadcast inside the loop over them meets all cores.
    bool rowsFirst = ahead < t.tilesPerCore && nest.chunksAreEqual();
    kb.loop(coreBlock, count, kb.constant(t.coreBlocks), [&](Value inGroup) {
      Value ordinal = kb.div(inGroup, kb.constant(t.coreBlocks));
      enterBlock(kb.add(first, inGroup));
      kb.loop(0, t.parts, 1, [&](Value part) {
        weightSlot = kb.rem(kb.add(kb.mul(ordinal, t.parts), part), kb.constant(2));
        Value next = kb.add(part, 1), turn = kb.div(next, kb.constant(t.parts));
        Value nextBlock = kb.add(inGroup, kb.mul(turn, t.coreBlocks));
        auto loadNext = [&] {
          kb.when(kb.less(nextBlock, count), [&] {
            load(nextBlock, kb.sub(next, kb.mul(turn, t.parts)), kb.sub(kb.constant(1), weightSlot));
          });
        };
        // At first rows go before the next weights.
        Value begins = kb.less(kb.add(ordinal, part), kb.constant(1));
        if (rowsFirst)
          kb.whenElse(begins, [] {}, loadNext);
        else
          loadNext();
        nest.forEachNumberedTile(t.rows, coreRow, t.coreRows, [&](const SpatialTile &st, Value number) {
          if (ahead < t.tilesPerCore)
            kb.when(begins, [&] {
              loadTile(kb.add(number, ahead));
              if (rowsFirst)
                kb.when(equals(number, t.tilesPerCore - 1 - ahead), loadNext);
            });
          stationaryTile(st, number, ordinal, part);
        });
      });
    });
  }

  Value equals(Value x, int64_t y) {
    return arith::CmpIOp::create(b, kb.location(), arith::CmpIPredicate::eq, x, kb.constant(y));
  }

  void stationaryTile(const SpatialTile &st, Value number, Value ordinal, Value part) {
    Value two = kb.constant(2), zero = kb.constant(0);
    Value pixels = kb.mul(st.outRows, w.outWidth);
    // Tiles take the slots of the output in turn, over the ends of blocks.
    Value slot = kb.rem(kb.add(kb.mul(ordinal, t.tilesPerCore), number), two);
    Value sumSlot = slot;
    if (t.parts > 1)
      sumSlot = kb.add(kb.mul(kb.rem(ordinal, kb.constant(t.accumulatorSets)), t.tilesPerCore), number);
    Value sum = kb.view(acc, kb.mul(sumSlot, tileBytes));
    auto finish = [&] { epilogue(st, slot, sum); };
    if (t.parts == 1) {
      fetchResiduals(st, slot);
      conv(sum, st, number, zero, zero);
      return finish();
    }
    kb.whenElse(
        equals(part, 0), [&] { conv(sum, st, number, part, zero); },
        [&] {
          Value term =
              kb.view(partial, kb.mul(kb.rem(kb.add(kb.mul(part, t.tilesPerCore), number), two), tileBytes));
          conv(term, st, number, part, zero);
          BinaryOp::create(b, kb.location(), BinaryKind::add, sum, sum, term, pixels, channelsOut, zero, zero,
                           zero);
        });
    kb.when(equals(part, t.parts - 1), [&] {
      fetchResiduals(st, slot);
      finish();
    });
  }

  void group(Value first, Value count, int64_t blockBytes) {
    if (t.stationary)
      return stationaryGroup(first, count, blockBytes);
    Value coreBlock = kb.rem(kb.coreId(), kb.constant(t.coreBlocks));
    Value coreRow = kb.div(kb.coreId(), kb.constant(t.coreBlocks));
    bool ahead = t.weightSlots == 2;
    if (ahead)
      kb.when(kb.less(coreBlock, count), [&] { loadWeights(coreBlock, kb.constant(0), blockBytes); });
    kb.loop(coreBlock, count, kb.constant(t.coreBlocks), [&](Value inGroup) {
      weightSlot =
          ahead ? kb.rem(kb.div(inGroup, kb.constant(t.coreBlocks)), kb.constant(2)) : kb.constant(0);
      if (!ahead)
        loadWeights(inGroup, weightSlot, blockBytes);
      enterBlock(kb.add(first, inGroup));
      nest.forEachTilePipelined(
          t.rows, coreRow, t.coreRows, [&](const SpatialTile &st, Value slot) { fetch(st, slot); },
          [&] {
            if (!ahead)
              return;
            Value next = kb.add(inGroup, t.coreBlocks);
            kb.when(kb.less(next, count),
                    [&] { loadWeights(next, kb.sub(kb.constant(1), weightSlot), blockBytes); });
          },
          [&](const SpatialTile &st, Value slot) { tile(st, slot); });
    });
  }

  void loadRows(const SpatialTile &st, Value slot) {
    Value from = kb.add(st.inOffset, kb.mul(firstIn, halfBytes)), to = kb.mul(slot, slabBytes);
    if (t.blockIn == w.channels) {
      int64_t most = std::min(w.inputRows(t.rows), w.height) * w.width * w.channels;
      kb.loadLinear(slab, to, nest.inputLlb(), from, kb.mul(st.inRows, w.width * w.channels), most);
    } else {
      kb.load(kb.view(slab, to), kb.view(nest.inputLlb(), from), kb.mul(st.inRows, w.width),
              kb.constant(t.blockIn), kb.constant(w.channels * 2));
    }
  }

  /// One output row whose input rows lie `dilationHeight` apart: placed `dilationWidth` rows apart instead.
  void gatherRows(const SpatialTile &st, Value slot) {
    kb.loop(0, w.kernelHeight, 1, [&](Value ky) {
      // Row number counted from the tile's first wanted row, which lies `top` rows above the first real one.
      Value wanted = kb.sub(kb.mul(ky, w.dilationHeight), st.top);
      Value to = kb.view(
          slab, kb.add(kb.mul(slot, slabBytes), kb.mul(ky, w.dilationWidth * w.width * t.blockIn * 2)));
      Value inside = arith::AndIOp::create(b, kb.location(), kb.less(kb.constant(-1), wanted),
                                           kb.less(wanted, st.inRows));
      kb.whenElse(
          inside,
          [&] {
            Value from =
                kb.add(kb.add(st.inOffset, kb.mul(wanted, w.inputRowBytes())), kb.mul(firstIn, halfBytes));
            kb.load(to, kb.view(nest.inputLlb(), from), kb.constant(w.width), kb.constant(t.blockIn),
                    kb.constant(w.channels * 2));
          },
          [&] {
            FillOp::create(b, kb.location(), llvm::APFloat(0.0f), to, kb.constant(w.width),
                           kb.constant(t.blockIn), kb.constant(0));
          });
    });
  }

  /// What a tile needs in L1: its rows and its part of the residuals.
  void fetch(const SpatialTile &st, Value slot) {
    if (t.gatherRows)
      gatherRows(st, slot);
    else
      loadRows(st, slot);
    fetchResiduals(st, slot);
  }

  void fetchResiduals(const SpatialTile &st, Value slot) {
    for (size_t i = 0; i < residualTiles.size(); ++i) {
      Value from = kb.add(st.residualOffsets[i], kb.mul(firstOut, halfBytes));
      kb.load(kb.view(residualTiles[i], kb.mul(slot, tileBytes)), kb.view(nest.residualLlb(i), from),
              kb.mul(st.outRows, w.outWidth), channelsOut, kb.constant(w.outChannels * 2));
    }
  }

  /// Part `part` of the input channels, with the weights of part `weightPart` of the slot.
  void conv(Value dst, const SpatialTile &st, Value slot, Value part, Value weightPart) {
    int64_t partBytes = w.kernelHeight * w.kernelWidth * t.partIn * t.blockOut * 2;
    Value zero = kb.constant(0);
    Value height = t.gatherRows ? kb.constant(w.dilationWidth * (w.kernelHeight - 1) + 1) : st.inRows;
    Value weights =
        kb.view(weightsL1, kb.add(kb.mul(weightSlot, blockStride), kb.mul(weightPart, partBytes)));
    ConvOp::create(b, kb.location(), dst,
                   kb.view(slab, kb.add(kb.mul(slot, slabBytes), kb.mul(part, t.partIn * 2))), weights,
                   height, kb.constant(w.width), kb.constant(t.partIn),
                   kb.constant(t.parts > 1 ? t.blockIn * 2 : 0), st.outRows, kb.constant(w.outWidth),
                   channelsOut, zero, kb.constant(t.blockOut * 2), t.gatherRows ? zero : st.top,
                   t.gatherRows ? zero : st.bottom, kb.constant(w.left), kb.constant(w.right),
                   static_cast<uint32_t>(w.kernelHeight), static_cast<uint32_t>(w.kernelWidth),
                   static_cast<uint32_t>(w.dilationWidth), static_cast<uint32_t>(w.strideWidth));
  }

  void tile(const SpatialTile &st, Value slot) {
    Value zero = kb.constant(0), pixels = kb.mul(st.outRows, w.outWidth);
    Value sum = kb.view(acc, kb.mul(slot, tileBytes));
    conv(sum, st, slot, zero, zero);
    kb.loop(1, t.parts, 1, [&](Value part) {
      conv(kb.view(partial), st, slot, part, part);
      BinaryOp::create(b, kb.location(), BinaryKind::add, sum, sum, kb.view(partial), pixels, channelsOut,
                       zero, zero, zero);
    });
    epilogue(st, slot, sum);
  }

  /// Bias, activation, residual ... of the sums of a tile, and its way back to LLB.
  void epilogue(const SpatialTile &st, Value slot, Value sum) {
    Value zero = kb.constant(0), pixels = kb.mul(st.outRows, w.outWidth), offset = kb.mul(slot, tileBytes);
    Value out = kb.view(outTile, offset);
    SmallVector<Value> residuals;
    for (Value buffer : residualTiles)
      residuals.push_back(kb.view(buffer, offset));
    chain.emit(kb, out, zero, sum, zero, pixels, channelsOut, firstOut, residuals, zero);
    kb.store(kb.view(nest.outputLlb(), kb.add(st.outOffset, kb.mul(firstOut, halfBytes))), out, pixels,
             channelsOut, kb.constant(w.outChannels * 2));
  }

  KernelBuilder &kb;
  OpBuilder &b;
  const WindowShape &w;
  const ConvTiling &t;
  const ElementwiseChain &chain;
  SpatialNest &nest;
  Value weightsLlb, weightsL1, slab, outTile, acc, partial;
  SmallVector<Value> residualTiles;
  /// Bytes from one slot of a double buffer to the next.
  int64_t slabBytes = 0, tileBytes = 0, blockStride = 0;
  // Of the weight block that the code being built works on.
  Value firstOut, channelsOut, firstIn, weightSlot;
  /// Where the group of weight blocks begins in `weightsLlb`.
  Value weightsAt;
};
} // namespace

/// How many weight blocks one kernel works on: all of them, or as many as a group may have.
static int64_t blocksPerKernel(const KernelSpec &spec, const ConvSource &source, const ConvTiling &t,
                               int64_t blockBytes) {
  bool oneChunk = t.chunk.imagesPerChunk >= source.window.batch && !t.chunk.rowsPerChunk;
  if (!spec.weightGroupBytes || !oneChunk || t.blocks * blockBytes <= spec.weightGroupBytes ||
      t.coreBlocks * blockBytes > 2 * spec.weightGroupBytes)
    return t.blocks;
  int64_t turns = std::max<int64_t>(spec.weightGroupBytes / (blockBytes * t.coreBlocks), 1);
  // Equal groups.
  int64_t groups = ceilDiv(t.blocks, turns * t.coreBlocks);
  return ceilDiv(ceilDiv(t.blocks, groups), t.coreBlocks) * t.coreBlocks;
}

/// A buffer in LLB that all kernels of the spec know.
static Value sharedBuffer(KernelBuilder &kb, const KernelSpec &spec, LoweringContext &context, StringRef name,
                          int64_t bytes) {
  std::string global = spec.name + "_" + name.str();
  if (!context.module.lookupSymbol(global)) {
    OpBuilder b = OpBuilder::atBlockBegin(context.module.getBody());
    GlobalOp::create(b, spec.primitive->getLoc(), b.getStringAttr(global), b.getI64IntegerAttr(bytes),
                     IntegerAttr(), IntegerAttr());
    context.made.shared.push_back({global, bytes});
  }
  return kb.place(global, /*inLlb=*/true).buffer;
}

static bool lowerConv(Operation *op, const KernelSpec &spec, LoweringContext &context, std::string &why) {
  auto source = sourceOf(op, why);
  if (!source)
    return false;
  auto chain = ElementwiseChain::analyse(spec.primitive, op->getResult(0), why);
  if (!chain)
    return false;
  ConvProblem problem;
  problem.window = source->window;
  problem.groups = source->groups;
  problem.residuals = static_cast<int64_t>(chain->tensorCount());
  problem.staging = stagingOf(spec, source->input, chain->tensorsInDdr(spec.inputs));
  problem.epilogueBytes = chain->l1Bytes();
  if (spec.weightGroupBytes)
    problem.weightGroupBytes = spec.weightGroupBytes;
  problem.ncore = context.ncore;
  auto tiling = schedule::chooseConvTiling(problem, why);
  if (!tiling)
    return false;

  int64_t blockBytes = tiling->weightBlockBytes(problem);
  std::string packed = context.pool.add(packWeights(*source, *tiling), "weights");
  int64_t perKernel = blocksPerKernel(spec, *source, *tiling, blockBytes);
  for (int64_t first = 0; first < tiling->blocks; first += perKernel) {
    int64_t count = std::min(perKernel, tiling->blocks - first);
    KernelBuilder kb = builderFor(spec, context);
    Turn turn;
    turn.first = first == 0;
    turn.last = first + count == tiling->blocks;
    if (!turn.first || !turn.last)
      turn.shared = [&](StringRef name, int64_t bytes) {
        return sharedBuffer(kb, spec, context, name, bytes);
      };
    Value weights = kb.ddr(packed);
    chain->prepare(kb, context.pool);
    SmallVector<Place> residuals = chain->tensorPlaces(kb, context.pool, spec.inputs);
    SpatialNest nest(kb, source->window, tiling->chunk, inputPlace(kb, source->input, spec),
                     outputPlace(kb, spec), residuals, turn);
    ConvEmitter(kb, *source, *tiling, *chain, nest).run(weights, blockBytes, first, count);
    kb.finish();
  }
  return true;
}

const Family tile::convFamily = {handlesConv, whyNotConv, lowerConv};
