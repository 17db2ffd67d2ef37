// A dense convolution with stride 2 and a kernel one larger makes 2 x 2 pixels of 16 channels as its 64
// output channels: it fills the columns of the matrix engine and needs 16 taps for four pixels instead of 36.
//
//   for each tile of this core:     rows of the next one to L1
//     for each block of 16 channels: convolution into IM; for each of the four pixels, the first step of the
//     epilogue
//                                    brings the block to its place in L1, even and odd rows apart
//     rest of the epilogue; even rows, odd rows to LLB
#include "Conversion/RelayToTile/DepthwisePairs.h"
#include "Conversion/RelayToTile/Lowerings.h"
#include <cstring>

using namespace mlir;
using namespace tensorturbo;
using namespace tensorturbo::tile;
using schedule::WindowShape;

/// Channels of a block, and columns of its convolution.
static constexpr int64_t channels = 16, columns = 64;

static int64_t blockBytes(const WindowShape &w) {
  return (w.kernelHeight + 1) * (w.kernelWidth + 1) * channels * columns * halfBytes;
}

std::vector<uint8_t> tile::packPairs(const uint8_t *weights, const WindowShape &w,
                                     const std::vector<float> &leading) {
  int64_t blocks = w.channels / channels;
  std::vector<uint8_t> bytes(static_cast<size_t>(blocks * blockBytes(w)));
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t ky = 0; ky < w.kernelHeight; ++ky)
      for (int64_t kx = 0; kx < w.kernelWidth; ++kx)
        for (int64_t pixel = 0; pixel < 4; ++pixel)
          for (int64_t c = 0; c < channels; ++c) {
            int64_t tap = (ky + pixel / 2) * (w.kernelWidth + 1) + kx + pixel % 2;
            int64_t to = (tap * channels + c) * columns + pixel * channels + c;
            int64_t from = (ky * w.kernelWidth + kx) * w.channels + block * channels + c;
            std::memcpy(bytes.data() + block * blockBytes(w) + to * halfBytes, weights + from * halfBytes,
                        halfBytes);
          }
  std::vector<uint8_t> vector = halvesOf(leading);
  bytes.insert(bytes.end(), vector.begin(), vector.end());
  return bytes;
}

namespace {
class PairsEmitter {
public:
  PairsEmitter(KernelBuilder &kb, const WindowShape &w, int64_t rows, std::optional<BinaryKind> leading,
               const ElementwiseChain &chain, SpatialNest &nest)
      : kb(kb), b(kb.builder()), loc(kb.location()), w(w), tileRows(rows), leading(leading), chain(chain),
        nest(nest), blocks(w.channels / channels), rowBytes(w.outWidth * w.channels * halfBytes) {}

  void run(Value weightsDdr, int64_t weightBytes) {
    inSlot = paddedBytes(std::min(w.inputRows(tileRows), w.height) * w.inputRowBytes());
    planeBytes = paddedBytes(tileRows / 2 * rowBytes);
    imSlot = paddedBytes(tileRows / 2 * (w.outWidth / 2) * columns * halfBytes);
    imSlots = std::min<int64_t>(levelCapacity(MemoryLevel::IM) / imSlot, 2 * blocks);
    slab = kb.alloc(MemoryLevel::L1, 2 * inSlot, "rows");
    out = kb.alloc(MemoryLevel::L1, 4 * planeBytes, "out");
    sums = kb.alloc(MemoryLevel::IM, imSlots * imSlot, "sums");
    weights = kb.alloc(MemoryLevel::L1, weightBytes, "weights");
    Value llb = kb.alloc(MemoryLevel::LLB, weightBytes, "weights"), zero = kb.constant(0);
    kb.onMaster(
        [&] { BringOp::create(b, loc, llb, weightsDdr, static_cast<uint64_t>(weightBytes), uint64_t(0)); });
    kb.barrier();
    kb.broadcastLinear(weights, zero, llb, zero, kb.constant(weightBytes / halfBytes),
                       weightBytes / halfBytes);
    nest.forEachChunk([&] {
      nest.forEachTilePipelined(
          tileRows, kb.coreId(), kb.cores(),
          [&](const SpatialTile &t, Value slot) {
            kb.loadLinear(slab, kb.mul(slot, inSlot), nest.inputLlb(), t.inOffset,
                          kb.mul(t.inRows, w.width * w.channels), inSlot / halfBytes);
          },
          [] {}, [&](const SpatialTile &t, Value slot) { tile(t, slot); });
    });
  }

private:
  void tile(const SpatialTile &t, Value slot) {
    // Rows of either kind.
    Value odd = kb.div(t.outRows, kb.constant(2)), even = kb.sub(t.outRows, odd);
    kb.loop(0, blocks, 1, [&](Value block) {
      Value number = kb.add(kb.mul(slot, blocks), block);
      Value sum = kb.mul(kb.rem(number, kb.constant(imSlots)), imSlot);
      convolve(t, slot, block, even, kb.view(sums, sum));
      for (int64_t pixel = 0; pixel < 4; ++pixel) {
        Value rows = kb.mul(pixel < 2 ? even : odd, w.outWidth / 2);
        if (pixel < 2)
          place(slot, block, pixel, rows, sum);
        else
          kb.when(kb.less(kb.constant(0), rows), [&] { place(slot, block, pixel, rows, sum); });
      }
    });
    finish(t, slot, 0, even);
    kb.when(kb.less(kb.constant(0), odd), [&] { finish(t, slot, 1, odd); });
  }

