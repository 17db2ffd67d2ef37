// Depthwise convolutions: the channels are split between the two engines, which work on a tile at the same
// time.
//
//   vector engine, the first channels:  a row of the result is a flat row of pixels and channels; for each
//   kernel
//       column, one sum of products over the kernel rows with weights that are repeated for each pixel (zero
//       where the window leaves the map at either side), then the columns are added
//   matrix engine, the others:          dense convolutions of some channels with zeros off the diagonal
//
//   for each tile of this core:  rows of the next one to L1, once for each engine
//     for each row: sums of products of the row, some of the dense convolutions
//     epilogue of the vector engine's channels, then of the matrix engine's; both to LLB
//
// The split depends on the layer alone, so that every schedule gives the same bits. Products with zero
// weights read neighbouring pixels: an infinite one spreads there.
#include "Conversion/RelayToTile/DepthwisePairs.h"
#include "Conversion/RelayToTile/Lowerings.h"
#include "Conversion/RelayToTile/SpatialNest.h"
#include "Dialect/Relay/Relay.h"
#include "Schedule/DepthwisePlan.h"
#include <cstring>

using namespace mlir;
using namespace tensorturbo;
using namespace tensorturbo::tile;
using schedule::DepthwisePlan;
using schedule::WindowShape;

static std::optional<DepthwisePlan> planOf(Operation *op, WindowShape &w) {
  auto conv = dyn_cast<relay::Conv2DOp>(op);
  if (!conv || conv.getDataLayout() != "NHWC" || conv.getKernelLayout() != "HWIO")
    return std::nullopt;
  auto weights = relay::constantOf(conv.getWeight());
  ArrayRef<int64_t> in = shapeOf(conv.getData()), out = shapeOf(conv.getResult());
  int64_t groups = conv.getGroups();
  if (!weights || groups == 1 || groups != in[3] || groups != out[3])
    return std::nullopt;
  ArrayRef<int64_t> dilation = conv.getDilation();
  if (dilation[0] != 1 || dilation[1] != 1)
    return std::nullopt;
  w.batch = in[0], w.height = in[1], w.width = in[2], w.channels = in[3];
  w.outHeight = out[1], w.outWidth = out[2], w.outChannels = out[3];
  w.kernelHeight = weights->shape[0], w.kernelWidth = weights->shape[1];
  w.strideHeight = conv.getStrides()[0], w.strideWidth = conv.getStrides()[1];
  ArrayRef<int64_t> pad = conv.getPadding();
  w.top = pad[0], w.left = pad[1], w.bottom = pad[2], w.right = pad[3];
  return schedule::planDepthwise(w);
}

static bool handlesDepthwise(Operation *op) {
  WindowShape w;
  return planOf(op, w).has_value();
}

static std::string whyNotDepthwise(Operation *, int) {
  // What does not fit is left to the other convolutions.
  return "";
}

/// Weights of the dense convolutions, [block][kernel row][kernel column][in][out], and behind them those of
/// the vector engine's channels, [kernel row][kernel column][channel]; halves.
static std::vector<uint8_t> packWeights(const Constant &weights, const WindowShape &w,
                                        const DepthwisePlan &plan) {
  std::vector<uint8_t> rounded;
  const uint8_t *from = halvesOf(weights, rounded);
  int64_t taps = w.kernelHeight * w.kernelWidth, m = plan.merged;
  std::vector<uint8_t> bytes(static_cast<size_t>(plan.matrixWeights(w) + plan.vectorWeights(w)));
  for (int64_t block = 0; block < plan.blocks(w); ++block)
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t c = 0; c < m; ++c) {
        int64_t to = ((block * taps + tap) * m + c) * m + c;
        std::memcpy(bytes.data() + to * halfBytes,
                    from + (tap * w.channels + plan.vector + block * m + c) * halfBytes, halfBytes);
      }
  for (int64_t tap = 0; tap < taps; ++tap)
    std::memcpy(bytes.data() + plan.matrixWeights(w) + tap * plan.vector * halfBytes,
                from + tap * w.channels * halfBytes, static_cast<size_t>(plan.vector * halfBytes));
  return bytes;
}

