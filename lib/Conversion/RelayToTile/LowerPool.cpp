// Maximum and average pooling on NHWC. A window is folded vertically, then horizontally. The first fold
// writes into a frame of -inf or 0, which becomes one flat list of pixels whose pitch is a multiple of the
// horizontal stride: each fold is one instruction for the band; the pixels between the rows are junk that the
// final copy leaves out.
//
//   rows, two bands of them -> fold over kernel rows into the frame -> fold over kernel columns -> copy, for
//   an average times 1 / window -> out
//
// Rows that a window misses above and below are -inf or 0, too.
#include "Conversion/RelayToTile/Lowerings.h"
#include "Conversion/RelayToTile/SpatialNest.h"
#include "Dialect/Relay/Relay.h"
#include "Numerics/Half.h"
#include <cmath>

using namespace mlir;
using namespace tensorturbo;
using namespace tensorturbo::tile;
using schedule::ChunkPlan;
using schedule::WindowShape;

namespace {
struct Pool {
  WindowShape window;
  Value input;
  bool average = false;
  bool countPadding = false;
  /// Padding that the operator declares; ceil_mode may read beyond it.
  int64_t top = 0, left = 0, bottom = 0, right = 0;
};

struct PoolTiling {
  ChunkPlan chunk;
  int64_t rows = 1, channels = 1, coreRows = 1, coreBlocks = 1;
};
} // namespace

static bool handlesPool(Operation *op) {
  return isa<relay::MaxPool2DOp, relay::AvgPool2DOp>(op);
}

template <typename Op> static std::optional<Pool> poolOf(Op op, std::string &why) {
  if (op.getLayout() != "NHWC") {
    why = "layout must be NHWC, got " + op.getLayout().str();
    return std::nullopt;
  }
  Pool p;
  p.input = op.getData();
  ArrayRef<int64_t> in = shapeOf(op.getData()), out = shapeOf(op.getResult()), pad = op.getPadding();
  WindowShape &w = p.window;
  w.batch = in[0], w.height = in[1], w.width = in[2], w.channels = in[3];
  w.outHeight = out[1], w.outWidth = out[2], w.outChannels = out[3];
  w.kernelHeight = op.getPoolSize()[0], w.kernelWidth = op.getPoolSize()[1];
  w.strideHeight = op.getStrides()[0], w.strideWidth = op.getStrides()[1];
  w.dilationHeight = op.getDilation()[0], w.dilationWidth = op.getDilation()[1];
  w.top = p.top = pad[0], w.left = p.left = pad[1], p.bottom = pad[2], p.right = pad[3];
  w.bottom = std::max<int64_t>(0, w.inputRows(w.outHeight) - w.top - w.height);
  return p;
}

static std::optional<Pool> poolOf(Operation *op, std::string &why) {
  if (auto max = dyn_cast<relay::MaxPool2DOp>(op))
    return poolOf(max, why);
  auto average = cast<relay::AvgPool2DOp>(op);
  auto p = poolOf(average, why);
  if (p) {
    p->average = true;
    p->countPadding = average.getCountIncludePad();
  }
  return p;
}

/// Pixels from one row of the band to the next.
static int64_t pitchOf(const WindowShape &w) {
  int64_t needed = std::max(w.width + w.left, (w.outWidth - 1) * w.strideWidth + w.extentWidth());
  return ceilDiv(needed, w.strideWidth) * w.strideWidth;
}

/// Pixels of the frame: the horizontal fold of the last ones reads a window beyond the band.
static int64_t framePixels(const WindowShape &w, int64_t rows) {
  return rows * pitchOf(w) + w.extentWidth();
}

static int64_t l1Need(const WindowShape &w, const PoolTiling &t) {
  int64_t pixel = t.channels * halfBytes;
  int64_t raw = paddedBytes(w.inputRows(t.rows) * w.width * pixel),
          frame = paddedBytes(framePixels(w, t.rows) * pixel);
  int64_t horizontal = paddedBytes(t.rows * (pitchOf(w) / w.strideWidth) * pixel),
          out = paddedBytes(t.rows * w.outWidth * pixel);
  return 2 * raw + frame + horizontal + 2 * out + w.outHeight * w.outWidth * halfBytes + 6 * 64;
}

