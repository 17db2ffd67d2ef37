// Single cases of the timing model beside what is published about the chip, as a table.
#include "test/unit/Timing/Assembler.h"
#include <cstdio>
#include <functional>
#include <string>

using namespace tensorturbo;
using namespace tensorturbo::sim;
using namespace tensorturbo::sim::test;

namespace {

void row(const std::string &name, double cycles, const std::string &published, const std::string &formula) {
  std::printf("| %-52s | %10.1f | %-42s | %-34s |\n", name.c_str(), cycles, published.c_str(),
              formula.c_str());
}

double lasts(const TimingResult &result, unsigned core, unsigned engine) {
  Slice slice = slicesOf(result, core, engine).at(0);
  return slice.end - slice.begin;
}

double onOneCore(unsigned engine, const std::function<void(Program &)> &body) {
  Program program;
  body(program);
  return lasts(Recorded({program}).time(), 0, engine);
}

std::vector<Program> onAll(const std::function<void(Program &, unsigned)> &body) {
  std::vector<Program> programs(8);
  for (unsigned i = 0; i < 8; i++) {
    body(programs[i], i);
    programs[i].sync();
  }
  return programs;
}

double matmul(uint32_t m, uint32_t n, uint32_t k) {
  return onOneCore(MmeEngine, [=](Program &p) { p.matmul(m, n, k, im, l1, l1 + 0x80000); });
}

void matrix() {
  row("memul 1x4 . 4x1", matmul(1, 1, 4), "24 (profiler sample)", "20 + 1*1*4");
  row("memul 1x8 . 8x1", matmul(1, 1, 8), "28 (profiler sample)", "20 + 1*1*8");
  row("memul 256x256 . 256x64", matmul(256, 64, 256), "-", "20 + 8*1*256");
  double full = matmul(1024, 64, 512);
  row("memul 1024x512 . 512x64, MACs per cycle", 1024.0 * 64 * 512 / full, "2048 (64 x 32 MACs, CARRV)",
      "2048 without the 20 cycles");
}

void vector() {
  row("mov.m 1x1",
      onOneCore(VmeEngine,
                [](Program &p) {
                  p.csr(0x400, 1u << 16 | 1);
                  p.insn("mov.m", l1, l1 + 64, 0);
                }),
      "11 (profiler sample)", "10 + 1*1");
  row("veadd.mm 100x256",
      onOneCore(VmeEngine, [](Program &p) { p.add(100, 256, im, im + 0x10000, im + 0x20000); }), "-",
      "10 + 100*4");
  row("veexp.m 100x256",
      onOneCore(VmeEngine,
                [](Program &p) {
                  p.csr(0x400, 256u << 16 | 100);
                  p.insn("veexp.m", im, im + 0x20000, 0);
                }),
      "-", "10 + 4*100*4");
}

void moves() {
  const char *const published[] = {"84", "84", "68", "68", "68", "51-52", "51-52", "51-52"};
  for (unsigned core : {0u, 2u, 5u}) {
    auto programs = onAll([core](Program &p, unsigned i) {
      if (i == core)
        p.move("mov.llb.l1", 1, 1, llb, l1);
    });
    row("mov.llb.l1 of 2 bytes, core " + std::to_string(core),
        lasts(Recorded(programs).time(), core, MteEngine),
        std::string(published[core]) + " (profiler sample)", "50 + 16*hops + 2/64");
  }
  auto bandwidth = [](const std::vector<Program> &programs, double bytes) {
    auto costs = baseCosts();
    costs.meshHop = 0;
    return bytes / (lasts(Recorded(programs).time(costs), 0, MteEngine) - costs.mteFixed);
  };
  auto load = [](Program &p, unsigned i) { p.move("mov.l1.llb", 256, 256, l1, llb + i * 0x20000); };
  row("load of one core, bytes per cycle",
      bandwidth(onAll([&](Program &p, unsigned i) {
                  if (i == 0)
                    load(p, i);
                }),
                131072),
      "64 (mesh link, CARRV)", "64");
  row("loads of eight cores, bytes per cycle and core", bandwidth(onAll(load), 131072),
      "32 (256 GB/s per cluster, vendor's table)", "256 / 8");
  row("pld to eight cores, bytes per cycle and core",
      bandwidth(onAll([](Program &p, unsigned) {
                  p.csr(0x420, 0xFF);
                  p.move("pld", 256, 256, l1, llb);
                }),
                131072),
      "-", "64");
}

void transfers() {
  Program program;
  program.dmaStart(0, 0, llb, ddr, 1, 4 << 20, 0);
  program.dmaWait(0, 0);
  Recorded run({program});
  row("system DMA of 4 MiB, GB/s", (4 << 20) / run.time().dmaBusy[0],
      "27 - 29.9 per cluster (vendor's manuals)", "27 minus 200 cycles");
  row("the same, other clusters idle, GB/s", (4 << 20) / run.time(baseCosts(), DdrSharing::Idle).dmaBusy[0],
      "-", "64 (mesh link of the channel)");
  auto programs = onAll([](Program &, unsigned) {});
  row("barrier", Recorded(programs).time().cores[0][ScalarEngine].stall[StallBarrier], "-", "50");
}

} // namespace

int main() {
  std::printf("| %-52s | %10s | %-42s | %-34s |\n", "case", "model", "published", "formula");
  std::printf("|---|---|---|---|\n");
  matrix();
  vector();
  moves();
  transfers();
  return 0;
}
