#include "NpuProgram.h"
#include "llvm/Support/JSON.h"

namespace tensorturbo::codegen {
namespace {

constexpr uint16_t one = 0x3C00, two = 0x4000, three = 0x4200, four = 0x4400, six = 0x4600;

// x + y of 64 halves: DDR -> LLB -> L1, addition in a loop of four rows, and back.
const char *const vectorAdd = R"(
func.func @npu_0_add() {
  %dma = arith.constant 0xC9F00000 : i32
  %descriptor = arith.constant 0xC9F01000 : i32
  %x = arith.constant 0x02000000 : i32
  %llb = arith.constant 0xF8000000 : i32
  %llb_y = arith.constant 0xF8000080 : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %c32 = arith.constant 32 : i32
  call @copy_in() : () -> ()
  %a = arith.constant 0xC0000000 : i32
  %b = arith.constant 0xC0000080 : i32
  %rows1_cols64 = arith.constant 0x400001 : i32
  npu.csrw "mte_shape", %rows1_cols64
  npu.csrw "mte_stride_llb", %c0
  npu.mov.l1.llb %a, %llb
  npu.mov.l1.llb %b, %llb_y
  %rows1_cols16 = arith.constant 0x100001 : i32
  npu.csrw "shape_s1", %rows1_cols16
  npu.csrw "stride_d", %c0
  npu.csrw "stride_s", %c0
  scf.for %i = %c0 to %c4 step %c1 : i32 {
    %offset = arith.muli %i, %c32 : i32
    %ai = arith.addi %a, %offset : i32
    %bi = arith.addi %b, %offset : i32
    npu.veadd.mm %bi, %ai, %bi
  }
  npu.mov.llb.l1 %llb, %b
  call @copy_out() : () -> ()
  return
}
func.func @copy_in() {
  %control = arith.constant 0x80000100 : i32
  %source = arith.constant 0x02000000 : i32
  %destination = arith.constant 0xF8000000 : i32
  func.call @copy(%control, %source, %destination) : (i32, i32, i32) -> ()
  return
}
func.func @copy_out() {
  %control = arith.constant 0x80000080 : i32
  %source = arith.constant 0xF8000000 : i32
  %destination = arith.constant 0x02000200 : i32
  func.call @copy(%control, %source, %destination) : (i32, i32, i32) -> ()
  return
}
func.func @copy(%control: i32, %source: i32, %destination: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %d = arith.constant 0xC9F01000 : i32
  %d4 = arith.constant 0xC9F01004 : i32
  %d8 = arith.constant 0xC9F01008 : i32
  %d20 = arith.constant 0xC9F01014 : i32
  %enable = arith.constant 0xC9F00000 : i32
  %start = arith.constant 0xC9F00004 : i32
  %done = arith.constant 0xC9F00014 : i32
  %mode = arith.constant 0xC9F00100 : i32
  %first = arith.constant 0xC9F00114 : i32
  %descriptor_mode = arith.constant 0x80000000 : i32
  npu.store32 %d, %control
  npu.store32 %d4, %source
  npu.store32 %d8, %destination
  npu.store32 %d20, %zero
  npu.store32 %enable, %one
  npu.store32 %mode, %descriptor_mode
  npu.store32 %first, %d
  npu.store32 %start, %one
  npu.wait %done, %one
  npu.store32 %done, %one
  return
}
)";

TEST(CodeGen, VectorAddThroughAllLevels) {
  NpuText text(vectorAdd);
  ASSERT_TRUE(text.module);
  auto object = text.compile({{"npu_0_add"}});
  ASSERT_TRUE(object) << text.diags.render();
  EXPECT_GE(object->entry, programStart);
  Chip chip(1);
  chip.load(*object);
  std::vector<uint16_t> x(64, one), y(64, two), expected(64, three);
  y[63] = three;
  expected[63] = four;
  chip.write(0x02000000, x);
  chip.write(0x02000080, y);
  sim::RunResult result = chip.run();
  EXPECT_TRUE(result.good()) << result.message;
  EXPECT_EQ(chip.read<uint16_t>(0x02000200, 64), expected);
}

// C (2x2) = A (2x3) * B (3x2) on two cores; then each core scales its result by 1 + its number.
const char *const matmul = R"(
func.func @npu_0_matmul() {
  %a = arith.constant 0xC0000000 : i32
  %b = arith.constant 0xC0000100 : i32
  %im = arith.constant 0xC0400000 : i32
  %dense = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a_shape = arith.constant 0x30002 : i32
  %b_shape = arith.constant 0x20003 : i32
  %c_shape = arith.constant 0x20002 : i32
  %f1 = arith.constant 1.0 : f32
  %f2 = arith.constant 2.0 : f32
  npu.csrw "stride_d", %dense
  npu.csrw "stride_s", %dense
  npu.csrw "shape_s1", %a_shape
  npu.mov.f %a, %f1
  npu.csrw "shape_s1", %b_shape
  npu.mov.f %b, %f2
  npu.csrw "m_shape_s1", %a_shape
  npu.csrw "m_shape_s2", %b_shape
  npu.csrw "m_stride_d", %dense
  npu.csrw "m_stride_s", %dense
  npu.memul.mm %im, %a, %b
  npu.csrw "shape_s1", %c_shape
  %id = npu.core_id
  %n = arith.addi %id, %one : i32
  %f = arith.sitofp %n : i32 to f32
  npu.veemul.mf %a, %im, %f
  // The largest of all elements, added to the result once more.
  %most = npu.vemax.m.full %im
  npu.veadd.mf %b, %a, %most
  return
}
)";

