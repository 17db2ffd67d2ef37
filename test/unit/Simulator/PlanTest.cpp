// What the plan of a program's kernels says, and looking in at barriers and breakpoints.
#include "HazardPrograms.h"

using namespace tensorturbo;
using namespace tensorturbo::sim;
using namespace tensorturbo::sim::test;

namespace {

using Plans = Hazards;

TEST_F(Plans, BuffersOfTheCode) {
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

TEST_F(Plans, WhatAKernelLeavesIsFreed) {
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
      return std::string();
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

TEST_F(Plans, BreakpointsStopInFront) {
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

// Operands outside their bounds, whatever memory they are.
TEST_F(Plans, OperandsAreAsPlanned) {
  program = compileProgram({}, prologue + std::string(".globl here\nhere: store\n") + epilogue);
  ASSERT_TRUE(program);
  uint32_t here = *program->image.symbol("here");
  auto runWith = [&](PlannedOperand operand) {
    MachineOptions options;
    options.cores = 1;
    Machine machine(options);
    operand.pc = here;
    machine.setMemoryPlan({}, {operand});
    return runProgram(machine, *program);
  };
  constexpr uint16_t rd = 0, rs1 = 1, every = 0xFFFF;
  EXPECT_TRUE(runWith({0, rd, every, llbBase, llbBase, 1}).good());
  EXPECT_TRUE(runWith({0, rs1, 0, l1Base, l1Base, 1}).good());
  EXPECT_TRUE(runWith({0, rs1, every, l1Base - 128, l1Base + 64, 128}).good());
  EXPECT_TRUE(runWith({0, rs1, 1, 0, 0, 1}).good()) << "of another core";
  RunResult result = runWith({0, rd, every, llbBase + 64, llbBase + 128, 64});
  EXPECT_EQ(result.status, RunStatus::Fault);
  EXPECT_EQ(result.pc, here);
  EXPECT_NE(result.message.find(
                "rd is 0xF8000000, but by the plan it is between 0xF8000040 and 0xF8000080 in steps of 64"),
            std::string::npos)
      << result.message;
  EXPECT_FALSE(runWith({0, rs1, every, l1Base - 128, l1Base + 64, 96}).good());
}

TEST_F(Plans, StoredValuesAreAsPlanned) {
  program = compileProgram({}, prologue + std::string(R"(
    li t0, 0xC9F00000
    li t1, 1
    .globl here
here: sw t1, 0(t0)
)") + epilogue);
  ASSERT_TRUE(program);
  for (uint32_t value : {1u, 2u}) {
    MachineOptions options;
    options.cores = 1;
    Machine machine(options);
    machine.setMemoryPlan({}, {{*program->image.symbol("here"), 3, 0xFFFF, value, value, 1}});
    RunResult result = runProgram(machine, *program);
    EXPECT_EQ(result.good(), value == 1) << result.message;
    EXPECT_EQ(result.message.find("the stored value is 0x00000001, but by the plan it is 0x00000002") !=
                  std::string::npos,
              value == 2)
        << result.message;
  }
}

// A loop of three turns on one core and of none on the other; copies of an instruction count as one.
TEST_F(Plans, InstructionsAreExecutedAsOftenAsPlanned) {
  program = compileProgram({}, prologue + std::string(R"(
    .globl kernel
kernel:
    bnez s0, 1f
    li s1, 3
2:  addi s1, s1, -1
    .globl here
here: store
    bnez s1, 2b
    .globl copy
copy: store
1:
    .globl kernelEnd
kernelEnd: sync
)") + epilogue);
  ASSERT_TRUE(program);
  uint32_t kernel = *program->image.symbol("kernel"), end = *program->image.symbol("kernelEnd"),
           here = *program->image.symbol("here"), copy = *program->image.symbol("copy");
  auto runWith = [&](uint32_t low, uint32_t high, uint32_t ofOther) {
    MachineOptions options;
    options.cores = 2;
    Machine machine(options);
    constexpr uint32_t number = 7;
    std::vector<PlannedOperand> planned;
    for (uint32_t pc : {here, copy}) {
      planned.push_back({pc, 4, 0, low, high, number});
      planned.push_back({pc, 4, 1, ofOther, ofOther, number});
    }
    machine.setMemoryPlan({{kernel, end - kernel, {{llbBase, 256}, {l1Base, 256}}}}, planned);
    machine.watchBarriers({end}, [&](size_t) { return machine.finishCode(kernel); });
    return runProgram(machine, *program);
  };
  EXPECT_TRUE(runWith(4, 4, 0).good());
  EXPECT_TRUE(runWith(0, 9, 0).good());
  RunResult result = runWith(5, 8, 0);
  EXPECT_EQ(result.status, RunStatus::Fault);
  EXPECT_NE(
      result.message.find("core 0 has executed the instruction at " + at("here") +
                          ", mov.llb.l1 (a2), (a1), 4 times in this run of its kernel, but by the plan 5 to "
                          "8 times"),
      std::string::npos)
      << result.message;
  EXPECT_NE(runWith(4, 4, 1).message.find("core 1 has executed"), std::string::npos);
}

TEST_F(Plans, DescriptorsAreWrittenForEachTransfer) {
  program = compileProgram({}, prologue + std::string(R"(
    .globl kernel
kernel:
    describe 0x1600000, 0xF8000000, 256
    start
    wait
    li t2, 0xC9F01000
    li t1, 0x80000100
    sw t1, 0(t2)
    li t1, 0x1600000
    sw t1, 4(t2)
    sw zero, 20(t2)
    start
    wait
    .globl kernelEnd
kernelEnd:
)") + epilogue);
  ASSERT_TRUE(program);
  uint32_t kernel = *program->image.symbol("kernel"), end = *program->image.symbol("kernelEnd");
  for (bool planned : {false, true}) {
    MachineOptions options;
    options.cores = 1;
    Machine machine(options);
    std::vector<uint8_t> bytes(256, 1);
    machine.writeMemory(0, 0x1600000, bytes.data(), bytes.size());
    if (planned)
      machine.setMemoryPlan({{kernel, end - kernel, {{llbBase, 256}, {0x1600000, 256}}}});
    RunResult result = runProgram(machine, *program);
    EXPECT_EQ(result.good(), !planned) << result.message;
    if (planned)
      EXPECT_NE(result.message.find("uses the descriptor word at 0xC9F01008, which was not written since the "
                                    "transfer before"),
                std::string::npos)
          << result.message;
  }
}

TEST(Fresh, BytesWrittenSinceTheBegin) {
  MachineOptions options;
  options.cores = 1;
  Machine machine(options);
  std::vector<uint8_t> bytes(64, 1);
  machine.writeMemory(0, llbBase, bytes.data(), bytes.size());
  EXPECT_EQ(machine.firstNotFresh(llbBase, 64), std::nullopt) << "nothing is known before the first begin";
  machine.beginFresh();
  EXPECT_EQ(machine.firstNotFresh(llbBase, 64), llbBase);
  machine.writeMemory(0, llbBase, bytes.data(), bytes.size());
  EXPECT_EQ(machine.firstNotFresh(llbBase, 64), std::nullopt);
  EXPECT_EQ(machine.firstNotFresh(llbBase, 65), llbBase + 64);
  EXPECT_EQ(machine.firstNotFresh(0x1600000, 64), std::nullopt) << "not in LLB";
  EXPECT_TRUE(machine.isWritten(0, llbBase, 64));
}

} // namespace
