#include "runtime/Metadata.h"
#include <gtest/gtest.h>

using namespace tensorturbo;
using namespace tensorturbo::runtime;

static Metadata sample() {
  Metadata m;
  m.producer = "TensorTurbo 0.1.0";
  m.ncore = 4;
  m.inputs = {{"x \"quoted\"", {2, 3}, DType::Float32, {0x02000000, 12, DType::Float16}}};
  m.outputs = {{"y", {}, DType::Int64, {0x02000040, 8, DType::Int64}}};
  RunSegment npu;
  npu.index = 3;
  npu.nodes = {"conv1"};
  RunSegment host;
  host.onHost = true;
  host.symbol = "tt_host_0";
  host.buffers = {0x02000000, 0x02000040};
  host.bufferBytes = {12, 8};
  host.results = 1;
  m.segments = {npu, host};
  m.kernels.resize(1);
  m.kernels[0].symbol = "npu_0_0_conv";
  m.kernels[0].nodes = {"conv1"};
  m.kernels[0].outputs = {{{0x02000100, 8, DType::Float16}, {4, 2}, 2, "conv1"}};
  m.kernels[0].parts = 2;
  m.kernels[0].buffers = {{"rows", 0xC0000000, 4096}};
  m.residents = {{"weights", 0xF8000000, 64, 2}};
  m.ddrEnd = 0x02001000;
  m.nodes = {{"argmax", "ArgMax", "host", "not on the NPU"}};
  m.options = {{"ncore", "4"}};
  m.sourcePath = "model.onnx";
  m.workload = Workload{{{8, 64, 100, 1}, {1, 10, 64, 12}}, 77, 4096, 1000};
  return m;
}

TEST(Metadata, SurvivesTheRoundTrip) {
  Diagnostics diags;
  auto m = Metadata::fromJson(sample().toJson(), diags);
  ASSERT_TRUE(m) << diags.render();
  EXPECT_EQ(m->toJson(), sample().toJson());
  EXPECT_EQ(m->inputs[0].name, "x \"quoted\"");
  EXPECT_EQ(m->segments[1].bufferBytes[1], 8u);
  EXPECT_EQ(m->outputs[0].elements(), 1);
  ASSERT_EQ(m->kernels.size(), 1u);
  EXPECT_EQ(m->kernels[0].outputs.at(0).node, "conv1");
  EXPECT_EQ(m->kernels[0].outputs.at(0).parts, 2);
  EXPECT_EQ(m->kernels[0].parts, 2);
  EXPECT_EQ(m->residents.at(0).parts, 2);
  EXPECT_EQ(m->kernels[0].buffers.at(0).bytes, 4096u);
  EXPECT_EQ(m->residents.at(0).address, 0xF8000000u);
  ASSERT_TRUE(m->workload);
  EXPECT_EQ(m->workload->products.at(1).count, 12);
  EXPECT_EQ(m->workload->vectorElements, 4096);
}

/// The message for the sample with one piece of its text replaced.
static std::string messageFor(const std::string &from, const std::string &to) {
  std::string text = sample().toJson();
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  Diagnostics diags;
  EXPECT_FALSE(Metadata::fromJson(text, diags)) << to;
  EXPECT_EQ(diags.exitCode(), 1);
  return diags.render();
}

TEST(Metadata, NamesWhatIsDamaged) {
  EXPECT_NE(messageFor("\"bytes\":12", "\"bytes\":13").find("needs 12 bytes, got 13"), std::string::npos);
  EXPECT_NE(messageFor("[2,3]", "[4294967295,4294967295,4294967295]").find("4 GiB"), std::string::npos);
  EXPECT_NE(messageFor("[2,3]", "[2,-3]").find("inputs[0].shape[1]"), std::string::npos);
  EXPECT_NE(messageFor("\"float16\"", "\"float17\"").find("'float17'"), std::string::npos);
  EXPECT_NE(messageFor("[4,2]", "[4,3]").find("kernels[0].outputs[0].buffer.bytes"), std::string::npos);
  EXPECT_NE(messageFor("\"bytes\":4096", "\"bytes\":-1").find("kernels[0].buffers[0].bytes"),
            std::string::npos);
  EXPECT_NE(messageFor("\"ncore\":4", "\"ncore\":99").find("ncore"), std::string::npos);
  EXPECT_NE(messageFor("\"buffer_bytes\":[12,8]", "\"buffer_bytes\":[12]").find("buffer_bytes"),
            std::string::npos);
  EXPECT_NE(messageFor("\"results\":1", "\"results\":3").find("results"), std::string::npos);
  EXPECT_NE(messageFor("\"kind\":\"npu\"", "\"kind\":\"gpu\"").find("'gpu'"), std::string::npos);
}

TEST(Metadata, RefusesNewerVersions) {
  EXPECT_NE(messageFor("\"format_version\":1", "\"format_version\":2").find("newer version"),
            std::string::npos);
}

TEST(Metadata, SurvivesHostileText) {
  for (const std::string &text :
       {std::string(), std::string("[]"), std::string("{"), std::string(1000000, '['),
        std::string("{\"a\":") + std::string(100000, '{'), std::string("\xff\xfe{}")}) {
    Diagnostics diags;
    EXPECT_FALSE(Metadata::fromJson(text, diags));
    EXPECT_TRUE(diags.hasErrors());
    EXPECT_TRUE(provenanceFromJson(text).empty());
  }
}

TEST(Metadata, ProvenanceIsOrderedByAddress) {
  auto entries =
      provenanceFromJson(provenanceToJson({{"b", 0x20, 8, {"relu"}}, {"a", 0x10, 16, {"conv", "add"}}}));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].symbol, "a");
  EXPECT_EQ(entries[0].nodes, (std::vector<std::string>{"conv", "add"}));
}