TEST(CodeGen, MatmulOnTwoCores) {
  NpuText text(matmul);
  ASSERT_TRUE(text.module);
  auto object = text.compile({{"npu_0_matmul"}});
  ASSERT_TRUE(object) << text.diags.render();
  Chip chip(2);
  chip.load(*object);
  sim::RunResult result = chip.run();
  ASSERT_TRUE(result.good()) << result.message;
  EXPECT_EQ(chip.read<uint16_t>(0xC0400000, 4, 0), std::vector<uint16_t>(4, six));
  EXPECT_EQ(chip.read<uint16_t>(0xC0000000, 4, 0), std::vector<uint16_t>(4, six));
  EXPECT_EQ(chip.read<uint16_t>(0xC0000000, 4, 1), std::vector<uint16_t>(4, 0x4A00)) << "12";
  EXPECT_EQ(chip.read<uint16_t>(0xC0000100, 4, 0), std::vector<uint16_t>(4, 0x4A00));
  EXPECT_EQ(chip.read<uint16_t>(0xC0000100, 4, 1), std::vector<uint16_t>(4, 0x4C80)) << "18";
}

std::string storeKernel(const std::string &name, uint32_t address, uint32_t value) {
  return "func.func @" + name + "() {\n  %a = arith.constant " + std::to_string(address) +
         " : i32\n  %v = arith.constant " + std::to_string(value) + " : i32\n  %id = npu.core_id\n" +
         "  %c0 = arith.constant 0 : i32\n  %master = arith.cmpi eq, %id, %c0 : i32\n" +
         "  scf.if %master {\n    npu.store32 %a, %v\n  }\n  return\n} loc(fused[\"" + name +
         "_node\", \"relu\"])\n";
}

TEST(CodeGen, SegmentsRunTheirKernelsInOrder) {
  NpuText text(storeKernel("npu_0_a", 0x02000000, 11) + storeKernel("npu_0_b", 0x02000000, 12) +
               storeKernel("npu_1_c", 0x02000004, 0x89ABCDEF));
  ASSERT_TRUE(text.module);
  auto object = text.compile({{"npu_0_a", "npu_0_b"}, {"npu_1_c"}, {"npu_0_b", "npu_0_a"}});
  ASSERT_TRUE(object) << text.diags.render();
  Chip chip(8);
  chip.load(*object);
  chip.write<uint32_t>(0x02000000, {1, 2});
  EXPECT_TRUE(chip.run(0).good());
  EXPECT_EQ(chip.read<uint32_t>(0x02000000, 2), (std::vector<uint32_t>{12, 2}));
  EXPECT_TRUE(chip.run(1).good());
  EXPECT_EQ(chip.read<uint32_t>(0x02000000, 2), (std::vector<uint32_t>{12, 0x89ABCDEF}));
  EXPECT_TRUE(chip.run(2).good());
  EXPECT_EQ(chip.read<uint32_t>(0x02000000, 2), (std::vector<uint32_t>{11, 0x89ABCDEF}));
  EXPECT_EQ(chip.run(3).tohost, 1337u) << "there is no segment 3";
}

TEST(CodeGen, ProvenanceNamesTheNodesOfEveryKernel) {
  NpuText text(storeKernel("npu_0_a", 0x02000000, 1) + storeKernel("npu_0_b", 0x02000000, 2));
  auto object = text.compile({{"npu_0_a", "npu_0_b"}});
  ASSERT_TRUE(object) << text.diags.render();
  auto json = llvm::json::parse(llvm::StringRef(object->sectionText(runtime::section::provenance)));
  ASSERT_TRUE(bool(json));
  ASSERT_EQ(json->getAsArray()->size(), 2u);
  for (const llvm::json::Value &row : *json->getAsArray()) {
    std::string symbol = row.getAsObject()->getString("symbol")->str();
    const llvm::json::Array &nodes = *row.getAsObject()->getArray("nodes");
    ASSERT_EQ(nodes.size(), 2u);
    EXPECT_EQ(nodes[0].getAsString()->str(), symbol + "_node");
    EXPECT_EQ(nodes[1].getAsString()->str(), "relu");
    EXPECT_EQ(row.getAsObject()->getInteger("address"), object->findSymbol(symbol)->address);
    EXPECT_GT(*row.getAsObject()->getInteger("size"), 0);
  }
}

