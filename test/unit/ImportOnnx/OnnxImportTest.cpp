// The conversion to relay, on tiny models that the tests write themselves.
#include "Dialect/Relay/RelayDialect.h"
#include "Import/onnx/Import.h"
#include "ModelWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace tensorturbo;
using namespace onnxtest;

namespace {

class OnnxImport : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "onnx-import-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  bool import(const Parts &parts, const std::map<std::string, std::vector<int64_t>> &shapes = {}) {
    std::ofstream(folder / "model.onnx", std::ios::binary) << modelMessage(parts);
    Diagnostics diags;
    module = onnx::importOnnx((folder / "model.onnx").string(), shapes, context, diags);
    findings = diags.all();
    messages = diags.render();
    text.clear();
    if (module) {
      llvm::raw_string_ostream out(text);
      module->print(out);
    }
    EXPECT_EQ(!module, diags.hasErrors());
    return bool(module);
  }
  bool mentions(const std::string &part) const { return messages.find(part) != std::string::npos; }
  bool prints(const std::string &part) const { return text.find(part) != std::string::npos; }
  static std::string ints(const std::string &name, const std::vector<int64_t> &values) {
    return tensorMessage(name, {static_cast<int64_t>(values.size())}, 7,
                         rawData(values.data(), values.size() * 8));
  }

  std::filesystem::path folder;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Diagnostic> findings;
  std::string messages, text;
};

TEST_F(OnnxImport, NamesFollowTheModel) {
  ASSERT_TRUE(import({})) << messages;
  EXPECT_TRUE(prints("relay.nn.relu %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>")) << text;
  EXPECT_TRUE(prints("relay.name = \"x\"") && prints("relay.name = \"y\"")) << text;
  std::string name;
  module->walk([&](mlir::Operation *op) {
    if (op->getName().getStringRef() == "relay.nn.relu")
      name = relay::nodeName(op->getLoc());
  });
  EXPECT_EQ(name, "node_y");
}

TEST_F(OnnxImport, WeightsAreViewsOfTheFile) {
  Parts p;
  float values[] = {1, 2, 3};
  p.tensors = {tensorMessage("w", {3}, 1, rawData(values, sizeof values))};
  p.nodes = {nodeMessage("Add", {"x", "w"}, {"y"})};
  ASSERT_TRUE(import(p)) << messages;
  std::optional<Constant> constant;
  module->walk([&](mlir::Operation *op) {
    if (op->getNumResults() == 1 && !constant)
      constant = relay::constantOf(op->getResult(0));
  });
  ASSERT_TRUE(constant);
  EXPECT_EQ(constant->shape, std::vector<int64_t>{3});
  EXPECT_EQ(std::memcmp(constant->data, values, sizeof values), 0);
}

TEST_F(OnnxImport, EvaluatesShapeArithmetic) {
  // y = reshape(x, concat(shape(x)[0:1], [-1])) as exporters write a flatten.
  Parts p;
  p.inputs = {{"x", {2, 3, 4}}};
  p.outputs = {{"y", {2, 12}}};
  int64_t zero = 0;
  p.tensors = {tensorMessage("i", {}, 7, rawData(&zero, 8)), ints("rest", {-1}), ints("axes", {0})};
  p.nodes = {nodeMessage("Shape", {"x"}, {"s"}), nodeMessage("Gather", {"s", "i"}, {"b"}),
             nodeMessage("Unsqueeze", {"b", "axes"}, {"b1"}),
             nodeMessage("Concat", {"b1", "rest"}, {"t"}, {}, intAttribute("axis", 0)),
             nodeMessage("Reshape", {"x", "t"}, {"y"})};
  ASSERT_TRUE(import(p)) << messages;
  EXPECT_TRUE(prints("newshape = array<i64: 2, -1>")) << text;
  EXPECT_FALSE(prints("relay.shape_of") || prints("relay.take") || prints("relay.constant")) << text;
  ASSERT_TRUE(import(p, {{"x", {7, 3, 4}}})) << messages;
  EXPECT_TRUE(prints("tensor<7x12xf32>")) << text;
}

TEST_F(OnnxImport, ListsAllUnsupportedOperatorsInOneError) {
  Parts p;
  p.nodes = {nodeMessage("Foo", {"x"}, {"a"}), nodeMessage("Bar", {"a"}, {"b"}),
             nodeMessage("Foo", {"b"}, {"c"}),
             nodeMessage("Softmax", {"c"}, {"y"}, {}, intAttribute("axis", 99))};
  EXPECT_FALSE(import(p));
  ASSERT_EQ(findings.size(), 1u) << messages;
  EXPECT_TRUE(
      mentions("2 operators are not supported: 'Bar' version 17 (1 node: 'node_b'), 'Foo' version 17 (2 "
               "nodes: 'node_a', 'node_c')"))
      << messages;
}

TEST_F(OnnxImport, IgnoresNodesThatNothingUses) {
  Parts p;
  p.nodes = {nodeMessage("Foo", {"x"}, {"unused"}), nodeMessage("Relu", {"x"}, {"y"})};
  EXPECT_TRUE(import(p)) << messages;
}