static std::optional<PoolTiling> tilingOf(const WindowShape &w, const schedule::Staging &staging, int ncore,
                                          std::string &why) {
  int64_t factors = w.outHeight * w.outWidth * halfBytes + 64;
  auto chunk = schedule::chooseChunk(w, staging, factors);
  if (!chunk) {
    why = "one row of the map does not fit LLB";
    return std::nullopt;
  }
  int64_t pitch = pitchOf(w);
  std::optional<PoolTiling> best;
  double bestCost = 0;
  for (int64_t channels = 1; channels <= w.channels; ++channels) {
    if (w.channels % channels != 0 ||
        std::max(w.strideHeight * w.width, pitch) * channels * halfBytes > maxStride ||
        pitch * channels > maxExtent)
      continue;
    for (int64_t coreBlocks = 1; coreBlocks <= ncore; coreBlocks *= 2)
      for (int64_t rows = 1; rows <= std::min<int64_t>(w.outHeight, 64); ++rows) {
        PoolTiling t{*chunk, rows, channels, ncore / coreBlocks, coreBlocks};
        if (l1Need(w, t) > levelCapacity(MemoryLevel::L1) - 1024 || w.inputRows(rows) * w.width > maxExtent ||
            framePixels(w, rows) > maxExtent)
          break;
        int64_t rowsInChunk = chunk->rowsPerChunk ? chunk->rowsPerChunk : w.outHeight;
        int64_t tiles = ceilDiv(chunk->imagesPerChunk * ceilDiv(rowsInChunk, rows), t.coreRows) *
                        ceilDiv(w.channels / channels, coreBlocks);
        double lanes = double(ceilDiv(channels, 64));
        double fold =
            double(std::max<int64_t>(w.kernelHeight - 1, 1)) *
                double(ceilDiv(w.width * channels, 64) * rows) +
            double(std::max<int64_t>(w.kernelWidth - 1, 1)) * double(rows * pitch / w.strideWidth) * lanes +
            double(rows * ceilDiv(w.outWidth * channels, 64));
        double bytes = 2.0 * double(channels) *
                       double(std::min(w.inputRows(rows), w.height) * w.width + rows * w.outWidth);
        double moves = 150.0 + bytes / 32.0, vector = 10.0 * double(w.kernelHeight + w.kernelWidth) + fold;
        // The first load and the last store overlap with nothing.
        double cost = double(tiles) * std::max(moves, vector) + moves + 0.3 * vector;
        if (!best || cost < bestCost) {
          best = t;
          bestCost = cost;
        }
      }
  }
  if (!best)
    why = "a row of " + std::to_string(pitch) + " pixels is too long for the stride fields or L1";
  return best;
}

static std::string whyNotPool(Operation *op, int ncore) {
  std::string why;
  auto p = poolOf(op, why);
  if (!p)
    return why;
  const WindowShape &w = p->window;
  if (w.top >= w.extentHeight() || w.left >= w.extentWidth() || w.bottom >= w.extentHeight())
    return "padding must be smaller than the window, got " + shapeText({w.top, w.left, w.bottom}) +
           " for a window of " + shapeText({w.extentHeight(), w.extentWidth()});
  tilingOf(w, {}, ncore, why);
  return why;
}

/// Average pooling divides by the window; this map corrects positions that count fewer elements. Empty if
/// there are none.
static std::vector<float> corrections(const Pool &p) {
  const WindowShape &w = p.window;
  int64_t low = p.countPadding ? 1 : 0;
  auto count = [&](int64_t out, int64_t stride, int64_t kernel, int64_t dilation, int64_t before,
                   int64_t extent, int64_t after) {
    int64_t n = 0;
    for (int64_t k = 0; k < kernel; ++k) {
      int64_t at = out * stride - before + k * dilation;
      n += at >= -low * before && at < extent + low * after;
    }
    return n;
  };
  std::vector<float> map;
  bool needed = false;
  int64_t window = w.kernelHeight * w.kernelWidth;
  for (int64_t y = 0; y < w.outHeight; ++y)
    for (int64_t x = 0; x < w.outWidth; ++x) {
      int64_t n = count(y, w.strideHeight, w.kernelHeight, w.dilationHeight, p.top, w.height, p.bottom) *
                  count(x, w.strideWidth, w.kernelWidth, w.dilationWidth, p.left, w.width, p.right);
      needed |= n != window;
      map.push_back(n ? float(window) / float(n) : 0.0f);
    }
  return needed ? map : std::vector<float>();
}

