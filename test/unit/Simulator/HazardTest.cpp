// Accesses that nothing orders are reported; ordered ones never are.
#include "TestProgram.h"
#include "simulator/AddressMap.h"
#include "simulator/hazard/Overlap.h"
#include <gtest/gtest.h>
#include <random>

using namespace tensorturbo;
using namespace tensorturbo::sim;
using namespace tensorturbo::sim::test;

namespace {

// The programs below are bodies of test_main(core in a0, kept in s0); a1, a2 hold L1 and LLB addresses.
const char *const prologue = R"(
    .option norvc
    .macro sync
    .word 0x3800007b
    .endm
    .macro load        # mov.l1.llb (a1), (a2)
    .word 0x2C26107B | 11 << 7
    .endm
    .macro store       # mov.llb.l1 (a2), (a1)
    .word 0x2C15907B & ~(31 << 7) | 12 << 7
    .endm
    .macro broadcast   # pld (a1), (a2)
    .word 0x3C06107B | 11 << 7
    .endm
    .macro exchange    # icmov (a2), (a1), a3
    .word 0x3400007B | 12 << 7 | 11 << 15 | 13 << 20
    .endm
    .macro fill        # mov.f (a1), fa0: `shape` rows and columns in CSR 0x400
    .word 0x2C00307B | 11 << 7 | 10 << 15
    .endm
    .macro shape rows, halves
    li t0, \rows | \halves << 16
    csrw 0x422, t0
    csrw 0x400, t0
    .endm
    .macro only core, past
    li t0, \core
    bne s0, t0, \past
    .endm
    .macro describe from, to, bytes   # descriptor 0 of channel 0
    li t2, 0xC9F01000
    li t1, 0x80000000 | \bytes
    sw t1, 0(t2)
    li t1, \from
    sw t1, 4(t2)
    li t1, \to
    sw t1, 8(t2)
    sw zero, 20(t2)
    .endm
    .macro start
    li t0, 0xC9F00000
    li t1, 1
    sw t1, 0(t0)
    li t1, 0x80000000
    sw t1, 0x100(t0)
    li t1, 0xC9F01000
    sw t1, 0x114(t0)
    li t1, 1
    .globl started
    sw t1, 4(t0)
    .endm
    .macro wait
    li t0, 0xC9F00000
9:  lw t1, 0x14(t0)
    andi t1, t1, 1
    beqz t1, 9b
    sw t1, 0x14(t0)
    .endm
    .globl test_main
test_main:
    addi sp, sp, -16
    sw ra, 12(sp)
    mv s0, a0
    fmv.w.x fa0, zero
    li a1, 0xC0000000
    li a2, 0xF8000000
    shape 4, 32
    fill
)";
const char *const epilogue = R"(
    lw ra, 12(sp)
    addi sp, sp, 16
    li a0, 1
    ret
    .bss
    .balign 64
    .globl flag
flag: .space 64
    .globl lock
lock: .space 64
    .globl counter
counter: .space 64
    .globl buffer
buffer: .space 4096
)";

class Hazards : public testing::Test {
protected:
  void SetUp() override {
    if (!canCompile())
      GTEST_SKIP() << "no clang for riscv32";
  }

  RunResult run(const std::string &body, int cores = 2, bool checks = true, int threads = 1) {
    program = compileProgram({}, prologue + body + epilogue);
    if (!program)
      return {};
    MachineOptions options;
    options.cores = cores;
    options.checks = checks;
    options.threads = threads;
    options.maxInstructions = 10'000'000;
    Machine machine(options);
    std::vector<uint8_t> bytes(4096, 1);
    machine.writeMemory(0, 0x1600000, bytes.data(), bytes.size());
    return runProgram(machine, *program);
  }

