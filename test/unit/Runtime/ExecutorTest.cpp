// Executor, stand-alone programs and C interface on object files made by hand.
#include "runtime/Executor.h"
#include "TemporaryFolder.h"
#include "runtime/Convert.h"
#include "runtime/Pack.h"
#include "tensorturbo/runtime.hpp"
#include <cstring>
#include <gtest/gtest.h>

using namespace tensorturbo;
using namespace tensorturbo::runtime;

namespace {

/// li t0, tohost; li t1, 1; sw t1, 0(t0); loop: j loop. The number goes to `tohost` at 0x01401000.
std::string exitProgram(uint32_t code) {
  const uint32_t words[] = {0x014012B7,              // lui t0, 0x1401
                            0x00000313 | code << 20, // li t1, code
                            0x0002A223,              // sw zero, 4(t0)
                            0x0062A023,              // sw t1, 0(t0)
                            0x0000006F};             // j .
  return {reinterpret_cast<const char *>(words), sizeof words};
}

/// A model y = x of two elements whose input and output share one buffer.
ObjectFile identityModel(uint32_t code) {
  ObjectFile object;
  object.entry = 0x01400000;
  Segment text, data;
  text.address = 0x01400000;
  text.bytes = Bytes(exitProgram(code));
  text.memorySize = static_cast<uint32_t>(text.bytes.size());
  text.executable = true;
  data.address = 0x01401000;
  data.memorySize = 64;
  data.writable = true;
  object.segments = {text, data};
  object.symbols = {
      {"tohost", 0x01401000, 8}, {"tt_segment", 0x01401008, 4}, {"tt_trap_info", 0x01401010, 16}};
  Metadata meta;
  meta.producer = "test";
  meta.ncore = 1;
  meta.inputs = {{"image", {1, 2}, DType::Float32, {0x02000000, 4, DType::Float16}}};
  meta.outputs = {{"logits", {1, 2}, DType::Float32, {0x02000000, 4, DType::Float16}}};
  RunSegment segment;
  segment.nodes = {"conv1"};
  meta.segments = {segment};
  meta.ddrEnd = 0x02000100;
  object.sections[section::meta] = Bytes(meta.toJson());
  object.sections[section::provenance] = Bytes(provenanceToJson({{"npu_0", 0x01400000, 64, {"conv1"}}}));
  return object;
}

std::string writeModel(const TemporaryFolder &folder, const ObjectFile &object) {
  Diagnostics diags;
  std::string path = folder.file("m.stcobj");
  EXPECT_TRUE(object.write(path, diags)) << diags.render();
  return path;
}

struct ExecutorTest : testing::Test {
  TemporaryFolder folder;
  Diagnostics diags;
};

TEST_F(ExecutorTest, RunsAndConverts) {
  auto executor = Executor::load(writeModel(folder, identityModel(1)), diags);
  ASSERT_TRUE(executor) << diags.render();
  float in[] = {1.5f, 1.0f + 1.0f / 4096};
  ASSERT_TRUE(executor->setInputs({{"image", {DType::Float32, {1, 2}, in}}}, diags));
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(executor->run(diags)) << diags.render();
    NpyArray out = executor->output(0);
    EXPECT_EQ(out.dtype, DType::Float32);
    float values[2];
    ASSERT_EQ(out.bytes.size(), sizeof values);
    std::memcpy(values, out.bytes.data(), sizeof values);
    EXPECT_EQ(values[0], 1.5f);
    EXPECT_EQ(values[1], 1.0f);
  }
  EXPECT_GT(executor->statistics().cores.at(0).retired, 3u);
}

TEST_F(ExecutorTest, TakesHalvesForFloats) {
  auto executor = Executor::load(writeModel(folder, identityModel(1)), diags);
  ASSERT_TRUE(executor);
  uint16_t in[] = {0x3C00, 0x4000};
  EXPECT_TRUE(executor->setInputs({{"image", {DType::Float16, {1, 2}, in}}}, diags)) << diags.render();
}

TEST_F(ExecutorTest, ReportsAllThatIsWrongWithInputs) {
  auto executor = Executor::load(writeModel(folder, identityModel(1)), diags);
  ASSERT_TRUE(executor);
  float in[4] = {};
  Diagnostics found;
  EXPECT_FALSE(executor->setInputs(
      {{"imagee", {DType::Float32, {1, 2}, in}}, {"image", {DType::Int32, {2, 2}, in}}}, found));
  std::string text = found.render();
  EXPECT_NE(text.find("no input 'imagee'"), std::string::npos) << text;
  EXPECT_NE(text.find("did you mean 'image'?"), std::string::npos) << text;
  EXPECT_NE(text.find("has shape [1, 2], got [2, 2]"), std::string::npos) << text;
  EXPECT_NE(text.find("has element type float32, got int32"), std::string::npos) << text;
  EXPECT_EQ(found.exitCode(), 1);
  Diagnostics missing;
  EXPECT_FALSE(executor->run(missing));
  EXPECT_NE(missing.render().find("'image' has not been set"), std::string::npos);
}