namespace {
class DepthwiseEmitter {
public:
  DepthwiseEmitter(KernelBuilder &kb, const WindowShape &w, const DepthwisePlan &plan, int64_t rows,
                   const ElementwiseChain &vectorChain, const ElementwiseChain &matrixChain,
                   SpatialNest &nest)
      : kb(kb), b(kb.builder()), loc(kb.location()), w(w), plan(plan), tileRows(rows),
        vectorChain(vectorChain), matrixChain(matrixChain), nest(nest), vectorWidth(w.outWidth * plan.vector),
        matrixChannels(w.channels - plan.vector), inputWidth(w.width / w.strideWidth) {}

  void run(Value weightsDdr) {
    allocate();
    bringWeights(weightsDdr);
    nest.forEachChunk([&] {
      nest.forEachTilePipelined(
          tileRows, kb.coreId(), kb.cores(), [&](const SpatialTile &t, Value slot) { fetch(t, slot); }, [] {},
          [&](const SpatialTile &t, Value slot) { tile(t, slot); });
    });
  }

private:
  Value view(Value buffer, Value offset) { return kb.view(buffer, offset); }

  void allocate() {
    int64_t inRows = std::min(w.inputRows(tileRows), w.height);
    if (plan.vector) {
      guard = paddedBytes(plan.guardElements(w) * halfBytes);
      // Pixels of one phase of the stride each, with a guard in front and behind.
      phaseBytes = guard + paddedBytes(inRows * inputWidth * plan.vector * halfBytes);
      vectorSlot = phaseBytes * w.strideWidth;
      int64_t slabBytes = 2 * vectorSlot + guard;
      vectorSlab = kb.alloc(MemoryLevel::L1, slabBytes, "vector rows");
      if (guard)
        for (int64_t phase = 0; phase < 2 * w.strideWidth; ++phase)
          zeros(kb.constant(phase * phaseBytes), guard / halfBytes);
      partSlot = paddedBytes(tileRows * vectorWidth * halfBytes);
      parts = kb.alloc(MemoryLevel::L1, w.kernelWidth * partSlot, "sums");
      vectorOut = kb.alloc(MemoryLevel::L1, 2 * partSlot, "vector out");
      for (size_t i = 0; i < vectorChain.tensorCount(); ++i)
        vectorTensors.push_back(kb.alloc(MemoryLevel::L1, 2 * partSlot, "residual"));
    }
    if (!matrixChannels)
      return;
    matrixSlot = paddedBytes(inRows * w.width * matrixChannels * halfBytes);
    matrixSlab = kb.alloc(MemoryLevel::L1, 2 * matrixSlot, "matrix rows");
    tileSlot = paddedBytes(tileRows * w.outWidth * matrixChannels * halfBytes);
    acc = kb.alloc(MemoryLevel::IM, 2 * tileSlot, "sum");
    matrixOut = kb.alloc(MemoryLevel::L1, 2 * tileSlot, "matrix out");
    for (size_t i = 0; i < matrixChain.tensorCount(); ++i)
      matrixTensors.push_back(kb.alloc(MemoryLevel::L1, 2 * tileSlot, "residual"));
  }

  void zeros(Value offset, int64_t elements) {
    FillOp::create(b, loc, llvm::APFloat(0.0f), view(vectorSlab, offset), kb.constant(1),
                   kb.constant(elements), kb.constant(0));
  }

