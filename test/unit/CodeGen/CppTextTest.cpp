// The printed C++ compiles, and the program does the same as the one linked in process.
#include "CodeGen/CppText.h"
#include "NpuProgram.h"
#include "Target/Target.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tensorturbo::codegen {
namespace {

// Every kind of statement; the results of all cores go to DDR.
const char *const program = R"(
func.func @npu_0_all() attributes {npu.buffers = [{name = "x", address = 3221225472 : i64, bytes = 1024 : i64},
                                                  {name = "y", address = 3221226496 : i64, bytes = 1024 : i64},
                                                  {name = "twice", address = 3221227520 : i64, bytes = 64 : i64},
                                                  {name = "twice too", address = 3221227520 : i64, bytes = 128 : i64}]} {
  %x = arith.constant 0xC0000000 : i32
  %y = arith.constant 0xC0000400 : i32
  %im = arith.constant 0xC0400000 : i32
  %out = arith.constant 0x02000000 : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c5 = arith.constant 5 : i32
  %c64 = arith.constant 64 : i32
  %o8 = arith.constant 8 : i32
  %minus = arith.constant -7 : i32
  %shape = arith.constant 0x80004 : i32
  %square = arith.constant 0x40004 : i32
  %half = arith.constant 0.5 : f32
  %infinity = arith.constant 0x7F800000 : f32
  %id = npu.core_id
  npu.csrw "shape_s1", %shape
  npu.csrw "stride_d", %c0
  npu.csrw "stride_s", %c0
  npu.mov.f %x, %half
  npu.mov.v %y, %x dm
  npu.veemul.mf %y, %y, %half
  npu.vemin.mf %y, %y, %infinity
  // Three steps over y, each 8 bytes further.
  %last, %count = scf.for %i = %c0 to %c5 step %c2 iter_args(%a = %y, %n = %c0) -> (i32, i32) : i32 {
    npu.csrw "shape_s1", %square
    npu.veadd.mv %a, %a, %x dm
    %next = arith.addi %a, %o8 : i32
    %more = arith.addi %n, %i : i32
    scf.yield %next, %more : i32, i32
  }
  npu.csrw "m_shape_s1", %square
  npu.csrw "m_shape_s2", %square
  npu.csrw "m_stride_d", %c0
  npu.csrw "m_stride_s", %c0
  npu.memul.mm %im, %x, %y dm
  npu.mov.m %x, %im
  %sum = npu.veacc.m.full %x
  %bytes = arith.muli %id, %c64 : i32
  %own = arith.addi %out, %bytes : i32
  npu.fshw %own, %sum
  %loaded = npu.flhw %x
  %a2 = arith.addi %own, %c2 : i32
  npu.fshw %a2, %loaded
  %master = arith.cmpi eq, %id, %c0 : i32
  %chosen = scf.if %master -> i32 {
    %d = arith.divsi %minus, %c2 : i32
    scf.yield %d : i32
  } else {
    %m = arith.maxsi %minus, %id : i32
    %r = arith.shrsi %minus, %c1 : i32
    %b = arith.xori %m, %r : i32
    scf.yield %b : i32
  }
  %less = arith.cmpi slt, %chosen, %c0 : i32
  %below = arith.cmpi ult, %chosen, %c5 : i32
  %l = arith.extui %less : i1 to i32
  %s = arith.select %below, %c3, %l : i32
  %o4 = arith.constant 4 : i32
  %o12 = arith.constant 12 : i32
  %o16 = arith.constant 16 : i32
  %a4 = arith.addi %own, %o4 : i32
  %a8 = arith.addi %own, %o8 : i32
  %a12 = arith.addi %own, %o12 : i32
  %a16 = arith.addi %own, %o16 : i32
  npu.store32 %a4, %chosen
  npu.store32 %a8, %s
  npu.store32 %a12, %last
  npu.store32 %a16, %count
  // The word just written tells what it holds by itself.
  npu.wait %a12, %last
  npu.sync
  return
} loc(fused["conv1", "relu1"])
func.func @npu_1_other() {
  %out = arith.constant 0x02000000 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  // A word for each core: two of them at one place would race.
  %id = npu.core_id
  %offset = arith.muli %id, %c4 : i32
  %mine = arith.addi %out, %offset : i32
  npu.store32 %mine, %c1
  return
}
)";

