#include "runtime/RunTimer.h"
#include <gtest/gtest.h>

using namespace tensorturbo;
using namespace tensorturbo::runtime;

TEST(RunTimer, NamesWrongRequests) {
  Diagnostics diags;
  TimingRequest request;
  request.profile = "fast";
  request.constants = {{"sync.fixd", 5}, {"sync.fixed", 0}, {"overlap.exact", 0.5}, {"queue.depth", 4}};
  EXPECT_EQ(RunTimer::create(request, {}, diags), nullptr);
  std::string text = diags.render();
  for (const char *part : {"'fast'", "slow-vector", "'sync.fixd'", "did you mean sync.fixed?",
                           "constant sync.fixed is out of range", "constant overlap.exact is out of range"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in\n" << text;
  EXPECT_EQ(text.find("queue.depth"), std::string::npos);
}

TEST(RunTimer, BoundOfTheModel) {
  Diagnostics diags;
  auto timer = RunTimer::create({}, {}, diags);
  ASSERT_TRUE(timer) << diags.render();
  Metadata meta;
  meta.ncore = 8;
  meta.inputs = {{"x", {1000}, DType::Float32, {0x02000000, 2000, DType::Float16}}};
  meta.outputs = {{"y", {500}, DType::Float32, {0x02001000, 1000, DType::Float16}}};
  // Three products with ragged tiles, a grouped convolution, vector work.
  meta.workload = Workload{{{33, 65, 100, 3}}, 2048 * 80, 64 * 8 * 10, 24000};
  ObjectFile object;
  Segment weights, program;
  weights.bytes = Bytes(std::vector<uint8_t>(30000));
  program.bytes = Bytes(std::vector<uint8_t>(5000));
  program.executable = true;
  object.segments = {weights, program};
  sim::LowerBound bound = timer->report(object, meta).bound;
  EXPECT_EQ(bound.basis, "model");
  EXPECT_DOUBLE_EQ(bound.mme, (3 * 2 * 2 * 100 + 80) / 8.0);
  EXPECT_DOUBLE_EQ(bound.vme, 10);
  EXPECT_DOUBLE_EQ(bound.ddr, 27000 / 27.0);
  EXPECT_DOUBLE_EQ(bound.llb, 27000 / 256.0);
  EXPECT_DOUBLE_EQ(bound.mte, 27000 / (8 * 64.0));
  EXPECT_STREQ(bound.limit(), "ddr");
  EXPECT_DOUBLE_EQ(bound.total(), 1000 + bound.edge);
  // Objects of older versions do not say what the model asks for.
  meta.workload.reset();
  EXPECT_EQ(timer->report(object, meta).bound.basis, "program");
}
