// Bodies of the matrix-engine instructions: product, convolution, transposition.
#include "simulator/insn/Operands.h"

namespace tensorturbo::sim {

using namespace numerics;
using target::CostClass;
using target::Instruction;

namespace {

uint64_t high(uint32_t csr) {
  return csr >> 16;
}
uint64_t low(uint32_t csr) {
  return csr & 0xFFFF;
}

bool isInt8(const Instruction &insn) {
  return insn.cost == CostClass::MatmulInt8 || insn.cost == CostClass::ConvInt8;
}
bool isConvolution(const Instruction &insn) {
  return insn.cost == CostClass::Conv || insn.cost == CostClass::ConvInt8;
}
/// Integer sums are stored as they are; the .hf.x8 forms scale them to halves, and these read a coefficient.
bool isScaled(const Instruction &insn) {
  return isInt8(insn) && !insn.csrs.empty() && (insn.csrs.back() == 0x410 || insn.csrs.back() == 0x411);
}
uint32_t resultBytes(const Instruction &insn) {
  return isInt8(insn) && !isScaled(insn) ? 4 : 2;
}
/// The left operand is stored transposed; bit 14 is part of the opcode in the INT8 forms.
bool isTransposed(uint32_t word, const Instruction &insn) {
  return insn.hasDm() && target::dmField(word);
}

struct Convolution {
  uint64_t height, width, channels, outHeight, outWidth, outChannels;
  uint64_t kernelHeight, kernelWidth, dilation, stride, top, bottom, left, right;

  explicit Convolution(const Core &core)
      : height(low(core.csr[0x408])), width(high(core.csr[0x408])), channels(low(core.csr[0x409])),
        outHeight(low(core.csr[0x40A])), outWidth(high(core.csr[0x40A])), outChannels(low(core.csr[0x40B])),
        kernelHeight(core.csr[0x40D] >> 16 & 255), kernelWidth(core.csr[0x40D] >> 24),
        dilation(core.csr[0x40D] >> 8 & 255), stride(core.csr[0x40D] & 255), top(core.csr[0x40E] >> 24),
        bottom(core.csr[0x40E] >> 16 & 255), left(core.csr[0x40E] >> 8 & 255), right(core.csr[0x40E] & 255) {}

