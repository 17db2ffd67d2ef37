// The scalar core: programs compiled for it against the same code on the host, and single instructions.
#include "Target/Target.h"
#include "TestProgram.h"
#include "simulator/AddressMap.h"
#include "simulator/Decode.h"
#include <gtest/gtest.h>

extern "C" uint32_t scalarResults(uint32_t *out);

using namespace tensorturbo::sim;
using namespace tensorturbo::sim::test;

namespace {

MachineOptions cores(int count) {
  MachineOptions options;
  options.cores = count;
  options.maxInstructions = 200'000'000;
  return options;
}

void runScalarProgram(const std::string &march) {
  auto program = compileProgram({"Scalar.c", "ScalarMain.c"}, {}, march);
  ASSERT_TRUE(program);
  Machine machine(cores(1));
  RunResult result = runProgram(machine, *program);
  ASSERT_TRUE(result.good()) << result.message << result.tohost;
  uint32_t expected[8];
  const char *parts[] = {"integer", "memory", "single", "double", "control"};
  ASSERT_EQ(scalarResults(expected), 5u);
  for (uint32_t i = 0; i < 5; i++)
    EXPECT_EQ(wordAt(machine, *program, "results", i), expected[i]) << parts[i];
}

TEST(ScalarPrograms, SameResultsAsTheHost) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  runScalarProgram("rv32imafd");
}

TEST(ScalarPrograms, SameResultsWithCompressedCode) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  runScalarProgram("rv32imafdc");
}