TEST(CodeGen, UnexpectedTrapIsRecorded) {
  NpuText text(R"(
func.func @npu_0_bad() {
  %ddr = arith.constant 0x02000000 : i32
  %c1 = arith.constant 1 : i32
  // The address is computed, so that only the chip can notice that it lies outside L1.
  %id = npu.core_id
  %address = arith.addi %ddr, %id : i32
  %shape = arith.constant 0x10001 : i32
  npu.csrw "shape_s1", %shape
  npu.mov.m %address, %address
  return
})");
  auto object = text.compile({{"npu_0_bad"}});
  ASSERT_TRUE(object) << text.diags.render();
  Chip chip(1);
  chip.load(*object);
  EXPECT_EQ(chip.run().tohost, 1337u);
  const runtime::Symbol *kernel = object->findSymbol("npu_0_bad");
  std::vector<uint32_t> info = chip.read<uint32_t>(object->findSymbol("tt_trap_info")->address, 4);
  EXPECT_EQ(info[0], 0x35u);
  EXPECT_EQ(info[1], 0x02000000u);
  EXPECT_GE(info[2], kernel->address);
  EXPECT_LT(info[2], kernel->address + kernel->size);
  EXPECT_EQ(info[3], 0u);
}

// More different values than there are registers for one run, and constants of every form.
TEST(CodeGen, ManyValuesInARun) {
  std::string text =
      "func.func @npu_0_many() {\n  %id = npu.core_id\n  %base = arith.constant 0x02000000 : i32\n";
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 40; ++i) {
    std::string n = std::to_string(i);
    text += "  %k" + n + " = arith.constant " + std::to_string(4 * i) + " : i32\n  %a" + n +
            " = arith.addi %base, %k" + n + " : i32\n  %m" + n + " = arith.constant " +
            std::to_string(i * 77777777u) + " : i32\n  %v" + n + " = arith.addi %id, %m" + n + " : i32\n";
    expected.push_back(i * 77777777u);
  }
  for (uint32_t i = 0; i < 40; ++i)
    text += "  npu.store32 %a" + std::to_string(i) + ", %v" + std::to_string(i) + "\n";
  const uint32_t constants[] = {0,          1,          31,         2047,       2048,       0xFFFFF800,
                                0xFFFFF7FF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345000, 0x00000FFF};
  for (uint32_t i = 0; i < std::size(constants); ++i) {
    std::string n = std::to_string(i);
    text += "  %ca" + n + " = arith.constant " + std::to_string(0x02000100 + 4 * i) + " : i32\n  %cv" + n +
            " = arith.constant " + std::to_string(constants[i]) + " : i32\n  npu.store32 %ca" + n + ", %cv" +
            n + "\n";
  }
  text += "  return\n}\n";
  NpuText program(text);
  ASSERT_TRUE(program.module);
  auto object = program.compile({{"npu_0_many"}});
  ASSERT_TRUE(object) << program.diags.render();
  Chip chip(1);
  chip.load(*object);
  ASSERT_TRUE(chip.run().good());
  EXPECT_EQ(chip.read<uint32_t>(0x02000000, 40), expected);
  EXPECT_EQ(chip.read<uint32_t>(0x02000100, std::size(constants)),
            std::vector<uint32_t>(std::begin(constants), std::end(constants)));
}

// Half loads and stores with dynamic and constant f registers.
TEST(CodeGen, HalfLoadsAndStores) {
  NpuText text(R"(
func.func @npu_0_half() {
  %from = arith.constant 0x02000000 : i32
  %to = arith.constant 0x02000004 : i32
  %next = arith.constant 0x02000006 : i32
  %f = arith.constant 1.5 : f32
  %x = npu.flhw %from
  %y = arith.addf %x, %f : f32
  npu.fshw %to, %y
  npu.fshw %next, %f
  return
})");
  auto object = text.compile({{"npu_0_half"}});
  ASSERT_TRUE(object) << text.diags.render();
  Chip chip(1);
  chip.load(*object);
  chip.write<uint16_t>(0x02000000, {0x3E00, 0});
  ASSERT_TRUE(chip.run().good());
  EXPECT_EQ(chip.read<uint16_t>(0x02000004, 2), (std::vector<uint16_t>{three, 0x3E00}));
}

TEST(CodeGen, BadRequestsAreInternalErrors) {
  NpuText text("func.func @takes(%x: i32) { return }\nfunc.func private @outside()\n");
  ASSERT_TRUE(text.module);
  EXPECT_FALSE(text.compile({{"missing"}, {"takes", "outside"}, {"a\n.quad 0"}}));
  EXPECT_EQ(text.diags.all().size(), 4u) << text.diags.render();
  EXPECT_EQ(text.diags.exitCode(), 3);
}

} // namespace
} // namespace tensorturbo::codegen
