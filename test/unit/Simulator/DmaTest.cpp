// System DMA: chains, blocks, what is seen before completion, and what the controllers do not define.
#include "simulator/AddressMap.h"
#include "simulator/Machine.h"
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

using namespace tensorturbo::sim;

namespace {

constexpr uint32_t source = 0x1500000, llb = llbBase + 0x1000, slotBytes = 32;

class SystemDmaTest : public testing::Test {
protected:
  Machine machine{[] {
    MachineOptions options;
    options.cores = 2;
    return options;
  }()};
  std::vector<uint8_t> data = std::vector<uint8_t>(4096);

  void SetUp() override {
    std::iota(data.begin(), data.end(), 0);
    ASSERT_TRUE(machine.writeMemory(0, source, data.data(), data.size()));
  }
  StepResult store(uint32_t address, uint32_t value) { return machine.store(0, address, value); }
  uint32_t load(uint32_t address) {
    uint32_t value = 0;
    EXPECT_EQ(machine.load(0, address, value).kind, StepResult::Done);
    return value;
  }
  void descriptor(uint32_t base, uint32_t slot, std::vector<uint32_t> words) {
    for (uint32_t i = 0; i < words.size(); i++)
      ASSERT_EQ(store(base + 0x1000 + slot * slotBytes + 4 * i, words[i]).kind, StepResult::Done);
  }
  StepResult start(uint32_t base, uint32_t channel, uint32_t slot) {
    store(base, 1);
    store(base + 0x100 * (channel + 1), 0x80000000);
    store(base + 0x100 * (channel + 1) + 0x14, base + 0x1000 + slot * slotBytes);
    return store(base + 4, 1u << channel);
  }
  std::vector<uint8_t> read(uint32_t address, size_t bytes) {
    std::vector<uint8_t> result(bytes);
    EXPECT_TRUE(machine.readMemory(0, address, result.data(), bytes));
    return result;
  }
  std::vector<uint8_t> slice(size_t begin, size_t count) {
    return {data.begin() + begin, data.begin() + begin + count};
  }
};

TEST_F(SystemDmaTest, CompletesOnlyLater) {
  descriptor(dmaBase[0], 0, {0x80000000 | 100, source, llb, 0, 0, 0});
  ASSERT_EQ(start(dmaBase[0], 0, 0).kind, StepResult::Done);
  EXPECT_EQ(load(dmaBase[0] + 0x10), 1u); // busy
  EXPECT_EQ(load(dmaBase[0] + 0x14), 0u);
  // The data are not there, and a core that reads them is told why.
  uint32_t value;
  StepResult early = machine.load(1, llb, value);
  EXPECT_EQ(early.kind, StepResult::Failed);
  EXPECT_NE(early.message.find("still to be written by the transfer of system DMA 0xC9F00000 channel 0"),
            std::string::npos)
      << early.message;
  ASSERT_TRUE(machine.service());
  EXPECT_EQ(load(dmaBase[0] + 0x10), 0u);
  EXPECT_EQ(load(dmaBase[0] + 0x14), 1u);
  EXPECT_EQ(read(llb, 100), slice(0, 100));
  store(dmaBase[0] + 0x14, 1);
  EXPECT_EQ(load(dmaBase[0] + 0x14), 0u);
}

TEST_F(SystemDmaTest, ChainWithBlockAndDisabledDescriptor) {
  uint32_t base = dmaBase[1], slot1 = base + 0x1000 + slotBytes, slot2 = slot1 + slotBytes;
  descriptor(base, 0, {0xA0000000, source + 3, llb, 4u << 16 | 10, 64, slot1}); // 4 rows of 10, stride 64
  descriptor(base, 1, {0x00000010, source, llb + 0x100, 0, 0, slot2});          // disabled
  descriptor(base, 2, {0x80000010, source + 1000, llbAlias + 0x1200, 0, 0, 0});
  uint8_t before[16] = {};
  machine.writeMemory(0, llb + 0x100, before, 16);
  ASSERT_EQ(start(base, 1, 0).kind, StepResult::Done);
  EXPECT_EQ(load(base + 0x10), 2u);
  ASSERT_TRUE(machine.service());
  EXPECT_EQ(load(base + 0x14), 4u); // channel 1 reports in bit 2, once
  for (size_t row = 0; row < 4; row++)
    EXPECT_EQ(read(llb + 10 * row, 10), slice(3 + 64 * row, 10));
  EXPECT_EQ(read(llb + 0x100, 16), std::vector<uint8_t>(16));
  EXPECT_EQ(read(llb + 0x200, 16), slice(1000, 16)); // the second window is the same memory
}

TEST_F(SystemDmaTest, ChainMayReadWhatItOverwritesLater) {
  uint32_t base = dmaBase[0], slot1 = base + 0x1000 + slotBytes;
  machine.writeMemory(0, llb, data.data() + 500, 64);
  descriptor(base, 0, {0x80000040, llb, source + 0x10000, 0, 0, slot1});
  descriptor(base, 1, {0x80000040, source, llb, 0, 0, 0});
  start(base, 0, 0);
  std::string message;
  ASSERT_TRUE(machine.service(&message)) << message;
  EXPECT_EQ(read(source + 0x10000, 64), slice(500, 64));
  EXPECT_EQ(read(llb, 64), slice(0, 64));
}

TEST_F(SystemDmaTest, ReportsSourcesThatWereNeverWritten) {
  descriptor(dmaBase[0], 0, {0x80000040, source + 4096 - 32, llb, 0, 0, 0});
  start(dmaBase[0], 0, 0);
  std::string message;
  EXPECT_FALSE(machine.service(&message));
  EXPECT_NE(message.find("reads DDR at 0x01501000, which was never written"), std::string::npos) << message;
}

TEST_F(SystemDmaTest, ReportsWhatIsNotDefined) {
  std::string message;
  // A stride smaller than a row.
  descriptor(dmaBase[0], 0, {0xA0000000, source, llb, 4u << 16 | 10, 9, 0});
  start(dmaBase[0], 0, 0);
  EXPECT_FALSE(machine.service(&message));
  EXPECT_NE(message.find("stride 9"), std::string::npos) << message;
  // A descriptor outside the buffer, a destination outside the memories, a start while disabled or busy.
  machine.reset();
  descriptor(dmaBase[0], 0, {0x80000040, source, llb, 0, 0, 0x1500000});
  start(dmaBase[0], 0, 0);
  EXPECT_FALSE(machine.service(&message));
  EXPECT_NE(message.find("outside the descriptor buffer"), std::string::npos) << message;
  machine.reset();
  descriptor(dmaBase[0], 0, {0x80000040, source, l1Base, 0, 0, 0});
  start(dmaBase[0], 0, 0);
  EXPECT_FALSE(machine.service(&message));
  EXPECT_NE(message.find("destination is not inside"), std::string::npos) << message;
  machine.reset();
  EXPECT_EQ(store(dmaBase[0] + 4, 1).kind, StepResult::Failed);
  descriptor(dmaBase[0], 0, {0x80000040, source, llb, 0, 0, 0});
  EXPECT_EQ(start(dmaBase[0], 0, 0).kind, StepResult::Done);
  StepResult again = store(dmaBase[0] + 4, 1);
  EXPECT_EQ(again.kind, StepResult::Failed);
  EXPECT_NE(again.message.find("still busy"), std::string::npos) << again.message;
  // No such register.
  EXPECT_EQ(store(dmaBase[0] + 0x300, 1).kind, StepResult::Trapped);
}

TEST_F(SystemDmaTest, EndlessChainDoesNotHang) {
  uint32_t slot0 = dmaBase[0] + 0x1000;
  descriptor(dmaBase[0], 0, {0x80000004, source, llb, 0, 0, slot0});
  start(dmaBase[0], 0, 0);
  for (int i = 0; i < 3; i++)
    ASSERT_TRUE(machine.service());
  EXPECT_EQ(load(dmaBase[0] + 0x10), 1u);
}

} // namespace