namespace {
class PoolEmitter {
public:
  PoolEmitter(KernelBuilder &kb, const Pool &p, const PoolTiling &t, SpatialNest &nest)
      : kb(kb), b(kb.builder()), p(p), w(p.window), t(t), nest(nest), pitch(pitchOf(p.window)),
        pixel(t.channels * halfBytes), kind(p.average ? BinaryKind::add : BinaryKind::max) {}

  void run(ConstantPool &pool) {
    std::vector<float> map = p.average ? corrections(p) : std::vector<float>();
    rawSlot = paddedBytes(w.inputRows(t.rows) * w.width * pixel);
    outSlot = paddedBytes(t.rows * w.outWidth * pixel);
    raw = kb.alloc(MemoryLevel::L1, 2 * rawSlot, "rows");
    frame = kb.alloc(MemoryLevel::L1, framePixels(w, t.rows) * pixel, "frame");
    horizontal = kb.alloc(MemoryLevel::L1, t.rows * (pitch / w.strideWidth) * pixel, "horizontal");
    out = kb.alloc(MemoryLevel::L1, 2 * outSlot, "out");
    // Folds write between the borders only.
    FillOp::create(b, kb.location(), llvm::APFloat(border()), kb.view(frame),
                   kb.constant(framePixels(w, t.rows)), kb.constant(t.channels), kb.constant(0));
    if (!map.empty()) {
      auto size = static_cast<int64_t>(map.size());
      Value global = kb.ddr(pool.add(halvesOf(map), "counts"));
      Value llb = kb.alloc(MemoryLevel::LLB, size * 2, "counts");
      factors = kb.alloc(MemoryLevel::L1, size * 2, "counts");
      kb.onMaster(
          [&] { kb.dma(llb, kb.constant(0), global, kb.constant(0), kb.constant(size * 2), size * 2); });
      kb.barrier();
      kb.loadLinear(factors, kb.constant(0), llb, kb.constant(0), kb.constant(size), size);
    }
    nest.forEachChunk([&] {
      Value coreBlock = kb.rem(kb.coreId(), kb.constant(t.coreBlocks));
      Value coreRow = kb.div(kb.coreId(), kb.constant(t.coreBlocks));
      kb.loop(coreBlock, kb.constant(w.channels / t.channels), kb.constant(t.coreBlocks), [&](Value block) {
        channelOffset = kb.mul(block, pixel);
        nest.forEachTilePipelined(
            t.rows, coreRow, t.coreRows, [&](const SpatialTile &st, Value slot) { fetch(st, slot); }, [] {},
            [&](const SpatialTile &st, Value slot) { tile(st, slot); });
      });
    });
  }

private:
  float border() const { return p.average ? 0.0f : -INFINITY; }

  /// dst = fold of `count` matrices of src that lie `step` bytes apart.
  void fold(Value dst, int64_t dstStride, Value src, Value srcOffset, int64_t count, int64_t step, Value rows,
            Value columns, int64_t srcStride) {
    auto from = [&](Value k) { return kb.view(src, kb.add(srcOffset, kb.mul(k, step))); };
    Value to = kb.constant(dstStride), stride = kb.constant(srcStride);
    if (count == 1) {
      UnaryOp::create(b, kb.location(), UnaryKind::copy, dst, from(kb.constant(0)), rows, columns, to,
                      stride);
      return;
    }
    BinaryOp::create(b, kb.location(), kind, dst, from(kb.constant(0)), from(kb.constant(1)), rows, columns,
                     to, stride, stride);
    kb.loop(2, count, 1, [&](Value k) {
      BinaryOp::create(b, kb.location(), kind, dst, dst, from(k), rows, columns, to, to, stride);
    });
  }

