// The reader on tiny models that the tests write themselves.
#include "Import/onnx/Model.h"
#include "ModelWriter.h"
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

using namespace tensorturbo;
using namespace tensorturbo::onnx;
using namespace onnxtest;

namespace {

class OnnxReader : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "onnx-reader-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void write(const std::string &name, const std::string &bytes) {
    // A new file each time: rewriting one makes some file systems wait for the disk.
    std::filesystem::remove(folder / name);
    std::ofstream(folder / name, std::ios::binary) << bytes;
  }
  std::unique_ptr<Model> load(const std::string &bytes) {
    write("model.onnx", bytes);
    messages.clear();
    Diagnostics diags;
    std::unique_ptr<Model> model = loadModel((folder / "model.onnx").string(), diags);
    messages = diags.render();
    EXPECT_EQ(model == nullptr, diags.hasErrors()) << messages;
    return model;
  }
  /// Expects refusal with a message that contains `part`.
  void refuse(const std::string &bytes, const std::string &part) {
    EXPECT_EQ(load(bytes), nullptr);
    EXPECT_NE(messages.find(part), std::string::npos) << "expected " << part << " in: " << messages;
  }

  std::filesystem::path folder;
  std::string messages;
};

TEST_F(OnnxReader, ReadsAModel) {
  std::unique_ptr<Model> model = load(modelMessage({}));
  ASSERT_TRUE(model) << messages;
  EXPECT_EQ(model->irVersion, 8);
  ASSERT_EQ(model->graph.nodes.size(), 1u);
  EXPECT_EQ(model->graph.nodes[0].opType, "Relu");
  EXPECT_EQ(model->graph.nodes[0].opset, 17);
  EXPECT_EQ(model->graph.nodes[0].label(), "node_y");
  ASSERT_EQ(model->graph.inputs.size(), 1u);
  EXPECT_EQ(model->graph.inputs[0].dims[1].value, 3);
}

TEST_F(OnnxReader, RawDataIsAViewOfTheFile) {
  Parts p;
  float values[] = {1, 2, 3};
  p.tensors = {tensorMessage("w", {3}, 1, rawData(values, sizeof values))};
  std::unique_ptr<Model> model = load(modelMessage(p));
  ASSERT_TRUE(model) << messages;
  const Tensor &w = model->graph.initializers.at(0);
  ASSERT_EQ(w.bytes, sizeof values);
  EXPECT_EQ(std::memcmp(w.data, values, sizeof values), 0);
  EXPECT_GE(w.data, model->file->data());
  EXPECT_LT(w.data, model->file->data() + model->file->size());
}

TEST_F(OnnxReader, DecodesTypedFields) {
  Parts p;
  std::string ints, halves;
  std::vector<int32_t> small{-3, 127, 0}, half{0x3C00, 0xC000};
  pbf_writer(ints).add_packed_int32(5, small.begin(), small.end());
  for (int32_t h : half)
    pbf_writer(halves).add_int32(5, h);
  p.tensors = {tensorMessage("i8", {3}, 3, ints), tensorMessage("f16", {2}, 10, halves)};
  std::unique_ptr<Model> model = load(modelMessage(p));
  ASSERT_TRUE(model) << messages;
  const Tensor &i8 = model->graph.initializers.at(0), &f16 = model->graph.initializers.at(1);
  ASSERT_EQ(i8.bytes, 3u);
  EXPECT_EQ(static_cast<int8_t>(i8.data[0]), -3);
  EXPECT_EQ(i8.data[1], 127);
  ASSERT_EQ(f16.bytes, 4u);
  EXPECT_EQ(f16.data[1], 0x3C);
  EXPECT_EQ(f16.data[3], 0xC0);
}

TEST_F(OnnxReader, RefusesTensorsWhoseDataDoesNotFit) {
  auto with = [](const std::string &tensor) {
    Parts p;
    p.tensors = {tensor};
    return modelMessage(p);
  };
  float values[4] = {};
  refuse(with(tensorMessage("w", {5}, 1, rawData(values, 16))), "needs 20 bytes");
  refuse(with(tensorMessage("w", {-1, -4}, 1, rawData(values, 16))), "negative extent");
  refuse(with(tensorMessage("w", {int64_t(1) << 62, 4}, 1, rawData(values, 16))), "too many elements");
  refuse(with(tensorMessage("w", {0, int64_t(1) << 62, int64_t(1) << 62}, 1, {})), "too many elements");
  refuse(with(tensorMessage("w", {4}, 77, rawData(values, 16))), "type 77");
  refuse(with(tensorMessage("b", {1}, 9, rawData("\x02", 1))), "is bool but holds");
}

