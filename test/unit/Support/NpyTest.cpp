#include "Support/Npy.h"
#include "Support/File.h"
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace tensorturbo;

namespace {

class NpyFiles : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / ("tt_npy_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string path(const char *name) const { return folder / name; }
  /// A file without the care (and the time) of an atomic write.
  void put(const char *name, const std::string &bytes) const {
    std::ofstream(path(name), std::ios::binary).write(bytes.data(), bytes.size());
  }
  std::filesystem::path folder;
};

NpyArray floats(std::vector<int64_t> shape, std::vector<float> values) {
  NpyArray array{DType::Float32, std::move(shape), std::vector<uint8_t>(values.size() * 4)};
  std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

/// A .npy file with this header text and data.
std::string npy(std::string header, std::string data) {
  std::string file("\x93NUMPY\1\0", 8);
  file += char(header.size() & 255);
  file += char(header.size() >> 8);
  return file + header + data;
}

} // namespace

TEST_F(NpyFiles, RoundTrip) {
  NpzArrays arrays;
  arrays["in.x"] = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  arrays["scalar"] = floats({}, {7});
  arrays["vector"] = NpyArray{DType::Int64, {1}, std::vector<uint8_t>(8, 1)};
  arrays["empty"] = NpyArray{DType::UInt8, {0, 4}, {}};
  arrays["half"] = NpyArray{DType::BFloat16, {2}, {1, 2, 3, 4}};
  Diagnostics diags;
  ASSERT_TRUE(writeNpz(path("a.npz"), arrays, diags)) << diags.render();
  std::optional<NpzArrays> back = readNpz(path("a.npz"), diags);
  ASSERT_TRUE(back) << diags.render();
  ASSERT_EQ(back->size(), arrays.size());
  for (const auto &[key, array] : arrays) {
    EXPECT_EQ((*back)[key].dtype, array.dtype) << key;
    EXPECT_EQ((*back)[key].shape, array.shape) << key;
    EXPECT_EQ((*back)[key].bytes, array.bytes) << key;
  }
}

TEST_F(NpyFiles, EveryTruncationIsAnError) {
  NpzArrays arrays{{"x", floats({2, 2}, {1, 2, 3, 4})}};
  Diagnostics diags;
  ASSERT_TRUE(writeNpz(path("a.npz"), arrays, diags));
  std::string whole(MappedFile::open(path("a.npz"), diags)->view());
  for (size_t size = 0; size < whole.size(); ++size) {
    Diagnostics cut;
    put("b.npz", whole.substr(0, size));
    EXPECT_FALSE(readNpz(path("b.npz"), cut)) << size;
    EXPECT_TRUE(cut.hasErrors()) << size;
  }
}

TEST_F(NpyFiles, EveryFlippedByteIsAnErrorOrReadsSafely) {
  NpzArrays arrays{{"x", floats({2, 2}, {1, 2, 3, 4})}};
  Diagnostics diags;
  ASSERT_TRUE(writeNpz(path("a.npz"), arrays, diags));
  std::string whole(MappedFile::open(path("a.npz"), diags)->view());
  int refused = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bad = whole;
    bad[i] = char(bad[i] ^ 0xff);
    Diagnostics flipped;
    put("b.npz", bad);
    std::optional<NpzArrays> read = readNpz(path("b.npz"), flipped);
    EXPECT_EQ(read.has_value(), !flipped.hasErrors());
    refused += !read;
  }
  EXPECT_GT(refused, int(whole.size() / 2));
}

TEST(Npy, FortranOrderAndBigEndian) {
  Diagnostics diags;
  std::optional<NpyArray> array = parseNpy(
      npy("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n", {"\0\1\0\2\0\3\0\4\0\5\0\6", 12}),
      "x", diags);
  ASSERT_TRUE(array) << diags.render();
  EXPECT_EQ(array->dtype, DType::Int16);
  EXPECT_EQ(array->bytes, (std::vector<uint8_t>{1, 0, 3, 0, 5, 0, 2, 0, 4, 0, 6, 0}));
}

TEST(Npy, RefusesWhatItCannotHold) {
  const char *headers[] = {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
                           "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }",
                           "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
                           "{'descr': '<f4', 'fortran_order': False, }",
                           "{}",
                           ""};
  for (const char *header : headers) {
    Diagnostics diags;
    EXPECT_FALSE(parseNpy(npy(header, "12345678"), "x", diags)) << header;
    EXPECT_EQ(diags.exitCode(), 1) << header;
  }
}