TEST_F(OnnxImport, ReportsEveryFaultyNodeOnce) {
  Parts p;
  p.nodes = {nodeMessage("Softmax", {"x"}, {"a"}, {}, intAttribute("axis", 5)),
             nodeMessage("Relu", {"a"}, {"b"}),
             nodeMessage("Transpose", {"x"}, {"c"}, {}, intsAttribute("perm", {0, 0})),
             nodeMessage("Add", {"b", "c"}, {"y"})};
  EXPECT_FALSE(import(p));
  ASSERT_EQ(findings.size(), 2u) << messages;
  EXPECT_EQ(findings[0].node, "node_a");
  EXPECT_EQ(findings[1].node, "node_c");
}

TEST_F(OnnxImport, RefusesAttributesItDoesNotKnow) {
  Parts p;
  p.nodes = {nodeMessage("Relu", {"x"}, {"y"}, {}, intAttribute("leak", 1))};
  EXPECT_FALSE(import(p));
  EXPECT_TRUE(mentions("attribute 'leak' of Relu is not supported")) << messages;
  p.nodes = {nodeMessage("Softmax", {"x"}, {"y"}, {}, intsAttribute("axis", {1}))};
  EXPECT_FALSE(import(p));
  EXPECT_TRUE(mentions("attribute 'axis' must be integer, but is integers")) << messages;
}

TEST_F(OnnxImport, NegativeIndicesCountFromTheEnd) {
  Parts p;
  p.tensors = {ints("i", {-1, 0})};
  p.outputs = {{"y", {2, 2}}};
  p.nodes = {nodeMessage("Gather", {"x", "i"}, {"y"}, {}, intAttribute("axis", 1))};
  ASSERT_TRUE(import(p)) << messages;
  std::vector<int64_t> indices;
  module->walk([&](mlir::Operation *op) {
    if (auto c = op->getNumResults() == 1 ? relay::constantOf(op->getResult(0)) : std::nullopt)
      for (size_t i = 0; i < c->bytes / 8; ++i)
        indices.push_back(reinterpret_cast<const int64_t *>(c->data)[i]);
  });
  EXPECT_EQ(indices, (std::vector<int64_t>{2, 0}));
  p.tensors = {ints("i", {3})};
  EXPECT_FALSE(import(p));
  EXPECT_TRUE(mentions("index 3 is outside an axis of 3 elements")) << messages;
}

TEST_F(OnnxImport, TakesTheBranchOfAKnownCondition) {
  Parts p;
  auto model = [&](const char *condition) {
    p.tensors = {tensorMessage("c", {}, 9, rawData(condition, 1))};
    p.nodes = {nodeMessage("If", {"c"}, {"y"}, {},
                           graphAttribute("then_branch", {nodeMessage("Relu", {"x"}, {"t"})}, "t") +
                               graphAttribute("else_branch", {nodeMessage("Neg", {"x"}, {"e"})}, "e"))};
  };
  model("\x01");
  ASSERT_TRUE(import(p)) << messages;
  EXPECT_TRUE(prints("relay.nn.relu") && !prints("relay.negative")) << text;
  model("\x00");
  ASSERT_TRUE(import(p)) << messages;
  EXPECT_TRUE(prints("relay.negative") && !prints("relay.nn.relu")) << text;
}

TEST_F(OnnxImport, AsksForAllOpenShapesAtOnce) {
  Parts p;
  p.inputs = {{"x", {0, 3}}, {"z", {-1, 3}}, {"w", {2, 3}}};
  p.nodes = {nodeMessage("Sum", {"x", "z", "w"}, {"y"})};
  EXPECT_FALSE(import(p));
  ASSERT_EQ(findings.size(), 1u) << messages;
  EXPECT_TRUE(mentions("the shape of 2 inputs is not fully known: 'x' [?, 3], 'z' [?, 3]")) << messages;
  EXPECT_TRUE(import(p, {{"x", {2, 3}}, {"z", {1, 3}}})) << messages;
  EXPECT_FALSE(import(p, {{"x", {2, 3}}, {"zz", {1, 3}}}));
  EXPECT_TRUE(mentions("the model has no input 'zz'") && mentions("did you mean 'z'?")) << messages;
}

TEST_F(OnnxImport, HugeResultsAreRefusedNotAllocated) {
  Parts p;
  p.tensors = {ints("s", {1 << 20, 1 << 20, 1 << 10}), ints("r", {1 << 20, 1 << 20})};
  p.nodes = {nodeMessage("ConstantOfShape", {"s"}, {"y"})};
  EXPECT_FALSE(import(p));
  EXPECT_TRUE(mentions("too large")) << messages;
  p.nodes = {nodeMessage("Tile", {"x", "r"}, {"y"})};
  EXPECT_FALSE(import(p));
  EXPECT_TRUE(mentions("too large")) << messages;
}

TEST_F(OnnxImport, CeilModeIsExpressedByPadding) {
  Parts p;
  p.inputs = {{"x", {1, 1, 6, 6}}};
  p.outputs = {{"y", {1, 1, 3, 3}}};
  p.nodes = {nodeMessage("MaxPool", {"x"}, {"y"}, {},
                         intsAttribute("kernel_shape", {3, 3}) + intsAttribute("strides", {2, 2}) +
                             intAttribute("ceil_mode", 1))};
  ASSERT_TRUE(import(p)) << messages;
  EXPECT_TRUE(prints("padding = array<i64: 0, 0, 1, 1>") && prints("-> tensor<1x1x3x3xf32>")) << text;
}

} // namespace
