// Reads of never-written memory stop a run and say who read what.
#include "Target/Target.h"
#include "TestProgram.h"
#include "simulator/AddressMap.h"
#include "simulator/Memory.h"
#include <gtest/gtest.h>

using namespace tensorturbo;
using namespace tensorturbo::sim;
using namespace tensorturbo::sim::test;

namespace {

MachineOptions options(bool checks) {
  MachineOptions result;
  result.cores = 2;
  result.checks = checks;
  result.maxInstructions = 1'000'000;
  return result;
}

TEST(WrittenBits, FirstUnwrittenByte) {
  MemoryRegion region;
  ASSERT_TRUE(region.reserve(0, 4096));
  EXPECT_EQ(region.firstUnwritten(5, 10), 5u);
  for (uint32_t begin : {0u, 1u, 7u, 8u, 63u, 64u, 100u})
    for (uint32_t bytes : {1u, 2u, 6u, 8u, 9u, 64u, 200u, 777u}) {
      region.forget();
      region.markWritten(begin, bytes);
      EXPECT_EQ(region.firstUnwritten(begin, bytes), std::nullopt) << begin << " " << bytes;
      EXPECT_EQ(region.firstUnwritten(begin, bytes + 1), begin + bytes);
      if (begin)
        EXPECT_EQ(region.firstUnwritten(begin - 1, bytes), begin - 1);
      region.markUnwritten(begin + bytes / 2, 1);
      EXPECT_EQ(region.firstUnwritten(begin, bytes), begin + bytes / 2);
    }
}

class Checks : public testing::Test {
protected:
  Machine machine{options(true)};
  Core &core() { return machine.core(0); }
  void write(uint32_t address, uint32_t bytes) {
    std::vector<uint8_t> zeros(bytes);
    ASSERT_TRUE(machine.writeMemory(0, address, zeros.data(), bytes));
  }
  void expectFailure(uint32_t word, const std::string &text) {
    StepResult result = machine.execute(0, word);
    ASSERT_EQ(result.kind, StepResult::Failed);
    EXPECT_NE(result.message.find(text), std::string::npos) << result.message;
  }
};

TEST_F(Checks, ScalarLoadsOnChip) {
  core().x[1] = l1Base + 16;
  expectFailure(0x0000A103, "reads L1 at 0xC0000010, which was never written"); // lw x2, 0(x1)
  write(l1Base + 16, 4);
  EXPECT_EQ(machine.execute(0, 0x0000A103).kind, StepResult::Done);
  // DDR is the scalar core's own memory.
  core().x[1] = 0x1600000;
  EXPECT_EQ(machine.execute(0, 0x0000A103).kind, StepResult::Done);
}

TEST_F(Checks, TransfersAndExchanges) {
  uint32_t load = *target::p920().encode("mov.l1.llb", 10, 11, 0);
  core().csr[0x422] = 8 << 16 | 4; // 4 rows of 16 bytes
  core().csr[0x423] = 32;
  core().x[10] = l1Base;
  core().x[11] = llbBase;
  for (uint32_t row = 0; row < 4; row++)
    write(llbBase + 32 * row, 16);
  EXPECT_EQ(machine.execute(0, load).kind, StepResult::Done); // the gaps do not matter
  EXPECT_TRUE(machine.isWritten(0, l1Base, 64));
  EXPECT_FALSE(machine.isWritten(0, l1Base, 65));
  EXPECT_FALSE(machine.isWritten(1, l1Base, 1));
  machine.markUnwritten(llbBase + 64 + 3, 1);
  expectFailure(load, "reads LLB at 0xF8000043, which belongs to a freed buffer");

  uint32_t exchange = *target::p920().encode("icmov", 12, 10, 13);
  core().csr[0x421] = 1;
  core().x[12] = l1Base + 0x1000;
  core().x[13] = 64;
  EXPECT_EQ(machine.execute(0, exchange).kind, StepResult::Done);
  EXPECT_TRUE(machine.isWritten(1, l1Base + 0x1000, 64));
  core().x[13] = 65;
  expectFailure(exchange, "reads L1 at 0xC0000040");
  core().csr[0x421] = 7;
  expectFailure(exchange, "destination core 7 does not exist");
}

TEST_F(Checks, OperandsOfTheEngines) {
  uint32_t add = *target::p920().encode("veadd.mm", 10, 11, 12);
  core().csr[0x400] = 16 << 16 | 2; // 2 rows of 16 halves
  core().x[10] = l1Base + 0x2000;
  core().x[11] = l1Base;
  core().x[12] = l1Base + 0x1000;
  write(l1Base, 64);
  write(l1Base + 0x1000, 63);
  expectFailure(add, "reads L1 at 0xC000103F");
  write(l1Base + 0x1000, 64);
  EXPECT_EQ(machine.execute(0, add).kind, StepResult::Done);
  EXPECT_TRUE(machine.isWritten(0, l1Base + 0x2000, 64));
  // In place: the destination does not excuse the source.
  core().x[10] = core().x[11] = l1Base + 0x3000;
  expectFailure(add, "reads L1 at 0xC0003000");
}

TEST(ChecksOff, NothingStops) {
  Machine machine(options(false));
  machine.core(0).x[1] = l1Base + 16;
  EXPECT_EQ(machine.execute(0, 0x0000A103).kind, StepResult::Done);
  EXPECT_EQ(machine.core(0).x[2], 0u);
}

TEST(Fill, IsVisibleButNotWritten) {
  MachineOptions withFill = options(true);
  withFill.fill = 0x7E01;
  Machine machine(withFill);
  for (uint32_t address : {l1Base, imBase + imSize - 2, llbBase + 0x100}) {
    uint16_t value = 0;
    ASSERT_TRUE(machine.readMemory(1, address, &value, 2));
    EXPECT_EQ(value, 0x7E01);
    EXPECT_FALSE(machine.isWritten(1, address, 2));
  }
}

TEST(CheckedRuns, StopWithInstructionAddressAndCore) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  // A transfer of LLB data that a DMA was never waited for.
  auto program = compileProgram({}, R"(
    .option norvc
    .globl test_main
test_main:
    li t0, 0xC9F00000
    li t1, 1
    sw t1, 0(t0)
    li t1, 0x80000000
    sw t1, 0x100(t0)
    li t2, 0xC9F01000
    li t1, 0x80000040
    sw t1, 0(t2)
    la t1, data
    sw t1, 4(t2)
    li a1, 0xF8000000
    sw a1, 8(t2)
    sw zero, 20(t2)
    sw t2, 0x114(t0)
    li t1, 1
    .globl started
started:
    sw t1, 4(t0)
    li t1, 0x00200001
    csrw 0x422, t1
    li a0, 0xC0000000
    .globl move
move:
    .word 0x2C25957B     # mov.l1.llb (a0), (a1)
    li a0, 1
    ret
    .data
data: .fill 64, 1, 5
)");
  ASSERT_TRUE(program);
  MachineOptions one = options(true);
  one.cores = 1;
  Machine machine(one);
  RunResult result = runProgram(machine, *program);
  ASSERT_EQ(result.status, RunStatus::Fault);
  EXPECT_EQ(result.pc, *program->image.symbol("move"));
  EXPECT_EQ(result.core, 0u);
  EXPECT_NE(result.message.find("core 0 at " + hexText(result.pc) + ": mov.l1.llb"), std::string::npos);
  EXPECT_NE(result.message.find("reads LLB at 0xF8000000"), std::string::npos) << result.message;
  EXPECT_NE(result.message.find("started at " + hexText(*program->image.symbol("started"))),
            std::string::npos)
      << result.message;
}

TEST(CheckedRuns, BssCountsAsWritten) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  auto program = compileProgram(
      {}, ".globl test_main\ntest_main:\n li a0, 1\n ret\n.bss\n.globl zeros\nzeros: .space 64\n");
  ASSERT_TRUE(program);
  Machine machine(options(true));
  ASSERT_TRUE(runProgram(machine, *program).good());
  EXPECT_TRUE(machine.isWritten(0, *program->image.symbol("zeros"), 64));
}

} // namespace
