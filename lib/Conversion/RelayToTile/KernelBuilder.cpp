#include "Conversion/RelayToTile/KernelBuilder.h"
#include "Schedule/MemoryPlan.h"
#include <algorithm>

using namespace mlir;
using namespace tensorturbo::tile;

KernelBuilder::KernelBuilder(ModuleOp module, StringRef name, Location loc, int ncore, bool iterated)
    : b(module.getContext()), loc(loc), ncore(ncore) {
  b.setInsertionPointToEnd(module.getBody());
  func = func::FuncOp::create(b, loc, name,
                              b.getFunctionType(iterated ? TypeRange(b.getI32Type()) : TypeRange(), {}));
  Block *entry = func.addEntryBlock();
  b.setInsertionPointToStart(entry);
  if (iterated)
    iteration = entry->getArgument(0);
  auto id = CoreIdOp::create(b, loc, b.getI32Type());
  core = id.getId();
  declarations = id;
}

void KernelBuilder::finish() {
  func::ReturnOp::create(b, loc);
}

Value KernelBuilder::constant(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

std::optional<int64_t> KernelBuilder::constantOf(Value v) {
  IntegerAttr attr;
  if (matchPattern(v, m_Constant(&attr)))
    return attr.getValue().getSExtValue();
  return std::nullopt;
}

Value KernelBuilder::add(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return constant(*cx + *cy);
  if (cx && *cx == 0)
    return y;
  if (cy && *cy == 0)
    return x;
  return arith::AddIOp::create(b, loc, x, y);
}

Value KernelBuilder::sub(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return constant(*cx - *cy);
  if (cy && *cy == 0)
    return x;
  return arith::SubIOp::create(b, loc, x, y);
}

Value KernelBuilder::mul(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return constant(*cx * *cy);
  if ((cx && *cx == 0) || (cy && *cy == 1))
    return x;
  if ((cy && *cy == 0) || (cx && *cx == 1))
    return y;
  return arith::MulIOp::create(b, loc, x, y);
}

Value KernelBuilder::div(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy && *cy != 0)
    return constant(*cx / *cy);
  if (cy && *cy == 1)
    return x;
  return arith::DivUIOp::create(b, loc, x, y);
}

Value KernelBuilder::rem(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cy && *cy == 1)
    return constant(0);
  if (cx && cy && *cy != 0)
    return constant(*cx % *cy);
  return arith::RemUIOp::create(b, loc, x, y);
}

Value KernelBuilder::min(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return constant(std::min(*cx, *cy));
  return arith::MinSIOp::create(b, loc, x, y);
}

Value KernelBuilder::max(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return constant(std::max(*cx, *cy));
  return arith::MaxSIOp::create(b, loc, x, y);
}

Value KernelBuilder::less(Value x, Value y) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, y);
}

void KernelBuilder::loop(Value from, Value to, Value step, Body body) {
  auto lower = constantOf(from), upper = constantOf(to), stride = constantOf(step);
  if (lower && upper && stride) {
    if (*lower >= *upper)
      return;
    if (*lower + *stride >= *upper) {
      body(from);
      return;
    }
  }
  auto forOp = scf::ForOp::create(b, loc, from, to, step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  body(forOp.getInductionVar());
}

void KernelBuilder::when(Value condition, llvm::function_ref<void()> body) {
  auto ifOp = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  body();
}

void KernelBuilder::whenElse(Value condition, llvm::function_ref<void()> body,
                             llvm::function_ref<void()> otherwise) {
  auto ifOp = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  body();
  b.setInsertionPointToStart(ifOp.elseBlock());
  otherwise();
}

void KernelBuilder::onMaster(llvm::function_ref<void()> body) {
  if (ncore == 1)
    return body();
  when(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, core, constant(0)), body);
}

void KernelBuilder::barrier() {
  if (ncore > 1)
    BarrierOp::create(b, loc);
}

Value KernelBuilder::alloc(MemoryLevel level, int64_t bytes, StringRef name) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(declarations);
  auto type = BufferType::get(b.getContext(), level);
  auto op = AllocOp::create(b, loc, type, name, static_cast<uint64_t>(bytes), IntegerAttr());
  declarations = op;
  used[static_cast<int>(level)] += schedule::paddedBytes(bytes);
  return op.getBuffer();
}

Value KernelBuilder::global(StringRef name, MemoryLevel level) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(declarations);
  auto op = GlobalBufferOp::create(b, loc, BufferType::get(b.getContext(), level), name);
  declarations = op;
  return op.getBuffer();
}

Value KernelBuilder::ddr(StringRef name) {
  return global(name, MemoryLevel::DDR);
}

Place KernelBuilder::place(StringRef name, bool inLlb, int64_t iterationBytes, int64_t parts) {
  Value buffer = global(name, inLlb ? MemoryLevel::LLB : MemoryLevel::DDR);
  if (!iterationBytes || !iteration)
    return {buffer, constant(0)};
  return {buffer, mul(parts ? rem(iteration, constant(parts)) : iteration, iterationBytes),
          parts ? -1 : iterationBytes};
}

