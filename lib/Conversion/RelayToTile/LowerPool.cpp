// Maximum and average pooling on NHWC. A window is folded vertically, then horizontally: the padded band is
// one flat list of pixels whose pitch is a multiple of the horizontal stride, so each fold is one instruction
// for the band; the pixels between the rows are junk that the final copy leaves out.
//
//   rows -> (copy into a frame of -inf or 0) -> fold over kernel rows -> fold over kernel columns -> copy ->
//   out
#include "Conversion/RelayToTile/Lowerings.h"
#include "Conversion/RelayToTile/SpatialNest.h"
#include "Dialect/Relay/Relay.h"
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

static int64_t bandPixels(const WindowShape &w, int64_t rows) {
  // The horizontal fold of the last pixels reads a window beyond the band.
  return w.inputRows(rows) * pitchOf(w) + w.extentWidth();
}

static int64_t l1Need(const WindowShape &w, const PoolTiling &t) {
  int64_t pitch = pitchOf(w), pixel = t.channels * halfBytes;
  int64_t raw = std::min(w.inputRows(t.rows), w.height) * w.width * pixel;
  int64_t frame = bandPixels(w, t.rows) * pixel, vertical = (t.rows * pitch + w.extentWidth()) * pixel;
  int64_t horizontal = t.rows * (pitch / w.strideWidth) * pixel, out = t.rows * w.outWidth * pixel;
  return raw + frame + vertical + horizontal + out + w.outHeight * w.outWidth * halfBytes + 6 * 64;
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
    if (w.channels % channels != 0 || w.strideHeight * pitch * channels * halfBytes > maxStride ||
        pitch * channels > maxExtent)
      continue;
    for (int64_t coreBlocks = 1; coreBlocks <= ncore; coreBlocks *= 2)
      for (int64_t rows = 1; rows <= std::min<int64_t>(w.outHeight, 64); ++rows) {
        PoolTiling t{*chunk, rows, channels, ncore / coreBlocks, coreBlocks};
        if (l1Need(w, t) > levelCapacity(MemoryLevel::L1) - 1024 || bandPixels(w, rows) > maxExtent)
          break;
        int64_t rowsInChunk = chunk->rowsPerChunk ? chunk->rowsPerChunk : w.outHeight;
        int64_t tiles = ceilDiv(chunk->imagesPerChunk * ceilDiv(rowsInChunk, rows), t.coreRows) *
                        ceilDiv(w.channels / channels, coreBlocks);
        double lanes = double(ceilDiv(channels, 64));
        double work = double(w.kernelHeight + 2) * double(ceilDiv(pitch * channels, 64) * rows) +
                      double(w.kernelWidth + 1) * double(rows * pitch / w.strideWidth) * lanes;
        double cost = double(tiles) * (200.0 + work);
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

/// Average pooling multiplies by 1/window before it sums; this map corrects positions that count fewer
/// elements. Empty if there are none.
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
    int64_t rawRows = std::min(w.inputRows(t.rows), w.height);
    raw = kb.alloc(MemoryLevel::L1, rawRows * w.width * pixel, "rows");
    framed = kb.alloc(MemoryLevel::L1, bandPixels(w, t.rows) * pixel, "frame");
    vertical = kb.alloc(MemoryLevel::L1, (t.rows * pitch + w.extentWidth()) * pixel, "vertical");
    horizontal = kb.alloc(MemoryLevel::L1, t.rows * (pitch / w.strideWidth) * pixel, "horizontal");
    out = kb.alloc(MemoryLevel::L1, t.rows * w.outWidth * pixel, "out");
    // What the folds read beyond the band must be defined, though it reaches junk pixels only.
    FillOp::create(b, kb.location(), llvm::APFloat(0.0f), kb.view(vertical),
                   kb.constant(t.rows * pitch + w.extentWidth()), kb.constant(t.channels), kb.constant(0));
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
        nest.forEachTile(t.rows, coreRow, t.coreRows, [&](const SpatialTile &st) { tile(st); });
      });
    });
  }

