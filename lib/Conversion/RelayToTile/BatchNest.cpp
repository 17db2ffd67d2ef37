#include "Conversion/RelayToTile/BatchNest.h"
#include "Conversion/RelayToTile/ChunkPipeline.h"
#include "Schedule/ConvTiling.h"
#include <algorithm>

using namespace mlir;
using namespace tensorturbo::tile;

/// LLB left for the alignment of the buffers.
static constexpr int64_t reserve = 16 * 1024;

static bool isStaged(const BatchOperand &o) {
  return !o.place.inLlb();
}

static int64_t sharedBytes(ArrayRef<BatchOperand> operands) {
  int64_t bytes = reserve;
  for (const BatchOperand &o : operands)
    bytes += isStaged(o) && o.shared ? o.bytes : 0;
  return bytes;
}

static int64_t sliceBytes(ArrayRef<BatchOperand> operands) {
  int64_t bytes = 0;
  for (const BatchOperand &o : operands)
    bytes += isStaged(o) && !o.shared ? o.bytes : 0;
  return bytes;
}

bool BatchNest::canRun(ArrayRef<BatchOperand> operands, int64_t room) {
  return sharedBytes(operands) + sliceBytes(operands) <= room;
}

BatchNest::BatchNest(KernelBuilder &kb, int64_t slices, ArrayRef<BatchOperand> operands, int64_t room,
                     bool preferWhole)
    : kb(kb), slices(slices), slicesPerRun(slices), operands(operands) {
  if (int64_t bytes = sliceBytes(operands)) {
    int64_t most = (room - sharedBytes(operands)) / bytes;
    int64_t largest = 0;
    for (const BatchOperand &o : operands)
      largest = std::max(largest, isStaged(o) && !o.shared ? o.bytes : 0);
    // Several runs, so that neighbours are on their way while one is worked on.
    int64_t wanted = std::max<int64_t>(slices / schedule::goodChunkCount(slices * bytes), 1);
    wanted = std::min({wanted, most / 2, schedule::longestCopy / largest});
    if (wanted >= 1 && wanted < slices && !(preferWhole && most >= slices))
      overlapped = true;
    slicesPerRun = std::clamp<int64_t>(overlapped ? wanted : most, 1, slices);
    // Equal runs beat one full and one nearly empty.
    slicesPerRun = ceilDiv(slices, runs());
  }
  for (const BatchOperand &o : operands) {
    if (!isStaged(o)) {
      staged.push_back({o.place.buffer, o.place.offset, true});
      continue;
    }
    int64_t bytes = o.shared ? o.bytes : (overlapped ? 2 : 1) * slicesPerRun * o.bytes;
    staged.push_back({kb.alloc(MemoryLevel::LLB, bytes, o.isOutput ? "output" : "input"), kb.constant(0)});
  }
}

Value BatchNest::offset(size_t operand, Value slice) const {
  const BatchOperand &o = operands[operand];
  const Staged &s = staged[operand];
  if (o.shared)
    return s.offset;
  if (s.resident)
    return kb.add(s.offset, kb.mul(kb.add(first, slice), o.bytes));
  return kb.add(kb.mul(slot, slicesPerRun * o.bytes), kb.mul(slice, o.bytes));
}

Value BatchNest::countOf(Value run) {
  return slices % slicesPerRun == 0 ? kb.constant(slicesPerRun)
                                    : kb.min(kb.constant(slicesPerRun), kb.sub(kb.constant(slices), run));
}

/// The transfers of run number `index`: of inputs or of outputs.
SmallVector<KernelBuilder::Copy> BatchNest::copies(bool outputs, Value index, Value inSlot) {
  SmallVector<KernelBuilder::Copy> list;
  Value run = kb.mul(index, slicesPerRun), count = countOf(run);
  for (auto [o, s] : llvm::zip_equal(operands, staged)) {
    if (!isStaged(o) || o.shared || o.isOutput != outputs)
      continue;
    Value there = kb.add(o.place.offset, kb.mul(run, o.bytes)), bytes = kb.mul(count, o.bytes);
    Value here = kb.mul(inSlot, slicesPerRun * o.bytes);
    if (outputs)
      list.push_back({o.place.buffer, there, s.buffer, here, bytes});
    else
      list.push_back({s.buffer, here, o.place.buffer, there, bytes});
  }
  return list;
}

