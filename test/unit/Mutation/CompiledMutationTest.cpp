// Mutants of programs that the compiler made: with the object's list of kernels and buffers, what a kernel
// leaves behind counts as freed.
#include "Mutants.h"
#include "runtime/Executor.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <unistd.h>

using namespace tensorturbo;
using namespace tensorturbo::sim;
using namespace tensorturbo::sim::test;

namespace {

struct Network {
  const char *file, *shape;
};
const Network networks[] = {{"digits_cnn.legacy13.onnx", "image=8,1,8,8"},
                            {"nets/tiny_resnet.legacy13.onnx", ""},
                            {"nets/mobilenet_v2_like.legacy13.onnx", ""}};

std::string environment(const char *name, const char *otherwise) {
  const char *value = std::getenv(name);
  return value ? value : otherwise;
}

std::optional<runtime::ObjectFile> compile(const Network &network, int level, Diagnostics &diags) {
  namespace fs = std::filesystem;
  fs::path object =
      fs::temp_directory_path() / ("tensorturbo-mutation-" + std::to_string(getpid()) + ".stcobj");
  std::string command = environment("TT_TENSORTURBO", TT_TENSORTURBO) + " compile " +
                        environment("TT_SHARED", TT_TEST_SHARED) + "/models/onnx/" + network.file +
                        " --level " + std::to_string(level) + " --ncore 8 -o " + object.string() +
                        " > /dev/null";
  if (*network.shape)
    command += std::string(" --shape ") + network.shape;
  std::optional<runtime::ObjectFile> result;
  if (std::system(command.c_str()) == 0)
    result = runtime::ObjectFile::read(object.string(), diags);
  std::error_code ignored;
  fs::remove(object, ignored);
  return result;
}

/// A network that runs wholly on the NPU, in one segment.
std::optional<Subject> load(const Network &network, int level) {
  Diagnostics diags;
  auto object = compile(network, level, diags);
  EXPECT_TRUE(object) << diags.render();
  if (!object)
    return std::nullopt;
  auto meta = runtime::Metadata::fromJson(object->sectionText(runtime::section::meta), diags);
  EXPECT_TRUE(meta && meta->segments.size() == 1 && !meta->segments[0].onHost) << diags.render();
  Subject subject;
  subject.name = network.file;
  subject.cores = meta->ncore;
  subject.entry = object->entry;
  subject.tohost = object->findSymbol("tohost")->address;
  for (const runtime::Segment &s : object->segments) {
    std::vector<uint8_t> bytes(s.bytes.data(), s.bytes.data() + s.bytes.size());
    bytes.resize(s.memorySize);
    if (s.executable)
      subject.code = subject.images.size();
    subject.images.push_back({s.address, std::move(bytes)});
  }
  for (const runtime::TensorSpec &t : meta->inputs) {
    EXPECT_EQ(t.buffer.dtype, DType::Float16);
    // Any halves will do: here they lie between 0.5 and 2.
    std::vector<uint8_t> bytes(t.buffer.bytes);
    for (size_t i = 0; i < bytes.size(); i += 2) {
      bytes[i] = static_cast<uint8_t>(i * 29 + 7);
      bytes[i + 1] = static_cast<uint8_t>(0x38 + i / 2 % 7);
    }
    subject.images.push_back({t.buffer.address, std::move(bytes)});
  }
  for (const runtime::TensorSpec &t : meta->outputs)
    subject.outputs.emplace_back(t.buffer.address, t.buffer.bytes);
  auto ends = runtime::findKernelEnds(*object, *meta);
  auto freed = runtime::freedBuffers(*meta);
  EXPECT_EQ(ends.size(), meta->kernels.size());
  auto plan = runtime::plannedCode(*object, *meta);
  EXPECT_EQ(plan.size(), meta->kernels.size());
  auto operands = runtime::plannedOperands(*object);
  EXPECT_FALSE(operands.empty());
  auto shared = std::make_shared<const runtime::Metadata>(*meta);
  subject.prepare = [ends, freed, plan, operands, shared](Machine &machine) {
    machine.setMemoryPlan(plan, operands);
    machine.beginFresh();
    auto done = std::make_shared<std::vector<int>>(shared->kernels.size());
    std::vector<uint32_t> barriers;
    for (const runtime::KernelEnd &end : ends)
      barriers.push_back(end.barrier);
    machine.watchBarriers(barriers, [&machine, ends, freed, shared, done](size_t i) {
      size_t kernel = ends[i].kernel;
      return runtime::finishRun(machine, *shared, ends[i], freed[kernel], (*done)[kernel]++);
    });
  };
  return subject;
}

// What the user sees of a race: both instructions with kernels and source nodes.
TEST(Reports, NameBothKernelsAndTheirNodes) {
  if (!std::filesystem::exists(environment("TT_SHARED", TT_TEST_SHARED) + "/models/onnx"))
    GTEST_SKIP() << "the test models are not there";
  Diagnostics diags;
  auto object = compile(networks[1], 0, diags);
  ASSERT_TRUE(object) << diags.render();
  auto meta = runtime::Metadata::fromJson(object->sectionText(runtime::section::meta), diags);
  ASSERT_TRUE(meta);
  runtime::Segment &code = *std::find_if(object->segments.begin(), object->segments.end(),
                                         [](const runtime::Segment &s) { return s.executable; });
  const std::vector<uint8_t> original(code.bytes.data(), code.bytes.data() + code.bytes.size());
  std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("tensorturbo-report-" + std::to_string(getpid()) + ".stcobj");
  const runtime::TensorSpec &input = meta->inputs.at(0);
  std::vector<float> zeros(static_cast<size_t>(input.elements()));
  int races = 0;
  constexpr uint32_t syncWord = 0x3800007B, nop = 0x13;
  for (size_t at = 0; at + 4 <= original.size() && races == 0; at += 2) {
    if (std::memcmp(&original[at], &syncWord, 4) != 0)
      continue;
    std::vector<uint8_t> bytes = original;
    std::memcpy(&bytes[at], &nop, 4);
    code.bytes = runtime::Bytes(std::move(bytes));
    ASSERT_TRUE(object->write(file.string(), diags)) << diags.render();
    auto executor = runtime::Executor::load(file.string(), diags);
    ASSERT_TRUE(executor) << diags.render();
    ASSERT_TRUE(executor->setInputs({{input.name, {DType::Float32, input.shape, zeros.data()}}}, diags));
    Diagnostics findings;
    if (executor->run(findings))
      continue; // another barrier stands in for this one
    EXPECT_EQ(findings.exitCode(), 3);
    std::string text = findings.render();
    if (text.find("nothing orders these accesses") == std::string::npos)
      continue;
    races++;
    size_t first = text.find(" is in 'npu_0_"), second = text.find(" is in 'npu_0_", first + 1);
    EXPECT_NE(second, std::string::npos) << text;
    bool named = false;
    for (const runtime::KernelInfo &kernel : meta->kernels)
      for (const std::string &node : kernel.nodes)
        named |= text.find("(\'" + node) != std::string::npos;
    EXPECT_TRUE(named) << text;
    std::printf("%s", text.c_str());
  }
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  EXPECT_GT(races, 0);
}

class OfCompiledNetworks : public testing::TestWithParam<int> {};

TEST_P(OfCompiledNetworks, NoneIsMissed) {
  if (!std::filesystem::exists(environment("TT_SHARED", TT_TEST_SHARED) + "/models/onnx"))
    GTEST_SKIP() << "the test models are not there";
  std::map<Change, Tally> all;
  for (const Network &network : networks) {
    auto subject = load(network, GetParam());
    ASSERT_TRUE(subject) << network.file;
    MutationRun mutation(*subject);
    ASSERT_EQ(mutation.checkOriginal(6), "") << network.file;
    for (auto &[change, tally] : mutation.run(25, 4))
      all[change] += tally;
  }
  std::printf("%s", table(all).c_str());
  EXPECT_EQ(all.size(), 5u);
  for (const auto &[change, tally] : all) {
    EXPECT_GT(tally.changed, 0) << changeName(change);
    EXPECT_EQ(tally.missed, 0) << changeName(change);
  }
}
INSTANTIATE_TEST_SUITE_P(Mutation, OfCompiledNetworks, testing::Values(0, 1),
                         [](const auto &info) { return "Level" + std::to_string(info.param); });

} // namespace
