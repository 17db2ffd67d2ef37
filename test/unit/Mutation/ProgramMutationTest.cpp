// Mutants of the recorded programs: every one that can go wrong must be reported, the programs themselves
// never.
#include "Mutants.h"
#include "Support/File.h"
#include "simulator/ElfLoader.h"
#include "llvm/Support/JSON.h"
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

using namespace tensorturbo;
using namespace tensorturbo::sim;
using namespace tensorturbo::sim::test;

namespace {

const char *const programs[] = {"hello",  "gemm",      "conv3x3", "conv8",    "exchange", "attention", "int8",
                                "lngelu", "depthwise", "pool",    "sysdma2d", "traps",    "groups"};

std::optional<Subject> load(const std::string &name) {
  const char *root = std::getenv("TT_SHARED");
  std::string base = std::string(root ? root : TT_TEST_SHARED) + "/p920/programs/" + name;
  Diagnostics diags;
  if (!std::filesystem::exists(base + ".elf"))
    return std::nullopt;
  auto json = MappedFile::open(base + ".json", diags), file = MappedFile::open(base + ".elf", diags);
  auto record = llvm::json::parse(json->view());
  auto image = parseElf(file->view(), name, diags);
  EXPECT_TRUE(bool(record) && image) << diags.render();
  Subject subject;
  subject.name = name;
  subject.forgetOutputs = true;
  subject.cores = static_cast<int>(*record->getAsObject()->getInteger("cores"));
  subject.entry = image->entry;
  subject.tohost = *image->symbol("tohost");
  for (const ElfImage::Segment &s : image->segments) {
    std::vector<uint8_t> bytes(s.bytes.begin(), s.bytes.end());
    bytes.resize(s.memorySize);
    if (image->entry - s.address < s.memorySize)
      subject.code = subject.images.size();
    subject.images.push_back({s.address, std::move(bytes)});
  }
  for (const llvm::json::Value &v : *record->getAsObject()->getArray("outputs")) {
    const llvm::json::Object &o = *v.getAsObject();
    subject.outputs.emplace_back(std::stoul(o.getString("address")->str(), nullptr, 16),
                                 static_cast<uint32_t>(*o.getInteger("bytes")));
  }
  return subject;
}

class Programs : public testing::TestWithParam<const char *> {};

TEST_P(Programs, AreNeverReported) {
  auto subject = load(GetParam());
  if (!subject)
    GTEST_SKIP() << "the recorded programs are not there";
  EXPECT_EQ(MutationRun(*subject).checkOriginal(8), "");
}
INSTANTIATE_TEST_SUITE_P(All, Programs, testing::ValuesIn(programs),
                         [](const auto &info) { return std::string(info.param); });

TEST(Mutation, OfTheRecordedPrograms) {
  std::map<Change, Tally> all;
  for (const char *name : programs) {
    auto subject = load(name);
    if (!subject)
      GTEST_SKIP() << "the recorded programs are not there";
    MutationRun mutation(*subject);
    ASSERT_EQ(mutation.checkOriginal(0), "") << name;
    for (auto &[change, tally] : mutation.run(12, 4))
      all[change] += tally;
  }
  std::printf("%s", table(all).c_str());
  for (const auto &[change, tally] : all)
    EXPECT_GT(tally.mutants, 0) << changeName(change);
  for (Change change : {Change::DropBarrier, Change::DropWait})
    EXPECT_EQ(all[change].missed, 0) << changeName(change);
}

} // namespace
