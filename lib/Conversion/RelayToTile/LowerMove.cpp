// Operators that only move data: concatenate, split, slices along one axis, constant borders.
//
// A tensor is seen as [outer][inner]. The cores copy rows through L1, with a stride in LLB on either side.
// Between tensors in DDR the system DMA gathers strided rows (slices); it cannot scatter them (concatenate),
// because its destination is always dense.
#include "Conversion/RelayToTile/BatchNest.h"
#include "Conversion/RelayToTile/Lowerings.h"
#include "Conversion/RelayToTile/SpatialNest.h"
#include "Dialect/Relay/Relay.h"
#include <algorithm>

using namespace mlir;
using namespace tensorturbo;
using namespace tensorturbo::tile;
using schedule::WindowShape;

/// LLB that a kernel leaves for the alignment of its buffers.
static constexpr int64_t reserve = 65536;

static bool handlesMove(Operation *op) {
  return isa<relay::ConcatenateOp, relay::SplitOp, relay::StridedSliceOp, relay::PadOp>(op);
}

//===-- concatenate
//----------------------------------------------------------------------------------------===//

namespace {
struct Concat {
  int64_t outer = 1, inner = 0;
  /// Elements of a row that each input gives.
  SmallVector<int64_t> parts;
};
} // namespace

static Concat concatOf(relay::ConcatenateOp op) {
  ArrayRef<int64_t> out = shapeOf(op.getResult());
  int64_t axis = op.getAxis() < 0 ? op.getAxis() + static_cast<int64_t>(out.size()) : op.getAxis();
  Concat c;
  c.outer = product(out.take_front(static_cast<size_t>(axis)));
  for (Value input : op.getData())
    c.parts.push_back(product(shapeOf(input).drop_front(static_cast<size_t>(axis))));
  for (int64_t part : c.parts)
    c.inner += part;
  return c;
}

/// Rows scattered by the cores, if the strides fit their fields and a row fits LLB; otherwise piece by piece
/// through the DMA alone.
static bool byCores(const Concat &c, int64_t room) {
  return c.outer > 1 && c.inner * halfBytes <= maxStride && 2 * c.inner * halfBytes <= room;
}

static void copyThroughLlb(KernelBuilder &kb, const Place &dst, Value dstOffset, const Place &src,
                           Value srcOffset, int64_t bytes, Value llb, int64_t llbBytes) {
  kb.loop(0, bytes, llbBytes, [&](Value at) {
    Value size = kb.min(kb.constant(llbBytes), kb.sub(kb.constant(bytes), at));
    kb.dma(llb, kb.constant(0), src.buffer, kb.add(src.offset, kb.add(srcOffset, at)), size, llbBytes);
    kb.dma(dst.buffer, kb.add(dst.offset, kb.add(dstOffset, at)), llb, kb.constant(0), size, llbBytes);
  });
}

/// Rows of a tile, of which L1 holds two: at most `most`, enough to hide the fixed costs, and some for every
/// core.
static int64_t tileRows(int64_t rows, int64_t rowBytes, int ncore) {
  int64_t most = std::max<int64_t>(int64_t(131072) / rowBytes, 1);
  return std::clamp<int64_t>(ceilDiv(rows, 4 * ncore), 1, most);
}

/// Concatenation where the master's DMA does it all: rows are long, or there is only one.
static void concatByDma(KernelBuilder &kb, const Concat &c, const Place &out, ArrayRef<Place> inputs,
                        int64_t room) {
  int64_t llbBytes =
      std::min({*std::max_element(c.parts.begin(), c.parts.end()) * halfBytes, room, int64_t(4) << 20});
  Value llb = kb.alloc(MemoryLevel::LLB, llbBytes, "piece");
  kb.onMaster([&] {
    kb.loop(0, c.outer, 1, [&](Value row) {
      int64_t offset = 0;
      for (size_t i = 0; i < inputs.size(); ++i) {
        int64_t bytes = c.parts[i] * halfBytes;
        copyThroughLlb(kb, out, kb.add(kb.mul(row, c.inner * halfBytes), kb.constant(offset)), inputs[i],
                       kb.mul(row, bytes), bytes, llb, llbBytes);
        offset += bytes;
      }
    });
  });
}