  void expectGood(const std::string &body, int cores = 2) {
    RunResult result = run(body, cores);
    EXPECT_TRUE(result.good()) << result.message;
    result = run(body, cores, true, 2);
    EXPECT_TRUE(result.good()) << "two threads: " << result.message;
  }
  /// The report has all of `parts`, and is the same with two threads; without checks the program ends well.
  void expectRace(const std::string &body, const std::vector<std::string> &parts, int cores = 2) {
    RunResult result = run(body, cores);
    EXPECT_EQ(result.status, RunStatus::Fault) << result.tohost;
    for (const std::string &part : parts)
      EXPECT_NE(result.message.find(part), std::string::npos) << part << "\n" << result.message;
    EXPECT_EQ(run(body, cores, true, 2).message, result.message);
    RunResult unchecked = run(body, cores, false);
    EXPECT_TRUE(unchecked.good()) << unchecked.message;
  }
  std::string at(const std::string &label) {
    auto address = program ? program->image.symbol(label) : std::nullopt;
    EXPECT_TRUE(address) << label;
    char text[16];
    std::snprintf(text, sizeof text, "0x%08X", address.value_or(0));
    return text;
  }

  std::unique_ptr<Program> program;
};

TEST_F(Hazards, TwoStoresToLlb) {
  expectRace(R"(
    .globl here
here:
    store
)",
             {"race between two cores", "core 0 at ", "core 1 at ",
              "mov.llb.l1 (a2), (a1): writes 256 bytes of LLB", "accesses to 0xF8000000"});
  RunResult result = run(".globl here\nhere: store\n");
  ASSERT_EQ(result.places.size(), 2u);
  EXPECT_EQ(result.places[0].core, 0u);
  EXPECT_EQ(result.places[1].core, 1u);
  EXPECT_EQ(result.places[0].pc, *program->image.symbol("here"));
  EXPECT_EQ(result.pc, *program->image.symbol("here"));
}

TEST_F(Hazards, BarriersOrder) {
  expectGood(R"(
    only 0, 1f
    store
1:  sync
    load
    sync
    only 1, 2f
    store
2:
)");
  // The last store misses its barrier.
  expectRace(R"(
    only 0, 1f
    store
1:  sync
    load
    only 1, 2f
    store
2:
)",
             {"mov.l1.llb (a1), (a2): reads", "mov.llb.l1 (a2), (a1): writes"});
}

TEST_F(Hazards, RowsThatInterleaveDoNotTouch) {
  // Rows of 64 bytes, 128 apart; core 1 writes the gaps.
  const std::string body = R"(
    li t0, 128
    csrw 0x423, t0
    slli t1, s0, SHIFT
    add a2, a2, t1
    store
)";
  auto with = [&](const std::string &shift) {
    std::string text = body;
    return text.replace(text.find("SHIFT"), 5, shift);
  };
  expectGood(with("6"));
  expectRace(with("5"), {"4 rows of 64 bytes, 128 apart, of LLB at 0xF8000020"});
}

TEST_F(Hazards, ScalarAndBulk) {
  expectRace(R"(
    bnez s0, 1f
    store
    j 2f
1:  sw zero, 0x40(a2)
2:
)",
             {"core 1 at ", "sw zero, 64(a2): writes 4 bytes of LLB at 0xF8000040"});
  // In DDR, and through the other window of LLB.
  expectRace("la t0, counter\n sw s0, 0(t0)\n", {"sw s0, 0(t0): writes 4 bytes of DDR"});
  expectRace(R"(
    bnez s0, 1f
    store
    j 2f
1:  li a2, 0xFA000000
    sw zero, 0x40(a2)
2:
)",
             {"accesses to 0xF8000040"});
}

TEST_F(Hazards, FlagsThatAreWaitedForOrder) {
  const std::string writer = R"(
    la t2, flag
    bnez s0, 1f
    store
    li t1, 1
    sw t1, 0(t2)
    j 2f
)";
  expectGood(writer + R"(
1:  lw t1, 0(t2)
    beqz t1, 1b
    load
2:
)");
  // The loop's first round stands in front of it.
  expectGood(writer + R"(
1:  lw t1, 0(t2)
    bnez t1, 4f
3:  lw t1, 0(t2)
    beqz t1, 3b
4:  load
2:
)");
  // One look at the flag does not wait.
  expectRace(R"(
    la t2, flag
    bnez s0, 1f
    sync
    store
    li t1, 1
    sw t1, 0(t2)
    j 2f
1:  sync
    lw t1, 0(t2)
2:
)",
             {"lw t1, 0(t2): reads 4 bytes of DDR", "sw t1, 0(t2): writes 4 bytes of DDR"});
}