TEST(ScalarPrograms, AtomicsOfEightCoresLoseNothing) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  auto program = compileProgram({"Atomics.c"});
  ASSERT_TRUE(program);
  Machine machine(cores(8));
  RunResult result = runProgram(machine, *program);
  ASSERT_TRUE(result.good()) << result.message << result.tohost;
  EXPECT_EQ(wordAt(machine, *program, "counter"), 36'000u);
  EXPECT_EQ(wordAt(machine, *program, "exclusive"), 8'000u);
  EXPECT_EQ(wordAt(machine, *program, "flags"), 0xFFu);
  EXPECT_EQ(wordAt(machine, *program, "smallest"), 5u);
  EXPECT_EQ(wordAt(machine, *program, "largest"), 12u);
}

TEST(ScalarPrograms, ChangedCodeIsSeenAfterAFence) {
  if (!canCompile())
    GTEST_SKIP() << "no clang for riscv32";
  auto program = compileProgram({}, R"(
    .option norvc
    .globl test_main
test_main:
    mv s0, ra
    call patched
    mv s1, a0            # 1
    la t0, patched
    li t1, 0x00500513    # li a0, 5
    sw t1, 0(t0)
    fence.i
    call patched
    slli a0, a0, 4
    or a0, a0, s1
    la t0, answer
    sw a0, 0(t0)
    li a0, 1
    jr s0
    .balign 4
patched:
    li a0, 1
    ret
    .bss
    .globl answer
answer: .space 4
)");
  ASSERT_TRUE(program);
  Machine machine(cores(1));
  RunResult result = runProgram(machine, *program);
  ASSERT_TRUE(result.good()) << result.message << " tohost " << result.tohost;
  EXPECT_EQ(wordAt(machine, *program, "answer"), 0x51u);
}

class ScalarInstructions : public testing::Test {
protected:
  Machine machine{cores(1)};
  Core &core() { return machine.core(0); }
  StepResult run(uint32_t word) { return machine.execute(0, word); }
};

TEST_F(ScalarInstructions, DivisionByZeroAndOverflowAreDefined) {
  core().x[1] = 7;
  EXPECT_EQ(run(0x0220C1B3).kind, StepResult::Done); // div x3, x1, x2
  EXPECT_EQ(core().x[3], ~0u);
  run(0x0220E1B3); // rem x3, x1, x2
  EXPECT_EQ(core().x[3], 7u);
  core().x[1] = 0x80000000;
  core().x[2] = ~0u;
  run(0x0220C1B3);
  EXPECT_EQ(core().x[3], 0x80000000u);
  run(0x0220E1B3);
  EXPECT_EQ(core().x[3], 0u);
}

TEST_F(ScalarInstructions, RegisterZeroStaysZero) {
  core().x[1] = 5;
  run(0x00108033); // add x0, x1, x1
  EXPECT_EQ(core().x[0], 0u);
}

TEST_F(ScalarInstructions, RoundingModeOfTheInstructionOrOfFrm) {
  // 1 + 2^-24 in single precision.
  core().f[1] = 0xFFFFFFFF3F800000;
  core().f[2] = 0xFFFFFFFF33800000;
  auto add = [&](uint32_t mode) { // fadd.s f3, f1, f2, mode
    EXPECT_EQ(run(0x002081D3 | mode << 12).kind, StepResult::Done);
    return core().f[3];
  };
  EXPECT_EQ(add(0), 0xFFFFFFFF3F800000u);
  EXPECT_EQ(core().fflags, 1u);
  EXPECT_EQ(add(1), 0xFFFFFFFF3F800000u);
  EXPECT_EQ(add(2), 0xFFFFFFFF3F800000u);
  EXPECT_EQ(add(3), 0xFFFFFFFF3F800001u);
  EXPECT_EQ(add(4), 0xFFFFFFFF3F800001u);
  core().frm = 3;
  EXPECT_EQ(add(7), 0xFFFFFFFF3F800001u);
  core().frm = 5;
  StepResult reserved = run(0x002081D3 | 7 << 12);
  EXPECT_EQ(reserved.kind, StepResult::Trapped);
  EXPECT_EQ(reserved.trap.cause, 2u);
}

TEST_F(ScalarInstructions, UnboxedSinglesAreNans) {
  core().f[1] = 0x000000003F800000; // not boxed
  core().f[2] = 0xFFFFFFFF3F800000;
  run(0x002081D3); // fadd.s f3, f1, f2
  EXPECT_EQ(core().f[3], 0xFFFFFFFF7FC00000u);
  run(0xE0008553); // fmv.x.w x10, f1: copies bits
  EXPECT_EQ(core().x[10], 0x3F800000u);
}

TEST_F(ScalarInstructions, StoreConditionalNeedsItsReservation) {
  uint32_t value = 17;
  ASSERT_TRUE(machine.writeMemory(0, 0x1500000, &value, 4));
  core().x[1] = 0x1500000;
  core().x[2] = 99;
  run(0x1820A1AF); // sc.w x3, x2, (x1)
  EXPECT_EQ(core().x[3], 1u);
  run(0x1000A1AF); // lr.w x3, (x1)
  EXPECT_EQ(core().x[3], 17u);
  run(0x1820A1AF);
  EXPECT_EQ(core().x[3], 0u);
  ASSERT_TRUE(machine.readMemory(0, 0x1500000, &value, 4));
  EXPECT_EQ(value, 99u);
  run(0x1820A1AF); // the reservation is used up
  EXPECT_EQ(core().x[3], 1u);
}

TEST(Compressed, ExpandsToWhatItAbbreviates) {
  EXPECT_EQ(expandCompressed(0x0001), 0x00000013u); // c.nop
  EXPECT_EQ(expandCompressed(0x1101), 0xFE010113u); // c.addi sp, -32
  EXPECT_EQ(expandCompressed(0x7139), 0xFC010113u); // c.addi16sp -64
  EXPECT_EQ(expandCompressed(0x8082), 0x00008067u); // c.jr ra
  EXPECT_EQ(expandCompressed(0xC606), 0x00112623u); // c.swsp ra, 12
  EXPECT_EQ(expandCompressed(0x40B2), 0x00C12083u); // c.lwsp ra, 12
  EXPECT_EQ(expandCompressed(0x4501), 0x00000513u); // c.li a0, 0
  EXPECT_EQ(expandCompressed(0x9002), 0x00100073u); // c.ebreak
  EXPECT_EQ(expandCompressed(0x0000), 0u);          // defined to be illegal
  EXPECT_EQ(expandCompressed(0x6001), 0u);          // c.lui with immediate 0
}

TEST(AddressMap, IsTheTargets) {
  const auto &target = tensorturbo::target::p920();
  EXPECT_EQ(target.ddr().size, ddrSize);
  EXPECT_EQ(target.l1().base, l1Base);
  EXPECT_EQ(target.l1().size, l1Size);
  EXPECT_EQ(target.im().base, imBase);
  EXPECT_EQ(target.im().size, imSize);
  EXPECT_EQ(target.llb().base, llbBase);
  EXPECT_EQ(target.llb().alias, llbAlias);
  EXPECT_EQ(target.llb().size, llbSize);
  EXPECT_EQ(target.address("hsync"), hsyncBase);
  EXPECT_EQ(target.address("sysdma0"), dmaBase[0]);
  EXPECT_EQ(target.address("sysdma1"), dmaBase[1]);
}

} // namespace
