// What must hold for every program.
#include "test/unit/Timing/Assembler.h"
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace tensorturbo;
using namespace tensorturbo::sim;
using namespace tensorturbo::sim::test;

namespace {

using Random = std::mt19937;

uint32_t pick(Random &random, uint32_t low, uint32_t high) {
  return low + uint32_t(random() % (high - low + 1));
}

/// One of the three engines' instructions with operands out of a few buffers, so that they often overlap.
struct Step {
  unsigned engine;
  uint32_t m, n, k, d, a, b;
};

Step randomStep(Random &random, unsigned engine) {
  auto l1Buffer = [&] { return l1 + 0x8000 * pick(random, 0, 15); };
  auto imBuffer = [&] { return im + 0x8000 * pick(random, 0, 6); };
  Step s{engine, pick(random, 1, 90), pick(random, 1, 90), pick(random, 1, 90), 0, 0, 0};
  switch (engine) {
  case MmeEngine:
    s.d = imBuffer();
    s.a = pick(random, 0, 1) ? l1Buffer() : imBuffer();
    s.b = l1Buffer();
    break;
  case VmeEngine:
    s.d = pick(random, 0, 1) ? l1Buffer() : imBuffer();
    s.a = pick(random, 0, 1) ? l1Buffer() : imBuffer();
    s.b = pick(random, 0, 1) ? l1Buffer() : imBuffer();
    break;
  default:
    s.d = l1Buffer();
    s.a = llb + 0x8000 * pick(random, 0, 31);
    break;
  }
  return s;
}

void emit(Program &program, const Step &s) {
  switch (s.engine) {
  case MmeEngine:
    program.matmul(s.m, s.n, s.k, s.d, s.a, s.b);
    break;
  case VmeEngine:
    program.add(s.m, s.n, s.d, s.a, s.b);
    break;
  default:
    program.move("mov.l1.llb", s.m, s.n, s.d, s.a);
    break;
  }
}

Program programOf(const std::vector<Step> &steps) {
  Program program;
  for (const Step &s : steps)
    emit(program, s);
  return program;
}

std::vector<Step> randomSteps(Random &random, size_t count, unsigned engine = 0) {
  std::vector<Step> steps;
  for (size_t i = 0; i < count; i++)
    steps.push_back(randomStep(random, engine ? engine : pick(random, MmeEngine, MteEngine)));
  return steps;
}

/// Several cores with random instructions, pld and barriers between them.
std::vector<Program> randomCluster(Random &random, size_t cores) {
  std::vector<Program> programs(cores);
  for (unsigned phase = 0; phase < 4; phase++) {
    for (Program &program : programs) {
      // Cores read LLB only: their functional order does not matter.
      for (const Step &s : randomSteps(random, pick(random, 0, 6)))
        emit(program, s);
      program.nop(pick(random, 0, 200));
    }
    bool broadcast = pick(random, 0, 1);
    for (Program &program : programs)
      if (broadcast) {
        program.csr(0x420, (1u << cores) - 1);
        program.move("pld", 32, 64, l1, llb);
      } else {
        program.sync();
      }
  }
  for (Program &program : programs)
    program.sync();
  return programs;
}

double sumOfStalls(const EngineTime &time) {
  return std::accumulate(time.stall.begin(), time.stall.end(), 0.0);
}

TEST(Properties, AccountsAddUp) {
  Random random(1);
  for (int i = 0; i < 40; i++) {
    TimingResult result = Recorded(randomCluster(random, pick(random, 1, 8))).time();
    ASSERT_TRUE(result.complete);
    for (const auto &core : result.cores)
      for (const EngineTime &engine : core)
        EXPECT_NEAR(engine.busy + sumOfStalls(engine), result.cycles, 1e-6 * result.cycles);
    double layers = 0;
    for (const LayerTime &layer : result.layers)
      layers += layer.cycles;
    EXPECT_NEAR(layers, result.cycles, 1e-6 * result.cycles);
  }
}

TEST(Properties, NeverFasterThanTheBusiestEngine) {
  Random random(2);
  auto costs = baseCosts();
  for (int i = 0; i < 60; i++) {
    auto steps = randomSteps(random, 25);
    double busy[engineCount] = {};
    for (const Step &s : steps)
      busy[s.engine] += s.engine == MmeEngine   ? costs.matmulCycles(s.m, s.n, s.k, false)
                        : s.engine == VmeEngine ? costs.vectorCycles(s.m, s.n)
                                                : costs.mteFixed + 2.0 * s.m * s.n / costs.mteBytesPerCycle;
    double cycles = Recorded({programOf(steps)}).time().cycles;
    for (double engine : busy)
      EXPECT_GE(cycles, engine);
    // Nor slower than everything one after the other.
    EXPECT_LE(cycles, programOf(steps).issued() + 10 + 2 * costs.meshHop * 25 +
                          std::accumulate(busy, busy + engineCount, 0.0) * 1.2);
  }
}

TEST(Properties, OneMoreInstructionNeverHelps) {
  Random random(3);
  for (unsigned engine = MmeEngine; engine < engineCount; engine++)
    for (int i = 0; i < 15; i++) {
      auto steps = randomSteps(random, 12, engine);
      double before = Recorded({programOf(steps)}).time().cycles;
      steps.insert(steps.begin() + pick(random, 0, 12), randomStep(random, engine));
      EXPECT_GT(Recorded({programOf(steps)}).time().cycles, before);
    }
}

bool independent(const Step &a, const Step &b) {
  // All operands are at most 90 x 90 halves and start at multiples of 32 KiB.
  return a.d != b.d && a.d != b.a && a.d != b.b && b.d != a.a && b.d != a.b;
}

TEST(Properties, ExchangingIndependentInstructionsKeepsResults) {
  Random random(4);
  int exchanged = 0;
  for (int i = 0; i < 30; i++) {
    auto steps = randomSteps(random, 15);
    auto other = steps;
    for (size_t j = 0; j + 1 < other.size(); j++)
      if (other[j].engine != other[j + 1].engine && independent(other[j], other[j + 1])) {
        std::swap(other[j], other[j + 1]);
        exchanged++;
        break;
      }
    Recorded a({programOf(steps)}), b({programOf(other)});
    std::vector<uint8_t> first(0x140000), second(0x140000);
    a.machine->readMemory(0, l1, first.data(), first.size());
    b.machine->readMemory(0, l1, second.data(), second.size());
    EXPECT_EQ(first, second);
    EXPECT_EQ(a.time().bytes.llb, b.time().bytes.llb);
    for (unsigned e = MmeEngine; e < engineCount; e++)
      EXPECT_NEAR(a.time().cores[0][e].busy, b.time().cores[0][e].busy, 1e-6);
  }
  EXPECT_GT(exchanged, 15);
}

TEST(Properties, HostThreadsChangeNothing) {
  for (unsigned seed = 0; seed < 6; seed++) {
    Random random(seed);
    auto programs = randomCluster(random, 8);
    TimingResult one = Recorded(programs, 1).time(), many = Recorded(programs, 8).time();
    EXPECT_EQ(one.cycles, many.cycles);
    ASSERT_EQ(one.slices.size(), many.slices.size());
    for (size_t i = 0; i < one.slices.size(); i++) {
      EXPECT_EQ(one.slices[i].begin, many.slices[i].begin);
      EXPECT_EQ(one.slices[i].end, many.slices[i].end);
      EXPECT_EQ(one.slices[i].pc, many.slices[i].pc);
    }
  }
}

TEST(Properties, DataChangeNothing) {
  for (unsigned seed = 10; seed < 16; seed++) {
    Random random(seed);
    auto programs = randomCluster(random, 8);
    EXPECT_EQ(Recorded(programs, 1, true).time().cycles, Recorded(programs, 1, false).time().cycles);
  }
}

TEST(Properties, MoreBandwidthNeverHurtsAnEngine) {
  // Loads of eight cores: monotone in the bandwidth of LLB.
  Random random(7);
  std::vector<Program> programs(8);
  for (Program &program : programs) {
    for (const Step &s : randomSteps(random, 10, MteEngine))
      emit(program, s);
    program.sync();
  }
  Recorded run(programs);
  double before = 1e300;
  for (double bandwidth : {64.0, 128.0, 192.0, 256.0, 512.0}) {
    auto costs = baseCosts();
    costs.llbBytesPerCycle = bandwidth;
    double cycles = run.time(costs).cycles;
    EXPECT_LE(cycles, before + 1e-6);
    before = cycles;
  }
}

} // namespace
