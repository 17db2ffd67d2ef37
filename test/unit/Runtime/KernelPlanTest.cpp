#include "runtime/KernelPlan.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace tensorturbo;
using namespace tensorturbo::runtime;

namespace {

Buffer at(uint32_t address) {
  return {address, 64, DType::Float16};
}

KernelInfo kernel(const std::string &symbol, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs) {
  KernelInfo k;
  k.symbol = symbol;
  for (uint32_t address : inputs)
    k.inputs.push_back({at(address), {32}, 1, ""});
  for (uint32_t address : outputs)
    k.outputs.push_back({at(address), {32}, 1, ""});
  return k;
}

using Lists = std::vector<std::vector<uint32_t>>;
Lists addresses(const std::vector<FreedBuffers> &freed) {
  Lists out;
  for (const FreedBuffers &f : freed) {
    out.emplace_back();
    for (const FreedRange &r : f)
      out.back().push_back(r.address);
  }
  return out;
}

// A chain whose third kernel writes where the first one's input lay, with a value that skips a kernel.
TEST(KernelPlan, BuffersAreFreedAfterTheirLastReader) {
  Metadata meta;
  meta.kernels = {kernel("a", {0x100}, {0x200}), kernel("b", {0x200}, {0x300}),
                  kernel("c", {0x300, 0x200}, {0x100}), kernel("d", {0x100}, {0x400})};
  meta.outputs = {{"y", {32}, DType::Float16, at(0x400)}};
  EXPECT_EQ(addresses(freedBuffers(meta)), (Lists{{0x100}, {}, {0x300, 0x200}, {0x100}}));
  // Nobody reads it: it is free at once. An output of the model never is.
  meta.kernels[1].outputs.push_back({at(0x500), {32}, 1, ""});
  EXPECT_EQ(addresses(freedBuffers(meta))[1], (std::vector<uint32_t>{0x500}));
  meta.outputs.push_back({"z", {32}, DType::Float16, at(0x500)});
  EXPECT_EQ(addresses(freedBuffers(meta))[1], (std::vector<uint32_t>{}));
  // Two kernels that make one result together.
  meta.kernels.insert(meta.kernels.begin() + 1, meta.kernels[0]);
  EXPECT_EQ(addresses(freedBuffers(meta))[0], (std::vector<uint32_t>{}));
  EXPECT_EQ(addresses(freedBuffers(meta))[1], (std::vector<uint32_t>{0x100}));
}

// What lies in DDR may be on its way until a kernel reads it.
TEST(KernelPlan, ResultsAreCompleteBehindTheirLastReader) {
  Metadata meta;
  meta.kernels = {kernel("a", {0x100}, {0x200}), kernel("b", {0x200}, {0xF8000000}),
                  kernel("c", {0x200, 0xF8000000}, {0x100}), kernel("d", {0x100}, {0x200}),
                  kernel("e", {}, {0x500})};
  meta.outputs = {{"y", {32}, DType::Float16, at(0x200)}};
  auto behind = [&](size_t i) { return completeBehind(meta, i, meta.kernels[i].outputs[0]); };
  EXPECT_EQ(behind(0), 2u);
  EXPECT_EQ(behind(1), 1u);
  EXPECT_EQ(behind(2), 3u);
  EXPECT_EQ(behind(3), 5u) << "an output of the model";
  EXPECT_EQ(behind(4), 4u) << "nobody reads it";
}

// In LLB a kernel's own buffers end with each run, weights and tensors behind the last kernel that names
// them.
TEST(KernelPlan, BuffersInLlbAreFreedByName) {
  constexpr uint32_t own = 0xF8000000, weights = 0xF8001000, part = 0xF8002000, whole = 0xF8003000;
  Metadata meta;
  meta.residents = {{"weights", weights, 64}, {"part", part, 64, 2}, {"whole", whole, 64}};
  meta.kernels = {kernel("a", {}, {}), kernel("b", {}, {}), kernel("c", {}, {})};
  meta.kernels[0].buffers = {
      {"rows", 0xC0000000, 64}, {"own", own, 64}, meta.residents[0], meta.residents[1]};
  meta.kernels[1].buffers = {meta.residents[0], meta.residents[1], meta.residents[2]};
  meta.kernels[2].buffers = {meta.residents[2], {"weights", own, 64}};
  meta.kernels[1].parts = 4;
  auto freed = freedBuffers(meta);
  EXPECT_EQ(addresses(freed), (Lists{{own}, {part, weights}, {own, whole}}));

  // A part of the batch is two runs of the second kernel.
  sim::MachineOptions options;
  options.cores = 1;
  sim::Machine machine(options);
  auto written = [&](uint32_t address) { return machine.isWritten(0, address, 64); };
  for (int run = 0; run < 4; ++run) {
    for (uint32_t address : {part, weights, 0xC0000000u})
      machine.markWritten(address, 64);
    EXPECT_EQ(finishRun(machine, meta, {0, 1, 0}, freed[1], run), "");
    EXPECT_EQ(written(part), run % 2 == 0) << run;
    EXPECT_EQ(written(weights), run < 3) << run;
    EXPECT_FALSE(written(0xC0000000)) << run;
  }

  // A tensor made in the place of another one.
  meta.residents.push_back({"in place", part, 64});
  for (size_t i : {1, 2})
    meta.kernels[i].buffers.push_back(meta.residents.back());
  EXPECT_EQ(addresses(freedBuffers(meta)), (Lists{{own}, {weights}, {own, part, whole}}));
}

// Calls by jal and by auipc and jalr, each with a barrier behind it; a barrier without a call.
TEST(KernelPlan, EndsAreTheBarriersBehindTheCalls) {
  constexpr uint32_t base = 0x01400000, sync = 0x3800007B;
  std::vector<uint32_t> words = {
      0x010000EF,                   // 00: jal ra, 0x10 behind
      sync,                         // 04
      0x00000097, 0x018080E7, sync, // 08: call 0x20
      sync,                         // 14
  };
  words.resize(16);
  std::vector<uint8_t> bytes(4 * words.size());
  std::memcpy(bytes.data(), words.data(), bytes.size());
  ObjectFile object;
  object.segments.resize(1);
  object.segments[0].address = base;
  object.segments[0].executable = true;
  object.segments[0].memorySize = static_cast<uint32_t>(bytes.size());
  object.segments[0].bytes = Bytes(std::move(bytes));
  object.symbols = {{"tt_main", base, 0x18}, {"first", base + 0x10, 4}, {"second", base + 0x20, 4}};
  Metadata meta;
  meta.kernels = {kernel("first", {}, {}), kernel("second", {}, {}), kernel("absent", {}, {})};
  auto ends = findKernelEnds(object, meta);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0].barrier, base + 0x04);
  EXPECT_EQ(ends[0].kernel, 0u);
  EXPECT_EQ(ends[1].barrier, base + 0x10);
  EXPECT_EQ(ends[1].kernel, 1u);

  meta.kernels[1].buffers = {{"rows", 0xC0000000, 256}};
  meta.kernels[1].buffers.push_back({"weights", 0xF8000000, 64});
  auto code = plannedCode(object, meta);
  ASSERT_EQ(code.size(), 1u);
  EXPECT_EQ(code[0].address, base + 0x20);
  ASSERT_EQ(code[0].buffers.size(), 2u);
  EXPECT_EQ(code[0].buffers[1].address, 0xF8000000u);
}

} // namespace
