#include "Target/Target.h"
#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tensorturbo::target {

namespace {

const char *const kIntegerNames[32] = {"zero", "ra", "sp", "gp", "tp",  "t0",  "t1", "t2", "s0", "s1", "a0",
                                       "a1",   "a2", "a3", "a4", "a5",  "a6",  "a7", "s2", "s3", "s4", "s5",
                                       "s6",   "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};
const char *const kFloatNames[32] = {"ft0", "ft1", "ft2",  "ft3",  "ft4", "ft5", "ft6",  "ft7",
                                     "fs0", "fs1", "fa0",  "fa1",  "fa2", "fa3", "fa4",  "fa5",
                                     "fa6", "fa7", "fs2",  "fs3",  "fs4", "fs5", "fs6",  "fs7",
                                     "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11"};

constexpr uint32_t kRd = 31u << 7, kRs1 = 31u << 15, kRs2 = 31u << 20, kDm = 1u << 14, kDmc = 1u << 25;

std::string hexWord(uint32_t word) {
  char text[32];
  std::snprintf(text, sizeof text, ".word 0x%08x", word);
  return text;
}

/// Exact for whole numbers, defined for every positive constant.
double ceilDiv(uint64_t a, double b) {
  return std::ceil(double(a) / b);
}

} // namespace

void Target::indexInstructions() {
  buckets.fill(kEnd);
  next.assign(table.size(), kEnd);
  // Backwards, so that each chain is in table order.
  for (size_t i = table.size(); i-- > 0;) {
    table[i].index = uint16_t(i);
    // Half loads and stores leave bits 31:26 free: they are in every bucket of their opcode and form.
    bool anyTop = !(table[i].mask >> 26);
    for (uint32_t top = 0; top < 64; ++top) {
      uint32_t bucket = bucketOf((table[i].match & 0x03FFFFFF) | top << 26);
      if (!anyTop && top != table[i].match >> 26)
        continue;
      next[i] = buckets[bucket];
      buckets[bucket] = uint16_t(i);
    }
  }
}

std::optional<uint32_t> Target::address(std::string_view name) const {
  for (const Named &n : addresses)
    if (n.name == name)
      return n.value;
  return std::nullopt;
}

std::optional<uint32_t> Target::limit(std::string_view name) const {
  for (const Named &n : limits)
    if (n.name == name)
      return n.value;
  return std::nullopt;
}

std::vector<std::string> Target::profiles() const {
  std::vector<std::string> names;
  for (const Profile &p : profileList)
    names.push_back(p.name);
  return names;
}

std::optional<Costs> Target::costs(std::string_view profile, const std::vector<Override> &changes) const {
  auto p = std::find_if(profileList.begin(), profileList.end(),
                        [&](const Profile &x) { return x.name == profile; });
  if (p == profileList.end())
    return std::nullopt;
  auto value = [&](std::string_view name) {
    for (const Override &o : changes)
      if (o.name == name)
        return o.value;
    for (const auto &o : p->overrides)
      if (o.first == name)
        return o.second;
    for (const Constant &c : constantList)
      if (c.name == name)
        return c.value;
    return 0.0; // excluded by the reader
  };
  Costs c;
  c.clock = value("clock");
  c.mmeFixed = value("mme.fixed");
  c.mmeRows = value("mme.rows");
  c.mmeColumns = value("mme.columns");
  c.mmeInt8Speed = value("mme.int8_speed");
  c.vmeFixed = value("vme.fixed");
  c.vmeLanes = value("vme.lanes");
  c.vmeScale = value("vme.scale");
  c.vmePolyFactor = value("vme.poly_factor");
  c.vmeLutFactor = value("vme.lut_factor");
  c.mteFixed = value("mte.fixed");
  c.mteBytesPerCycle = value("mte.bytes_per_cycle");
  c.icmovFixed = value("icmov.fixed");
  c.icmovBytesPerCycle = value("icmov.bytes_per_cycle");
  c.l1BytesPerCycle = value("l1.bytes_per_cycle");
  c.llbBytesPerCycle = value("llb.bytes_per_cycle");
  c.ddrBytesPerSecond = value("ddr.bytes_per_second");
  c.syncFixed = value("sync.fixed");
  c.csrWrite = value("scalar.csr_write");
  c.mmeTransposeElements = value("mme.transpose_elements");
  c.meshHop = value("mesh.hop");
  c.meshHops = meshHops;
  c.pldFixed = value("pld.fixed");
  c.imBytesPerCycle = value("im.bytes_per_cycle");
  c.queueDepth = value("queue.depth");
  c.blockingFrontEnd = value("frontend.blocking") != 0;
  c.exactOverlap = value("overlap.exact") != 0;
  c.scalarInstruction = value("scalar.instruction");
  c.scalarIssue = value("scalar.issue");
  c.scalarDeviceLoad = value("scalar.device_load");
  c.dmaStart = value("dma.start");
  c.dmaDescriptor = value("dma.descriptor");
  c.dmaBytesPerCycle = value("dma.bytes_per_cycle");
  c.dmaBurstOverhead = value("dma.burst_overhead");
  c.ddrClusters = value("ddr.clusters");
  return c;
}

double Costs::matmulCycles(uint64_t m, uint64_t n, uint64_t k, bool int8) const {
  double tiles = ceilDiv(m, mmeRows) * ceilDiv(n, mmeColumns);
  return mmeFixed + tiles * double(k) / (int8 ? mmeInt8Speed : 1.0);
}

double Costs::vectorCycles(uint64_t rows, uint64_t cols, CostClass cost) const {
  double perRow = ceilDiv(cols, vmeLanes);
  double factor = cost == CostClass::Poly ? vmePolyFactor : cost == CostClass::Lut ? vmeLutFactor : 1.0;
  return vmeScale * (vmeFixed + double(rows) * perRow * factor);
}

double Costs::transposeCycles(uint64_t rows, uint64_t cols) const {
  return mmeFixed + double(rows) * ceilDiv(cols, mmeTransposeElements);
}

std::optional<uint16_t> Target::csrNumber(std::string_view name) const {
  for (const Csr &c : csrList)
    if (c.name == name)
      return c.number;
  return std::nullopt;
}

std::string_view Target::csrName(uint32_t number) const {
  for (const Csr &c : csrList)
    if (c.number == number)
      return c.name;
  return {};
}

const Instruction *Target::find(std::string_view mnemonic) const {
  for (const Instruction &i : table)
    if (i.mnemonic == mnemonic)
      return &i;
  return nullptr;
}

uint32_t Target::encode(const Instruction &insn, unsigned rd, unsigned rs1, unsigned rs2, bool dm, bool dmc) {
  uint32_t fields =
      (rd << 7 & kRd) | (rs1 << 15 & kRs1) | (rs2 << 20 & kRs2) | (dm ? kDm : 0) | (dmc ? kDmc : 0);
  return insn.match | (fields & ~insn.mask);
}

std::optional<uint32_t> Target::encode(std::string_view mnemonic, unsigned rd, unsigned rs1, unsigned rs2,
                                       bool dm, bool dmc) const {
  if (const Instruction *insn = find(mnemonic))
    return encode(*insn, rd, rs1, rs2, dm, dmc);
  return std::nullopt;
}

std::string Target::disassemble(uint32_t word) const {
  const Instruction *insn = decode(word);
  if (!insn)
    return hexWord(word);
  std::string text = insn->mnemonic;
  bool first = true;
  auto operand = [&](OperandKind kind, uint32_t field) {
    if (kind == OperandKind::Reduction)
      kind = dmField(word) || dmcField(word) ? OperandKind::Address : OperandKind::Float;
    std::string name;
    switch (kind) {
    case OperandKind::None:
      return;
    case OperandKind::Address:
      name = std::string("(") + kIntegerNames[field] + ")";
      break;
    case OperandKind::Bytes:
      name = kIntegerNames[field];
      break;
    case OperandKind::Float:
      name = kFloatNames[field];
      break;
    case OperandKind::Vector:
      name = "v" + std::to_string(field);
      break;
    case OperandKind::Reduction:
      break;
    }
    text += first ? " " : ", ";
    text += name;
    first = false;
  };
  operand(insn->rd, rdField(word));
  operand(insn->rs1, rs1Field(word));
  operand(insn->rs2, rs2Field(word));
  if (insn->rd == OperandKind::Vector) {
    if (!dmcField(word))
      text += ", v0.t";
    return text;
  }
  if (insn->engine == Engine::Scalar)
    return text;
  if (insn->hasDmc() && dmcField(word))
    text += ", dmc";
  if (insn->hasDm() && dmField(word))
    text += ", dm";
  return text;
}

} // namespace tensorturbo::target
