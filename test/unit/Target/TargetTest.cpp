#include "Target/Target.h"
#include <gtest/gtest.h>
#include <random>

using namespace tensorturbo;
using namespace tensorturbo::target;

namespace {

struct Row {
  const char *mnemonic;
  uint32_t mask, match;
};

// The encoding table, written down a second time so that an edit of the data file cannot change it unnoticed.
const Row kRows[] = {{"veadd.mm", 0xFE00707F, 0x0400007B},
                     {"veadd.mf", 0xFE00707F, 0x0400307B},
                     {"vesub.mm", 0xFE00707F, 0x0800007B},
                     {"vesub.mf", 0xFE00707F, 0x0800307B},
                     {"veemul.mm", 0xFE00707F, 0x1400007B},
                     {"veemul.mf", 0xFE00707F, 0x1400307B},
                     {"veemul.x32.mv", 0xFE00707F, 0x1400607B},
                     {"veemul.x32.mf", 0xFE00707F, 0x1400707B},
                     {"veemul.x8.hf.mf", 0xFE00707F, 0x1600307B},
                     {"vemax.mm", 0xFE00707F, 0x1C00007B},
                     {"vemax.mf", 0xFE00707F, 0x1C00307B},
                     {"vemin.mm", 0xFE00707F, 0x2000007B},
                     {"vemin.mf", 0xFE00707F, 0x2000307B},
                     {"velkrelu.mf", 0xFE00707F, 0x2400307B},
                     {"velut.m", 0xFE00707F, 0x2800107B},
                     {"icmov", 0xFE00707F, 0x3400007B},
                     {"memul.x8.mm", 0xFE00707F, 0x6600007B},
                     {"memul.hf.x8.mm", 0xFE00707F, 0x6600407B},
                     {"meconv.mm", 0xFE00707F, 0x6800007B},
                     {"meconv.x8.mm", 0xFE00707F, 0x6A00007B},
                     {"meconv.hf.x8.mm", 0xFE00707F, 0x6A00407B},
                     {"veadd.mv", 0xFE00307F, 0x0600207B},
                     {"vesub.mv", 0xFE00307F, 0x0A00207B},
                     {"veemul.mv", 0xFE00307F, 0x1600207B},
                     {"vemax.mv", 0xFE00307F, 0x1E00207B},
                     {"vemin.mv", 0xFE00307F, 0x2200207B},
                     {"velkrelu.mv", 0xFE00307F, 0x2600207B},
                     {"veemacc.mv", 0xFE00307F, 0x1A00207B},
                     {"veemacc.mf", 0xFE00307F, 0x1A00307B},
                     {"memul.mm", 0xFE00307F, 0x6400007B},
                     {"veemacc.mm", 0xFC00307F, 0x1800007B},
                     {"veacc.m", 0xFDF0307F, 0x0C00107B},
                     {"vemax.m", 0xFDF0307F, 0x1C00107B},
                     {"vemin.m", 0xFDF0307F, 0x2000107B},
                     {"mov.m", 0xFFF0707F, 0x2C00107B},
                     {"mov.f", 0xFFF0707F, 0x2C00307B},
                     {"mov.llb.l1", 0xFFF0707F, 0x2C10107B},
                     {"mov.l1.llb", 0xFFF0707F, 0x2C20107B},
                     {"vecvt.hf.x8.m", 0xFFF0707F, 0x3000107B},
                     {"vecvt.hf.xu8.m", 0xFFF0707F, 0x3010107B},
                     {"vecvt.x8.hf.m", 0xFFF0707F, 0x3020107B},
                     {"pld", 0xFFF0707F, 0x3C00107B},
                     {"veexp.m", 0xFFF0707F, 0x4000107B},
                     {"vesqrt.m", 0xFFF0707F, 0x4400107B},
                     {"verecip.m", 0xFFF0707F, 0x4800107B},
                     {"metr.m", 0xFFF0707F, 0x6000107B},
                     {"mov.v", 0xFFF0307F, 0x2E00207B},
                     {"sync", 0xFFFFFFFF, 0x3800007B},
                     {"vlepi.v", 0xFC00707F, 0xFC00007B},
                     {"vlsepi.v", 0xFC00707F, 0xFC00107B},
                     {"vsepi.v", 0xFC00707F, 0xF800007B},
                     {"vssepi.v", 0xFC00707F, 0xF800107B},
                     {"flhw", 0x0000707F, 0x0000105B},
                     {"fshw", 0x0000707F, 0x0000405B}};

const Row *linearDecode(uint32_t word) {
  for (const Row &r : kRows)
    if ((word & r.mask) == r.match)
      return &r;
  return nullptr;
}

TEST(Target, TableIsTheChips) {
  EXPECT_EQ(p920().instructions().size(), std::size(kRows));
  for (const Row &r : kRows) {
    const Instruction *insn = p920().find(r.mnemonic);
    ASSERT_NE(insn, nullptr) << r.mnemonic;
    EXPECT_EQ(insn->mask, r.mask) << r.mnemonic;
    EXPECT_EQ(insn->match, r.match) << r.mnemonic;
    EXPECT_EQ(&p920().instructions()[insn->index], insn);
    EXPECT_EQ(p920().decode(r.match), insn) << r.mnemonic;
  }
}

TEST(Target, EncodeThenDecode) {
  std::mt19937 random(1);
  for (const Instruction &insn : p920().instructions())
    for (int i = 0; i < 200; ++i) {
      uint32_t bits = random();
      uint32_t word =
          Target::encode(insn, bits & 31, bits >> 5 & 31, bits >> 10 & 31, bits >> 15 & 1, bits >> 16 & 1);
      EXPECT_EQ(word & insn.mask, insn.match) << insn.mnemonic;
      EXPECT_EQ(p920().decode(word), &insn) << insn.mnemonic;
      if (insn.rd != OperandKind::None) {
        EXPECT_EQ(rdField(word), bits & 31) << insn.mnemonic;
      }
      if (insn.rs1 != OperandKind::None) {
        EXPECT_EQ(rs1Field(word), bits >> 5 & 31) << insn.mnemonic;
      }
      if (insn.rs2 != OperandKind::None) {
        EXPECT_EQ(rs2Field(word), bits >> 10 & 31) << insn.mnemonic;
      }
      if (insn.hasDm()) {
        EXPECT_EQ(dmField(word), bits >> 15 & 1) << insn.mnemonic;
      }
    }
}

TEST(Target, DecodesEveryWordLikeTheTable) {
  std::mt19937 random(2);
  for (int i = 0; i < 2000000; ++i) {
    uint32_t word = (random() & ~0x7Fu) | (i & 1 ? 0x7B : 0x5B);
    if (i & 2) // near a legal word
      word = kRows[random() % std::size(kRows)].match ^ (1u << (7 + random() % 25)) ^ (random() & 0x000F8F80);
    const Row *expected = linearDecode(word);
    const Instruction *found = p920().decode(word);
    ASSERT_EQ(expected != nullptr, found != nullptr) << std::hex << word;
    if (expected)
      ASSERT_EQ(found->mnemonic, expected->mnemonic) << std::hex << word;
  }
}

TEST(Target, IllegalWords) {
  for (uint32_t word :
       {0x0000007Bu, 0x0600307Bu /* veadd.mf with bit 25 */, 0x3800107Bu, 0x381000FBu, 0x2C30107Bu,
        0x4010107Bu /* veexp with rs2 */, 0x0400407Bu /* veadd.mm with dm */, 0x00000013u, 0xFFFFFFFFu})
    EXPECT_EQ(p920().decode(word), nullptr) << std::hex << word;
}

TEST(Target, Disassembly) {
  EXPECT_EQ(p920().disassemble(*p920().encode("veadd.mm", 10, 11, 12)), "veadd.mm (a0), (a1), (a2)");
  EXPECT_EQ(p920().disassemble(*p920().encode("veadd.mv", 10, 11, 12, true)),
            "veadd.mv (a0), (a1), (a2), dm");
  EXPECT_EQ(p920().disassemble(*p920().encode("mov.f", 10, 11, 0)), "mov.f (a0), fa1");
  EXPECT_EQ(p920().disassemble(*p920().encode("veacc.m", 10, 11, 0)), "veacc.m fa0, (a1)");
  EXPECT_EQ(p920().disassemble(*p920().encode("veacc.m", 10, 11, 0, true, true)),
            "veacc.m (a0), (a1), dmc, dm");
  EXPECT_EQ(p920().disassemble(*p920().encode("icmov", 10, 11, 12)), "icmov (a0), (a1), a2");
  EXPECT_EQ(p920().disassemble(*p920().encode("vlepi.v", 1, 10, 11)), "vlepi.v v1, (a0), a1, v0.t");
  EXPECT_EQ(p920().disassemble(*p920().encode("flhw", 1, 10, 0)), "flhw ft1, (a0)");
  EXPECT_EQ(p920().disassemble(*p920().encode("sync", 0, 0, 0)), "sync");
  EXPECT_EQ(p920().disassemble(0x13), ".word 0x00000013");
}

TEST(Target, MemoryMapAndCsrs) {
  EXPECT_EQ(p920().cores(), 8u);
  EXPECT_EQ(p920().l1().base, 0xC0000000u);
  EXPECT_EQ(p920().l1().size, 1310720u);
  EXPECT_EQ(p920().im().base, 0xC0400000u);
  EXPECT_EQ(p920().im().size, 262144u);
  EXPECT_EQ(p920().llb().clusterShare, 8u << 20);
  EXPECT_EQ(p920().llb().alias, 0xFA000000u);
  EXPECT_TRUE(p920().l1().contains(0xC013FFFF, 1));
  EXPECT_FALSE(p920().l1().contains(0xC013FFFF, 2));
  EXPECT_TRUE(p920().ddr().contains(0, 0xC0000000ull));
  EXPECT_EQ(p920().address("hsync"), 0xD0080000u);
  EXPECT_EQ(p920().csrNumber("conv_kernel"), 0x40D);
  EXPECT_EQ(p920().csrName(0x424), "tid");
  EXPECT_EQ(p920().csrName(0x40F), "");
}

TEST(Target, Costs) {
  Costs base = *p920().costs();
  EXPECT_EQ(base.matmulCycles(1, 1, 4, false), 24);
  EXPECT_EQ(base.matmulCycles(33, 65, 64, true), 20 + 4 * 32);
  EXPECT_EQ(base.vectorCycles(1, 1), 11);
  EXPECT_EQ(base.vectorCycles(2, 65, CostClass::Poly), 10 + 16);
  EXPECT_DOUBLE_EQ(p920().costs("slow-vector")->vectorCycles(1, 1), 11 * 2.86);
  EXPECT_FALSE(p920().costs("fast"));
  for (const Constant &c : p920().constants())
    EXPECT_FALSE(c.source.empty()) << c.name;
}

TEST(Target, BrokenDescriptions) {
  Diagnostics diags;
  EXPECT_EQ(Target::parse("{", diags), nullptr);
  EXPECT_EQ(Target::parse("[]", diags), nullptr);
  EXPECT_EQ(Target::parse("{}", diags), nullptr);
  EXPECT_GT(diags.all().size(), 10u);
  std::string text(p920Json());
  text.replace(text.find("\"VME\""), 5, "\"XYZ\"");
  Diagnostics one;
  EXPECT_EQ(Target::parse(text, one), nullptr);
  ASSERT_EQ(one.all().size(), 1u);
  EXPECT_NE(one.all()[0].message.find("'XYZ'"), std::string::npos);
}

} // namespace