private:
  void binary(Value dst, Value lhs, Value rhs, Value rows, Value columns, int64_t dstStride,
              int64_t srcStride, int64_t rhsStride) {
    BinaryOp::create(b, kb.location(), kind, dst, lhs, rhs, rows, columns, kb.constant(dstStride),
                     kb.constant(srcStride), kb.constant(rhsStride));
  }

  /// dst = fold of `count` matrices of src that lie `step` bytes apart.
  void fold(Value dst, Value src, int64_t count, int64_t step, Value rows, Value columns, int64_t srcStride) {
    if (count == 1) {
      UnaryOp::create(b, kb.location(), UnaryKind::copy, kb.view(dst), kb.view(src), rows, columns,
                      kb.constant(0), kb.constant(srcStride));
      return;
    }
    binary(kb.view(dst), kb.view(src), kb.view(src, step), rows, columns, 0, srcStride, srcStride);
    kb.loop(2, count, 1, [&](Value k) {
      binary(kb.view(dst), kb.view(dst), kb.view(src, kb.mul(k, step)), rows, columns, 0, 0, srcStride);
    });
  }

  void tile(const SpatialTile &st) {
    Location loc = kb.location();
    Value zero = kb.constant(0), channels = kb.constant(t.channels);
    // Rows of this channel block, dense in L1.
    kb.load(kb.view(raw), kb.view(nest.inputLlb(), kb.add(st.inOffset, channelOffset)),
            kb.mul(st.inRows, w.width), channels, kb.constant(w.channels * halfBytes));
    // Into the frame.
    float border = p.average ? 0.0f : -INFINITY;
    FillOp::create(b, loc, llvm::APFloat(border), kb.view(framed), kb.constant(bandPixels(w, t.rows)),
                   channels, zero);
    Value corner = kb.view(framed, kb.mul(kb.add(kb.mul(st.top, pitch), w.left), pixel));
    Value rowColumns = kb.constant(w.width * t.channels);
    if (p.average)
      BinaryScalarOp::create(b, loc, BinaryKind::mul,
                             llvm::APFloat(1.0f / float(w.kernelHeight * w.kernelWidth)), corner,
                             kb.view(raw), st.inRows, rowColumns, kb.constant(pitch * pixel), zero);
    else
      UnaryOp::create(b, loc, UnaryKind::copy, corner, kb.view(raw), st.inRows, rowColumns,
                      kb.constant(pitch * pixel), zero);
    // Vertical: whole rows of the frame. Horizontal: every strideWidth-th pixel.
    fold(vertical, framed, w.kernelHeight, w.dilationHeight * pitch * pixel, st.outRows,
         kb.constant(pitch * t.channels), w.strideHeight * pitch * pixel);
    fold(horizontal, vertical, w.kernelWidth, w.dilationWidth * pixel,
         kb.mul(st.outRows, pitch / w.strideWidth), channels, w.strideWidth * pixel);
    Value pixels = kb.mul(st.outRows, w.outWidth);
    UnaryOp::create(b, loc, UnaryKind::copy, kb.view(out), kb.view(horizontal), st.outRows,
                    kb.constant(w.outWidth * t.channels), zero, kb.constant(pitch / w.strideWidth * pixel));
    if (factors)
      BinaryVectorOp::create(b, loc, BinaryKind::mul, Axis::rows, kb.view(out), kb.view(out),
                             kb.view(factors, kb.mul(st.outRow, w.outWidth * halfBytes)), pixels, channels,
                             zero, zero);
    kb.store(kb.view(nest.outputLlb(), kb.add(st.outOffset, channelOffset)), kb.view(out), pixels, channels,
             kb.constant(w.channels * halfBytes));
  }

  KernelBuilder &kb;
  OpBuilder &b;
  const Pool &p;
  const WindowShape &w;
  const PoolTiling &t;
  SpatialNest &nest;
  int64_t pitch, pixel;
  BinaryKind kind;
  Value raw, framed, vertical, horizontal, out, factors, channelOffset;
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
