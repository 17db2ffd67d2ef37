// dump_file: the C++ text of a compiled network, built with clang, does what the object file's program does.
// Networks come from the shared material, from models/digits, and from the folder in TT_DUMP_MODELS, where
// test_dump_file.py puts generated ones.
#include "Pipeline/Compiler.h"
#include "runtime/Executor.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tensorturbo {
namespace {

namespace fs = std::filesystem;

class DumpFile : public ::testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("tensorturbo-dump-" + std::to_string(getpid()));
    fs::create_directory(folder);
  }
  void TearDown() override { fs::remove_all(folder); }
  std::string path(const char *name) const { return (folder / name).string(); }

  /// The object with its program exchanged for the one built from the C++ text.
  bool buildFromText(const std::string &object, const std::string &source, const std::string &result,
                     Diagnostics &diags) {
    std::string elf = path("kernels.elf");
    std::string command = std::string(TT_CLANGXX) +
                          " --target=riscv32-unknown-elf -march=rv32imafdc -mabi=ilp32d -std=c++20 -O2 "
                          "-ffreestanding -nostdlib -fuse-ld=lld -Wl,--image-base=0x1400000 " +
                          source + " -o " + elf;
    if (std::system(command.c_str()) != 0)
      return false;
    auto linked = runtime::ObjectFile::read(object, diags);
    auto file = MappedFile::open(elf, diags);
    auto compiled =
        file ? runtime::ObjectFile::parseElf(runtime::Bytes(file), "kernels.elf", diags) : std::nullopt;
    if (!linked || !compiled)
      return false;
    for (const runtime::Segment &segment : linked->segments)
      if (segment.name == ".weights")
        compiled->segments.push_back(segment);
    linked->segments = compiled->segments;
    linked->symbols = compiled->symbols;
    linked->entry = compiled->entry;
    // They speak of the instructions of the program that is gone.
    linked->sections.erase(runtime::section::operands);
    return linked->write(result, diags);
  }

  /// Values that differ from element to element; small numbers where they are indices.
  static std::vector<uint8_t> input(const runtime::TensorSpec &spec) {
    auto count = size_t(spec.elements());
    std::vector<uint8_t> bytes(count * dtypeSize(spec.dtype));
    for (size_t i = 0; i < count; ++i) {
      float real = std::sin(float(i) * 0.37f);
      int64_t index = int64_t(i * 7 % 101);
      const void *value = spec.dtype == DType::Float32 ? static_cast<const void *>(&real) : &index;
      size_t size = dtypeSize(spec.dtype);
      std::memcpy(&bytes[i * size], value, size);
    }
    return bytes;
  }

  static std::vector<std::vector<uint8_t>> run(const std::string &object, Diagnostics &diags) {
    auto executor = runtime::Executor::load(object, diags);
    if (!executor)
      return {};
    std::map<std::string, runtime::TensorView> inputs;
    std::vector<std::vector<uint8_t>> data;
    for (const runtime::TensorSpec &spec : executor->metadata().inputs) {
      data.push_back(input(spec));
      inputs[spec.name] = {spec.dtype, spec.shape, data.back().data()};
    }
    if (!executor->setInputs(inputs, diags) || !executor->run(diags))
      return {};
    std::vector<std::vector<uint8_t>> outputs;
    for (size_t i = 0; i < executor->metadata().outputs.size(); ++i)
      outputs.push_back(executor->output(i).bytes);
    return outputs;
  }

  /// Compiles at a level, builds the text, and compares what both programs leave.
  void compare(const fs::path &model, const ShapeMap &shapes, int level) {
    SCOPED_TRACE(model.filename().string() + " at level " + std::to_string(level));
    Diagnostics diags;
    auto compiled = Model::fromOnnx(model.string(), shapes, diags);
    ASSERT_TRUE(compiled) << diags.render();
    CompileOptions options;
    options.ncore = 4;
    options.graphScheduleLevel = level;
    options.dumpFile = path("kernels.cc");
    std::string object = path("linked.stcobj"), fromText = path("text.stcobj");
    ASSERT_TRUE(compiled->compile(object, options, diags)) << diags.render();
    ASSERT_TRUE(buildFromText(object, options.dumpFile, fromText, diags)) << diags.render();
    auto expected = run(object, diags);
    ASSERT_FALSE(expected.empty()) << diags.render();
    EXPECT_EQ(run(fromText, diags), expected) << diags.render();
  }
  static bool hasCompiler() { return !std::string(TT_CLANGXX).empty(); }

  fs::path folder;
};

class DumpFileOfNetwork : public DumpFile, public ::testing::WithParamInterface<const char *> {};

TEST_P(DumpFileOfNetwork, SameResultsAsTheObjectFile) {
  const char *root = std::getenv("TT_SHARED");
  fs::path model = fs::path(root ? root : TT_TEST_SHARED) / "models/onnx/nets" / GetParam();
  if (!fs::exists(model))
    GTEST_SKIP() << "test model not found at " << model << " (set TT_SHARED)";
  if (!hasCompiler())
    GTEST_SKIP() << "no clang++ for riscv32 on this machine";
  for (int level : {0, 1})
    compare(model, {}, level);
}

TEST_F(DumpFile, Digits) {
  if (!hasCompiler())
    GTEST_SKIP() << "no clang++ for riscv32 on this machine";
  for (int level : {0, 1})
    compare(fs::path(TT_TEST_ROOT) / "models/digits/digits_cnn.onnx", {{"image", {3, 1, 8, 8}}}, level);
}

TEST_F(DumpFile, ModelsInTheFolder) {
  const char *models = std::getenv("TT_DUMP_MODELS");
  if (!models)
    GTEST_SKIP() << "TT_DUMP_MODELS names no folder of models";
  if (!hasCompiler())
    GTEST_SKIP() << "no clang++ for riscv32 on this machine";
  size_t count = 0;
  for (const auto &entry : fs::directory_iterator(models))
    if (entry.path().extension() == ".onnx") {
      ++count;
      for (int level : {0, 1})
        compare(entry.path(), {}, level);
    }
  EXPECT_GT(count, 0u) << "no model in " << models;
}

INSTANTIATE_TEST_SUITE_P(Networks, DumpFileOfNetwork,
                         ::testing::Values("tiny_resnet.legacy13.onnx", "mobilenet_v2_like.legacy13.onnx"));

} // namespace
} // namespace tensorturbo
