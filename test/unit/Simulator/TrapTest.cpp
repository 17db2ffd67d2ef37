// Traps of the scalar core, control and status registers.
#include "TestProgram.h"
#include <gtest/gtest.h>

using namespace tensorturbo::sim;
using namespace tensorturbo::sim::test;

namespace {

MachineOptions oneCore() {
  MachineOptions options;
  options.cores = 1;
  options.maxInstructions = 1'000'000;
  return options;
}

class Traps : public testing::Test {
protected:
  Machine machine{oneCore()};
  Core &core() { return machine.core(0); }

  void expectTrap(uint32_t word, uint32_t cause, uint32_t value) {
    StepResult result = machine.execute(0, word);
    ASSERT_EQ(result.kind, StepResult::Trapped) << std::hex << word << " " << result.message;
    EXPECT_EQ(result.trap.cause, cause) << std::hex << word;
    EXPECT_EQ(result.trap.value, value) << std::hex << word;
  }
};

TEST_F(Traps, IllegalWords) {
  for (uint32_t word : {0x00000000u, 0xFFFFFFFFu, 0x0000007Bu, 0x40001013u, 0x30200173u, 0xC0001073u})
    expectTrap(word, 2, 0);
}

TEST_F(Traps, MisalignedAndOutside) {
  core().x[1] = 0x1500001;
  expectTrap(0x0000A103, 4, 0x1500001); // lw x2, 0(x1)
  expectTrap(0x0020A023, 6, 0x1500001); // sw x2, 0(x1)
  expectTrap(0x0020A1AF, 6, 0x1500001); // amoadd.w
  core().x[1] = 0xC0300000;
  expectTrap(0x0000A103, 5, 0xC0300000);
  expectTrap(0x0020A023, 7, 0xC0300000);
}

TEST_F(Traps, EnvironmentCallAndBreakpoint) {
  core().pc = 0x1400000;
  expectTrap(0x00000073, 11, 0);
  expectTrap(0x00100073, 3, 0x1400000);
}

TEST_F(Traps, ReturnUnderAnIllegalVectorType) {
  machine.setVectorType(0, 0);
  expectTrap(0x30200073, 0x29, 0);
  machine.setVectorType(0, 4);
  EXPECT_EQ(machine.execute(0, 0x30200073).kind, StepResult::Done);
}

TEST_F(Traps, ReadOnlyAndMissingRegisters) {
  EXPECT_EQ(machine.execute(0, 0xC2002573).kind, StepResult::Done); // csrr a0, vl
  EXPECT_EQ(core().x[10], 64u);
  expectTrap(0xC2051073, 2, 0); // csrw vl, a0
  expectTrap(0x40F02573, 2, 0); // csrr a0, 0x40F
  core().x[10] = 0xFFFFFFFF;
  EXPECT_EQ(machine.execute(0, 0x42451073).kind, StepResult::Done); // csrw tid, a0: ignored
  EXPECT_EQ(machine.execute(0, 0x424025F3).kind, StepResult::Done);
  EXPECT_EQ(core().x[11], 0u);
}

TEST(TrapPrograms, HandlerSeesCauseValueAndPlaceAndReturns) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  auto program = compileProgram({}, R"(
    .option norvc
    .globl test_main
test_main:
    la t0, handler
    csrw mtvec, t0
    csrsi mstatus, 8
    li t1, 3
fault:
    lw t2, 0(t1)
    csrr t3, mstatus
    la t0, seen
    sw t3, 16(t0)
    li a0, 1
    ret
    .balign 4
handler:
    la t0, seen
    csrr t4, mcause
    sw t4, 0(t0)
    csrr t4, mtval
    sw t4, 4(t0)
    csrr t4, mstatus
    sw t4, 12(t0)
    csrr t4, mepc
    sw t4, 8(t0)
    addi t4, t4, 4
    csrw mepc, t4
    mret
    .globl fault
    .bss
    .globl seen
seen: .space 32
)");
  ASSERT_TRUE(program);
  Machine machine(oneCore());
  RunResult result = runProgram(machine, *program);
  ASSERT_TRUE(result.good()) << result.message;
  EXPECT_EQ(wordAt(machine, *program, "seen", 0), 4u);
  EXPECT_EQ(wordAt(machine, *program, "seen", 1), 3u);
  EXPECT_EQ(wordAt(machine, *program, "seen", 2), *program->image.symbol("fault"));
  EXPECT_EQ(wordAt(machine, *program, "seen", 3) & 0x88, 0x80u); // interrupts off, the old state kept
  EXPECT_EQ(wordAt(machine, *program, "seen", 4) & 0x88, 0x88u); // and on again
  ASSERT_TRUE(result.lastTrap);
  EXPECT_EQ(result.lastTrap->pc, *program->image.symbol("fault"));
  EXPECT_NE(result.lastTrap->text.find("lw t2, 0(t1)"), std::string::npos) << result.lastTrap->text;
}

TEST(TrapPrograms, WithoutHandlerTheRunEnds) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  auto program = compileProgram({}, R"(
    .option norvc
    .globl test_main
test_main:
    csrw mtvec, zero
    li a1, 0xF8000000
    li a2, 0xC0000000
    csrwi 0x400, 0
    .word 0x04C5857B     # veadd.mm with a zero shape, odd registers
)");
  ASSERT_TRUE(program);
  Machine machine(oneCore());
  RunResult result = runProgram(machine, *program);
  EXPECT_EQ(result.status, RunStatus::Trap);
  EXPECT_NE(result.message.find("0x33"), std::string::npos) << result.message;
  EXPECT_NE(result.message.find("veadd.mm"), std::string::npos) << result.message;
  EXPECT_EQ(machine.counters(0).trapped, 1u);
}

TEST(TrapPrograms, UnexpectedTrapReachesTohost) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  auto program = compileProgram({}, ".globl test_main\ntest_main:\n ecall\n ret\n");
  ASSERT_TRUE(program);
  Machine machine(oneCore());
  RunResult result = runProgram(machine, *program);
  EXPECT_EQ(result.status, RunStatus::Exited);
  EXPECT_EQ(result.tohost, 1337u);
  EXPECT_EQ(wordAt(machine, *program, "trap_info"), 11u);
}

TEST(TrapPrograms, EndlessTrapsMeetTheLimit) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  auto program =
      compileProgram({}, ".globl test_main\ntest_main:\n li t0, 0xC0000000\n csrw mtvec, t0\n ecall\n");
  ASSERT_TRUE(program);
  Machine machine(oneCore());
  EXPECT_EQ(runProgram(machine, *program).status, RunStatus::Limit);
}

} // namespace