TEST_F(Hazards, ChainsOfFlags) {
  // Core 0 tells core 1, core 1 tells core 2.
  expectGood(R"(
    la t2, flag
    li t1, 1
    bnez s0, 1f
    store
    sw t1, 0(t2)
    j 9f
1:  only 1, 2f
3:  lw t1, 0(t2)
    beqz t1, 3b
    sw t1, 4(t2)
    j 9f
2:  lw t1, 4(t2)
    beqz t1, 2b
    load
9:
)",
             3);
}

TEST_F(Hazards, LocksOrder) {
  expectGood(R"(
    la t2, lock
    la t3, counter
    li t0, 1
1:  amoswap.w.aq t1, t0, (t2)
    bnez t1, 1b
    lw t1, 0(t3)
    addi t1, t1, 1
    sw t1, 0(t3)
    amoswap.w.rl zero, zero, (t2)
)",
             8);
}

TEST_F(Hazards, Exchange) {
  const std::string send = R"(
    li a3, 64
    bnez s0, 1f
    csrwi 0x421, 1
    li a2, 0xC0000040
    exchange
1:
)";
  const std::string use = R"(
    only 1, 2f
    li a1, 0xC0000000
    fill
2:
)";
  expectGood("sync\n" + send + "sync\n" + use);
  // The receiver's own stores before and after.
  expectRace(send, {"icmov (a2), (a1), a3: writes 64 bytes of L1 of core 1 at 0xC0000040", "mov.f"});
  expectRace("sync\n" + send + use, {"icmov", "mov.f"});
  // To oneself there is nothing to wait for.
  expectGood("li a3, 64\n csrw 0x421, s0\n li a2, 0xC0000040\n exchange\n fill\n");
}

TEST_F(Hazards, BroadcastIsAMeeting) {
  expectGood(R"(
    csrwi 0x420, 3
    bnez s0, 1f
    store
1:  broadcast
    li a1, 0xC0001000
    load
)");
  // Its own read is ordered before nothing.
  expectRace(R"(
    csrwi 0x420, 3
    bnez s0, 1f
    store
1:  broadcast
    bnez s0, 2f
    store
2:
)",
             {"pld (a1), (a2): reads", "mov.llb.l1"});
}

TEST_F(Hazards, TransfersThatAreWaitedForOrder) {
  expectGood(R"(
    bnez s0, 1f
    describe 0x1600000, 0xF8000000, 256
    start
    wait
1:  sync
    load
    sync
    bnez s0, 2f
    describe 0xF8000000, 0x1601000, 256
    start
    wait
    store
2:
)");
}

TEST_F(Hazards, SourceOfATransferIsOverwritten) {
  expectRace(R"(
    bnez s0, 1f
    store
    describe 0xF8000000, 0x1601000, 256
    start
    store
    wait
1:
)",
             {"buffer overwritten while a system DMA transfer still reads it",
              "system DMA 0xC9F00000 channel 0, started at ", "core 0 at ", "mov.llb.l1"});
}

TEST_F(Hazards, DestinationOfATransferIsUsed) {
  expectRace(R"(
    bnez s0, 1f
    store
    describe 0x1600000, 0xF8000000, 256
    start
    store
    wait
1:
)",
             {"buffer used while a system DMA transfer still writes it"});
  // Another core does not know what this one waited for.
  RunResult result = run(R"(
    bnez s0, 1f
    describe 0x1600000, 0xF8000000, 256
    start
    wait
    j 2f
1:  li t0, 4000
3:  addi t0, t0, -1
    bnez t0, 3b
    load
2:
)");
  EXPECT_EQ(result.status, RunStatus::Fault) << result.message;
}

