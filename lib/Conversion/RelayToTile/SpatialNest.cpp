#include "Conversion/RelayToTile/SpatialNest.h"
#include "Conversion/RelayToTile/ChunkPipeline.h"
#include "Schedule/MemoryPlan.h"

using namespace mlir;
using namespace tensorturbo::tile;
using tensorturbo::schedule::ChunkPlan;
using tensorturbo::schedule::WindowShape;

SpatialNest::Staged SpatialNest::stage(const Place &place, int64_t bytes, const std::string &name) {
  if (place.inLlb())
    return {place, place.buffer, true, 0};
  Staged staged{place, {}, false, schedule::paddedBytes(bytes)};
  bytes = chunk.slots * staged.slotBytes;
  staged.llb = turn.shared ? turn.shared(name, bytes) : kb.alloc(MemoryLevel::LLB, bytes, name);
  return staged;
}

SpatialNest::SpatialNest(KernelBuilder &kb, const WindowShape &window, const ChunkPlan &chunk,
                         const Place &input, const Place &output, ArrayRef<Place> residualPlaces, Turn turn)
    : kb(kb), window(window), chunk(chunk), turn(std::move(turn)) {
  const WindowShape &w = this->window;
  int64_t inRows = chunk.rowsPerChunk ? std::min(w.inputRows(chunk.rowsPerChunk), w.height) : w.height;
  int64_t outRows = chunk.rowsPerChunk ? chunk.rowsPerChunk : w.outHeight;
  in = stage(input, chunk.imagesPerChunk * inRows * w.inputRowBytes(), "input");
  int64_t outBytes = chunk.imagesPerChunk * outRows * w.outputRowBytes();
  out = stage(output, outBytes, "output");
  for (const Place &place : residualPlaces)
    residuals.push_back(stage(place, outBytes, "residual" + std::to_string(residuals.size())));
}

bool SpatialNest::stagesInputs() const {
  return turn.first && (!in.resident || llvm::any_of(residuals, [](const Staged &s) { return !s.resident; }));
}

/// Chunk number `index`, its bytes in the input and in tensors of the output's shape.
SpatialNest::Chunk SpatialNest::chunkAt(Value index) {
  const WindowShape &w = window;
  int64_t inImage = w.height * w.inputRowBytes(), outImage = w.outHeight * w.outputRowBytes();
  Chunk c;
  if (!chunk.rowsPerChunk) {
    c.firstImage = kb.mul(index, chunk.imagesPerChunk);
    c.images = w.batch % chunk.imagesPerChunk == 0
                   ? kb.constant(chunk.imagesPerChunk)
                   : kb.min(kb.constant(chunk.imagesPerChunk), kb.sub(kb.constant(w.batch), c.firstImage));
    c.firstRow = c.firstInRow = kb.constant(0);
    c.rows = kb.constant(w.outHeight);
    c.inStart = kb.mul(c.firstImage, inImage);
    c.inBytes = kb.mul(c.images, inImage);
    c.outStart = kb.mul(c.firstImage, outImage);
    c.outBytes = kb.mul(c.images, outImage);
    return c;
  }
  Value bands = kb.constant(ceilDiv(w.outHeight, chunk.rowsPerChunk));
  c.images = kb.constant(1);
  c.firstImage = kb.div(index, bands);
  c.firstRow = kb.mul(kb.rem(index, bands), chunk.rowsPerChunk);
  c.rows = kb.min(kb.constant(chunk.rowsPerChunk), kb.sub(kb.constant(w.outHeight), c.firstRow));
  Value top = kb.add(kb.mul(c.firstRow, w.strideHeight), -w.top);
  c.firstInRow = kb.max(kb.constant(0), top);
  Value last = kb.add(kb.add(top, kb.mul(kb.add(c.rows, -1), w.strideHeight)), w.extentHeight());
  Value inRows = kb.sub(kb.min(kb.constant(w.height), last), c.firstInRow);
  c.inStart = kb.add(kb.mul(c.firstImage, inImage), kb.mul(c.firstInRow, w.inputRowBytes()));
  c.inBytes = kb.mul(inRows, w.inputRowBytes());
  c.outStart = kb.add(kb.mul(c.firstImage, outImage), kb.mul(c.firstRow, w.outputRowBytes()));
  c.outBytes = kb.mul(c.rows, w.outputRowBytes());
  return c;
}