  uint64_t inner() const { return kernelHeight * kernelWidth * channels; }
  /// The stated output size is the one that the geometry gives.
  bool consistent() const {
    auto fits = [this](uint64_t in, uint64_t kernel, uint64_t out) {
      uint64_t reach = dilation * (kernel - 1) + 1;
      return in >= reach && (in - reach) / stride + 1 == out;
    };
    return fits(height + top + bottom, kernelHeight, outHeight) &&
           fits(width + left + right, kernelWidth, outWidth);
  }
};

std::optional<Half> coefficient(const Core &core, const Instruction &insn) {
  if (!isScaled(insn))
    return std::nullopt;
  return truncateToHalf(core.csr[insn.csrs.back()]);
}

std::optional<Trap> executeTranspose(Core &core, const Layout &l) {
  Checks checks(core);
  checks.base(l.a.address, 2);
  checks.base(l.d.address, 2);
  checks.shape(l.a.cols, l.a.rows);
  if (l.a.rows > 1)
    checks.sourceStride(l.a.address, 2, l.a.stride);
  if (l.a.cols > 1)
    checks.destinationStride(l.d.address, 2, l.d.stride, l.a.rows);
  checks.access(l.a.address, l.a.span());
  checks.access(l.d.address, l.d.span(), Where::Im);
  if (!checks.trap)
    transpose(l.a.shape(), checks.destination(l.d), checks.source(l.a));
  return checks.trap;
}

std::optional<Trap> executeProduct(Core &core, uint32_t word, const Instruction &insn, const Layout &l) {
  bool transposed = isTransposed(word, insn);
  Checks checks(core);
  checks.base(l.a.address, l.a.elementBytes);
  checks.base(l.b.address, l.b.elementBytes);
  checks.base(l.d.address, l.d.elementBytes);
  checks.shape(l.a.rows, l.a.cols);
  checks.shape(l.b.rows, l.b.cols);
  if (l.a.rows > 1) {
    checks.sourceStride(l.a.address, l.a.elementBytes, l.a.stride);
    checks.destinationStride(l.d.address, l.d.elementBytes, l.d.stride, l.d.cols);
  }
  if (l.b.rows > 1)
    checks.sourceStride(l.b.address, l.b.elementBytes, l.b.stride);
  checks.access(l.a.address, l.a.span());
  checks.access(l.b.address, l.b.span(), Where::L1);
  checks.access(l.d.address, l.d.span(), Where::Im);
  if (checks.trap)
    return checks.trap;
  uint64_t inner = transposed ? l.a.rows : l.a.cols;
  if (inner != l.b.rows)
    return std::nullopt;
  LeftMatrix a{checks.source(l.a).data, checks.source(l.a).stride, transposed};
  if (isInt8(insn))
    matmulInt8(l.d.rows, inner, l.d.cols, checks.destination(l.d), a, checks.source(l.b),
               coefficient(core, insn));
  else
    matmul(l.d.rows, inner, l.d.cols, checks.destination(l.d), a, checks.source(l.b));
  return std::nullopt;
}

std::optional<Trap> executeConvolution(Core &core, const Instruction &insn, const Layout &l) {
  Convolution c(core);
  Extent checkedWeights = l.b;
  checkedWeights.stride &= 255; // the chip's checks look at the low byte only
  Checks checks(core);
  checks.base(l.a.address, l.a.elementBytes);
  checks.base(l.b.address, l.b.elementBytes);
  checks.base(l.d.address, l.d.elementBytes);
  checks.shape(c.height, c.width);
  checks.shape(c.outHeight, c.outWidth);
  checks.shape(c.channels, c.outChannels);
  checks.shape(c.kernelHeight, c.kernelWidth);
  checks.shape(c.stride, c.dilation);
  checks.sourceStride(l.a.address, l.a.elementBytes, l.a.stride);
  checks.sourceStride(l.b.address, l.b.elementBytes, checkedWeights.stride);
  checks.destinationStride(l.d.address, l.d.elementBytes, l.d.stride, c.outChannels);
  checks.access(l.a.address, l.a.span());
  checks.access(l.b.address, checkedWeights.span(), Where::L1);
  checks.access(l.d.address, l.d.span(), Where::Im);
  checks.access(l.b.address, l.b.span(), Where::L1);
  if (!checks.trap)
    checks.parameter(c.consistent());
  if (checks.trap)
    return checks.trap;
  ConvolutionWindow w{};
  w.image = checks.source(l.a).data;
  w.pixelStride = checks.source(l.a).stride;
  w.height = uint32_t(c.height), w.width = uint32_t(c.width), w.channels = uint32_t(c.channels);
  w.outHeight = uint32_t(c.outHeight), w.outWidth = uint32_t(c.outWidth);
  w.kernelHeight = uint32_t(c.kernelHeight), w.kernelWidth = uint32_t(c.kernelWidth);
  w.dilation = uint32_t(c.dilation), w.stride = uint32_t(c.stride);
  w.top = int32_t(c.top), w.left = int32_t(c.left);
  if (isInt8(insn))
    convolveInt8(c.outChannels, checks.destination(l.d), w, checks.source(l.b), coefficient(core, insn));
  else
    convolve(c.outChannels, checks.destination(l.d), w, checks.source(l.b));
  return std::nullopt;
}

} // namespace

Layout mmeLayout(const Core &core, uint32_t word, const Instruction &insn) {
  uint32_t a = core.x[target::rs1Field(word)], b = core.x[target::rs2Field(word)],
           d = core.x[target::rdField(word)];
  uint32_t element = isInt8(insn) ? 1 : 2, result = resultBytes(insn);
  Layout l;
  if (isConvolution(insn)) {
    Convolution c(core);
    l.a = {a, element, c.height * c.width, c.channels, uint32_t(high(core.csr[0x409]))};
    l.b = {b, element, c.inner(), c.outChannels, uint32_t(low(core.csr[0x40C]))};
    l.d = {d, result, c.outHeight * c.outWidth, c.outChannels, uint32_t(high(core.csr[0x40B]))};
    return l;
  }
  uint32_t strideD = uint32_t(low(core.csr[0x406])), strideA = uint32_t(low(core.csr[0x407]));
  uint64_t rows = low(core.csr[0x404]), cols = high(core.csr[0x404]);
  l.a = {a, element, rows, cols, strideA};
  if (insn.cost == CostClass::Transpose) {
    l.d = {d, 2, cols, rows, strideD};
    return l;
  }
  l.b = {b, element, low(core.csr[0x405]), high(core.csr[0x405]), uint32_t(high(core.csr[0x407]))};
  l.d = {d, result, isTransposed(word, insn) ? cols : rows, l.b.cols, strideD};
  return l;
}

std::optional<Trap> executeMme(Core &core, uint32_t word, const Instruction &insn) {
  Layout l = mmeLayout(core, word, insn);
  switch (insn.cost) {
  case CostClass::Transpose:
    return executeTranspose(core, l);
  case CostClass::Matmul:
  case CostClass::MatmulInt8:
    return executeProduct(core, word, insn, l);
  case CostClass::Conv:
  case CostClass::ConvInt8:
    return executeConvolution(core, insn, l);
  default:
    return Trap{2, 0}; // not an MME instruction
  }
}

} // namespace tensorturbo::sim