Value KernelBuilder::view(Value buffer, Value offset) {
  auto level = cast<BufferType>(buffer.getType()).getLevel();
  return ViewOp::create(b, loc, PointerType::get(b.getContext(), level), buffer, offset);
}

void KernelBuilder::dma(Value dstBuffer, Value dstOffset, Value srcBuffer, Value srcOffset, Value bytes,
                        int64_t maxBytes) {
  // A descriptor carries less than 4 MiB.
  constexpr int64_t piece = int64_t(2) << 20;
  auto copy = [&](Value offset, Value size) {
    DmaOp::create(b, loc, view(dstBuffer, add(dstOffset, offset)), view(srcBuffer, add(srcOffset, offset)),
                  constant(1), size, constant(0));
  };
  if (maxBytes <= piece)
    return copy(constant(0), bytes);
  loop(constant(0), bytes, constant(piece),
       [&](Value offset) { copy(offset, min(constant(piece), sub(bytes, offset))); });
}

/// Whether a place is simply the kernel's part of a tensor.
static bool isWholePart(const Place &place) {
  return place.partBytes > 0 ||
         (place.partBytes == 0 && KernelBuilder::constantOf(place.offset) == int64_t(0));
}

void KernelBuilder::bring(Value llbBuffer, const Place &from, int64_t bytes) {
  if (isWholePart(from))
    BringOp::create(b, loc, llbBuffer, from.buffer, static_cast<uint64_t>(bytes), 0,
                    static_cast<uint64_t>(from.partBytes));
  else
    dma(llbBuffer, constant(0), from.buffer, from.offset, constant(bytes), bytes);
}

void KernelBuilder::writeBack(const Place &to, Value llbBuffer, int64_t bytes) {
  if (isWholePart(to))
    WriteBackOp::create(b, loc, to.buffer, llbBuffer, static_cast<uint64_t>(bytes),
                        static_cast<uint64_t>(to.partBytes));
  else
    dma(to.buffer, to.offset, llbBuffer, constant(0), constant(bytes), bytes);
}

void KernelBuilder::copyNow(ArrayRef<Copy> copies, int64_t maxBytes) {
  for (const Copy &c : copies)
    dma(c.dstBuffer, c.dstOffset, c.srcBuffer, c.srcOffset, c.bytes, maxBytes);
}

void KernelBuilder::startDma(ArrayRef<Copy> copies) {
  SmallVector<Value> dst, src, bytes;
  for (const Copy &copy : copies) {
    dst.push_back(view(copy.dstBuffer, copy.dstOffset));
    src.push_back(view(copy.srcBuffer, copy.srcOffset));
    bytes.push_back(copy.bytes);
  }
  DmaStartOp::create(b, loc, dst, src, bytes, chunkChannel);
}

void KernelBuilder::waitDma() {
  DmaWaitOp::create(b, loc, chunkChannel);
}

void KernelBuilder::load(Value l1, Value llb, Value rows, Value columns, Value llbStride) {
  LoadOp::create(b, loc, l1, llb, rows, columns, llbStride);
}

void KernelBuilder::store(Value llb, Value l1, Value rows, Value columns, Value llbStride) {
  StoreOp::create(b, loc, llb, l1, rows, columns, llbStride);
}

void KernelBuilder::linear(llvm::function_ref<void(Value, Value)> move, Value count, int64_t maxCount) {
  constexpr int64_t piece = 32768;
  if (maxCount <= maxExtent)
    return move(constant(0), count);
  loop(constant(0), count, constant(piece),
       [&](Value at) { move(mul(at, halfBytes), min(constant(piece), sub(count, at))); });
}

void KernelBuilder::loadLinear(Value l1Buffer, Value l1Offset, Value llbBuffer, Value llbOffset, Value count,
                               int64_t maxCount) {
  linear(
      [&](Value offset, Value columns) {
        load(view(l1Buffer, add(l1Offset, offset)), view(llbBuffer, add(llbOffset, offset)), constant(1),
             columns, constant(0));
      },
      count, maxCount);
}

void KernelBuilder::broadcastLinear(Value l1Buffer, Value l1Offset, Value llbBuffer, Value llbOffset,
                                    Value count, int64_t maxCount) {
  if (ncore == 1)
    return loadLinear(l1Buffer, l1Offset, llbBuffer, llbOffset, count, maxCount);
  linear(
      [&](Value offset, Value columns) {
        BroadcastOp::create(b, loc, view(l1Buffer, add(l1Offset, offset)),
                            view(llbBuffer, add(llbOffset, offset)), constant(1), columns, constant(0));
      },
      count, maxCount);
}

void KernelBuilder::storeLinear(Value llbBuffer, Value llbOffset, Value l1Buffer, Value l1Offset, Value count,
                                int64_t maxCount) {
  linear(
      [&](Value offset, Value columns) {
        store(view(llbBuffer, add(llbOffset, offset)), view(l1Buffer, add(l1Offset, offset)), constant(1),
              columns, constant(0));
      },
      count, maxCount);
}
