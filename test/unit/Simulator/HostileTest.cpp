// Random instructions with random operands must never harm the simulator itself.
#include "Target/Target.h"
#include "simulator/AddressMap.h"
#include "simulator/Machine.h"
#include <gtest/gtest.h>
#include <random>

using namespace tensorturbo;
using namespace tensorturbo::sim;

namespace {

/// Addresses near the borders of every memory, small sizes, anything.
uint32_t randomValue(std::mt19937 &random) {
  const uint32_t bases[] = {
      0,       ddrSize,           l1Base,   l1Base + l1Size,    imBase,     imBase + imSize,
      llbBase, llbBase + llbSize, llbAlias, llbAlias + llbSize, dmaBase[0], hsyncBase};
  switch (random() % 4) {
  case 0:
    return random() % 300;
  case 1:
    return random();
  default:
    return bases[random() % std::size(bases)] +
           static_cast<uint32_t>(static_cast<int32_t>(random() % 4096) - 2048);
  }
}

void executeRandomWords(bool checks, int count, uint32_t seed) {
  MachineOptions options;
  options.cores = 2;
  options.checks = checks;
  std::mt19937 random{seed};
  const auto &table = target::p920().instructions();
  Machine machine(options);
  for (int i = 0; i < count; i++) {
    if (machine.waiting(0))
      machine.reset();
    Core &core = machine.core(0);
    for (uint32_t &x : core.x)
      x = randomValue(random);
    core.x[0] = 0;
    for (uint64_t &f : core.f)
      f = uint64_t(random()) << 32 | random();
    for (uint32_t number = 0x400; number < 0x427; number++)
      core.csr[number] = random() % 3 ? (random() % 5) << 16 | random() % 5 : random();
    uint32_t word = random();
    if (random() % 2) { // one of the chip's own
      const target::Instruction &insn = table[random() % table.size()];
      word = insn.match | (word & ~insn.mask);
    }
    // Shapes of billions of elements are legal to ask for, but only cost time here.
    if ((core.csr[0x400] & 0xFFFF) > 64)
      core.csr[0x400] &= 0x0003003F;
    StepResult result = machine.execute(0, word);
    if (result.kind == StepResult::Failed)
      EXPECT_FALSE(result.message.empty());
    if (i % 64 == 0)
      machine.service();
  }
}

TEST(HostileInstructions, WithChecks) {
  executeRandomWords(true, 60000, 1);
}
TEST(HostileInstructions, WithoutChecks) {
  executeRandomWords(false, 60000, 2);
}

} // namespace