SmallVector<KernelBuilder::Copy> SpatialNest::copiesIn(const Chunk &c, Value slot) {
  SmallVector<KernelBuilder::Copy> copies;
  if (!turn.first)
    return copies;
  auto bring = [&](const Staged &s, Value start, Value bytes) {
    if (!s.resident)
      copies.push_back(
          {s.llb, kb.mul(slot, s.slotBytes), s.place.buffer, kb.add(s.place.offset, start), bytes});
  };
  bring(in, c.inStart, c.inBytes);
  for (const Staged &s : residuals)
    bring(s, c.outStart, c.outBytes);
  return copies;
}

SmallVector<KernelBuilder::Copy> SpatialNest::copiesOut(const Chunk &c, Value slot) {
  if (out.resident || !turn.last)
    return {};
  return {{out.place.buffer, kb.add(out.place.offset, c.outStart), out.llb, kb.mul(slot, out.slotBytes),
           c.outBytes}};
}

/// Copies on the spot, of any length.
void SpatialNest::copyNow(ArrayRef<KernelBuilder::Copy> copies) {
  int64_t most = std::max(in.slotBytes, out.slotBytes);
  for (const Staged &s : residuals)
    most = std::max(most, s.slotBytes);
  kb.onMaster([&] { kb.copyNow(copies, most); });
}

void SpatialNest::forEachChunk(llvm::function_ref<void()> body) {
  int64_t count = chunk.count(window);
  if (chunk.slots == 2 && count > 1)
    return forEachOverlappedChunk(
        kb, count, [&](Value index, Value slot) { return copiesIn(chunkAt(index), slot); },
        [&](Value index, Value slot) { return copiesOut(chunkAt(index), slot); },
        [&](Value index, Value slot) {
          now = chunkAt(index);
          chunkSlot = slot;
          body();
        });
  if (count == 1)
    return singleChunk(body);
  Value zero = kb.constant(0);
  chunkSlot = zero;
  kb.loop(0, count, 1, [&](Value index) {
    now = chunkAt(index);
    SmallVector<KernelBuilder::Copy> before = copiesIn(now, zero), after = copiesOut(now, zero);
    if (!before.empty()) {
      copyNow(before);
      kb.barrier();
    }
    body();
    // The next chunk overwrites what other cores may still read.
    if (!before.empty() || !after.empty())
      kb.barrier();
    if (after.empty())
      return;
    copyNow(after);
    // Where nothing is staged, no core waits for the master before it writes the next chunk's results.
    if (before.empty())
      kb.barrier();
  });
}

/// All of the kernel's part of the batch at once: other kernels may start the transfers.
void SpatialNest::singleChunk(llvm::function_ref<void()> body) {
  now = chunkAt(kb.constant(0));
  chunkSlot = kb.constant(0);
  auto bytesOf = [&](const Staged &s) {
    const WindowShape &w = window;
    return w.batch * (&s == &in ? w.height * w.inputRowBytes() : w.outHeight * w.outputRowBytes());
  };
  if (stagesInputs()) {
    kb.onMaster([&] {
      auto bring = [&](const Staged &s) {
        if (!s.resident)
          kb.bring(s.llb, s.place, bytesOf(s));
      };
      bring(in);
      for (const Staged &s : residuals)
        bring(s);
    });
    kb.barrier();
  }
  body();
  if (out.resident || !turn.last)
    return;
  kb.barrier();
  kb.onMaster([&] { kb.writeBack(out.place, out.llb, bytesOf(out)); });
}

/// Where row `row` of image `image` of the chunk lies in the LLB buffer: a staged buffer holds the chunk
/// alone.
Value SpatialNest::offsetOf(const Staged &s, Value image, Value row, Value firstRowOfChunk,
                            int64_t imageBytes, int64_t rowBytes) {
  if (s.resident)
    return kb.add(s.place.offset,
                  kb.add(kb.mul(kb.add(now.firstImage, image), imageBytes), kb.mul(row, rowBytes)));
  Value inSlot = kb.add(kb.mul(image, imageBytes), kb.mul(kb.sub(row, firstRowOfChunk), rowBytes));
  return chunk.slots == 2 ? kb.add(kb.mul(chunkSlot, s.slotBytes), inSlot) : inSlot;
}

