// The command line tool p920-run: exit status, messages, options.
#include "TestProgram.h"
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tensorturbo::sim::test;

namespace {

namespace fs = std::filesystem;

struct Output {
  int status;
  std::string text; ///< stdout and stderr
};

Output runTool(const std::string &arguments) {
  FILE *pipe = popen((std::string(TT_TEST_RUN_TOOL) + " " + arguments + " 2>&1").c_str(), "r");
  Output output{-1, {}};
  if (!pipe)
    return output;
  char buffer[4096];
  for (size_t count; (count = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    output.text.append(buffer, count);
  output.status = WEXITSTATUS(pclose(pipe));
  return output;
}

class RunTool : public testing::Test {
protected:
  fs::path folder = fs::temp_directory_path() / ("tt-run-tool-test-" + std::to_string(getpid()));
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }
  /// A program file whose main returns `code` for tohost.
  std::string program(const std::string &body) {
    auto compiled = compileProgram({}, ".globl test_main\ntest_main:\n" + body);
    fs::path path = folder / "program.elf";
    if (compiled)
      std::ofstream(path, std::ios::binary) << compiled->file;
    return path.string();
  }
};

TEST_F(RunTool, ExitStatusIsThePrograms) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  EXPECT_EQ(runTool(program("li a0, 1\n ret\n")).status, 0);
  Output seven = runTool(program("li a0, 7\n ret\n"));
  EXPECT_EQ(seven.status, 7);
  EXPECT_NE(seven.text.find("the program ended with 7"), std::string::npos) << seven.text;
  Output trap = runTool("--cores 1 " + program("ecall\n"));
  EXPECT_EQ(trap.status, 1337 & 0xFF);
  EXPECT_NE(trap.text.find("trap 0xB (environment call)"), std::string::npos) << trap.text;
  EXPECT_EQ(runTool(program("li a0, 0x100\n ret\n")).status, 1);
}

TEST_F(RunTool, DeadlocksAndFailedChecksGiveOne) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  Output deadlock = runTool("--cores 2 " + program("bnez a0, 1f\n .word 0x3800007b\n1: ret\n"));
  EXPECT_EQ(deadlock.status, 1);
  EXPECT_NE(deadlock.text.find("group 0 lacks cores 1"), std::string::npos) << deadlock.text;
  std::string reader = program("li t0, 0xC0000000\n lw t1, 0(t0)\n li a0, 1\n ret\n");
  Output unwritten = runTool("--cores 1 " + reader);
  EXPECT_EQ(unwritten.status, 1);
  EXPECT_NE(unwritten.text.find("lw t1, 0(t0): reads L1 at 0xC0000000"), std::string::npos) << unwritten.text;
  EXPECT_EQ(runTool("--cores 1 --no-checks " + reader).status, 0);
}

TEST_F(RunTool, CountsAndDump) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  std::string file = program("li t0, 0x1600000\n li t1, 0x11223344\n sw t1, 0(t0)\n csrw 0x400, t1\n"
                             "li a0, 1\n ret\n");
  std::string dump = (folder / "dump.bin").string();
  Output counts = runTool("--cores 1 --counts --dump 1600000:4=" + dump + " " + file);
  EXPECT_EQ(counts.status, 0);
  EXPECT_NE(counts.text.find("\"csr_writes\": 1,"), std::string::npos) << counts.text;
  std::ifstream in(dump, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "\x44\x33\x22\x11");
}

TEST_F(RunTool, RefusesBadArguments) {
  EXPECT_EQ(runTool("").status, 2);
  EXPECT_EQ(runTool("--cores 9 x.elf").status, 2);
  EXPECT_EQ(runTool("--fill 12345 x.elf").status, 2);
  EXPECT_EQ(runTool("--frobnicate x.elf").status, 2);
  Output missing = runTool((folder / "none.elf").string());
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.text.find("none.elf"), std::string::npos) << missing.text;
  fs::path text = folder / "text.elf";
  std::ofstream(text) << "this is no program";
  Output foreign = runTool(text.string());
  EXPECT_EQ(foreign.status, 1);
  EXPECT_NE(foreign.text.find("is not an ELF file"), std::string::npos) << foreign.text;
}

} // namespace
