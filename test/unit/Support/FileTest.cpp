#include "Support/File.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace tensorturbo;
namespace fs = std::filesystem;

namespace {

struct FileTest : testing::Test {
  FileTest() {
    std::string name = (fs::temp_directory_path() / "tt-file-XXXXXX").string();
    folder = mkdtemp(name.data());
  }
  ~FileTest() override { fs::remove_all(folder); }
  std::string folder;
  Diagnostics diags;
};

TEST_F(FileTest, WritesAndReads) {
  std::string path = folder + "/a";
  ASSERT_TRUE(writeFileAtomically(path, {"one ", "", "two"}, diags));
  auto file = MappedFile::open(path, diags);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->view(), "one two");
  ASSERT_TRUE(writeFileAtomically(path, {"new"}, diags));
  EXPECT_EQ(file->view(), "one two") << "an open file keeps its contents";
}

TEST_F(FileTest, RefusesDevicesAndFolders) {
  EXPECT_FALSE(writeFileAtomically("/dev/null", {"x"}, diags));
  EXPECT_FALSE(writeFileAtomically(folder, {"x"}, diags));
  EXPECT_FALSE(writeFileAtomically(folder + "/no/a", {"x"}, diags));
  EXPECT_FALSE(MappedFile::open(folder, diags));
  EXPECT_FALSE(MappedFile::open(folder + "/absent", diags));
  EXPECT_EQ(diags.all().size(), 5u);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(FileTest, RemovesUnfinishedFiles) {
  std::string half = folder + "/half", whole = folder + "/whole";
  std::ofstream(half) << "x";
  std::ofstream(whole) << "x";
  {
    UnfinishedFile done(whole);
  }
  UnfinishedFile guard(half);
  removeUnfinishedFiles();
  EXPECT_FALSE(fs::exists(half));
  EXPECT_TRUE(fs::exists(whole));
}

} // namespace
