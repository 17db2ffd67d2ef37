#include "Pipeline/Options.h"
#include <gtest/gtest.h>

using namespace tensorturbo;

namespace {

/// The findings after setting one option, as text; `options` keeps the value if it was taken.
std::string setAndRender(CompileOptions &options, const std::string &name, const OptionValue &value) {
  Diagnostics diags;
  bool good = setOption(options, name, value, diags);
  EXPECT_EQ(good, !diags.hasErrors());
  return diags.render();
}

TEST(Options, TakesGoodValues) {
  CompileOptions o;
  EXPECT_EQ(setAndRender(o, "ncore", int64_t(4)), "");
  EXPECT_EQ(o.ncore, 4);
  EXPECT_EQ(setAndRender(o, "required_pass", std::vector<std::string>{"A", "B"}), "");
  EXPECT_EQ(o.requiredPass.size(), 2u);
  EXPECT_EQ(setAndRender(o, "target", std::string("llvm")), "");
  EXPECT_EQ(o.target, "llvm");
  EXPECT_EQ(setAndRender(o, "fifo", false), "");
}

TEST(Options, NoneIsTheDefault) {
  CompileOptions o;
  o.ncore = 1;
  EXPECT_EQ(setAndRender(o, "ncore", {}), "");
  EXPECT_EQ(o.ncore, 8);
  EXPECT_EQ(setAndRender(o, "quant_config", {}), "");
}

TEST(Options, RefusesWhatIsWrong) {
  CompileOptions o;
  EXPECT_NE(setAndRender(o, "ncore", int64_t(3)).find("one of 1, 2, 4, 8 is expected, got 3"),
            std::string::npos);
  EXPECT_NE(setAndRender(o, "ncore", true).find("got True"), std::string::npos);
  EXPECT_NE(setAndRender(o, "graph_schedule_level", int64_t(5)).find("0, 1, 2, 3, 4"), std::string::npos);
  EXPECT_NE(setAndRender(o, "dma_load_unroll", int64_t(-1)).find("from 0"), std::string::npos);
  EXPECT_NE(setAndRender(o, "kernel", std::string("GPU")).find("'NPUKernel'"), std::string::npos);
  EXPECT_NE(setAndRender(o, "required_pass", std::string("A")).find("list of names"), std::string::npos);
  EXPECT_NE(setAndRender(o, "insn_schedule", int64_t(1)).find("True or False"), std::string::npos);
  EXPECT_NE(setAndRender(o, "ncroe", int64_t(1)).find("did you mean 'ncore'?"), std::string::npos);
  EXPECT_NE(setAndRender(o, "zzzzzzzzzzzzzz", int64_t(1)).find("known options"), std::string::npos);
  EXPECT_TRUE(optionsAsText(o).empty()) << "a refused value must not stay";
}

TEST(Options, IsHonestAboutWhatIsToCome) {
  CompileOptions o;
  EXPECT_NE(setAndRender(o, "fifo", true).find("only its default is possible"), std::string::npos);
  EXPECT_NE(setAndRender(o, "quant_config", std::string("{}")).find("still to come"), std::string::npos);
  EXPECT_NE(
      setAndRender(o, "unpack_graph_ops", false).find("warning: option 'unpack_graph_ops' has no effect yet"),
      std::string::npos);
}

TEST(Options, ReadsText) {
  CompileOptions o;
  Diagnostics diags;
  EXPECT_TRUE(setOptionFromText(o, "ncore", "2", diags));
  EXPECT_TRUE(setOptionFromText(o, "disabled_pass", "A,,B", diags));
  EXPECT_TRUE(setOptionFromText(o, "dump_file", "1", diags));
  EXPECT_EQ(o.ncore, 2);
  EXPECT_EQ(o.disabledPass, (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(o.dumpFile, "1");
  for (const char *bad : {"", "2x", "99999999999999999999", "-"})
    EXPECT_FALSE(setOptionFromText(o, "ncore", bad, diags)) << bad;
  EXPECT_FALSE(setOptionFromText(o, "fifo", "maybe", diags));
}

TEST(Options, EveryNameIsKnown) {
  for (const std::string &name : optionNames()) {
    CompileOptions o;
    Diagnostics diags;
    EXPECT_TRUE(setOption(o, name, {}, diags)) << name << ": " << diags.render();
  }
}

} // namespace