static bool lowerConcat(relay::ConcatenateOp op, const KernelSpec &spec, LoweringContext &context) {
  Concat c = concatOf(op);
  KernelBuilder kb = builderFor(spec, context);
  Place out = outputPlace(kb, spec);
  SmallVector<Place> inputs;
  SmallVector<BatchOperand> operands = {{out, c.inner * halfBytes, false, true}};
  for (auto [input, part] : llvm::zip_equal(op.getData(), c.parts)) {
    inputs.push_back(operandPlace(kb, input, spec, context.pool));
    operands.push_back({inputs.back(), part * halfBytes, false, false});
  }
  int64_t room = spec.llbRoom - reserve;
  if (!byCores(c, room) || !BatchNest::canRun(operands, room)) {
    concatByDma(kb, c, out, inputs, room);
    kb.finish();
    return true;
  }
  int64_t rows = tileRows(c.outer, c.inner * halfBytes, context.ncore);
  SmallVector<Value> tiles;
  SmallVector<int64_t> slots;
  for (int64_t part : c.parts) {
    slots.push_back(paddedBytes(rows * part * halfBytes));
    tiles.push_back(kb.alloc(MemoryLevel::L1, 2 * slots.back(), "rows"));
  }
  BatchNest nest(kb, c.outer, operands, room);
  nest.forEachRun([&](Value count) {
    auto countOf = [&](Value index) { return kb.min(kb.constant(rows), kb.sub(count, kb.mul(index, rows))); };
    Value end = kb.div(kb.add(count, rows - 1), kb.constant(rows));
    pipelinedLoop(
        kb, kb.coreId(), end, kb.cores(),
        [&](Value index, Value slot) {
          for (size_t i = 0; i < tiles.size(); ++i)
            kb.loadLinear(tiles[i], kb.mul(slot, slots[i]), nest.buffer(i + 1),
                          nest.offset(i + 1, kb.mul(index, rows)), kb.mul(countOf(index), c.parts[i]),
                          rows * c.parts[i]);
        },
        [&](Value index, Value slot) {
          int64_t offset = 0;
          for (size_t i = 0; i < tiles.size(); ++i) {
            kb.store(kb.view(nest.buffer(0), kb.add(nest.offset(0, kb.mul(index, rows)), offset)),
                     kb.view(tiles[i], kb.mul(slot, slots[i])), countOf(index), kb.constant(c.parts[i]),
                     kb.constant(c.inner * halfBytes));
            offset += c.parts[i] * halfBytes;
          }
        });
  });
  kb.finish();
  return true;
}

//===-- split and strided_slice
//----------------------------------------------------------------------------===//

namespace {
/// Elements [begin, begin + part) of each row of `inner`.
struct SliceView {
  int64_t outer = 1, inner = 1, begin = 0, part = 0;
};
} // namespace

static std::optional<SmallVector<SliceView>> slicesOf(Operation *op, std::string &why) {
  SmallVector<SliceView> views;
  if (auto split = dyn_cast<relay::SplitOp>(op)) {
    ArrayRef<int64_t> in = shapeOf(split.getData());
    auto axis =
        static_cast<size_t>(split.getAxis() < 0 ? split.getAxis() + int64_t(in.size()) : split.getAxis());
    int64_t below = product(in.drop_front(axis + 1)), begin = 0;
    for (Value result : split.getResults()) {
      int64_t part = shapeOf(result)[axis] * below;
      views.push_back({product(in.take_front(axis)), in[axis] * below, begin, part});
      begin += part;
    }
    return views;
  }
  auto slice = cast<relay::StridedSliceOp>(op);
  ArrayRef<int64_t> in = shapeOf(slice.getData()), out = shapeOf(slice.getResult());
  auto ranges = relay::resolveSlices(in, slice.getBegin(), slice.getEnd(), slice.getStrides(),
                                     slice.getSliceMode(), slice.getAxes());
  SliceView view{1, product(in), 0, product(in)};
  bool cut = false;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] == out[i] && (*ranges)[i].stride == 1)
      continue;
    if (cut || (*ranges)[i].stride != 1) {
      why = "only slices of neighbouring elements along one axis, got " + shapeText(in) + " to " +
            shapeText(out);
      return std::nullopt;
    }
    cut = true;
    int64_t below = product(in.drop_front(i + 1));
    view = {product(in.take_front(i)), in[i] * below, (*ranges)[i].begin * below, out[i] * below};
  }
  views.push_back(view);
  return views;
}