  /// Rows of this channel block, dense in L1, behind those that are missing above.
  void fetch(const SpatialTile &st, Value slot) {
    Value to = kb.add(kb.mul(slot, rawSlot), kb.mul(st.top, w.width * pixel));
    kb.load(kb.view(raw, to), kb.view(nest.inputLlb(), kb.add(st.inOffset, channelOffset)),
            kb.mul(st.inRows, w.width), kb.constant(t.channels), kb.constant(w.channels * halfBytes));
  }

  void missing(Value rows, Value offset) {
    kb.when(kb.less(kb.constant(0), rows), [&] {
      FillOp::create(b, kb.location(), llvm::APFloat(border()), kb.view(raw, offset), rows,
                     kb.constant(w.width * t.channels), kb.constant(0));
    });
  }

  void tile(const SpatialTile &st, Value slot) {
    Location loc = kb.location();
    Value zero = kb.constant(0), channels = kb.constant(t.channels), base = kb.mul(slot, rawSlot);
    int64_t row = w.width * pixel;
    if (w.top)
      missing(st.top, base);
    if (w.bottom)
      missing(st.bottom, kb.add(base, kb.mul(kb.add(st.top, st.inRows), row)));
    // Vertical: whole rows, into the frame. Horizontal: every strideWidth-th pixel.
    fold(kb.view(frame, w.left * pixel), pitch * pixel, raw, base, w.kernelHeight, w.dilationHeight * row,
         st.outRows, kb.constant(w.width * t.channels), w.strideHeight * row);
    fold(kb.view(horizontal), 0, frame, zero, w.kernelWidth, w.dilationWidth * pixel,
         kb.mul(st.outRows, pitch / w.strideWidth), channels, w.strideWidth * pixel);
    Value pixels = kb.mul(st.outRows, w.outWidth), columns = kb.constant(w.outWidth * t.channels);
    Value result = kb.view(out, kb.mul(slot, outSlot)), stride = kb.constant(pitch / w.strideWidth * pixel);
    if (p.average) {
      float scale = 1.0f / float(w.kernelHeight * w.kernelWidth);
      scale = numerics::halfToFloat(numerics::roundToHalf(scale));
      BinaryScalarOp::create(b, loc, BinaryKind::mul, llvm::APFloat(scale), result, kb.view(horizontal),
                             st.outRows, columns, zero, stride);
    } else {
      UnaryOp::create(b, loc, UnaryKind::copy, result, kb.view(horizontal), st.outRows, columns, zero,
                      stride);
    }
    if (factors)
      BinaryVectorOp::create(b, loc, BinaryKind::mul, Axis::rows, result, result,
                             kb.view(factors, kb.mul(st.outRow, w.outWidth * halfBytes)), pixels, channels,
                             zero, zero);
    kb.store(kb.view(nest.outputLlb(), kb.add(st.outOffset, channelOffset)), result, pixels, channels,
             kb.constant(w.channels * halfBytes));
  }

  KernelBuilder &kb;
  OpBuilder &b;
  const Pool &p;
  const WindowShape &w;
  const PoolTiling &t;
  SpatialNest &nest;
  int64_t pitch, pixel, rawSlot = 0, outSlot = 0;
  BinaryKind kind;
  Value raw, frame, horizontal, out, factors, channelOffset;
};
} // namespace

static bool lowerPool(Operation *op, const KernelSpec &spec, LoweringContext &context, std::string &why) {
  auto p = poolOf(op, why);
  if (!p)
    return false;
  auto t = tilingOf(p->window, stagingOf(spec, p->input), context.ncore, why);
  if (!t)
    return false;
  KernelBuilder kb = builderFor(spec, context);
  SpatialNest nest(kb, p->window, t->chunk, inputPlace(kb, p->input, spec), outputPlace(kb, spec), {});
  PoolEmitter(kb, *p, *t, nest).run(context.pool);
  kb.finish();
  return true;
}

const Family tile::poolFamily = {handlesPool, whyNotPool, lowerPool};
