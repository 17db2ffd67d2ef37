// The memory that an instruction touches, for checks and timing.
#include "simulator/insn/Operands.h"

namespace tensorturbo::sim {

using target::CostClass;
using target::Engine;

namespace {

Regions transferRegions(const Core &core, uint32_t word, const target::Instruction &insn) {
  uint32_t a = core.x[target::rs1Field(word)], d = core.x[target::rdField(word)];
  Regions regions;
  if (insn.cost == CostClass::Exchange) {
    uint32_t bytes = core.x[target::rs2Field(word)];
    if (!bytes)
      bytes = 524288;
    regions.add({a, 1, bytes, bytes, false, core.id});
    regions.add({d, 1, bytes, bytes, true, core.csr[0x421] & 63});
    return regions;
  }
  uint32_t rows = core.csr[0x422] & 0xFFFF, rowBytes = (core.csr[0x422] >> 16) * 2;
  uint32_t stride = core.csr[0x423] & 0xFFFF;
  if (!stride)
    stride = rowBytes;
  bool toLlb = insn.mnemonic == "mov.llb.l1";
  // The L1 side is dense.
  regions.add({a, rows, rowBytes, toLlb ? rowBytes : stride, false, core.id});
  regions.add({d, rows, rowBytes, toLlb ? stride : rowBytes, true, core.id});
  return regions;
}

} // namespace

MatrixWork matrixWork(const Core &core, uint32_t word, const target::Instruction &insn) {
  auto low = [&](uint32_t csr) { return uint64_t(core.csr[csr] & 0xFFFF); };
  auto high = [&](uint32_t csr) { return uint64_t(core.csr[csr] >> 16); };
  MatrixWork work;
  work.int8 = insn.cost == CostClass::MatmulInt8 || insn.cost == CostClass::ConvInt8;
  switch (insn.cost) {
  case CostClass::Matmul:
  case CostClass::MatmulInt8:
    work.m = low(0x404), work.k = high(0x404), work.n = high(0x405);
    if (insn.hasDm() && target::dmField(word)) // left operand stored transposed
      std::swap(work.m, work.k);
    break;
  case CostClass::Conv:
  case CostClass::ConvInt8:
    work.m = high(0x40A) * low(0x40A), work.n = low(0x40B);
    work.k = (core.csr[0x40D] >> 24) * uint64_t(core.csr[0x40D] >> 16 & 0xFF) * low(0x409);
    break;
  default:
    work.m = low(0x404), work.n = high(0x404);
    break;
  }
  return work;
}

Regions describeOperands(const Core &core, uint32_t word, const target::Instruction &insn) {
  if (insn.engine == Engine::Mte)
    return transferRegions(core, word, insn);
  Layout l;
  if (insn.engine == Engine::Vme)
    l = vmeLayout(core, word, insn);
  else if (insn.engine == Engine::Mme)
    l = mmeLayout(core, word, insn);
  if (insn.cost == CostClass::Matmul || insn.cost == CostClass::MatmulInt8) {
    bool transposed = insn.hasDm() && target::dmField(word);
    if ((transposed ? l.a.rows : l.a.cols) != l.b.rows)
      return {};
  }
  Regions regions;
  if (l.a.rows)
    regions.add(l.a.region(false, core.id));
  if (l.b.rows)
    regions.add(l.b.region(false, core.id));
  if (l.d.rows)
    regions.add(l.d.region(true, core.id));
  return regions;
}

} // namespace tensorturbo::sim
