#include "simulator/timing/MemoryUse.h"
#include "simulator/AddressMap.h"
#include <gtest/gtest.h>

using namespace tensorturbo::sim;

namespace {

constexpr uint32_t kib = 1024;

Region block(uint32_t address, uint32_t bytes, bool isWrite, uint32_t core = 0) {
  return {address, 1, bytes, bytes, isWrite, core};
}

// Two buffers that are never there at once, and one that outlives both.
TEST(MemoryUse, WhatIsDeadDoesNotCount) {
  MemoryUse use(2);
  use.touch(0, block(llbBase, 4 * kib, true));
  use.touch(0, block(llbBase + 64 * kib, 8 * kib, true));
  use.nextPhase();
  use.touch(1, block(llbBase + 64 * kib, 8 * kib, false));
  use.nextPhase();
  use.touch(1, block(llbBase + 128 * kib, 16 * kib, true));
  use.nextPhase();
  use.touch(0, block(llbBase, 4 * kib, false));
  EXPECT_EQ(use.peak().llb, 20 * kib);
}

TEST(MemoryUse, WrittenAnewIsAnotherContent) {
  MemoryUse use(1);
  use.touch(0, block(l1Base, kib, true));
  use.nextPhase();
  use.touch(0, block(l1Base + 2 * kib, kib, true));
  use.nextPhase();
  use.touch(0, block(l1Base, kib, true));
  use.touch(0, block(l1Base + 2 * kib, kib, true));
  use.touch(0, block(l1Base, kib, false));
  EXPECT_EQ(use.peak().l1, 2 * kib) << "in the last phase; in the others one at a time";
}

TEST(MemoryUse, CoresAndMemoriesCountApart) {
  MemoryUse use(2);
  use.touch(0, block(l1Base, kib, true, 0));
  use.touch(0, block(l1Base + kib, 2 * kib, true, 1)); // an exchange writes to the other core
  use.touch(1, block(imBase, 512, true, 1));
  use.touch(1, block(llbAlias + 4 * kib, 256, true));
  // Rows far apart count alone, rows close together with what is between them.
  use.touch(1, {llbBase + 64 * kib, 4, 256, 4 * kib, true, 1});
  use.touch(1, {llbBase + 128 * kib, 4, 256, 512, true, 1});
  MemoryUse::Peak peak = use.peak();
  EXPECT_EQ(peak.l1, 2 * kib);
  EXPECT_EQ(peak.im, 512u);
  EXPECT_EQ(peak.llb, 256u + kib + 3 * 512 + 256);
}

} // namespace
