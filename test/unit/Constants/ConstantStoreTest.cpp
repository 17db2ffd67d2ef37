#include "Constants/ConstantStore.h"
#include <gtest/gtest.h>

using namespace tensorturbo;

namespace {

TEST(ConstantStore, IdsStartAtOneAndKeepTheirContent) {
  ConstantStore store;
  EXPECT_EQ(store.add(DType::UInt8, {3}, {1, 2, 3}), 1u);
  EXPECT_EQ(store.add(DType::UInt8, {1}, {9}), 2u);
  Constant c = store.get(1);
  ASSERT_EQ(c.bytes, 3u);
  EXPECT_EQ(c.data[2], 3);
  EXPECT_EQ(store.size(), 2u);
  EXPECT_EQ(store.get(0).data, nullptr);
  EXPECT_EQ(store.get(3).data, nullptr);
}

TEST(ConstantStore, EqualContentHasEqualHash) {
  ConstantStore store;
  uint64_t a = store.add(DType::UInt8, {4}, {1, 2, 3, 4}), b = store.add(DType::UInt8, {4}, {1, 2, 3, 4});
  uint64_t other = store.add(DType::UInt8, {2, 2}, {1, 2, 3, 4}),
           last = store.add(DType::UInt8, {4}, {1, 2, 3, 5});
  EXPECT_EQ(store.get(a).hash, store.get(b).hash);
  EXPECT_NE(store.get(a).hash, store.get(other).hash) << "shape";
  EXPECT_NE(store.get(a).hash, store.get(last).hash) << "content";
}

TEST(ConstantStore, ReleaseDropsTheDataOfOneId) {
  ConstantStore store;
  auto owner = std::make_shared<std::vector<uint8_t>>(2, uint8_t(7));
  std::weak_ptr<std::vector<uint8_t>> watch = owner;
  uint64_t id = store.addView(DType::UInt8, {2}, owner->data(), owner);
  uint64_t kept = store.add(DType::UInt8, {1}, {5});
  owner.reset();
  {
    Constant held = store.get(id);
    store.release(id);
    EXPECT_EQ(held.data[1], 7) << "a descriptor keeps its data";
  }
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(store.get(id).data, nullptr);
  EXPECT_EQ(store.get(id).shape, std::vector<int64_t>{2});
  EXPECT_EQ(store.get(kept).data[0], 5);
  EXPECT_EQ(store.add(DType::UInt8, {1}, {6}), 3u) << "ids are never given again";
  store.release(77);
}

} // namespace