class CppText : public ::testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / ("tensorturbo-cpp-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// Compiles `text` with clang as the header of the text says.
  std::optional<runtime::ObjectFile> compile(const std::string &text) {
    std::string source = (folder / "kernels.cc").string(), elf = (folder / "kernels.elf").string();
    std::ofstream(source) << text;
    std::string command =
        std::string(TT_CLANGXX) +
        " --target=riscv32-unknown-elf -march=rv32imafdc -mabi=ilp32d -std=c++20 -O2 -Wall "
        "-Wextra -Werror -ffreestanding -nostdlib -fuse-ld=lld -Wl,--image-base=0x1400000 " +
        source + " -o " + elf;
    if (std::system(command.c_str()) != 0)
      return std::nullopt;
    Diagnostics diags;
    auto file = MappedFile::open(elf, diags);
    return file ? runtime::ObjectFile::parseElf(runtime::Bytes(file), "kernels.elf", diags) : std::nullopt;
  }
  std::filesystem::path folder;
};

std::vector<uint8_t> outputOf(const runtime::ObjectFile &object, uint32_t segment) {
  Chip chip(4);
  chip.load(object);
  chip.write(0x02000000, std::vector<uint8_t>(256));
  sim::RunResult result = chip.run(segment);
  EXPECT_TRUE(result.good()) << result.message << " tohost " << result.tohost;
  return chip.read<uint8_t>(0x02000000, 256);
}

TEST_F(CppText, DoesTheSameAsTheLinkedProgram) {
  if (std::string(TT_CLANGXX).empty())
    GTEST_SKIP() << "no clang++ for riscv32 on this machine";
  NpuText text(program);
  ASSERT_TRUE(text.module);
  std::vector<KernelList> segments = {{"npu_0_all"}, {"npu_1_other"}};
  auto linked = text.compile(segments);
  ASSERT_TRUE(linked) << text.diags.render();
  auto cpp = printCpp(*text.module, segments, text.diags);
  ASSERT_TRUE(cpp) << text.diags.render();
  auto compiled = compile(*cpp);
  ASSERT_TRUE(compiled) << *cpp;
  for (uint32_t segment : {0u, 1u}) {
    std::vector<uint8_t> expected = outputOf(*linked, segment);
    EXPECT_NE(expected, std::vector<uint8_t>(256));
    EXPECT_EQ(outputOf(*compiled, segment), expected) << *cpp;
  }
}

TEST_F(CppText, ReadsWell) {
  NpuText text(program);
  auto cpp = printCpp(*text.module, {{"npu_0_all"}}, text.diags);
  ASSERT_TRUE(cpp) << text.diags.render();
  for (const char *expected :
       {"// node 'conv1'\n// node 'relu1'\nextern \"C\" void npu_0_all() {\n",
        "  [[maybe_unused]] constexpr u32 m_x = L1; // 1024 bytes\n", "constexpr u32 m_y = L1 + 1024;",
        "\n  csr_shape_s1(0x80004);\n", "mov_v_dm(m_y, m_x);\n", "memul_mm_dm(IM, m_x, m_y);\n", "for (u32 "})
    EXPECT_NE(cpp->find(expected), std::string::npos) << expected << "\n" << *cpp;
  // Memory that two buffers share has no name.
  EXPECT_EQ(cpp->find("m_twice"), std::string::npos);
}