TEST_F(ExecutorTest, WarnsAboutOverflow) {
  auto executor = Executor::load(writeModel(folder, identityModel(1)), diags);
  ASSERT_TRUE(executor);
  float in[] = {1e6f, 0};
  EXPECT_TRUE(executor->setInputs({{"image", {DType::Float32, {1, 2}, in}}}, diags));
  EXPECT_NE(diags.render().find("1 elements of input 'image' exceed"), std::string::npos) << diags.render();
}

TEST_F(ExecutorTest, NamesTheNodeOfAFault) {
  ObjectFile object = identityModel(1);
  object.segments[0].bytes = Bytes(std::string("\0\0\0\0", 4));
  auto executor = Executor::load(writeModel(folder, object), diags);
  ASSERT_TRUE(executor);
  float in[2] = {};
  ASSERT_TRUE(executor->setInputs({{"image", {DType::Float32, {1, 2}, in}}}, diags));
  EXPECT_FALSE(executor->run(diags));
  ASSERT_EQ(diags.exitCode(), 3);
  EXPECT_EQ(diags.all().back().node, "conv1");
  EXPECT_NE(diags.render().find("'npu_0'"), std::string::npos) << diags.render();
}

TEST_F(ExecutorTest, UnexpectedTrapIsAnError) {
  auto executor = Executor::load(writeModel(folder, identityModel(1337)), diags);
  ASSERT_TRUE(executor);
  float in[2] = {};
  ASSERT_TRUE(executor->setInputs({{"image", {DType::Float32, {1, 2}, in}}}, diags));
  EXPECT_FALSE(executor->run(diags));
  EXPECT_NE(diags.render().find("exit code 1337"), std::string::npos) << diags.render();
}

TEST_F(ExecutorTest, RefusesIncompleteObjects) {
  ObjectFile object = identityModel(1);
  object.symbols.erase(object.symbols.begin());
  EXPECT_FALSE(Executor::load(writeModel(folder, object), diags));
  EXPECT_NE(diags.render().find("tohost"), std::string::npos);
  Diagnostics host;
  object = identityModel(1);
  auto meta = Metadata::fromJson(object.sectionText(section::meta), host);
  ASSERT_TRUE(meta);
  meta->segments[0].onHost = true;
  meta->segments[0].symbol = "tt_host_0";
  object.sections[section::meta] = Bytes(meta->toJson());
  EXPECT_FALSE(Executor::load(writeModel(folder, object), host));
  EXPECT_NE(host.render().find(".tt.host"), std::string::npos);
  object.sections[section::host] = Bytes(std::string("no shared object"));
  Diagnostics broken;
  EXPECT_FALSE(Executor::load(writeModel(folder, object), broken));
  EXPECT_NE(broken.render().find("host part"), std::string::npos);
}

TEST_F(ExecutorTest, PacksInputsIntoThePlainElf) {
  std::string path = writeModel(folder, identityModel(1)), packed = folder.file("alone.elf");
  float in[] = {1.0f, -2.0f};
  ASSERT_TRUE(packWithInputs(path, {{"image", {DType::Float32, {1, 2}, in}}}, packed, diags))
      << diags.render();
  std::string bytes = readAll(packed);
  auto object = ObjectFile::parseElf(Bytes(bytes), "'alone.elf'", diags);
  ASSERT_TRUE(object) << diags.render();
  ASSERT_EQ(object->segments.size(), 3u);
  EXPECT_EQ(object->segments[2].address, 0x02000000u);
  EXPECT_EQ(object->segments[2].bytes.view(), std::string_view("\x00\x3C\x00\xC0", 4));
  std::string_view note = object->sectionText(outputsNote);
  EXPECT_NE(note.find("TensorTurbo"), std::string_view::npos);
  EXPECT_NE(note.find("\"address\":33554432"), std::string_view::npos);
  Diagnostics missing;
  EXPECT_FALSE(packWithInputs(path, {}, folder.file("b.elf"), missing));
  EXPECT_NE(missing.render().find("'image' is missing"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.file("b.elf")));
}

TEST_F(ExecutorTest, WorksThroughTheCInterface) {
  tensorturbo::CompiledModel model(writeModel(folder, identityModel(1)));
  ASSERT_EQ(model.inputCount(), 1u);
  EXPECT_STREQ(model.input(0).name, "image");
  float in[] = {3.0f, 4.0f};
  model.setInput("image", {1, 2}, in);
  model.run();
  std::vector<uint8_t> out = model.outputBytes(0);
  ASSERT_EQ(out.size(), sizeof in);
  EXPECT_EQ(std::memcmp(out.data(), in, sizeof in), 0);
  try {
    model.setInput("image", {2}, in);
    FAIL() << "the shape is wrong";
  } catch (const RuntimeError &e) {
    EXPECT_EQ(e.status(), TT_USER_ERROR);
    EXPECT_NE(std::string(e.what()).find("got [2]"), std::string::npos);
  }
  EXPECT_THROW(CompiledModel(folder.file("absent")), RuntimeError);
  EXPECT_EQ(tt_executor_load(nullptr, nullptr), TT_USER_ERROR);
}

} // namespace
