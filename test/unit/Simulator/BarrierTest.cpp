// Barriers with several groups, pld rendezvous, deadlocks and the time-out.
#include "simulator/Barrier.h"
#include "Target/Target.h"
#include "TestProgram.h"
#include "simulator/AddressMap.h"
#include <gtest/gtest.h>

using namespace tensorturbo;
using namespace tensorturbo::sim;
using namespace tensorturbo::sim::test;

namespace {

constexpr uint32_t syncWord = 0x3800007B;

MachineOptions cores(int count) {
  MachineOptions options;
  options.cores = count;
  options.maxInstructions = 10'000'000;
  return options;
}

TEST(BarrierUnit, ReleasesTheFirstCompleteGroup) {
  BarrierUnit unit;
  unit.reset(4);
  EXPECT_EQ(unit.mask(0), 0xFFFFFFF0u);
  EXPECT_EQ(unit.mask(5), 0xFFFFFFFFu);
  EXPECT_EQ(unit.arrive(0), 0u);
  EXPECT_EQ(unit.arrive(2), 0u);
  EXPECT_TRUE(unit.isAwaited(1));
  EXPECT_FALSE(unit.isAwaited(0));
  EXPECT_EQ(unit.describe(0), "waits at a barrier: group 0 lacks cores 1, 3");
  EXPECT_EQ(unit.arrive(3), 0u);
  EXPECT_EQ(unit.arrive(1), 0xFu);
  EXPECT_FALSE(unit.isWaiting(0));
  // Two disjoint groups do not wait for each other.
  unit.setMask(0, ~0u);
  unit.setMask(3, ~0x5u);
  unit.setMask(9, ~0xAu);
  EXPECT_EQ(unit.arrive(1), 0u);
  EXPECT_EQ(unit.arrive(0), 0u);
  EXPECT_EQ(unit.arrive(2), 0x5u);
  EXPECT_TRUE(unit.isWaiting(1));
  EXPECT_EQ(unit.arrive(3), 0xAu);
  // In no group: waits for ever.
  unit.setMask(3, ~0u);
  EXPECT_EQ(unit.arrive(0), 0u);
  EXPECT_EQ(unit.describe(0), "waits at a barrier but is a member of no group");
}

TEST(Barriers, WaitForAllMembers) {
  Machine machine(cores(3));
  EXPECT_EQ(machine.execute(0, syncWord).kind, StepResult::Waiting);
  ASSERT_TRUE(machine.service());
  EXPECT_TRUE(machine.waiting(0));
  EXPECT_EQ(machine.execute(2, syncWord).kind, StepResult::Waiting);
  EXPECT_EQ(machine.execute(1, syncWord).kind, StepResult::Waiting);
  ASSERT_TRUE(machine.service());
  for (int i = 0; i < 3; i++)
    EXPECT_FALSE(machine.waiting(i));
}

TEST(Broadcasts, ReleaseTheWholeMapAndCopyToEach) {
  Machine machine(cores(3));
  uint32_t pld = *target::p920().encode("pld", 10, 11, 0);
  std::vector<uint8_t> data(64, 7);
  machine.writeMemory(0, llbBase, data.data(), data.size());
  auto issue = [&](int core, uint32_t map) {
    Core &c = machine.core(core);
    c.csr[0x420] = map;
    c.csr[0x422] = 32 << 16 | 1;
    c.x[10] = l1Base + 64 * core;
    c.x[11] = llbBase;
    return machine.execute(core, pld).kind;
  };
  EXPECT_EQ(issue(0, 5), StepResult::Waiting);
  ASSERT_TRUE(machine.service());
  EXPECT_TRUE(machine.waiting(0));
  EXPECT_EQ(machine.status(0).text, "waits at a pld for cores 2");
  EXPECT_EQ(issue(1, 2), StepResult::Waiting); // a map of its own
  ASSERT_TRUE(machine.service());
  EXPECT_TRUE(machine.waiting(0));
  EXPECT_FALSE(machine.waiting(1));
  EXPECT_EQ(issue(2, 5), StepResult::Waiting);
  ASSERT_TRUE(machine.service());
  for (uint32_t i = 0; i < 3; i++) {
    EXPECT_FALSE(machine.waiting(i));
    std::vector<uint8_t> copy(64);
    ASSERT_TRUE(machine.readMemory(i, l1Base + 64 * i, copy.data(), 64));
    EXPECT_EQ(copy, data);
    EXPECT_EQ(machine.counters(i).mteBytes, 64u);
  }
}

TEST(Deadlocks, AreReportedWithWhoWaitsWhere) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  // Core 1 skips the barrier that the others wait at.
  auto program = compileProgram({}, R"(
    .option norvc
    .globl test_main
test_main:
    li t0, 1
    beq a0, t0, 1f
    .globl barrier
barrier:
    .word 0x3800007b
1:  ret
)");
  ASSERT_TRUE(program);
  Machine machine(cores(3));
  RunResult result = runProgram(machine, *program);
  ASSERT_EQ(result.status, RunStatus::Deadlock);
  char place[64];
  std::snprintf(place, sizeof place, "core 2 at 0x%08X waits at a barrier: group 0 lacks cores 1\n",
                *program->image.symbol("barrier"));
  EXPECT_NE((result.message + "\n").find(place), std::string::npos) << result.message;
  EXPECT_NE(result.message.find("is parked in an endless loop"), std::string::npos) << result.message;
}