  void convolve(const SpatialTile &t, Value slot, Value block, Value superRows, Value dst) {
    // As many rows of zeros below as the last pair reaches beyond the rows that are there.
    Value needed = kb.add(kb.mul(superRows, 2), w.kernelHeight - 1);
    Value bottom = kb.sub(kb.sub(needed, t.top), t.inRows);
    int64_t right = w.outWidth + w.kernelWidth - 1 - w.left - w.width;
    ConvOp::create(
        b, loc, dst, kb.view(slab, kb.add(kb.mul(slot, inSlot), kb.mul(block, channels * halfBytes))),
        kb.view(weights, kb.mul(block, blockBytes(w))), t.inRows, kb.constant(w.width), kb.constant(channels),
        kb.constant(w.channels * halfBytes), superRows, kb.constant(w.outWidth / 2), kb.constant(columns),
        kb.constant(0), kb.constant(0), t.top, bottom, kb.constant(w.left), kb.constant(right),
        static_cast<uint32_t>(w.kernelHeight + 1), static_cast<uint32_t>(w.kernelWidth + 1), 1u, 2u);
  }

  /// One pixel of each group of four, to its place among the others' channels.
  void place(Value slot, Value block, int64_t pixel, Value rows, Value sum) {
    int64_t at = pixel / 2 * planeBytes + pixel % 2 * w.channels * halfBytes;
    Value dst =
        kb.view(out, kb.add(kb.mul(slot, 2 * planeBytes), kb.add(kb.mul(block, channels * halfBytes), at)));
    Value src = kb.view(sums, kb.add(sum, pixel * channels * halfBytes));
    Value width = kb.constant(channels), to = kb.constant(2 * w.channels * halfBytes),
          from = kb.constant(columns * halfBytes);
    if (!leading) {
      UnaryOp::create(b, loc, UnaryKind::copy, dst, src, rows, width, to, from);
      return;
    }
    Value vector = kb.view(weights, kb.add(kb.mul(block, channels * halfBytes), blocks * blockBytes(w)));
    BinaryVectorOp::create(b, loc, *leading, Axis::columns, dst, src, vector, rows, width, to, from);
  }

  void finish(const SpatialTile &t, Value slot, int64_t plane, Value rows) {
    Value at = kb.view(out, kb.add(kb.mul(slot, 2 * planeBytes), plane * planeBytes)), zero = kb.constant(0);
    Value width = kb.constant(w.outWidth * w.channels);
    if (!chain.empty())
      chain.emit(kb, at, zero, at, zero, rows, width, zero, {}, zero);
    kb.store(kb.view(nest.outputLlb(), kb.add(t.outOffset, plane * rowBytes)), at, rows, width,
             kb.constant(2 * rowBytes));
  }

  KernelBuilder &kb;
  OpBuilder &b;
  Location loc;
  const WindowShape &w;
  int64_t tileRows;
  std::optional<BinaryKind> leading;
  const ElementwiseChain &chain;
  SpatialNest &nest;
  int64_t blocks, rowBytes, inSlot = 0, planeBytes = 0, imSlot = 0, imSlots = 0;
  Value slab, out, sums, weights;
};
} // namespace

void tile::emitPairs(KernelBuilder &kb, const WindowShape &w, int64_t rows, std::optional<BinaryKind> leading,
                     const ElementwiseChain &chain, SpatialNest &nest, Value weightsDdr,
                     int64_t weightBytes) {
  PairsEmitter(kb, w, rows, leading, chain, nest).run(weightsDdr, weightBytes);
}