  void bringWeights(Value weightsDdr) {
    int64_t matrixBytes = plan.matrixWeights(w), vectorBytes = plan.vectorWeights(w);
    Value zero = kb.constant(0);
    Value llb = kb.alloc(MemoryLevel::LLB, matrixBytes + vectorBytes, "weights");
    kb.onMaster([&] {
      BringOp::create(b, loc, llb, weightsDdr, static_cast<uint64_t>(matrixBytes + vectorBytes), uint64_t(0));
    });
    kb.barrier();
    if (matrixBytes) {
      matrixWeights = kb.alloc(MemoryLevel::L1, matrixBytes, "matrix weights");
      kb.broadcastLinear(matrixWeights, zero, llb, zero, kb.constant(matrixBytes / halfBytes),
                         matrixBytes / halfBytes);
    }
    if (!vectorBytes)
      return;
    Value compact = kb.alloc(MemoryLevel::L1, vectorBytes, "vector weights");
    kb.broadcastLinear(compact, zero, llb, kb.constant(matrixBytes), kb.constant(vectorBytes / halfBytes),
                       vectorBytes / halfBytes);
    // [kernel column][kernel row][pixel][channel]; zeros where the window leaves the map.
    int64_t row = vectorWidth * halfBytes, channel = plan.vector * halfBytes;
    repeated = kb.alloc(MemoryLevel::L1, w.kernelHeight * w.kernelWidth * row, "repeated weights");
    for (int64_t kx = 0; kx < w.kernelWidth; ++kx) {
      int64_t first = 0, last = w.outWidth;
      while (first < last && first * w.strideWidth + kx < w.left)
        ++first;
      while (last > first && (last - 1) * w.strideWidth + kx - w.left >= w.width)
        --last;
      kb.loop(0, w.kernelHeight, 1, [&](Value ky) {
        Value to = kb.mul(kb.add(ky, kx * w.kernelHeight), row);
        auto none = [&](int64_t from, int64_t pixels) {
          if (pixels > 0)
            FillOp::create(b, loc, llvm::APFloat(0.0f), view(repeated, kb.add(to, from * channel)),
                           kb.constant(pixels), kb.constant(plan.vector), zero);
        };
        none(0, first);
        if (last > first)
          SpreadOp::create(b, loc, Axis::columns, view(repeated, kb.add(to, first * channel)),
                           view(compact, kb.mul(kb.add(kb.mul(ky, w.kernelWidth), kx), channel)),
                           kb.constant(last - first), kb.constant(plan.vector), zero);
        none(last, w.outWidth - last);
      });
    }
  }

  /// Both engines' channels of the tile's rows, and of the residuals.
  void fetch(const SpatialTile &t, Value slot) {
    int64_t pixel = w.channels * halfBytes;
    if (plan.vector)
      for (int64_t phase = 0; phase < w.strideWidth; ++phase)
        kb.load(view(vectorSlab, kb.add(kb.mul(slot, vectorSlot), phase * phaseBytes + guard)),
                view(nest.inputLlb(), kb.add(t.inOffset, phase * pixel)), kb.mul(t.inRows, inputWidth),
                kb.constant(plan.vector), kb.constant(w.strideWidth * pixel));
    if (matrixChannels)
      kb.load(view(matrixSlab, kb.mul(slot, matrixSlot)),
              view(nest.inputLlb(), kb.add(t.inOffset, plan.vector * halfBytes)), kb.mul(t.inRows, w.width),
              kb.constant(matrixChannels), kb.constant(pixel));
    auto residuals = [&](ArrayRef<Value> buffers, int64_t slotBytes, int64_t first, int64_t count) {
      for (size_t i = 0; i < buffers.size(); ++i)
        kb.load(view(buffers[i], kb.mul(slot, slotBytes)),
                view(nest.residualLlb(i), kb.add(t.residualOffsets[i], first * halfBytes)),
                kb.mul(t.outRows, w.outWidth), kb.constant(count), kb.constant(pixel));
    };
    residuals(vectorTensors, partSlot, 0, plan.vector);
    residuals(matrixTensors, tileSlot, plan.vector, matrixChannels);
  }

  /// Sums of products of one row of the result, for each kernel column.
  void vectorRow(const SpatialTile &t, Value slot, Value row) {
    // Kernel rows that lie inside of the map.
    Value top = kb.sub(kb.mul(row, w.strideHeight), t.top);
    Value first = kb.max(kb.constant(0), kb.sub(kb.constant(0), top));
    Value end = kb.min(kb.constant(w.kernelHeight), kb.sub(t.inRows, top));
    int64_t inputRow = inputWidth * plan.vector * halfBytes, outputRow = vectorWidth * halfBytes;
    Value source = kb.add(kb.mul(slot, vectorSlot), kb.mul(kb.add(top, first), inputRow));
    for (int64_t kx = 0; kx < w.kernelWidth; ++kx) {
      int64_t shift = kx - w.left, phase = (shift % w.strideWidth + w.strideWidth) % w.strideWidth;
      int64_t pixels = (shift - phase) / w.strideWidth;
      int64_t offset = phase * phaseBytes + guard + pixels * plan.vector * halfBytes;
      DotOp::create(b, loc, Axis::columns, view(parts, kb.add(kb.mul(row, outputRow), kx * partSlot)),
                    view(vectorSlab, kb.add(source, offset)),
                    view(repeated, kb.mul(kb.add(first, kx * w.kernelHeight), outputRow)), kb.sub(end, first),
                    kb.constant(vectorWidth), kb.constant(0), kb.constant(inputRow), kb.constant(outputRow));
    }
  }