TEST_F(OnnxReader, ExternalDataStaysInTheFolder) {
  auto with = [](const std::vector<std::pair<std::string, std::string>> &entries) {
    Parts p;
    p.tensors = {tensorMessage("w", {2}, 1, externalData(entries))};
    return modelMessage(p);
  };
  float values[] = {0, 5, 6};
  write("w.bin", std::string(reinterpret_cast<const char *>(values), sizeof values));
  std::unique_ptr<Model> model = load(with({{"location", "w.bin"}, {"offset", "4"}, {"length", "8"}}));
  ASSERT_TRUE(model) << messages;
  EXPECT_EQ(std::memcmp(model->graph.initializers[0].data, values + 1, 8), 0);

  refuse(with({{"location", "../w.bin"}}), "not a path inside");
  refuse(with({{"location", "a/../../w.bin"}}), "not a path inside");
  refuse(with({{"location", "/etc/passwd"}}), "not a path inside");
  refuse(with({{"location", "none.bin"}}), "does not exist");
  refuse(with({{"location", "w.bin"}, {"offset", "-4"}}), "not a valid number");
  refuse(with({{"location", "w.bin"}, {"offset", "18446744073709551615"}}), "not a valid number");
  refuse(with({{"location", "w.bin"}, {"offset", "100"}}), "past the end");
  refuse(with({{"location", "w.bin"}, {"offset", "8"}, {"length", "8"}}), "needs 8 bytes");
  std::filesystem::path outside = folder.string() + "-outside";
  std::ofstream(outside) << "12345678";
  std::filesystem::create_symlink(outside, folder / "link.bin");
  refuse(with({{"location", "link.bin"}}), "leads out of");
  std::filesystem::remove(outside);
}

TEST_F(OnnxReader, SortsNodesAndFindsCycles) {
  Parts p;
  p.nodes = {nodeMessage("Relu", {"b"}, {"y"}), nodeMessage("Relu", {"a"}, {"b"}),
             nodeMessage("Relu", {"x"}, {"a"})};
  std::unique_ptr<Model> model = load(modelMessage(p));
  ASSERT_TRUE(model) << messages;
  EXPECT_EQ(model->graph.nodes.front().outputs[0], "a");
  EXPECT_EQ(model->graph.nodes.back().outputs[0], "y");

  p.nodes = {nodeMessage("Add", {"x", "b"}, {"a"}), nodeMessage("Relu", {"a"}, {"b"}),
             nodeMessage("Relu", {"b"}, {"y"})};
  refuse(modelMessage(p), "cycle");
}

TEST_F(OnnxReader, ReportsAllFaultyNamesAtOnce) {
  Parts p;
  p.nodes = {nodeMessage("Add", {"x", "u1"}, {"a"}), nodeMessage("Add", {"a", "u2"}, {"y"}),
             nodeMessage("Relu", {"x"}, {"a"})};
  refuse(modelMessage(p), "'u1'");
  EXPECT_NE(messages.find("'u2'"), std::string::npos);
  EXPECT_NE(messages.find("'a' is defined twice"), std::string::npos);

  p.nodes.clear();
  for (int i = 0; i < 5000; ++i)
    p.nodes.push_back(nodeMessage("Relu", {"u" + std::to_string(i)}, {"v" + std::to_string(i)}));
  p.nodes.push_back(nodeMessage("Relu", {"x"}, {"y"}));
  refuse(modelMessage(p), "4980 more");
  EXPECT_LT(messages.size(), 10000u);
}

TEST_F(OnnxReader, ChecksVersions) {
  Parts p;
  p.opset = 6;
  refuse(modelMessage(p), "operator set 6; versions 7 to 22");
  p.opset = 23;
  refuse(modelMessage(p), "operator set 23");
  p = {};
  p.ir = 99;
  refuse(modelMessage(p), "IR version is 99");
  p = {};
  p.nodes = {nodeMessage("Gelu", {"x"}, {"y"}, "com.other")};
  refuse(modelMessage(p), "'com.other' is used by 1 node(s) but not imported");
}

std::string functionMessage(const std::string &name, const std::vector<std::string> &nodes) {
  std::string out, id;
  pbf_writer w(out);
  w.add_string(1, name);
  w.add_string(4, "in");
  w.add_string(5, "out");
  for (const std::string &n : nodes)
    w.add_message(7, n);
  pbf_writer o(id);
  o.add_string(1, "");
  o.add_int64(2, 17);
  w.add_message(9, id);
  std::string local;
  pbf_writer l(local);
  l.add_string(1, "local");
  l.add_int64(2, 1);
  w.add_message(9, local);
  w.add_string(10, "local");
  return out;
}

