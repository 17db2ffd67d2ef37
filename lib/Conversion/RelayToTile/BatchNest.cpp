#include "Conversion/RelayToTile/BatchNest.h"
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

BatchNest::BatchNest(KernelBuilder &kb, int64_t slices, ArrayRef<BatchOperand> operands, int64_t room)
    : kb(kb), slices(slices), slicesPerRun(slices), operands(operands) {
  if (int64_t bytes = sliceBytes(operands)) {
    slicesPerRun = std::clamp<int64_t>((room - sharedBytes(operands)) / bytes, 1, slices);
    // Equal runs beat one full and one nearly empty.
    int64_t runs = (slices + slicesPerRun - 1) / slicesPerRun;
    slicesPerRun = (slices + runs - 1) / runs;
  }
  for (const BatchOperand &o : operands) {
    if (!isStaged(o)) {
      staged.push_back({o.place.buffer, o.place.offset, true});
      continue;
    }
    int64_t bytes = o.shared ? o.bytes : slicesPerRun * o.bytes;
    staged.push_back({kb.alloc(MemoryLevel::LLB, bytes, o.isOutput ? "output" : "input"), kb.constant(0)});
  }
}

Value BatchNest::offset(size_t operand, Value slice) const {
  const BatchOperand &o = operands[operand];
  const Staged &s = staged[operand];
  if (o.shared)
    return s.offset;
  return kb.add(s.offset, kb.mul(s.resident ? kb.add(first, slice) : slice, o.bytes));
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
  auto transfer = [&](bool outputs, Value count) {
    kb.onMaster([&] {
      for (auto [o, s] : llvm::zip_equal(operands, staged)) {
        if (!isStaged(o) || o.shared || o.isOutput != outputs)
          continue;
        Value there = kb.add(o.place.offset, kb.mul(first, o.bytes)), bytes = kb.mul(count, o.bytes);
        if (outputs)
          kb.dma(o.place.buffer, there, s.buffer, kb.constant(0), bytes, slicesPerRun * o.bytes);
        else
          kb.dma(s.buffer, kb.constant(0), o.place.buffer, there, bytes, slicesPerRun * o.bytes);
      }
    });
  };
  kb.loop(0, slices, slicesPerRun, [&](Value run) {
    first = run;
    Value count = slices % slicesPerRun == 0
                      ? kb.constant(slicesPerRun)
                      : kb.min(kb.constant(slicesPerRun), kb.sub(kb.constant(slices), run));
    if (stagesInputs) {
      transfer(false, count);
      kb.barrier();
    }
    body(count);
    // The next run overwrites what other cores may still read.
    if (stagesInputs || stagesOutputs)
      kb.barrier();
    if (stagesOutputs) {
      transfer(true, count);
      // Where nothing is staged, no core waits for the master before it writes the next run's results.
      if (!stagesInputs && slicesPerRun < slices)
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