Value SpatialNest::tileCount(int64_t rowsPerTile) {
  int64_t chunkRows = chunk.rowsPerChunk ? chunk.rowsPerChunk : window.outHeight;
  return kb.mul(now.images, ceilDiv(chunkRows, rowsPerTile));
}

void SpatialNest::withTile(int64_t rowsPerTile, Value index,
                           llvm::function_ref<void(const SpatialTile &)> body) {
  const WindowShape &w = window;
  int64_t chunkRows = chunk.rowsPerChunk ? chunk.rowsPerChunk : w.outHeight;
  int64_t bands = ceilDiv(chunkRows, rowsPerTile);
  SpatialTile t;
  t.image = kb.div(index, kb.constant(bands));
  Value rowInChunk = kb.mul(kb.rem(index, kb.constant(bands)), rowsPerTile);
  Value left = kb.sub(now.rows, rowInChunk);
  auto emit = [&] {
    t.outRow = kb.add(now.firstRow, rowInChunk);
    t.outRows = kb.min(kb.constant(rowsPerTile), left);
    Value above = kb.add(kb.mul(t.outRow, w.strideHeight), -w.top);
    Value below = kb.add(kb.add(above, kb.mul(kb.add(t.outRows, -1), w.strideHeight)), w.extentHeight());
    t.inRow = kb.max(kb.constant(0), above);
    t.top = kb.sub(t.inRow, above);
    Value end = kb.min(kb.constant(w.height), below);
    t.bottom = kb.sub(below, end);
    t.inRows = kb.sub(end, t.inRow);
    int64_t inImage = w.height * w.inputRowBytes(), outImage = w.outHeight * w.outputRowBytes();
    t.inOffset = offsetOf(in, t.image, t.inRow, now.firstInRow, inImage, w.inputRowBytes());
    t.outOffset = offsetOf(out, t.image, t.outRow, now.firstRow, outImage, w.outputRowBytes());
    for (const Staged &r : residuals)
      t.residualOffsets.push_back(offsetOf(r, t.image, t.outRow, now.firstRow, outImage, w.outputRowBytes()));
    body(t);
  };
  // The last chunk of an image may be short of whole bands.
  if (chunk.rowsPerChunk && w.outHeight % chunk.rowsPerChunk != 0)
    kb.when(kb.less(kb.constant(0), left), emit);
  else
    emit();
}

void SpatialNest::forEachTile(int64_t rowsPerTile, Value first, int64_t step,
                              llvm::function_ref<void(const SpatialTile &)> body) {
  kb.loop(first, tileCount(rowsPerTile), kb.constant(step),
          [&](Value index) { withTile(rowsPerTile, index, body); });
}

void SpatialNest::forEachNumberedTile(int64_t rowsPerTile, Value first, int64_t step,
                                      llvm::function_ref<void(const SpatialTile &, Value number)> body) {
  kb.loop(first, tileCount(rowsPerTile), kb.constant(step), [&](Value index) {
    Value number = kb.div(kb.sub(index, first), kb.constant(step));
    withTile(rowsPerTile, index, [&](const SpatialTile &t) { body(t, number); });
  });
}

void SpatialNest::whenTile(int64_t rowsPerTile, Value first, int64_t step, Value number,
                           llvm::function_ref<void(const SpatialTile &)> body) {
  Value index = kb.add(first, kb.mul(number, step));
  kb.when(kb.less(index, tileCount(rowsPerTile)), [&] { withTile(rowsPerTile, index, body); });
}

void SpatialNest::forEachTilePipelined(int64_t rowsPerTile, Value first, int64_t step,
                                       llvm::function_ref<void(const SpatialTile &, Value slot)> prefetch,
                                       llvm::function_ref<void()> started,
                                       llvm::function_ref<void(const SpatialTile &, Value slot)> body) {
  Value count = tileCount(rowsPerTile);
  auto fetch = [&](Value index, Value slot) {
    kb.when(kb.less(index, count),
            [&] { withTile(rowsPerTile, index, [&](const SpatialTile &t) { prefetch(t, slot); }); });
  };
  fetch(first, kb.constant(0));
  started();
  kb.loop(first, count, kb.constant(step), [&](Value index) {
    Value slot = kb.rem(kb.div(kb.sub(index, first), kb.constant(step)), kb.constant(2));
    fetch(kb.add(index, step), kb.sub(kb.constant(1), slot));
    withTile(rowsPerTile, index, [&](const SpatialTile &t) { body(t, slot); });
  });
}
