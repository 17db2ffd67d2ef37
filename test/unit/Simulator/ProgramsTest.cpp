// The recorded programs: the bytes of every output region and the counts of every core, with and without a
// fill of the on-chip memories by NaNs.
#include "Support/File.h"
#include "TestProgram.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SHA256.h"
#include <gtest/gtest.h>

using namespace tensorturbo;
using namespace tensorturbo::sim;
using namespace tensorturbo::sim::test;

namespace {

const char *const programs[] = {"hello",  "gemm",      "conv3x3", "conv8",    "exchange", "attention", "int8",
                                "lngelu", "depthwise", "pool",    "sysdma2d", "traps",    "groups"};

uint32_t hexOf(const llvm::json::Object &object, const char *key) {
  auto text = object.getString(key);
  EXPECT_TRUE(text) << key;
  return text ? static_cast<uint32_t>(std::stoul(text->str(), nullptr, 16)) : 0;
}

std::string shaOf(const std::vector<uint8_t> &bytes) {
  return llvm::toHex(llvm::SHA256::hash(bytes), /*LowerCase=*/true);
}

void compareOutputs(const llvm::json::Object &record, const Machine &machine) {
  for (const llvm::json::Value &value : *record.getArray("outputs")) {
    const llvm::json::Object &output = *value.getAsObject();
    std::vector<uint8_t> bytes(static_cast<size_t>(*output.getInteger("bytes")));
    ASSERT_TRUE(machine.readMemory(0, hexOf(output, "address"), bytes.data(), bytes.size()));
    EXPECT_EQ(shaOf(bytes), output.getString("sha256")->str()) << output.getString("name")->str();
  }
}

void compareCounts(const llvm::json::Object &counts, const Machine &machine) {
  for (const auto &[core, value] : counts) {
    SCOPED_TRACE("core " + core.str());
    const llvm::json::Object &expected = *value.getAsObject();
    const CoreCounters &ours = machine.counters(std::stoi(core.str()));
    std::map<std::string, uint64_t> instructions;
    for (const auto &[mnemonic, count] : *expected.getObject("instructions"))
      instructions[mnemonic.str()] = static_cast<uint64_t>(*count.getAsInteger());
    EXPECT_EQ(ours.instructions, instructions);
    EXPECT_EQ(ours.csrWrites, uint64_t(*expected.getInteger("csr_writes")));
    EXPECT_EQ(ours.csrWritesSameValue, uint64_t(*expected.getInteger("csr_writes_same_value")));
    EXPECT_EQ(ours.mmeCycles, uint64_t(*expected.getInteger("mme_cycles")));
    EXPECT_EQ(ours.vmeCycles, uint64_t(*expected.getInteger("vme_cycles")));
    EXPECT_EQ(ours.mteBytes, uint64_t(*expected.getInteger("mte_bytes")));
    EXPECT_EQ(ours.trapped, uint64_t(expected.getInteger("trapped").value_or(0)));
  }
}

void runRecorded(const std::string &name, std::optional<uint16_t> fill, int threads = 1) {
  std::string folder = sharedFolder("p920/programs");
  if (folder.empty())
    GTEST_SKIP() << "the recorded programs are not there";
  Diagnostics diags;
  auto json = MappedFile::open(folder + "/" + name + ".json", diags);
  auto file = MappedFile::open(folder + "/" + name + ".elf", diags);
  ASSERT_TRUE(json && file) << diags.render();
  auto parsed = llvm::json::parse(json->view());
  ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError());
  const llvm::json::Object &record = *parsed->getAsObject();
  auto image = parseElf(file->view(), name, diags);
  ASSERT_TRUE(image) << diags.render();
  EXPECT_EQ(image->symbol("tohost"), hexOf(record, "tohost"));

  MachineOptions options;
  options.cores = static_cast<int>(*record.getInteger("cores"));
  options.fill = fill;
  options.threads = threads;
  options.maxInstructions = 1'000'000'000;
  Machine machine(options);
  loadElf(machine, *image);
  RunResult result = machine.run(image->entry, hexOf(record, "tohost"));
  ASSERT_TRUE(result.good()) << result.message << " tohost " << result.tohost << " "
                             << (result.lastTrap ? result.lastTrap->text : "");
  compareOutputs(record, machine);
  compareCounts(*record.getObject("counts"), machine);
}

class RecordedPrograms : public testing::TestWithParam<const char *> {};

TEST_P(RecordedPrograms, GiveTheRecordedBytes) {
  runRecorded(GetParam(), std::nullopt);
}
TEST_P(RecordedPrograms, DoNotDependOnHostThreads) {
  runRecorded(GetParam(), std::nullopt, 2);
  runRecorded(GetParam(), std::nullopt, 8);
}
TEST_P(RecordedPrograms, DoNotDependOnOldContents) {
  runRecorded(GetParam(), 0xFFFF);
}

INSTANTIATE_TEST_SUITE_P(All, RecordedPrograms, testing::ValuesIn(programs),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
