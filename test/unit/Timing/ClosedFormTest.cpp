// Cases whose time is a formula.
#include "simulator/timing/Bandwidth.h"
#include "test/unit/Timing/Assembler.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace tensorturbo;
using namespace tensorturbo::sim;
using namespace tensorturbo::sim::test;

namespace {

struct Product {
  uint32_t m, n, k;
  double cycles;
};
class Gemm : public testing::TestWithParam<Product> {};

TEST_P(Gemm, TakesTheFormula) {
  Product p = GetParam();
  Program program;
  program.matmul(p.m, p.n, p.k, im, l1, l1 + 0x80000);
  double issue = program.issued();
  TimingResult result = Recorded({program}).time();
  EXPECT_DOUBLE_EQ(result.cycles, issue + p.cycles);
  EXPECT_DOUBLE_EQ(result.cores[0][MmeEngine].busy, p.cycles);
}
INSTANTIATE_TEST_SUITE_P(Shapes, Gemm,
                         testing::Values(Product{1, 4, 4, 24}, Product{1, 8, 8, 28},
                                         Product{32, 64, 256, 276}, Product{33, 64, 256, 532},
                                         Product{224, 64, 576, 20 + 7 * 576},
                                         Product{96, 130, 100, 20 + 3 * 3 * 100}));

TEST(ClosedForm, Int8TakesHalf) {
  Program program;
  program.matmul(64, 64, 128, im, l1, l1 + 0x80000, "memul.x8.mm");
  double issue = program.issued();
  EXPECT_DOUBLE_EQ(Recorded({program}).time().cycles, issue + 20 + 2 * 128 / 2);
}

TEST(ClosedForm, VectorInstruction) {
  Program program;
  program.add(100, 130, im, im + 0x10000, im + 0x20000);
  double issue = program.issued();
  TimingResult result = Recorded({program}).time();
  EXPECT_DOUBLE_EQ(result.cycles, issue + 10 + 100 * 3);
  auto slow = *target::p920().costs("slow-vector");
  EXPECT_DOUBLE_EQ(Recorded({program}).time(slow).cycles, issue + 2.86 * 310);
}

TEST(ClosedForm, PureTransfer) {
  Program program;
  program.dmaStart(0, 0, llb, ddr, 1, 1 << 20, 0);
  double start = program.issued();
  program.dmaWait(0, 0);
  TimingResult result = Recorded({program}).time();
  ASSERT_EQ(result.dmaBusy[1] + result.dmaBusy[2] + result.dmaBusy[3], 0);
  double transfer = 200 + ((1 << 20) + 64) / 27.0;
  EXPECT_NEAR(result.dmaBusy[0], transfer, 1e-6);
  // After it: the load that sees its end, four instructions of the wait, five that end the program.
  double rest = 50 + 3 + 5;
  EXPECT_NEAR(result.cycles, start + transfer + rest, 1e-6);
  EXPECT_EQ(result.bytes.ddr, 1 << 20);
  EXPECT_EQ(result.bytes.llb, 1 << 20);
}

TEST(ClosedForm, ShortRunsLoseDdrTime) {
  Program program;
  program.dmaStart(0, 0, llb, ddr, 128, 64, 4096);
  program.dmaWait(0, 0);
  EXPECT_NEAR(Recorded({program}).time().dmaBusy[0], 200 + 128 * (64 + 64) / 27.0, 1e-6);
}

TEST(ClosedForm, ChannelsShareDdrFairly) {
  Program program;
  // 2 MiB and 1 MiB: the second has half the bandwidth until it is done, the first all of it afterwards.
  program.dmaStart(0, 0, llb, ddr, 1, 2 << 20, 0);
  program.dmaStart(1, 1, llb + (4 << 20), ddr + (4 << 20), 1, 1 << 20, 0);
  program.dmaWait(0, 0);
  program.dmaWait(1, 1);
  TimingResult result = Recorded({program}).time();
  double start = 0;
  for (const Slice &slice : result.slices)
    if (slice.kind == Slice::Transfer && slice.engine == 0)
      start = slice.end - result.dmaBusy[0];
  double total = (3 << 20) + 2 * 64;
  double end = start + result.dmaBusy[0];
  EXPECT_NEAR(end, start + 200 + total / 27.0, 1e-6) << "DDR is never idle after the first start";
  EXPECT_NEAR(result.dmaBusy[3], 200 + 2 * ((1 << 20) + 64) / 27.0, 100);
}

TEST(ClosedForm, OtherClustersOnTheDdr) {
  Program program;
  program.dmaStart(0, 0, llb, ddr, 1, 1 << 20, 0);
  program.dmaWait(0, 0);
  Recorded run({program});
  double bytes = (1 << 20) + 64;
  // Alone, the link of the channel is the limit; among 12 hungry channels of others, a thirteenth.
  EXPECT_NEAR(run.time(baseCosts(), DdrSharing::Idle).dmaBusy[0], 200 + (1 << 20) / 64.0, 1e-6);
  EXPECT_NEAR(run.time(baseCosts(), DdrSharing::Saturating).dmaBusy[0], 200 + bytes / (108.0 / 13), 1e-6);
}

TEST(ClosedForm, ChainOfDescriptors) {
  Program chain;
  uint32_t at = 0xC9F01020;
  for (auto [offset, value] : {std::pair(0u, 0x80000000u | (54000 - 64)),
                               {4u, ddr},
                               {8u, llb + 0x10000},
                               {12u, 0u},
                               {16u, 0u},
                               {20u, 0u}})
    chain.store(at + offset, value);
  chain.dmaStart(0, 0, llb, ddr, 1, 27000 - 64, 0, at);
  chain.dmaWait(0, 0);
  EXPECT_NEAR(Recorded({chain}).time().dmaBusy[0], 200 + 1000 + 30 + 2000, 1e-6);
}

TEST(ClosedForm, TransferWaitsForTheMoveIntoItsSource) {
  Program program;
  program.move("mov.llb.l1", 64, 256, llb, l1);
  double issue = program.issued();
  program.dmaStart(0, 0, ddr, llb, 1, 32768, 0);
  program.dmaWait(0, 0);
  auto costs = baseCosts();
  costs.meshHop = 0;
  TimingResult result = Recorded({program}).time(costs);
  double end = 0;
  for (const Slice &slice : result.slices)
    if (slice.kind == Slice::Transfer)
      end = slice.end;
  EXPECT_NEAR(end, issue + 50 + 32768 / 64.0 + 200 + (32768 + 64) / 27.0, 1e-6);
}

TEST(ClosedForm, CoresAtABarrierWaitForTheTransfer) {
  std::vector<Program> programs(2);
  programs[0].dmaStart(0, 0, llb, ddr, 1, 1 << 20, 0);
  double start = programs[0].issued();
  programs[0].dmaWait(0, 0);
  for (Program &program : programs)
    program.sync();
  TimingResult result = Recorded(programs).time();
  // From the moment at which the first core starts to wait: two registers, and the load itself.
  double wait = result.dmaBusy[0] - 4;
  EXPECT_NEAR(result.cores[0][ScalarEngine].stall[StallDma], wait, 1e-6);
  EXPECT_NEAR(result.cores[1][MmeEngine].stall[StallDma], wait, 1e-6);
  EXPECT_NEAR(result.cores[1][ScalarEngine].stall[StallDma] +
                  result.cores[1][ScalarEngine].stall[StallBarrier],
              start + result.dmaBusy[0] + 50 + 3 + 1 + 50 - programs[1].issued(), 1e-6);
}

TEST(ClosedForm, VectorBehindMatrix) {
  Program program;
  program.matmul(64, 64, 64, im, l1, l1 + 0x80000);
  double matrixEnd = program.issued() + 20 + 2 * 64;
  program.add(64, 64, l1 + 0x40000, im, im + 0x20000);
  TimingResult result = Recorded({program}).time();
  EXPECT_DOUBLE_EQ(result.cycles, matrixEnd + 10 + 64);
  // Without a common byte it starts as soon as it is issued.
  Program apart;
  apart.matmul(64, 64, 64, im, l1, l1 + 0x80000);
  apart.add(64, 64, im + 0x10000, im + 0x20000, im + 0x28000);
  double issue = apart.issued();
  result = Recorded({apart}).time();
  EXPECT_DOUBLE_EQ(slicesOf(result, 0, VmeEngine).at(0).begin, issue);
}

TEST(ClosedForm, PingPong) {
  // Tiles of 32 KiB come from LLB into two halves in turn; each is multiplied once.
  Program program;
  constexpr unsigned tiles = 6;
  for (unsigned i = 0; i < tiles; i++) {
    uint32_t half = l1 + (i % 2) * 0x10000;
    program.move("mov.l1.llb", 64, 256, half, llb + i * 0x8000);
    program.matmul(64, 64, 256, im + (i % 2) * 0x4000, half, l1 + 0x80000);
  }
  auto costs = baseCosts();
  costs.meshHop = 0;
  TimingResult result = Recorded({program}).time(costs);
  double load = 50 + 32768 / 64.0, product = 20 + 2 * 256.0;
  ASSERT_GT(load, product);
  // Loads follow each other without a gap but for the half that is still being read.
  double first = slicesOf(result, 0, MteEngine).at(0).begin;
  EXPECT_DOUBLE_EQ(result.cycles, first + tiles * load + product);
  // The other way round: more columns, so that the products are the longer ones.
  Program heavy;
  for (unsigned i = 0; i < tiles; i++) {
    uint32_t half = l1 + (i % 2) * 0x10000;
    heavy.move("mov.l1.llb", 64, 256, half, llb + i * 0x8000);
    heavy.matmul(64, 128, 256, im + (i % 2) * 0x4000, half, l1 + 0x80000);
  }
  result = Recorded({heavy}).time(costs);
  product = 20 + 4 * 256.0;
  first = slicesOf(result, 0, MteEngine).at(0).begin;
  EXPECT_DOUBLE_EQ(result.cycles, first + load + tiles * product);
}

/// Eight programs that end in a common barrier.
std::vector<Program> onAllCores(const std::function<void(Program &, unsigned)> &body) {
  std::vector<Program> programs(8);
  for (unsigned i = 0; i < 8; i++) {
    body(programs[i], i);
    programs[i].sync();
  }
  return programs;
}

TEST(ClosedForm, EightCoresShareLlb) {
  auto programs =
      onAllCores([](Program &p, unsigned i) { p.move("mov.l1.llb", 64, 256, l1, llb + i * 0x8000); });
  auto costs = baseCosts();
  costs.meshHop = 0;
  TimingResult result = Recorded(programs).time(costs);
  for (unsigned core = 0; core < 8; core++) {
    Slice slice = slicesOf(result, core, MteEngine).at(0);
    EXPECT_NEAR(slice.end - slice.begin, 50 + 32768 / 32.0, 1e-6);
    EXPECT_NEAR(result.cores[core][MteEngine].stall[StallBandwidth], 32768 / 32.0 - 32768 / 64.0, 1e-6);
  }
  EXPECT_EQ(result.bytes.llb, 8 * 32768);
}

TEST(ClosedForm, DistanceToLlb) {
  for (auto [core, latency] : {std::pair(0u, 82.0), {3u, 66.0}, {7u, 50.0}}) {
    auto programs = onAllCores([core = core](Program &p, unsigned i) {
      if (i == core)
        p.move("mov.llb.l1", 1, 1, llb, l1);
    });
    Slice slice = slicesOf(Recorded(programs).time(), core, MteEngine).at(0);
    EXPECT_NEAR(slice.end - slice.begin, latency + 2 / 64.0, 1e-9);
  }
}

TEST(ClosedForm, BroadcastAgainstEightLoads) {
  auto broadcast = onAllCores([](Program &p, unsigned) {
    p.csr(0x420, 0xFF);
    p.move("pld", 64, 256, l1, llb);
  });
  auto costs = baseCosts();
  costs.meshHop = 0;
  TimingResult result = Recorded(broadcast).time(costs);
  for (unsigned core = 0; core < 8; core++) {
    Slice slice = slicesOf(result, core, MteEngine).at(0);
    EXPECT_NEAR(slice.end - slice.begin, 50 + 32768 / 64.0, 1e-6) << "one read serves all";
  }
  EXPECT_EQ(result.bytes.llb, 32768);
  EXPECT_EQ(result.bytes.mesh, 8 * 32768);
}

TEST(ClosedForm, BroadcastWaitsForTheLast) {
  auto programs = onAllCores([](Program &p, unsigned i) {
    p.csr(0x420, 0xFF);
    p.nop(100 * i);
    p.move("pld", 64, 256, l1, llb);
  });
  TimingResult result = Recorded(programs).time();
  double last = slicesOf(result, 7, MteEngine).at(0).begin;
  for (unsigned core = 0; core < 8; core++) {
    EXPECT_DOUBLE_EQ(slicesOf(result, core, MteEngine).at(0).begin, last);
    EXPECT_DOUBLE_EQ(result.cores[core][MteEngine].stall[StallRendezvous], 100.0 * (7 - core));
  }
}

TEST(ClosedForm, BarrierSkew) {
  // Core i multiplies i times; the barrier opens 50 cycles after the last has drained.
  std::vector<double> issue(8);
  auto programs = onAllCores([&](Program &p, unsigned i) {
    for (unsigned repeat = 0; repeat < i; repeat++)
      p.matmul(32, 64, 1000, im, l1, l1 + 0x80000);
    issue[i] = p.issued();
  });
  TimingResult result = Recorded(programs).time();
  Slice last = slicesOf(result, 7, MmeEngine).at(6);
  double first = slicesOf(result, 7, MmeEngine).at(0).begin;
  EXPECT_DOUBLE_EQ(last.end, first + 7 * 1020);
  double open = last.end + 50;
  for (const Slice &slice : result.slices)
    if (slice.kind == Slice::BarrierWait)
      EXPECT_DOUBLE_EQ(slice.end, open);
  // What ends the program comes after it.
  EXPECT_DOUBLE_EQ(result.cycles, open + 5);
  // A core waits from its own end, or its drain, to the opening.
  EXPECT_DOUBLE_EQ(result.cores[0][ScalarEngine].stall[StallBarrier], open - (issue[0] + 1));
}

TEST(ClosedForm, QueueDepth) {
  // One more than running + waiting: the front end stops until the second product starts.
  auto program = [](unsigned products) {
    Program p;
    p.csr(0x404, 1000u << 16 | 32);
    p.csr(0x405, 64u << 16 | 1000);
    for (unsigned i = 0; i < products; i++)
      p.insn("memul.mm", im, l1, l1 + 0x80000);
    return p;
  };
  auto costs = baseCosts();
  costs.queueDepth = 3;
  EXPECT_EQ(Recorded({program(4)}).time(costs).cores[0][ScalarEngine].stall[StallQueueFull], 0);
  TimingResult result = Recorded({program(5)}).time(costs);
  double second = slicesOf(result, 0, MmeEngine).at(1).begin;
  EXPECT_DOUBLE_EQ(result.cores[0][ScalarEngine].stall[StallQueueFull], second - program(5).issued());
}

TEST(ClosedForm, BlockingFrontEnd) {
  // product, its epilogue, and a load that has nothing to do with either
  Program program;
  program.matmul(64, 64, 256, im, l1, l1 + 0x80000);
  program.add(64, 64, l1 + 0x40000, im, im + 0x20000);
  program.move("mov.l1.llb", 64, 256, l1 + 0x20000, llb);
  Recorded run({program});
  double issue = program.issued();
  TimingResult free = run.time();
  EXPECT_DOUBLE_EQ(slicesOf(free, 0, MteEngine).at(0).begin, issue);
  auto costs = baseCosts();
  costs.blockingFrontEnd = true;
  TimingResult blocking = run.time(costs);
  double matrixEnd = slicesOf(blocking, 0, MmeEngine).at(0).end;
  EXPECT_DOUBLE_EQ(slicesOf(blocking, 0, VmeEngine).at(0).begin, matrixEnd);
  // CSR write (3), three registers (6), the instruction itself.
  EXPECT_DOUBLE_EQ(slicesOf(blocking, 0, MteEngine).at(0).begin, matrixEnd + 10);
}

TEST(ClosedForm, IntervalsAndRows) {
  // A product reads the left half of the columns, a vector instruction writes the right half.
  Program program;
  program.csr(0x407, 256); // rs1 rows 256 bytes apart
  program.csr(0x402, 256); // so are the vector results
  program.matmul(64, 64, 64, im, l1, l1 + 0x80000);
  double issueOfProduct = program.issued();
  program.add(64, 64, l1 + 128, im + 0x20000, im + 0x28000);
  double issueOfAdd = program.issued();
  Recorded run({program});
  EXPECT_DOUBLE_EQ(slicesOf(run.time(), 0, VmeEngine).at(0).begin, issueOfProduct + 20 + 2 * 64);
  auto costs = baseCosts();
  costs.exactOverlap = true;
  EXPECT_DOUBLE_EQ(slicesOf(run.time(costs), 0, VmeEngine).at(0).begin, issueOfAdd);
}

TEST(ClosedForm, PortsOfL1) {
  // Left and right operand 192 bytes per cycle, three vector operands 384: more than 512 together.
  Program program;
  program.matmul(32, 64, 3000, im, l1, l1 + 0x40000);
  program.add(500, 64, l1 + 0xA0000, l1 + 0xB0000, l1 + 0xC0000);
  auto costs = baseCosts();
  costs.mmeFixed = costs.vmeFixed = 0;
  TimingResult result = Recorded({program}).time(costs);
  Slice vector = slicesOf(result, 0, VmeEngine).at(0);
  // The product writes its 4 KiB into IM and takes 192 bytes per cycle of L1; 320 are left.
  EXPECT_NEAR(vector.end - vector.begin, 500 * 384 / 320.0, 1e-6);
}

TEST(ClosedForm, ReductionIntoRegister) {
  // The scalar core waits for a result in an f register.
  Program program;
  program.csr(0x400, 64u << 16 | 100);
  program.li(11, im);
  program.words.push_back(*target::p920().encode("veacc.m", 10, 11, 0, false, false));
  double issue = program.issued();
  program.nop(7);
  TimingResult result = Recorded({program}).time();
  EXPECT_DOUBLE_EQ(result.cycles, issue + 110 + 7 + 5);
}

TEST(Bandwidth, MaxMinShares) {
  // 10 bytes per cycle for a flow that wants 2 and two that want all they can get, one of them behind a
  // narrow second resource.
  FlowSet flows(3, {10, 3});
  std::vector<double> due(3, never);
  flows.start(0, 0, 20, 2, {{0, 1}});
  flows.start(1, 0, 30, 100, {{0, 1}, {1, 1}});
  flows.start(2, 0, 50, 100, {{0, 1}});
  flows.solve(0, due);
  EXPECT_DOUBLE_EQ(due[0], 10);
  EXPECT_DOUBLE_EQ(due[1], 10);
  EXPECT_DOUBLE_EQ(due[2], 10);
}

} // namespace