TEST(Deadlocks, OfPldPartners) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  auto program = compileProgram({}, R"(
    .globl test_main
test_main:
    bnez a0, 1f
    csrwi 0x420, 3
    li t0, 0x00100001
    csrw 0x422, t0
    li a0, 0xC0000000
    li a1, 0xF8000000
    .word 0x3C05957B     # pld (a0), (a1)... named registers: rd a0, rs1 a1
1:  ret
)");
  ASSERT_TRUE(program);
  Machine machine(cores(2));
  RunResult result = runProgram(machine, *program);
  ASSERT_EQ(result.status, RunStatus::Deadlock) << result.message;
  EXPECT_NE(result.message.find("waits at a pld for cores 1"), std::string::npos) << result.message;
}

TEST(Deadlocks, OfCoresThatPollForEver) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  // Core 1 waits for a flag that core 0, waiting at a barrier, was to set; core 2 sleeps.
  auto program = compileProgram({}, R"(
    .globl test_main
test_main:
    la t0, flag
    beqz a0, 2f
    addi a0, a0, -1
    bnez a0, 3f
1:  lw t1, 0(t0)
    beqz t1, 1b
2:  .word 0x3800007b
    li a0, 1
    ret
3:  wfi
    j 3b
    .bss
flag: .space 4
)");
  ASSERT_TRUE(program);
  MachineOptions options = cores(3);
  options.maxInstructions = 1'000'000'000;
  Machine machine(options);
  RunResult result = runProgram(machine, *program);
  ASSERT_EQ(result.status, RunStatus::Deadlock) << result.message;
  EXPECT_NE(result.message.find("polls memory that nobody is left to change"), std::string::npos)
      << result.message;
}

TEST(Deadlocks, AreNotSeenInLongLoops) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  // A counting loop, and one that waits for a store of another core, far longer than polling is looked at.
  auto program = compileProgram({}, R"(
    .globl test_main
test_main:
    la t0, flag
    bnez a0, 2f
    li t1, 3000000
1:  addi t1, t1, -1
    bnez t1, 1b
    li t1, 1
    sw t1, 0(t0)
    li a0, 1
    ret
2:  lw t1, 0(t0)
    beqz t1, 2b
    ret
    .bss
flag: .space 4
)");
  ASSERT_TRUE(program);
  MachineOptions options = cores(2);
  options.maxInstructions = 1'000'000'000;
  Machine machine(options);
  RunResult result = runProgram(machine, *program);
  EXPECT_TRUE(result.good()) << result.message;
}

TEST(BarrierTimeout, HitsTheRunningCoreAndReleasesTheWaiting) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  auto program = compileProgram({}, R"(
    .globl test_main
test_main:
    bnez a0, 1f
    .word 0x3800007b
    li a0, 1
    ret
1:  la t0, handler
    csrw mtvec, t0
2:  j 2b
    .balign 4
handler:
    la t0, seen
    csrr t1, mcause
    sw t1, 0(t0)
3:  j 3b
    .bss
    .globl seen
seen: .space 4
)");
  ASSERT_TRUE(program);
  MachineOptions options = cores(2);
  options.syncTimeout = 100'000;
  Machine machine(options);
  RunResult result = runProgram(machine, *program);
  EXPECT_TRUE(result.good()) << result.message;
  EXPECT_EQ(wordAt(machine, *program, "seen"), 0x101u);
  // Who was late, and who waited for it.
  ASSERT_TRUE(result.lastTrap);
  EXPECT_EQ(result.lastTrap->core, 1u);
  EXPECT_NE(result.lastTrap->text.find("waits at a barrier: group 0 lacks cores 1"), std::string::npos)
      << result.lastTrap->text;
}

TEST(Limits, EndlessLoopsEnd) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  auto program = compileProgram({}, ".globl test_main\ntest_main:\n addi t0, t0, 1\n j test_main\n");
  ASSERT_TRUE(program);
  MachineOptions options = cores(2);
  options.maxInstructions = 100'000;
  Machine machine(options);
  EXPECT_EQ(runProgram(machine, *program).status, RunStatus::Limit);
}

} // namespace
