#include "runtime/ObjectFile.h"
#include "TemporaryFolder.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace tensorturbo;
using namespace tensorturbo::runtime;

static ObjectFile sample() {
  ObjectFile object;
  object.entry = 0x01400010;
  Segment text;
  text.address = 0x01400010;
  text.bytes = Bytes(std::vector<uint8_t>(100, 0x13));
  text.memorySize = 100;
  text.executable = true;
  Segment bss;
  bss.address = 0x01401000;
  bss.memorySize = 4096;
  bss.writable = true;
  Segment weights;
  weights.address = 0x02000000;
  std::vector<uint8_t> data(3000000);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<uint8_t>(i * 7 + i / 1000);
  weights.memorySize = static_cast<uint32_t>(data.size());
  weights.bytes = Bytes(std::move(data));
  weights.name = ".weights";
  object.segments = {text, bss, weights};
  object.sections[section::meta] = Bytes(std::string("{\"a\": 1}"));
  object.sections[section::host] = Bytes(std::string(5, 'h'));
  object.symbols = {{"_start", 0x01400010, 8}, {"tohost", 0x01401000, 8}};
  return object;
}

TEST(ObjectFile, SurvivesTheRoundTrip) {
  TemporaryFolder folder;
  Diagnostics diags;
  ASSERT_TRUE(sample().write(folder.file("a.stcobj"), diags)) << diags.render();
  auto object = ObjectFile::read(folder.file("a.stcobj"), diags);
  ASSERT_TRUE(object) << diags.render();
  EXPECT_EQ(object->entry, 0x01400010u);
  ASSERT_EQ(object->segments.size(), 3u);
  EXPECT_TRUE(object->segments[0].executable);
  EXPECT_EQ(object->segments[1].memorySize, 4096u);
  EXPECT_TRUE(object->segments[1].bytes.empty());
  EXPECT_EQ(object->segments[2].name, ".weights");
  EXPECT_EQ(object->segments[2].bytes.view(), sample().segments[2].bytes.view());
  EXPECT_EQ(object->sectionText(section::meta), "{\"a\": 1}");
  EXPECT_EQ(object->sections.count(section::checksum), 0u);
  ASSERT_TRUE(object->findSymbol("tohost"));
  EXPECT_EQ(object->findSymbol("tohost")->address, 0x01401000u);
}

TEST(ObjectFile, SameInputSameBytes) {
  TemporaryFolder folder;
  Diagnostics diags;
  ASSERT_TRUE(sample().write(folder.file("a"), diags) && sample().write(folder.file("b"), diags));
  EXPECT_EQ(readAll(folder.file("a")), readAll(folder.file("b")));
}

/// Reads a file with these bytes and returns its one error.
static std::string errorFor(const TemporaryFolder &folder, const std::string &bytes) {
  writeAll(folder.file("bad"), bytes);
  Diagnostics diags;
  EXPECT_FALSE(ObjectFile::read(folder.file("bad"), diags));
  EXPECT_EQ(diags.all().size(), 1u);
  EXPECT_EQ(diags.exitCode(), 1);
  return diags.render();
}

TEST(ObjectFile, RefusesTruncatedFiles) {
  TemporaryFolder folder;
  Diagnostics diags;
  ASSERT_TRUE(sample().write(folder.file("a"), diags));
  std::string bytes = readAll(folder.file("a"));
  for (size_t keep : {size_t(0), size_t(3), size_t(20), size_t(51), size_t(200), bytes.size() / 2,
                      bytes.size() - 33, bytes.size() - 1})
    errorFor(folder, bytes.substr(0, keep));
  EXPECT_NE(errorFor(folder, bytes.substr(0, bytes.size() / 2)).find("truncated"), std::string::npos);
  errorFor(folder, bytes + "x");
}

TEST(ObjectFile, FindsEveryFlippedBit) {
  TemporaryFolder folder;
  ObjectFile small = sample();
  small.segments.pop_back();
  Diagnostics diags;
  ASSERT_TRUE(small.write(folder.file("a"), diags));
  const std::string bytes = readAll(folder.file("a"));
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string bad = bytes;
    bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
    writeAll(folder.file("bad"), bad);
    Diagnostics found;
    EXPECT_FALSE(ObjectFile::read(folder.file("bad"), found)) << "byte " << i << " of " << bytes.size();
    EXPECT_TRUE(found.hasErrors());
  }
}

TEST(ObjectFile, RefusesForeignAndNewerFiles) {
  TemporaryFolder folder;
  Diagnostics diags;
  EXPECT_NE(errorFor(folder, "<html>").find("no ELF file"), std::string::npos);
  EXPECT_NE(errorFor(folder, readAll("/proc/self/exe")).find("not a 32-bit RISC-V"), std::string::npos);
  ASSERT_TRUE(sample().writeElf(folder.file("plain"), diags));
  EXPECT_NE(errorFor(folder, readAll(folder.file("plain"))).find(".tt.checksum"), std::string::npos);
  ASSERT_TRUE(sample().write(folder.file("a"), diags));
  std::string bytes = readAll(folder.file("a"));
  bytes[bytes.size() - 24] = 9;
  EXPECT_NE(errorFor(folder, bytes).find("newer version"), std::string::npos);
  Diagnostics missing;
  EXPECT_FALSE(ObjectFile::read(folder.file("absent"), missing));
  EXPECT_FALSE(ObjectFile::read(folder.path, missing));
  EXPECT_EQ(missing.all().size(), 2u);
}

TEST(ObjectFile, SurvivesHostileHeaders) {
  // Without a checksum to stop it, the ELF reader must cope with any numbers in the headers.
  TemporaryFolder folder;
  Diagnostics diags;
  ObjectFile small = sample();
  small.segments.pop_back();
  ASSERT_TRUE(small.writeElf(folder.file("a"), diags));
  const std::string bytes = readAll(folder.file("a"));
  std::mt19937 random(7);
  const uint32_t evil[] = {0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFF0, 64};
  size_t headers = std::min<size_t>(bytes.size(), 600);
  for (int i = 0; i < 20000; ++i) {
    std::string bad = bytes;
    for (int k = 0; k < 3; ++k) {
      uint32_t word = random() % 3 ? evil[random() % 7] : static_cast<uint32_t>(random());
      std::memcpy(bad.data() + random() % (headers / 4) * 4, &word, 4);
    }
    Diagnostics found;
    auto object = ObjectFile::parseElf(Bytes(bad), "'bad'", found);
    EXPECT_EQ(object.has_value(), !found.hasErrors());
    size_t sum = 0;
    for (const Segment &s : object ? object->segments : std::vector<Segment>())
      for (char c : s.bytes.view())
        sum += static_cast<unsigned char>(c);
    EXPECT_LE(sum, bad.size() * 255 * 4);
  }
}

TEST(ObjectFile, FailedWriteLeavesNothing) {
  TemporaryFolder folder;
  Diagnostics diags;
  EXPECT_FALSE(sample().write(folder.path + "/no/such/folder/a", diags));
  ObjectFile overlapping = sample();
  overlapping.segments[1].address = 0x01400020;
  EXPECT_FALSE(overlapping.write(folder.file("a"), diags));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}