  void convolve(const SpatialTile &t, Value slot, Value block) {
    Value channels = kb.mul(block, plan.merged * halfBytes), zero = kb.constant(0);
    Value stride = kb.constant(matrixChannels * halfBytes), merged = kb.constant(plan.merged);
    int64_t bytes = w.kernelHeight * w.kernelWidth * plan.merged * plan.merged * halfBytes;
    ConvOp::create(b, loc, view(acc, kb.add(kb.mul(slot, tileSlot), channels)),
                   view(matrixSlab, kb.add(kb.mul(slot, matrixSlot), channels)),
                   view(matrixWeights, kb.mul(block, bytes)), t.inRows, kb.constant(w.width), merged, stride,
                   t.outRows, kb.constant(w.outWidth), merged, stride, zero, t.top, t.bottom,
                   kb.constant(w.left), kb.constant(w.right), static_cast<uint32_t>(w.kernelHeight),
                   static_cast<uint32_t>(w.kernelWidth), 1u, static_cast<uint32_t>(w.strideWidth));
  }

  void tile(const SpatialTile &t, Value slot) {
    int64_t blocks = plan.blocks(w);
    if (!plan.vector) {
      kb.loop(0, blocks, 1, [&](Value block) { convolve(t, slot, block); });
    } else {
      // Shifted rows reach a little beyond the tile's last one.
      if (guard)
        for (int64_t phase = 0; phase < w.strideWidth; ++phase)
          zeros(
              kb.add(kb.mul(slot, vectorSlot), kb.add(kb.mul(t.inRows, inputWidth * plan.vector * halfBytes),
                                                      phase * phaseBytes + guard)),
              guard / halfBytes);
      // Work for both engines arrives in turn, so that neither waits for the other's queue.
      kb.loop(kb.constant(0), t.outRows, kb.constant(1), [&](Value row) {
        if (blocks)
          kb.loop(kb.div(kb.mul(row, blocks), t.outRows), kb.div(kb.mul(kb.add(row, 1), blocks), t.outRows),
                  kb.constant(1), [&](Value block) { convolve(t, slot, block); });
        vectorRow(t, slot, row);
      });
      finishVector(t, slot);
    }
    if (matrixChannels)
      finish(t, slot, matrixChain, kb.view(acc, kb.mul(slot, tileSlot)), matrixOut, tileSlot, matrixTensors,
             plan.vector, matrixChannels);
  }

  void finishVector(const SpatialTile &t, Value slot) {
    Value zero = kb.constant(0), width = kb.constant(vectorWidth), sum = kb.view(parts);
    for (int64_t kx = 1; kx < w.kernelWidth; ++kx)
      BinaryOp::create(b, loc, BinaryKind::add, sum, sum, kb.view(parts, kx * partSlot), t.outRows, width,
                       zero, zero, zero);
    finish(t, slot, vectorChain, sum, vectorOut, partSlot, vectorTensors, 0, plan.vector);
  }

  /// Epilogue and store of `count` channels from `first` on, which lie densely at `sum`.
  void finish(const SpatialTile &t, Value slot, const ElementwiseChain &chain, Value sum, Value out,
              int64_t slotBytes, ArrayRef<Value> tensors, int64_t first, int64_t count) {
    Value zero = kb.constant(0), offset = kb.mul(slot, slotBytes), to = kb.view(out, offset);
    SmallVector<Value> tiles;
    for (Value tensor : tensors)
      tiles.push_back(kb.view(tensor, offset));
    chain.emit(kb, to, zero, sum, zero, t.outRows, kb.constant(w.outWidth * count), zero, tiles, zero);
    kb.store(view(nest.outputLlb(), kb.add(t.outOffset, first * halfBytes)), to,
             kb.mul(t.outRows, w.outWidth), kb.constant(count), kb.constant(w.channels * halfBytes));
  }

  KernelBuilder &kb;
  OpBuilder &b;
  Location loc;
  const WindowShape &w;
  const DepthwisePlan &plan;
  int64_t tileRows;
  const ElementwiseChain &vectorChain, &matrixChain;
  SpatialNest &nest;
  /// Elements of a row of the result that the vector engine makes; channels of the matrix engine; pixels of a
  /// row in one phase of the stride.
  int64_t vectorWidth, matrixChannels, inputWidth;
  int64_t guard = 0, phaseBytes = 0, vectorSlot = 0, partSlot = 0, matrixSlot = 0, tileSlot = 0;
  Value vectorSlab, parts, vectorOut, repeated, matrixSlab, matrixWeights, acc, matrixOut;
  SmallVector<Value> vectorTensors, matrixTensors;
};
} // namespace