/// By the master's DMA, which reads nothing but what is wanted: the way from DDR to DDR.
static void slicesByDma(KernelBuilder &kb, ArrayRef<SliceView> views, const Place &in, ArrayRef<Place> outs,
                        int64_t room) {
  int64_t llbBytes = 0;
  for (const SliceView &v : views)
    llbBytes = std::max(llbBytes, std::min({v.outer * v.part * halfBytes, room, int64_t(4) << 20}));
  Value llb = kb.alloc(MemoryLevel::LLB, llbBytes, "piece");
  kb.onMaster([&] {
    for (size_t i = 0; i < views.size(); ++i) {
      const SliceView &v = views[i];
      const Place &out = outs[i];
      int64_t rowBytes = v.part * halfBytes, pitch = v.inner * halfBytes, begin = v.begin * halfBytes;
      if (rowBytes > llbBytes || v.outer == 1) {
        kb.loop(0, v.outer, 1, [&](Value row) {
          copyThroughLlb(kb, out, kb.mul(row, rowBytes), in, kb.add(kb.mul(row, pitch), begin), rowBytes, llb,
                         llbBytes);
        });
        continue;
      }
      int64_t rows = std::min<int64_t>(llbBytes / rowBytes, 65535), outer = v.outer;
      kb.loop(0, outer, rows, [&](Value row) {
        Value count = kb.min(kb.constant(rows), kb.sub(kb.constant(outer), row));
        DmaOp::create(kb.builder(), kb.location(), kb.view(llb),
                      kb.view(in.buffer, kb.add(in.offset, kb.add(kb.mul(row, pitch), begin))), count,
                      kb.constant(rowBytes), kb.constant(pitch));
        kb.dma(out.buffer, kb.add(out.offset, kb.mul(row, rowBytes)), llb, kb.constant(0),
               kb.mul(count, rowBytes), llbBytes);
      });
    }
  });
}

/// Every core copies its share of the rows through L1: what of the tensors lies in LLB stays there.
static void slicesByCores(KernelBuilder &kb, ArrayRef<SliceView> views, ArrayRef<BatchOperand> operands,
                          int64_t room) {
  int64_t outer = views[0].outer, widest = 0;
  for (const SliceView &v : views)
    widest += v.part;
  int64_t rows = tileRows(outer, widest * halfBytes, kb.cores());
  SmallVector<Value> tiles;
  SmallVector<int64_t> slots;
  for (const SliceView &v : views) {
    slots.push_back(paddedBytes(rows * v.part * halfBytes));
    tiles.push_back(kb.alloc(MemoryLevel::L1, 2 * slots.back(), "rows"));
  }
  BatchNest nest(kb, outer, operands, room);
  nest.forEachRun([&](Value count) {
    auto countOf = [&](Value index) { return kb.min(kb.constant(rows), kb.sub(count, kb.mul(index, rows))); };
    Value end = kb.div(kb.add(count, rows - 1), kb.constant(rows));
    pipelinedLoop(
        kb, kb.coreId(), end, kb.cores(),
        [&](Value index, Value slot) {
          for (size_t i = 0; i < views.size(); ++i) {
            const SliceView &v = views[i];
            Value from = kb.add(nest.offset(0, kb.mul(index, rows)), v.begin * halfBytes);
            kb.load(kb.view(tiles[i], kb.mul(slot, slots[i])), kb.view(nest.buffer(0), from), countOf(index),
                    kb.constant(v.part), kb.constant(v.inner * halfBytes));
          }
        },
        [&](Value index, Value slot) {
          for (size_t i = 0; i < views.size(); ++i)
            kb.storeLinear(nest.buffer(i + 1), nest.offset(i + 1, kb.mul(index, rows)), tiles[i],
                           kb.mul(slot, slots[i]), kb.mul(countOf(index), views[i].part),
                           rows * views[i].part);
        });
  });
}

static bool lowerSlices(Operation *op, const KernelSpec &spec, LoweringContext &context, std::string &why) {
  auto views = slicesOf(op, why);
  if (!views)
    return false;
  KernelBuilder kb = builderFor(spec, context);
  Place in = inputPlace(kb, op->getOperand(0), spec);
  SmallVector<Place> outs;
  SmallVector<BatchOperand> operands = {{in, (*views)[0].inner * halfBytes, false, false}};
  bool onChip = in.inLlb(), fits = (*views)[0].outer > 1 && (*views)[0].inner * halfBytes <= maxStride;
  for (auto [i, v] : llvm::enumerate(*views)) {
    outs.push_back(outputPlace(kb, spec, i));
    operands.push_back({outs.back(), v.part * halfBytes, false, true});
    onChip |= outs.back().inLlb();
  }
  int64_t room = spec.llbRoom - reserve;
  if (onChip && fits && BatchNest::canRun(operands, room))
    slicesByCores(kb, *views, operands, room);
  else
    slicesByDma(kb, *views, in, outs, room);
  kb.finish();
  return true;
}

