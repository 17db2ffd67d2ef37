#include "Conversion/RelayToTile/SpatialNest.h"

using namespace mlir;
using namespace tensorturbo::tile;
using tensorturbo::schedule::ChunkPlan;
using tensorturbo::schedule::WindowShape;

static int64_t ceilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

SpatialNest::SpatialNest(KernelBuilder &kb, const WindowShape &window, const ChunkPlan &chunk, Value input,
                         Value output, ArrayRef<Value> residualBuffers)
    : kb(kb), window(window), chunk(chunk), input(input), output(output),
      residuals(residualBuffers.begin(), residualBuffers.end()) {
  const WindowShape &w = this->window;
  int64_t inRows = chunk.rowsPerChunk ? std::min(w.inputRows(chunk.rowsPerChunk), w.height) : w.height;
  int64_t outRows = chunk.rowsPerChunk ? chunk.rowsPerChunk : w.outHeight;
  inLlb = kb.alloc(MemoryLevel::LLB, chunk.imagesPerChunk * inRows * w.inputRowBytes(), "input");
  int64_t outBytes = chunk.imagesPerChunk * outRows * w.outputRowBytes();
  outLlb = kb.alloc(MemoryLevel::LLB, outBytes, "output");
  for (size_t i = 0; i < residuals.size(); ++i)
    residualsLlb.push_back(kb.alloc(MemoryLevel::LLB, outBytes, "residual" + std::to_string(i)));
}

void SpatialNest::forEachChunk(llvm::function_ref<void()> body) {
  const WindowShape &w = window;
  int64_t inImage = w.height * w.inputRowBytes(), outImage = w.outHeight * w.outputRowBytes();
  auto run = [&](Value inStart, Value inBytes, int64_t inMax, Value outStart, Value outBytes,
                 int64_t outMax) {
    kb.onMaster([&] {
      kb.dma(inLlb, kb.constant(0), input, inStart, inBytes, inMax);
      for (size_t i = 0; i < residuals.size(); ++i)
        kb.dma(residualsLlb[i], kb.constant(0), residuals[i], outStart, outBytes, outMax);
    });
    kb.barrier();
    body();
    kb.barrier();
    kb.onMaster([&] { kb.dma(output, outStart, outLlb, kb.constant(0), outBytes, outMax); });
  };

  if (!chunk.rowsPerChunk) {
    kb.loop(0, w.batch, chunk.imagesPerChunk, [&](Value image) {
      images = kb.min(kb.constant(chunk.imagesPerChunk), kb.sub(kb.constant(w.batch), image));
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

void SpatialNest::forEachTile(int64_t rowsPerTile, Value first, int64_t step,
                              llvm::function_ref<void(const SpatialTile &)> body) {
  const WindowShape &w = window;
  int64_t chunkRows = chunk.rowsPerChunk ? chunk.rowsPerChunk : w.outHeight;
  int64_t bands = ceilDiv(chunkRows, rowsPerTile);
  Value count = kb.mul(images, bands);
  kb.loop(first, count, kb.constant(step), [&](Value index) {
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
      t.inOffset = kb.add(kb.mul(t.image, w.height * w.inputRowBytes()),
                          kb.mul(kb.sub(t.inRow, firstInRow), w.inputRowBytes()));
      t.outOffset =
          kb.add(kb.mul(t.image, w.outHeight * w.outputRowBytes()), kb.mul(rowInChunk, w.outputRowBytes()));
      body(t);
    };
    // The last chunk of an image may be short of whole bands.
    if (chunk.rowsPerChunk && w.outHeight % chunk.rowsPerChunk != 0)
      kb.when(kb.less(kb.constant(0), left), emit);
    else
      emit();
  });
}