TEST_F(OnnxReader, InlinesFunctions) {
  Parts p;
  p.domains = {{"local", 1}};
  p.functions = {
      functionMessage("Twice", {nodeMessage("Relu", {"in"}, {"t"}), nodeMessage("Neg", {"t"}, {"out"})})};
  p.nodes = {nodeMessage("Twice", {"x"}, {"a"}, "local"), nodeMessage("Twice", {"a"}, {"y"}, "local")};
  std::unique_ptr<Model> model = load(modelMessage(p));
  ASSERT_TRUE(model) << messages;
  ASSERT_EQ(model->graph.nodes.size(), 4u);
  EXPECT_EQ(model->graph.nodes[0].inputs[0], "x");
  EXPECT_NE(model->graph.nodes[0].outputs[0], model->graph.nodes[2].outputs[0]);
  EXPECT_EQ(model->graph.nodes[3].outputs[0], "y");
}

TEST_F(OnnxReader, RefusesFunctionsThatExplode) {
  Parts p;
  p.domains = {{"local", 1}};
  p.nodes = {nodeMessage("F0", {"x"}, {"y"}, "local")};
  for (int i = 0; i < 40; ++i) {
    std::string next = i == 39 ? "Relu" : "F" + std::to_string(i + 1), domain = i == 39 ? "" : "local";
    p.functions.push_back(
        functionMessage("F" + std::to_string(i), {nodeMessage(next, {"in"}, {"t"}, domain),
                                                  nodeMessage(next, {"t"}, {"out"}, domain)}));
  }
  refuse(modelMessage(p), "more than 500000 nodes");

  p.functions = {functionMessage("F0", {nodeMessage("F0", {"in"}, {"out"}, "local")})};
  refuse(modelMessage(p), "calls itself");
}

TEST_F(OnnxReader, RefusesDeepNesting) {
  std::string graph;
  pbf_writer(graph).add_string(2, "innermost");
  for (int i = 0; i < 3000; ++i) {
    std::string attribute, node, outer;
    pbf_writer a(attribute);
    a.add_string(1, "then_branch");
    a.add_message(6, graph);
    pbf_writer n(node);
    n.add_string(4, "If");
    n.add_message(5, attribute);
    pbf_writer(outer).add_message(1, node);
    graph = outer;
  }
  std::string model;
  pbf_writer w(model);
  w.add_int64(1, 8);
  w.add_message(7, graph);
  refuse(model, "nested more than 64 deep");
}

TEST_F(OnnxReader, RecognisesWhatIsNotOnnx) {
  refuse("", "the file is empty");
  refuse("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull");
  refuse("<!DOCTYPE html><html><body>Not found</body></html>", "holds text");
  refuse("PK\x03\x04 archive", "ZIP");
  refuse(std::string(64, '\0'), "zeros");
  Diagnostics diags;
  EXPECT_EQ(loadModel((folder / "missing.onnx").string(), diags), nullptr);
  EXPECT_TRUE(diags.hasErrors());
}

TEST_F(OnnxReader, SkipsUnknownFieldsAndGroups) {
  std::string bytes = modelMessage({});
  // Field 100 as a group that holds a varint and a nested group of field 101.
  auto key = [](uint64_t field, unsigned type) {
    std::string out;
    protozero::add_varint_to_buffer(&out, field << 3 | type);
    return out;
  };
  bytes += key(100, 3) + key(1, 0) + "\x05" + key(101, 3) + key(101, 4) + key(100, 4);
  EXPECT_TRUE(load(bytes)) << messages;
  refuse(modelMessage({}) + key(100, 3) + key(101, 4), "group");
}

/// Whatever bytes a file has: an answer, never a crash.
TEST_F(OnnxReader, SurvivesEveryTruncationAndRandomDamage) {
  Parts p;
  float values[] = {1, 2, 3};
  p.domains = {{"local", 1}};
  p.tensors = {tensorMessage("w", {3}, 1, rawData(values, sizeof values))};
  p.functions = {functionMessage("F", {nodeMessage("Relu", {"in"}, {"out"})})};
  p.nodes = {nodeMessage("F", {"x"}, {"a"}, "local"), nodeMessage("Add", {"a", "w"}, {"y"})};
  std::string good = modelMessage(p);
  ASSERT_TRUE(load(good)) << messages;
  std::mt19937 random(7);
  for (size_t n = 0; n < good.size(); ++n)
    load(good.substr(0, n));
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    for (unsigned k = random() % 4 + 1; k--;)
      bad[random() % bad.size()] = static_cast<char>(random());
    load(bad);
  }
}

} // namespace