TEST_F(Hazards, AnOldCompletionIsNoWait) {
  // The second wait sees the bit that the first one has not cleared.
  RunResult result = run(R"(
    bnez s0, 1f
    describe 0x1600000, 0xF8000000, 256
    start
2:  lw t1, 0x14(t0)
    andi t1, t1, 1
    beqz t1, 2b
    describe 0xF8000000, 0x1601000, 256
    start
3:  lw t1, 0x14(t0)
    andi t1, t1, 1
    beqz t1, 3b
    store
1:
)");
  EXPECT_EQ(result.status, RunStatus::Fault);
  EXPECT_NE(result.message.find("buffer overwritten while a system DMA transfer still reads it"),
            std::string::npos)
      << result.message;
}

TEST_F(Hazards, DescriptorsInUse) {
  RunResult result = run(R"(
    bnez s0, 1f
    describe 0x1600000, 0xF8000000, 256
    start
    describe 0x1600000, 0xF8000400, 256
    wait
1:
)");
  EXPECT_NE(result.message.find("of descriptors at 0xC9F01000"), std::string::npos) << result.message;
}

TEST_F(Hazards, TheEndWaitsForTransfers) {
  RunResult result = run("bnez s0, 1f\n describe 0x1600000, 0xF8000000, 256\n start\n1:\n");
  EXPECT_EQ(result.status, RunStatus::Fault);
  EXPECT_NE(result.message.find("the program ends without having waited for this transfer"),
            std::string::npos)
      << result.message;
}

TEST_F(Hazards, OverlappingBarrierGroups) {
  RunResult result = run(R"(
    bnez s0, 1f
    li t0, 0xD0080000
    li t1, 0xFFFFFFFC
    sw t1, 4(t0)
    la t2, flag
    li t1, 1
    sw t1, 0(t2)
1:  la t2, flag
2:  lw t1, 0(t2)
    beqz t1, 2b
    sync
)",
                         3);
  EXPECT_EQ(result.status, RunStatus::Fault);
  EXPECT_NE(
      result.message.find("overlapping barrier groups: the core is a member of groups 0 (cores 0, 1, 2) and "
                          "1 (cores 0, 1)"),
      std::string::npos)
      << result.message;
  result = run(R"(
    beqz s0, 1f
    sync
    j 3f
1:  li t0, 10000
2:  addi t0, t0, -1
    bnez t0, 2b
    li t0, 0xD0080000
    li t1, 0xFFFFFFFE
    sw t1, 0(t0)
3:
)");
  // With an older arrival the change would be seen by nobody.
  EXPECT_TRUE(result.status == RunStatus::Fault || result.status == RunStatus::Deadlock) << result.message;
}

TEST_F(Hazards, DeadlockNamesAllCores) {
  RunResult result = run("bnez s0, 1f\n .globl here\nhere: sync\n1:\n");
  ASSERT_EQ(result.status, RunStatus::Deadlock);
  ASSERT_EQ(result.places.size(), 2u);
  EXPECT_EQ(result.places[0].pc, *program->image.symbol("here"));
  EXPECT_NE(result.message.find("core 0 at " + at("here") + " waits at a barrier: group 0 lacks cores 1"),
            std::string::npos)
      << result.message;
}

TEST_F(Hazards, MemoryPlan) {
  program = compileProgram({}, prologue + std::string(".globl here\nhere: store\n.globl behind\nbehind:\n") +
                                   epilogue);
  ASSERT_TRUE(program);
  uint32_t here = *program->image.symbol("here"), behind = *program->image.symbol("behind");
  using Buffers = std::vector<PlannedCode::Buffer>;
  auto runWith = [&](uint32_t code, Buffers buffers) {
    MachineOptions options;
    options.cores = 1;
    Machine machine(options);
    machine.setMemoryPlan({{code, behind - code, std::move(buffers)}});
    return runProgram(machine, *program);
  };
  // 256 bytes of each.
  EXPECT_TRUE(runWith(here, {{llbBase, 256}, {l1Base, 256}}).good());
  EXPECT_TRUE(runWith(behind, {}).good()) << "code without a plan";
  RunResult result = runWith(here, {{llbBase, 256}, {l1Base, 255}});
  EXPECT_EQ(result.status, RunStatus::Fault);
  EXPECT_EQ(result.pc, here);
  EXPECT_NE(result.message.find("touches L1 from 0xC0000000 to 0xC00000FF, which does not lie in one buffer"),
            std::string::npos)
      << result.message;
  result = runWith(here, {{llbBase, 128}, {llbBase + 128, 128}, {l1Base, 256}});
  EXPECT_NE(result.message.find("touches LLB from 0xF8000000 to 0xF80000FF"), std::string::npos)
      << result.message;
}

