// Programs in which cores and transfers touch memory, and a fixture that runs them with checks.
#pragma once
#include "TestProgram.h"
#include "simulator/AddressMap.h"
#include <gtest/gtest.h>

namespace tensorturbo::sim::test {

// The programs are bodies of test_main(core in a0, kept in s0); a1, a2 hold L1 and LLB addresses.
inline const char *const prologue = R"(
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
inline const char *const epilogue = R"(
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

} // namespace tensorturbo::sim::test