/// All slices at once: other kernels may start the transfers.
void BatchNest::singleRun(llvm::function_ref<void(Value)> body) {
  first = slot = kb.constant(0);
  auto transfer = [&](bool outputs) {
    kb.onMaster([&] {
      for (auto [o, s] : llvm::zip_equal(operands, staged))
        if (isStaged(o) && !o.shared && o.isOutput == outputs) {
          if (outputs)
            kb.writeBack(o.place, s.buffer, slices * o.bytes);
          else
            kb.bring(s.buffer, o.place, slices * o.bytes);
        }
    });
  };
  auto stages = [&](bool outputs) {
    return llvm::any_of(
        operands, [&](const BatchOperand &o) { return isStaged(o) && !o.shared && o.isOutput == outputs; });
  };
  if (stages(false)) {
    transfer(false);
    kb.barrier();
  }
  body(kb.constant(slices));
  if (stages(true)) {
    kb.barrier();
    transfer(true);
  }
}

void BatchNest::forEachRun(llvm::function_ref<void(Value)> body) {
  bool stagesInputs = false, stagesOutputs = false, stagesShared = false;
  for (const BatchOperand &o : operands) {
    stagesOutputs |= isStaged(o) && o.isOutput;
    stagesInputs |= isStaged(o) && !o.isOutput && !o.shared;
    stagesShared |= isStaged(o) && o.shared;
  }
  if (stagesShared) {
    kb.onMaster([&] {
      for (auto [o, s] : llvm::zip_equal(operands, staged))
        if (isStaged(o) && o.shared)
          kb.dma(s.buffer, kb.constant(0), o.place.buffer, o.place.offset, kb.constant(o.bytes), o.bytes);
    });
    if (!stagesInputs)
      kb.barrier();
  }
  if (slicesPerRun >= slices)
    return singleRun(body);
  if (overlapped)
    return forEachOverlappedChunk(
        kb, runs(), [&](Value index, Value inSlot) { return copies(false, index, inSlot); },
        [&](Value index, Value inSlot) { return copies(true, index, inSlot); },
        [&](Value index, Value inSlot) {
          first = kb.mul(index, slicesPerRun);
          slot = inSlot;
          body(countOf(first));
        });
  slot = kb.constant(0);
  auto transfer = [&](bool outputs, Value index) {
    int64_t most = 0;
    for (const BatchOperand &o : operands)
      most = std::max(most, slicesPerRun * o.bytes);
    kb.onMaster([&] { kb.copyNow(copies(outputs, index, slot), most); });
  };
  kb.loop(0, runs(), 1, [&](Value index) {
    first = kb.mul(index, slicesPerRun);
    if (stagesInputs) {
      transfer(false, index);
      kb.barrier();
    }
    body(countOf(first));
    // The next run overwrites what other cores may still read.
    if (stagesInputs || stagesOutputs)
      kb.barrier();
    if (stagesOutputs) {
      transfer(true, index);
      // Where nothing is staged, no core waits for the master before it writes the next run's results.
      if (!stagesInputs)
        kb.barrier();
    }
  });
}

void tensorturbo::tile::pipelinedLoop(KernelBuilder &kb, Value first, Value end, int64_t step,
                                      llvm::function_ref<void(Value, Value)> fetch,
                                      llvm::function_ref<void(Value, Value)> body) {
  kb.when(kb.less(first, end), [&] { fetch(first, kb.constant(0)); });
  kb.loop(first, end, kb.constant(step), [&](Value index) {
    Value slot = kb.rem(kb.div(kb.sub(index, first), kb.constant(step)), kb.constant(2));
    Value next = kb.add(index, step);
    kb.when(kb.less(next, end), [&] { fetch(next, kb.sub(kb.constant(1), slot)); });
    body(index, slot);
  });
}
