#include "Conversion/RelayToTile/ChunkPipeline.h"
#include "Schedule/ConvTiling.h"

using namespace mlir;
using namespace tensorturbo::tile;

using tensorturbo::schedule::longestCopy;
static_assert(longestCopy <= largestCopy);

void tensorturbo::tile::forEachOverlappedChunk(KernelBuilder &kb, int64_t count, ChunkCopies copiesIn,
                                               ChunkCopies copiesOut,
                                               llvm::function_ref<void(Value, Value)> body) {
  Value zero = kb.constant(0);
  SmallVector<KernelBuilder::Copy> first = copiesIn(zero, zero);
  bool brings = !first.empty(), writes = !copiesOut(zero, zero).empty();
  if (brings) {
    kb.onMaster([&] { kb.copyNow(first, longestCopy); });
    kb.barrier();
  }
  kb.loop(0, count, 1, [&](Value index) {
    Value slot = kb.rem(index, kb.constant(2)), other = kb.sub(kb.constant(1), slot);
    auto start = [&](bool in, bool out) {
      SmallVector<KernelBuilder::Copy> copies;
      if (in && brings)
        copies = copiesIn(kb.add(index, 1), other);
      if (out && writes)
        copies.append(copiesOut(kb.add(index, -1), other));
      if (!copies.empty())
        kb.startDma(copies);
    };
    Value isFirst = kb.less(index, kb.constant(1)), isLast = kb.less(kb.constant(count - 2), index);
    kb.onMaster([&] {
      kb.whenElse(
          isFirst, [&] { start(true, false); },
          [&] { kb.whenElse(isLast, [&] { start(false, true); }, [&] { start(true, true); }); });
    });
    body(index, slot);
    // One barrier for each chunk: behind it both have arrived, and the slots of this chunk are free.
    kb.onMaster([&] {
      if (brings && writes)
        return kb.waitDma();
      if (brings)
        return kb.when(kb.less(index, kb.constant(count - 1)), [&] { kb.waitDma(); });
      if (writes)
        kb.when(kb.less(zero, index), [&] { kb.waitDma(); });
    });
    kb.barrier();
  });
  if (writes)
    kb.onMaster(
        [&] { kb.copyNow(copiesOut(kb.constant(count - 1), kb.constant((count - 1) % 2)), longestCopy); });
}
