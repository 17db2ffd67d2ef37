#include "Conversion/TileToNpu/Emitter.h"
#include "Dialect/Tile/Tile.h"
#include "Target/Target.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tensorturbo::tile {

std::optional<uint32_t> constantValue(Value value) {
  APInt bits;
  if (!matchPattern(value, m_ConstantInt(&bits)))
    return std::nullopt;
  return uint32_t(bits.getZExtValue());
}

Value Emitter::constant(uint32_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(value)));
}

Value Emitter::scalar(APFloat value) {
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(b.getF32Type(), value));
}

Value Emitter::add(Value x, Value y) {
  auto cx = constantValue(x), cy = constantValue(y);
  if (cx && cy)
    return constant(*cx + *cy);
  if (cx && *cx == 0)
    return y;
  if (cy && *cy == 0)
    return x;
  return arith::AddIOp::create(b, loc, x, y);
}

Value Emitter::shiftLeft(Value value, unsigned bits) {
  if (auto c = constantValue(value))
    return constant(*c << bits);
  return arith::ShLIOp::create(b, loc, value, constant(bits));
}

Value Emitter::orBits(Value x, Value y) {
  auto cx = constantValue(x), cy = constantValue(y);
  if (cx && cy)
    return constant(*cx | *cy);
  if (cx && *cx == 0)
    return y;
  if (cy && *cy == 0)
    return x;
  return arith::OrIOp::create(b, loc, x, y);
}

Value Emitter::andBits(Value x, uint32_t mask) {
  if (auto c = constantValue(x))
    return constant(*c & mask);
  return arith::AndIOp::create(b, loc, x, constant(mask));
}

void Emitter::check(Value value, uint32_t most, const char *what) {
  auto c = constantValue(value);
  if (!c || *c <= most)
    return;
  current->emitOpError() << what << " must be between 0 and " << most << ", got " << int32_t(*c);
  failed = true;
}

void Emitter::set(StringRef csr, Value value) {
  npu::CsrwOp::create(b, loc, csr, value);
}

void Emitter::setPair(StringRef csr, Value high, Value low, const char *what) {
  check(high, 0xFFFF, what);
  check(low, 0xFFFF, what);
  set(csr, orBits(shiftLeft(high, 16), low));
}

void Emitter::setLow(StringRef csr, Value value, const char *what) {
  check(value, 0xFFFF, what);
  set(csr, value);
}

void Emitter::setBytes(StringRef csr, std::array<Value, 4> values, const char *what) {
  Value all = constant(0);
  for (auto [index, value] : llvm::enumerate(values)) {
    check(value, 0xFF, what);
    all = orBits(all, shiftLeft(value, 24 - 8 * unsigned(index)));
  }
  set(csr, all);
}

Value Emitter::stride(Value rows, Value bytes) {
  return constantValue(rows) == 1u ? constant(0) : bytes;
}

void Emitter::vectorShape(Value rows, Value columns) {
  setPair("shape_s1", columns, rows, "rows and columns");
}

void Emitter::vectorStrides(Value rows, Value destination, Value first, Value second) {
  if (destination)
    setLow("stride_d", stride(rows, destination), "destination stride");
  Value none = constant(0);
  setPair("stride_s", second ? stride(rows, second) : none, first ? stride(rows, first) : none,
          "source stride");
}

void Emitter::moveShape(Value rows, Value columns, Value llbStride) {
  setPair("mte_shape", columns, rows, "rows and columns");
  setLow("mte_stride_llb", stride(rows, llbStride), "LLB stride");
}

void Emitter::systemDma(Value destination, Value source, Value rows, Value rowBytes, Value sourceStride) {
  const uint32_t controller = *target::p920().address("sysdma0");
  // The first descriptor slot of the controller's own buffer.
  const uint32_t descriptor = controller + 0x1000;
  auto store = [&](uint32_t address, Value value) {
    npu::Store32Op::create(b, loc, constant(address), value);
  };
  if (constantValue(rows) == 1u) {
    store(descriptor, orBits(andBits(rowBytes, largestCopy), constant(0x80000000)));
  } else {
    store(descriptor, constant(0xA0000000));
    store(descriptor + 12, orBits(shiftLeft(rows, 16), andBits(rowBytes, 0xFFFF)));
    // Bits 21:16 of the width go to bits 29:24.
    store(descriptor + 16,
          orBits(shiftLeft(andBits(rowBytes, 0x3F0000), 8), andBits(sourceStride, 0xFFFFFF)));
  }
  store(descriptor + 4, source);
  store(descriptor + 8, destination);
  store(descriptor + 20, constant(0));
  store(controller, constant(1));                  // enabled
  store(controller + 0x18, constant(0));           // no interrupts
  store(controller + 0x1C, constant(0));           // upper address bytes
  store(controller + 0x100, constant(0x80000000)); // descriptor mode
  store(controller + 0x114, constant(descriptor));
  store(controller + 0x04, constant(1)); // start channel 0
  npu::WaitOp::create(b, loc, constant(controller + 0x14), constant(1));
  store(controller + 0x14, constant(1)); // the completion bit is cleared by writing it
}

namespace {
/// Registers of a channel. The last number is channel 0 of the first controller, which also copies on the
/// spot.
struct DmaChannel {
  explicit DmaChannel(uint32_t number)
      : controller(*target::p920().address(number == 0 || number == chunkChannel ? "sysdma0" : "sysdma1")),
        index(number == 0 || number == 2 ? 1 : 0) {}
  uint32_t controller;
  uint32_t index;
  uint32_t registers() const { return controller + 0x100 * (index + 1); }
  /// Behind the slot for copies on the spot; each channel has its own.
  uint32_t descriptors() const { return controller + 0x1040 + 0x400 * index; }
  uint32_t start() const { return 1u << index; }
  uint32_t done() const { return index ? 4 : 1; }
};
} // namespace

void Emitter::startDma(ArrayRef<Copy> copies, uint32_t number) {
  DmaChannel channel(number);
  auto store = [&](uint32_t address, Value value) {
    npu::Store32Op::create(b, loc, constant(address), value);
  };
  uint32_t descriptor = channel.descriptors();
  for (const Copy &copy : copies) {
    check(copy.bytes, largestCopy, "bytes of a copy");
    store(descriptor, orBits(copy.bytes, constant(0x80000000u)));
    store(descriptor + 4, copy.source);
    store(descriptor + 8, copy.destination);
    store(descriptor + 20, constant(&copy == &copies.back() ? 0 : descriptor + 0x20));
    descriptor += 0x20;
  }
  store(channel.controller, constant(1));
  store(channel.controller + 0x18, constant(0));
  store(channel.controller + 0x1C, constant(0));
  store(channel.registers(), constant(0x80000000));
  store(channel.registers() + 0x14, constant(channel.descriptors()));
  store(channel.controller + 0x04, constant(channel.start()));
}

void Emitter::waitDma(uint32_t number) {
  DmaChannel channel(number);
  npu::WaitOp::create(b, loc, constant(channel.controller + 0x14), constant(channel.done()));
  npu::Store32Op::create(b, loc, constant(channel.controller + 0x14), constant(channel.done()));
}

} // namespace tensorturbo::tile