TEST_F(Hazards, WhatAKernelLeavesIsFreed) {
  // Two kernels with a barrier behind each; the second one reads what the first has left in L1.
  program = compileProgram({}, prologue + std::string(".globl kernelEnd\nkernelEnd: sync\n store\n sync\n") +
                                   epilogue);
  ASSERT_TRUE(program);
  for (bool frees : {false, true}) {
    MachineOptions options;
    options.cores = 1;
    Machine machine(options);
    int meetings = 0;
    machine.watchBarriers({*program->image.symbol("kernelEnd")}, [&](size_t) {
      meetings++;
      if (frees)
        machine.forgetPrivate();
      return true;
    });
    RunResult result = runProgram(machine, *program);
    EXPECT_EQ(meetings, 1);
    EXPECT_EQ(result.good(), !frees);
    if (frees)
      EXPECT_NE(result.message.find(
                    "reads L1 at 0xC0000000, which nothing has written since the last kernel ended"),
                std::string::npos)
          << result.message;
  }
}

TEST_F(Hazards, BreakpointsStopInFront) {
  program = compileProgram({}, prologue + std::string(".globl here\nhere: store\n") + epilogue);
  ASSERT_TRUE(program);
  MachineOptions options;
  options.cores = 2;
  Machine machine(options);
  machine.setBreakpoints({*program->image.symbol("here")});
  RunResult result = runProgram(machine, *program);
  ASSERT_EQ(result.status, RunStatus::Stopped) << result.message;
  EXPECT_EQ(result.pc, *program->image.symbol("here"));
  EXPECT_EQ(machine.core(static_cast<int>(result.core)).x[12], llbBase);
  EXPECT_FALSE(machine.isWritten(0, llbBase, 1));
}

// Strided blocks against a byte map.
TEST(Overlap, AgreesWithBytes) {
  std::mt19937 random(1);
  auto pick = [&](uint32_t low, uint32_t high) { return low + random() % (high - low + 1); };
  int touching = 0;
  for (int i = 0; i < 20000; i++) {
    auto block = [&] {
      MemoryAccess a;
      a.begin = pick(0, 200);
      a.rows = pick(1, 6);
      a.rowBytes = pick(1, 24);
      a.stride = pick(0, 3) ? a.rowBytes + pick(0, 40) : pick(0, 30);
      return a;
    };
    MemoryAccess a = block(), b = block();
    std::vector<int> bytes(1024);
    for (uint32_t row = 0; row < a.rows; row++)
      for (uint32_t k = 0; k < a.rowBytes; k++)
        bytes[a.begin + row * a.stride + k] = 1;
    std::optional<uint64_t> expected;
    for (uint32_t row = 0; row < b.rows; row++)
      for (uint32_t k = 0; k < b.rowBytes; k++) {
        uint64_t at = b.begin + row * b.stride + k;
        if (bytes[at] && (!expected || at < *expected))
          expected = at;
      }
    touching += expected.has_value();
    ASSERT_EQ(firstCommonByte(a, b), expected)
        << a.begin << " " << a.rows << " " << a.rowBytes << " " << a.stride << " / " << b.begin << " "
        << b.rows << " " << b.rowBytes << " " << b.stride;
    ASSERT_EQ(firstCommonByte(b, a), expected);
  }
  EXPECT_GT(touching, 2000);
}

} // namespace
