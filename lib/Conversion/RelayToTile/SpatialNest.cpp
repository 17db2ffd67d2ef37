#include "Conversion/RelayToTile/SpatialNest.h"

using namespace mlir;
using namespace tensorturbo::tile;
using tensorturbo::schedule::ChunkPlan;
using tensorturbo::schedule::WindowShape;

static int64_t ceilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

SpatialNest::Staged SpatialNest::stage(const Place &place, int64_t bytes, const std::string &name) {
  if (place.inLlb())
    return {place, place.buffer, true};
  return {place, turn.shared ? turn.shared(name, bytes) : kb.alloc(MemoryLevel::LLB, bytes, name), false};
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

void SpatialNest::forEachChunk(llvm::function_ref<void()> body) {
  const WindowShape &w = window;
  int64_t inImage = w.height * w.inputRowBytes(), outImage = w.outHeight * w.outputRowBytes();
  bool staged = stagesInputs(), several = chunk.rowsPerChunk || chunk.imagesPerChunk < w.batch;
  auto run = [&](Value inStart, Value inBytes, int64_t inMax, Value outStart, Value outBytes,
                 int64_t outMax) {
    if (staged) {
      kb.onMaster([&] {
        auto bring = [&](const Staged &s, Value start, Value bytes, int64_t most) {
          if (!s.resident)
            kb.dma(s.llb, kb.constant(0), s.place.buffer, kb.add(s.place.offset, start), bytes, most);
        };
        bring(in, inStart, inBytes, inMax);
        for (const Staged &s : residuals)
          bring(s, outStart, outBytes, outMax);
      });
      kb.barrier();
    }
    body();
    // The next chunk overwrites what other cores may still read.
    bool writesBack = !out.resident && turn.last;
    if ((staged && several) || writesBack)
      kb.barrier();
    if (!writesBack)
      return;
    kb.onMaster([&] {
      kb.dma(out.place.buffer, kb.add(out.place.offset, outStart), out.llb, kb.constant(0), outBytes, outMax);
    });
    // Where nothing is staged, no core waits for the master before it writes the next chunk's results.
    if (!staged && several)
      kb.barrier();
  };

  if (!chunk.rowsPerChunk) {
    kb.loop(0, w.batch, chunk.imagesPerChunk, [&](Value image) {
      images = kb.min(kb.constant(chunk.imagesPerChunk), kb.sub(kb.constant(w.batch), image));
      firstImage = image;
      firstRow = firstInRow = kb.constant(0);
      rows = kb.constant(w.outHeight);
      run(kb.mul(image, inImage), kb.mul(images, inImage), chunk.imagesPerChunk * inImage,
          kb.mul(image, outImage), kb.mul(images, outImage), chunk.imagesPerChunk * outImage);
    });
    return;
  }
  int64_t maxIn = std::min(w.inputRows(chunk.rowsPerChunk), w.height);
  kb.loop(0, w.batch, 1, [&](Value image) {
    kb.loop(0, w.outHeight, chunk.rowsPerChunk, [&](Value row) {
      images = kb.constant(1);
      firstImage = image;
      firstRow = row;
      rows = kb.min(kb.constant(chunk.rowsPerChunk), kb.sub(kb.constant(w.outHeight), row));
      Value top = kb.add(kb.mul(row, w.strideHeight), -w.top);
      firstInRow = kb.max(kb.constant(0), top);
      Value last = kb.add(kb.add(top, kb.mul(kb.add(rows, -1), w.strideHeight)), w.extentHeight());
      Value inRows = kb.sub(kb.min(kb.constant(w.height), last), firstInRow);
      Value inStart = kb.add(kb.mul(image, inImage), kb.mul(firstInRow, w.inputRowBytes()));
      Value outStart = kb.add(kb.mul(image, outImage), kb.mul(row, w.outputRowBytes()));
      run(inStart, kb.mul(inRows, w.inputRowBytes()), maxIn * w.inputRowBytes(), outStart,
          kb.mul(rows, w.outputRowBytes()), chunk.rowsPerChunk * w.outputRowBytes());
    });
  });
}

/// Where row `row` of image `image` of the chunk lies in the LLB buffer: a staged buffer holds the chunk
/// alone.
Value SpatialNest::offsetOf(const Staged &s, Value image, Value row, Value firstRowOfChunk,
                            int64_t imageBytes, int64_t rowBytes) {
  if (s.resident)
    return kb.add(s.place.offset,
                  kb.add(kb.mul(kb.add(firstImage, image), imageBytes), kb.mul(row, rowBytes)));
  return kb.add(kb.mul(image, imageBytes), kb.mul(kb.sub(row, firstRowOfChunk), rowBytes));
}

Value SpatialNest::tileCount(int64_t rowsPerTile) {
  int64_t chunkRows = chunk.rowsPerChunk ? chunk.rowsPerChunk : window.outHeight;
  return kb.mul(images, ceilDiv(chunkRows, rowsPerTile));
}

void SpatialNest::withTile(int64_t rowsPerTile, Value index,
                           llvm::function_ref<void(const SpatialTile &)> body) {
  const WindowShape &w = window;
  int64_t chunkRows = chunk.rowsPerChunk ? chunk.rowsPerChunk : w.outHeight;
  int64_t bands = ceilDiv(chunkRows, rowsPerTile);
  SpatialTile t;
  t.image = kb.div(index, kb.constant(bands));
  Value rowInChunk = kb.mul(kb.rem(index, kb.constant(bands)), rowsPerTile);
  Value left = kb.sub(rows, rowInChunk);
  auto emit = [&] {
    t.outRow = kb.add(firstRow, rowInChunk);
    t.outRows = kb.min(kb.constant(rowsPerTile), left);
    Value above = kb.add(kb.mul(t.outRow, w.strideHeight), -w.top);
    Value below = kb.add(kb.add(above, kb.mul(kb.add(t.outRows, -1), w.strideHeight)), w.extentHeight());
    t.inRow = kb.max(kb.constant(0), above);
    t.top = kb.sub(t.inRow, above);
    Value end = kb.min(kb.constant(w.height), below);
    t.bottom = kb.sub(below, end);
    t.inRows = kb.sub(end, t.inRow);
    int64_t inImage = w.height * w.inputRowBytes(), outImage = w.outHeight * w.outputRowBytes();
    t.inOffset = offsetOf(in, t.image, t.inRow, firstInRow, inImage, w.inputRowBytes());
    t.outOffset = offsetOf(out, t.image, t.outRow, firstRow, outImage, w.outputRowBytes());
    for (const Staged &r : residuals)
      t.residualOffsets.push_back(offsetOf(r, t.image, t.outRow, firstRow, outImage, w.outputRowBytes()));
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
