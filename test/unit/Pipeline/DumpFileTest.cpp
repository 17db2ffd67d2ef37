// dump_file: the C++ text of a compiled network, built with clang, does what the object file's program does.
#include "Pipeline/Compiler.h"
#include "runtime/Executor.h"
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tensorturbo {
namespace {

namespace fs = std::filesystem;

class DumpFile : public ::testing::TestWithParam<const char *> {
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
    return linked->write(result, diags);
  }

  static std::vector<std::vector<uint8_t>> run(const std::string &object, Diagnostics &diags) {
    auto executor = runtime::Executor::load(object, diags);
    if (!executor)
      return {};
    std::map<std::string, runtime::TensorView> inputs;
    std::vector<std::vector<float>> data;
    for (const runtime::TensorSpec &spec : executor->metadata().inputs) {
      data.emplace_back(size_t(spec.elements()));
      for (size_t i = 0; i < data.back().size(); ++i)
        data.back()[i] = std::sin(float(i) * 0.37f);
      inputs[spec.name] = {DType::Float32, spec.shape, nullptr};
    }
    for (size_t i = 0; i < data.size(); ++i)
      inputs[executor->metadata().inputs[i].name].data = data[i].data();
    if (!executor->setInputs(inputs, diags) || !executor->run(diags))
      return {};
    std::vector<std::vector<uint8_t>> outputs;
    for (size_t i = 0; i < executor->metadata().outputs.size(); ++i)
      outputs.push_back(executor->output(i).bytes);
    return outputs;
  }

  fs::path folder;
};

TEST_P(DumpFile, SameResultsAsTheObjectFile) {
  const char *root = std::getenv("TT_SHARED");
  fs::path model = fs::path(root ? root : TT_TEST_SHARED) / "models/onnx/nets" / GetParam();
  if (!fs::exists(model))
    GTEST_SKIP() << "test model not found at " << model << " (set TT_SHARED)";
  if (std::string(TT_CLANGXX).empty())
    GTEST_SKIP() << "no clang++ for riscv32 on this machine";
  Diagnostics diags;
  auto compiled = Model::fromOnnx(model.string(), {}, diags);
  ASSERT_TRUE(compiled) << diags.render();
  CompileOptions options;
  options.ncore = 4;
  options.dumpFile = path("kernels.cc");
  std::string object = path("linked.stcobj"), fromText = path("text.stcobj");
  ASSERT_TRUE(compiled->compile(object, options, diags)) << diags.render();
  ASSERT_TRUE(buildFromText(object, options.dumpFile, fromText, diags)) << diags.render();
  auto expected = run(object, diags);
  ASSERT_FALSE(expected.empty()) << diags.render();
  EXPECT_EQ(run(fromText, diags), expected) << diags.render();
}

INSTANTIATE_TEST_SUITE_P(Networks, DumpFile,
                         ::testing::Values("tiny_resnet.legacy13.onnx", "mobilenet_v2_like.legacy13.onnx"));

} // namespace
} // namespace tensorturbo
