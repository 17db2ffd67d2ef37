#include "Lld/Lld.h"
#include <gtest/gtest.h>
#include <thread>

using namespace tensorturbo;

namespace {

/// A relocatable x86-64 object without sections: the least that lld accepts.
std::string emptyObject() {
  std::string header(64, '\0');
  const char ident[] = "\177ELF\2\1\1";
  header.replace(0, 7, ident, 7);
  header[16] = 1;  // relocatable
  header[18] = 62; // x86-64
  header[20] = 1;  // version
  header[52] = 64; // size of this header
  header[58] = 64; // size of a section header
  return header;
}

} // namespace

TEST(Lld, LinksASharedObject) {
  Diagnostics diags;
  std::string object = emptyObject();
  std::optional<std::vector<char>> linked = linkElf({object}, {"-shared"}, diags);
  ASSERT_TRUE(linked) << diags.render();
  ASSERT_GT(linked->size(), 64u);
  EXPECT_EQ(std::string(linked->data() + 1, 3), "ELF");
  EXPECT_EQ((*linked)[16], 3) << "type must be shared object";
}

TEST(Lld, ReportsBadInputAndGoesOn) {
  Diagnostics diags;
  std::string garbage = "this is not an object file";
  EXPECT_FALSE(linkElf({garbage}, {"-shared"}, diags));
  ASSERT_TRUE(diags.hasErrors());
  EXPECT_EQ(diags.gravest(), ErrorClass::Internal);
  EXPECT_NE(diags.render().find("linking failed"), std::string::npos);
  Diagnostics second;
  EXPECT_TRUE(linkElf({emptyObject()}, {"-shared"}, second)) << second.render();
}

TEST(Lld, CallsFromSeveralThreads) {
  std::string object = emptyObject();
  std::vector<std::thread> threads;
  std::vector<int> good(4, 0);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Diagnostics diags;
      for (int i = 0; i < 5; ++i)
        good[t] += linkElf({object}, {"-shared"}, diags).has_value();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(good, std::vector<int>(4, 5));
}