/// Four pixels at once on the matrix engine.
static bool lowerPairs(relay::Conv2DOp op, const WindowShape &w, ElementwiseChain chain,
                       const KernelSpec &spec, LoweringContext &context, std::string &why) {
  int64_t steps = chain.size();
  auto leading = chain.takeLeadingVector();
  chain = chain.forColumns(0, w.channels, w.outWidth);
  std::vector<uint8_t> rounded;
  std::vector<uint8_t> packed = packPairs(halvesOf(*relay::constantOf(op.getWeight()), rounded), w,
                                          leading ? leading->second : std::vector<float>());
  auto weightBytes = static_cast<int64_t>(packed.size());
  DepthwisePlan plan;
  plan.pairs = true;
  auto chunk = schedule::chooseChunk(w, stagingOf(spec, op.getData()), weightBytes + chain.l1Bytes());
  int64_t rows =
      chunk ? schedule::depthwiseRows(w, plan, *chunk, context.ncore, 0, steps, chain.l1Bytes()) : 0;
  if (rows == 0) {
    why = "two rows of the map do not fit " + std::string(chunk ? "L1" : "LLB");
    return false;
  }
  KernelBuilder kb = builderFor(spec, context);
  Value weights = kb.ddr(context.pool.add(std::move(packed), "weights"));
  chain.prepare(kb, context.pool);
  SpatialNest nest(kb, w, *chunk, inputPlace(kb, op.getData(), spec), outputPlace(kb, spec), {});
  emitPairs(kb, w, rows, leading ? std::optional(leading->first) : std::nullopt, chain, nest, weights,
            weightBytes);
  kb.finish();
  return true;
}

static bool lowerDepthwise(Operation *op, const KernelSpec &spec, LoweringContext &context,
                           std::string &why) {
  WindowShape w;
  DepthwisePlan plan = *planOf(op, w);
  auto chain = ElementwiseChain::analyse(spec.primitive, op->getResult(0), why);
  if (!chain)
    return false;
  Value input = cast<relay::Conv2DOp>(op).getData();
  if (chain->tensorCount() == 0 && schedule::pairsAreCheaper(w))
    return lowerPairs(cast<relay::Conv2DOp>(op), w, std::move(*chain), spec, context, why);
  // Rows are flat: vectors are repeated for each pixel.
  ElementwiseChain vectorChain = chain->forColumns(0, plan.vector, w.outWidth);
  ElementwiseChain matrixChain = chain->forColumns(plan.vector, w.channels - plan.vector, w.outWidth);
  int64_t weightBytes = plan.matrixWeights(w) + plan.vectorWeights(w);
  int64_t epilogueBytes = vectorChain.l1Bytes() + matrixChain.l1Bytes();
  auto chunk = schedule::chooseChunk(w, stagingOf(spec, input, chain->tensorsInDdr(spec.inputs)),
                                     weightBytes + epilogueBytes);
  if (!chunk) {
    why = "one row of the map does not fit LLB";
    return false;
  }
  auto residuals = static_cast<int64_t>(chain->tensorCount());
  int64_t rows =
      schedule::depthwiseRows(w, plan, *chunk, context.ncore, residuals, chain->size(), epilogueBytes);
  if (rows == 0) {
    why = "a row of the map does not fit L1";
    return false;
  }
  KernelBuilder kb = builderFor(spec, context);
  Value weights = kb.ddr(context.pool.add(
      packWeights(*relay::constantOf(cast<relay::Conv2DOp>(op).getWeight()), w, plan), "weights"));
  if (plan.vector)
    vectorChain.prepare(kb, context.pool);
  if (plan.vector < w.channels)
    matrixChain.prepare(kb, context.pool);
  SmallVector<Place> tensors = chain->tensorPlaces(kb, context.pool, spec.inputs);
  SpatialNest nest(kb, w, *chunk, inputPlace(kb, input, spec), outputPlace(kb, spec), tensors);
  DepthwiseEmitter(kb, w, plan, rows, vectorChain, matrixChain, nest).run(weights);
  kb.finish();
  return true;
}

const Family tile::depthwiseFamily = {handlesDepthwise, whyNotDepthwise, lowerDepthwise};
