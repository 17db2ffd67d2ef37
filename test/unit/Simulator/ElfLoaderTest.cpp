// Damaged and foreign files give one clear error and nothing else.
#include "simulator/ElfLoader.h"
#include "simulator/Machine.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace tensorturbo;
using namespace tensorturbo::sim;

namespace {

void put(std::string &file, size_t at, uint32_t value, size_t bytes) {
  std::memcpy(&file[at], &value, bytes);
}

/// A minimal executable: one segment of 16 bytes (24 in memory) at 0x1400000, a symbol 'tohost'.
std::string minimalElf() {
  std::string file(0x200, '\0');
  std::memcpy(&file[0],
              "\x7F"
              "ELF\1\1\1",
              7);
  put(file, 16, 2, 2), put(file, 18, 243, 2), put(file, 20, 1, 4);
  put(file, 24, 0x1400000, 4); // entry
  put(file, 28, 52, 4);        // program headers
  put(file, 32, 0x100, 4);     // section headers
  put(file, 42, 32, 2), put(file, 44, 1, 2), put(file, 46, 40, 2), put(file, 48, 3, 2);
  const uint32_t segment[8] = {1, 0x60, 0x1400000, 0x1400000, 16, 24, 5, 4};
  std::memcpy(&file[52], segment, 32);
  std::memset(&file[0x60], 0xAB, 16);
  std::memcpy(&file[0x80], "\0tohost\0", 8);
  const uint32_t symbol[4] = {1, 0x1400010, 0, 0};
  std::memcpy(&file[0xA0], symbol, 16);
  const uint32_t symbols[10] = {0, 2, 0, 0, 0xA0, 16, 2, 0, 4, 16},
                 strings[10] = {0, 3, 0, 0, 0x80, 8, 0, 0, 1, 0};
  std::memcpy(&file[0x128], symbols, 40);
  std::memcpy(&file[0x150], strings, 40);
  return file;
}

std::string errorOf(const std::string &file) {
  Diagnostics diags;
  auto image = parseElf(file, "test.elf", diags);
  EXPECT_EQ(!image, diags.hasErrors());
  return diags.render();
}

TEST(ElfLoader, ReadsSegmentsAndSymbols) {
  std::string file = minimalElf();
  Diagnostics diags;
  auto image = parseElf(file, "test.elf", diags);
  ASSERT_TRUE(image) << diags.render();
  EXPECT_EQ(image->entry, 0x1400000u);
  EXPECT_EQ(image->symbol("tohost"), 0x1400010u);
  EXPECT_EQ(image->symbol("other"), std::nullopt);
  ASSERT_EQ(image->segments.size(), 1u);
  MachineOptions options;
  options.cores = 1;
  Machine machine(options);
  uint8_t old = 0xFF;
  machine.writeMemory(0, 0x1400017, &old, 1);
  loadElf(machine, *image);
  uint8_t bytes[24];
  ASSERT_TRUE(machine.readMemory(0, 0x1400000, bytes, 24));
  EXPECT_EQ(bytes[15], 0xAB);
  EXPECT_EQ(bytes[23], 0);
  EXPECT_TRUE(machine.isWritten(0, 0x1400000, 24));
  EXPECT_FALSE(machine.isWritten(0, 0x1400000, 25));
}

TEST(ElfLoader, RefusesForeignFiles) {
  EXPECT_NE(errorOf("").find("is not an ELF file"), std::string::npos);
  EXPECT_NE(errorOf(std::string(100, 'x')).find("is not an ELF file"), std::string::npos);
  std::string file = minimalElf();
  put(file, 18, 62, 2);
  EXPECT_NE(errorOf(file).find("RISC-V"), std::string::npos);
  file = minimalElf();
  put(file, 16, 1, 2);
  EXPECT_NE(errorOf(file).find("is not an executable"), std::string::npos);
}

TEST(ElfLoader, RefusesSegmentsOutsideFileOrMemory) {
  std::string file = minimalElf();
  put(file, 52 + 4, 0xFFFFFFF0, 4); // offset
  EXPECT_NE(errorOf(file).find("truncated"), std::string::npos);
  file = minimalElf();
  put(file, 52 + 8, 0xBFFFFFF8, 4); // address
  EXPECT_NE(errorOf(file).find("outside DDR"), std::string::npos);
  file = minimalElf();
  put(file, 52 + 20, 8, 4); // memory smaller than the file's part
  EXPECT_NE(errorOf(file).find("truncated"), std::string::npos);
  file = minimalElf();
  put(file, 44, 0xFFFF, 2);
  EXPECT_NE(errorOf(file).find("program header table"), std::string::npos);
}

TEST(ElfLoader, SurvivesEveryTruncationAndRandomDamage) {
  std::string good = minimalElf();
  for (size_t length = 0; length < good.size(); length++)
    errorOf(good.substr(0, length));
  std::mt19937 random{7};
  for (int i = 0; i < 20000; i++) {
    std::string file = good;
    for (int change = 0; change < 4; change++)
      file[random() % file.size()] = static_cast<char>(random());
    errorOf(file);
  }
}

} // namespace