/// Names and dm, dmc bits of the custom instructions in a function.
std::vector<std::string> customInstructions(const runtime::ObjectFile &object, const std::string &function) {
  const runtime::Symbol *symbol = object.findSymbol(function);
  std::vector<std::string> names;
  for (const runtime::Segment &segment : object.segments) {
    if (!symbol || symbol->address - segment.address >= segment.bytes.size())
      continue;
    const uint8_t *code = segment.bytes.data() + (symbol->address - segment.address);
    for (uint32_t at = 0; at + 4 <= symbol->size;) {
      uint32_t word;
      memcpy(&word, code + at, 4);
      at += (word & 3) == 3 ? 4 : 2;
      if (const target::Instruction *row = target::p920().decode(word))
        names.push_back(row->mnemonic + (row->hasDm() && target::dmField(word) ? " dm" : "") +
                        (row->hasDmc() && target::dmcField(word) ? " dmc" : ""));
    }
  }
  return names;
}

// Every instruction of the dialect has a function whose encoding is the chip's.
TEST_F(CppText, AllInstructionsAssemble) {
  if (std::string(TT_CLANGXX).empty())
    GTEST_SKIP() << "no clang++ for riscv32 on this machine";
  NpuText text("func.func @npu_0_none() { return }");
  text.context->loadDialect<npu::NpuDialect>();
  std::string body = "func.func @npu_0_each(%a: i32, %f: f32) {\n";
  size_t count = 0, total = 0, withDm = 0;
  mlir::ScopedDiagnosticHandler quiet(text.context.get(), [](mlir::Diagnostic &) { return mlir::success(); });
  auto parses = [&](const std::string &line) {
    std::string attempt = "func.func @t(%a: i32, %f: f32) {\n" + line + "  return\n}";
    return bool(mlir::parseSourceString<mlir::ModuleOp>(attempt, text.context.get()));
  };
  for (mlir::RegisteredOperationName name : text.context->getRegisteredOperations()) {
    if (name.getDialectNamespace() != "npu" || !name.hasInterface<npu::Instruction>())
      continue;
    ++total;
    llvm::StringRef op = name.getStringRef();
    bool result = op.ends_with(".full") || op == "npu.flhw";
    // The forms are tried until one parses.
    for (const char *operands : {"%a, %a, %a", "%a, %a, %f", "%a, %a", "%a, %f", "%a", ""}) {
      std::string line =
          "  " + (result ? "%r" + std::to_string(count) + " = " : "") + op.str() + " " + operands;
      if (!parses(line + "\n"))
        continue;
      body += line + "\n";
      if (parses(line + " dm\n")) {
        body += line + " dm\n";
        ++withDm;
      }
      ++count;
      break;
    }
  }
  EXPECT_EQ(count, total);
  EXPECT_EQ(withDm, 14u);
  NpuText each(body + "  return\n}\nfunc.func @npu_0_none() { return }\n");
  ASSERT_TRUE(each.module) << body;
  auto cpp = printCpp(*each.module, {{"npu_0_none"}}, each.diags);
  ASSERT_TRUE(cpp) << each.diags.render();
  auto compiled = compile(*cpp);
  ASSERT_TRUE(compiled) << *cpp;
  std::vector<std::string> expected;
  each.module->walk([&](npu::Instruction insn) {
    const target::Instruction &row = *target::p920().find(insn.instructionName());
    expected.push_back(row.mnemonic + (insn.dmBit() ? " dm" : "") +
                       (row.hasDmc() && insn.dmcBit() ? " dmc" : ""));
  });
  EXPECT_EQ(customInstructions(*compiled, "npu_0_each"), expected);
  auto linked = each.compile({{"npu_0_none"}});
  ASSERT_TRUE(linked) << each.diags.render();
  EXPECT_EQ(customInstructions(*linked, "npu_0_each"), expected);
}

TEST_F(CppText, UnknownOpsAreReported) {
  NpuText text("func.func @npu_0_bad() {\n  cf.br ^next\n^next:\n  return\n}");
  EXPECT_FALSE(printCpp(*text.module, {{"npu_0_bad"}}, text.diags));
  EXPECT_EQ(text.diags.exitCode(), 3);
}

} // namespace
} // namespace tensorturbo::codegen
