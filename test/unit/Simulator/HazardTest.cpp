// Accesses that nothing orders are reported; ordered ones never are.
#include "HazardPrograms.h"
#include "simulator/hazard/Overlap.h"
#include <random>

using namespace tensorturbo;
using namespace tensorturbo::sim;
using namespace tensorturbo::sim::test;

namespace {

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