//===-- pad
//------------------------------------------------------------------------------------------------===//

static std::optional<WindowShape> padWindow(relay::PadOp op, std::string &why) {
  ArrayRef<int64_t> in = shapeOf(op.getData()), pads = op.getPadWidth();
  if (op.getPadMode() != "constant" || !relay::scalarOf(op.getPadVal())) {
    why = "pad_mode must be constant with a constant value, got " + op.getPadMode().str();
    return std::nullopt;
  }
  if (in.size() != 4 || pads[0] || pads[1] || pads[6] || pads[7] ||
      llvm::any_of(pads, [](int64_t p) { return p < 0; })) {
    why = "only borders of height and width of an NHWC map, got " + shapeText(pads);
    return std::nullopt;
  }
  WindowShape w;
  w.batch = in[0], w.height = in[1], w.width = in[2], w.channels = w.outChannels = in[3];
  w.top = pads[2], w.bottom = pads[3], w.left = pads[4], w.right = pads[5];
  w.outHeight = w.height + w.top + w.bottom;
  w.outWidth = w.width + w.left + w.right;
  auto chunk = schedule::chooseChunk(w, {}, 0);
  if (!chunk || chunk->rowsPerChunk || w.outputRowBytes() > 0x100000 || w.outWidth > maxExtent) {
    why = "an image of " + std::to_string(w.outHeight * w.outputRowBytes()) +
          " bytes does not fit LLB with its input";
    return std::nullopt;
  }
  return w;
}

static bool lowerPad(relay::PadOp op, const KernelSpec &spec, LoweringContext &context, std::string &why) {
  auto w = padWindow(op, why);
  if (!w)
    return false;
  KernelBuilder kb = builderFor(spec, context);
  auto chunk = schedule::chooseChunk(*w, stagingOf(spec, op.getData()), 0);
  if (!chunk || chunk->rowsPerChunk) {
    why = "an image of " + std::to_string(w->outHeight * w->outputRowBytes()) +
          " bytes does not fit LLB with its input";
    return false;
  }
  SpatialNest nest(kb, *w, *chunk, inputPlace(kb, op.getData(), spec), outputPlace(kb, spec), {});
  int64_t rows =
      std::clamp<int64_t>(int64_t(262144) / w->outputRowBytes(), 1, ceilDiv(w->outHeight, context.ncore));
  Value band = kb.alloc(MemoryLevel::L1, rows * w->outputRowBytes(), "band");
  auto value = static_cast<float>(*relay::scalarOf(op.getPadVal()));
  nest.forEachChunk([&] {
    nest.forEachTile(rows, kb.coreId(), context.ncore, [&](const SpatialTile &t) {
      FillOp::create(kb.builder(), kb.location(), llvm::APFloat(value), kb.view(band),
                     kb.constant(rows * w->outWidth), kb.constant(w->channels), kb.constant(0));
      // Rows of the band that exist lie `top` rows down; none of them may.
      kb.loop(kb.constant(0), t.inRows, kb.constant(1), [&](Value row) {
        Value to = kb.add(kb.mul(kb.add(t.top, row), w->outputRowBytes()), w->left * w->channels * halfBytes);
        kb.load(kb.view(band, to),
                kb.view(nest.inputLlb(), kb.add(t.inOffset, kb.mul(row, w->inputRowBytes()))),
                kb.constant(w->width), kb.constant(w->channels), kb.constant(0));
      });
      kb.storeLinear(nest.outputLlb(), t.outOffset, band, kb.constant(0),
                     kb.mul(t.outRows, w->outWidth * w->channels), rows * w->outWidth * w->channels);
    });
  });
  kb.finish();
  return true;
}

static std::string whyNotMove(Operation *op, int) {
  std::string why;
  if (auto pad = dyn_cast<relay::PadOp>(op))
    padWindow(pad, why);
  else if (!isa<relay::ConcatenateOp>(op))
    slicesOf(op, why);
  return why;
}

static bool lowerMove(Operation *op, const KernelSpec &spec, LoweringContext &context, std::string &why) {
  if (auto concat = dyn_cast<relay::ConcatenateOp>(op))
    return lowerConcat(concat, spec, context);
  if (auto pad = dyn_cast<relay::PadOp>(op))
    return lowerPad(pad, spec, context, why);
  return lowerSlices(op, spec, context, why);
}

const Family tile::moveFamily = {handlesMove, whyNotMove, lowerMove};
