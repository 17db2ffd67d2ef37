// Mutants of the recorded programs: every one that can go wrong must be reported, the programs themselves
// never.
#include "Mutants.h"
#include "Support/File.h"
#include "simulator/ElfLoader.h"
#include "simulator/timing/Recorder.h"
#include "llvm/Support/JSON.h"
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <tuple>

using namespace tensorturbo;
using namespace tensorturbo::sim;
using namespace tensorturbo::sim::test;

namespace {

const char *const programs[] = {"hello",  "gemm",      "conv3x3", "conv8",    "exchange", "attention", "int8",
                                "lngelu", "depthwise", "pool",    "sysdma2d", "traps",    "groups"};

std::optional<Subject> load(const std::string &name) {
  const char *root = std::getenv("TT_SHARED");
  std::string base = std::string(root ? root : TT_TEST_SHARED) + "/p920/programs/" + name;
  Diagnostics diags;
  if (!std::filesystem::exists(base + ".elf"))
    return std::nullopt;
  auto json = MappedFile::open(base + ".json", diags), file = MappedFile::open(base + ".elf", diags);
  auto record = llvm::json::parse(json->view());
  auto image = parseElf(file->view(), name, diags);
  EXPECT_TRUE(bool(record) && image) << diags.render();
  Subject subject;
  subject.name = name;
  subject.forgetOutputs = true;
  subject.cores = static_cast<int>(*record->getAsObject()->getInteger("cores"));
  subject.entry = image->entry;
  subject.tohost = *image->symbol("tohost");
  for (const ElfImage::Segment &s : image->segments) {
    std::vector<uint8_t> bytes(s.bytes.begin(), s.bytes.end());
    bytes.resize(s.memorySize);
    if (image->entry - s.address < s.memorySize)
      subject.code = subject.images.size();
    subject.images.push_back({s.address, std::move(bytes)});
  }
  for (const llvm::json::Value &v : *record->getAsObject()->getArray("outputs")) {
    const llvm::json::Object &o = *v.getAsObject();
    subject.outputs.emplace_back(std::stoul(o.getString("address")->str(), nullptr, 16),
                                 static_cast<uint32_t>(*o.getInteger("bytes")));
  }
  return subject;
}

using Place = std::tuple<uint32_t, uint16_t, uint16_t>; // pc, field, core
using Operands = std::map<Place, PlannedOperand>;

/// Makes `value` one of the operand's.
void widen(PlannedOperand &operand, uint32_t value) {
  if (operand.low > operand.high)
    operand.low = operand.high = value;
  uint32_t distance = std::max(value, operand.low) - std::min(value, operand.low);
  operand.step = std::gcd(operand.step, distance);
  operand.low = std::min(operand.low, value);
  operand.high = std::max(operand.high, value);
}

std::vector<PlannedOperand> listOf(const Operands &operands) {
  std::vector<PlannedOperand> list;
  for (auto [place, operand] : operands) {
    operand.step = std::max(operand.step, 1u);
    list.push_back(operand);
  }
  return list;
}

RunResult runUnchanged(const Subject &subject, TraceRecorder *record, const Operands &operands) {
  MachineOptions options;
  options.cores = subject.cores;
  options.trace = record;
  Machine machine(options);
  for (const MemoryImage &image : subject.images)
    machine.writeMemory(0, image.address, image.bytes.data(), image.bytes.size());
  machine.setMemoryPlan({}, listOf(operands));
  return machine.run(subject.entry, subject.tohost);
}

/// How often each core executes which tensor instruction, and on what operands.
Operands recordInstructions(const Subject &subject) {
  TraceRecorder record;
  EXPECT_TRUE(runUnchanged(subject, &record, {}).good()) << subject.name;
  constexpr uint16_t executions = 4;
  Operands operands;
  for (size_t core = 0; core < record.cores(); core++)
    for (const TraceEvent &event : record.events(core)) {
      if (event.kind != TraceEvent::Kind::Instruction && event.kind != TraceEvent::Kind::Barrier)
        continue;
      auto number = static_cast<uint16_t>(core);
      PlannedOperand &count = operands[{event.pc, executions, number}];
      count = {event.pc, executions, number, count.low + 1, count.high + 1, event.pc};
      uint16_t source = 1;
      for (int i = 0; i < event.regionCount; i++) {
        uint16_t field = event.regions[i].isWrite ? 0 : source++;
        auto [it, isNew] = operands.insert({{event.pc, field, number}, {event.pc, field, number, 1, 0, 0}});
        widen(it->second, event.regions[i].address);
      }
    }
  return operands;
}

/// What the program stores to devices: no record has that, so the plan is widened until the program keeps it.
void addStores(const Subject &subject, Operands &operands) {
  constexpr uint16_t storedValue = 3;
  for (uint32_t pc : storesIn(subject.images[subject.code]))
    for (uint16_t core = 0; core < subject.cores; core++)
      operands[{pc, storedValue, core}] = {pc, storedValue, core, 1, 0, 0};
  for (int tries = 0; tries < 5000; tries++) {
    RunResult result = runUnchanged(subject, nullptr, operands);
    const std::string words = "the stored value is 0x";
    size_t at = result.message.find(words);
    if (at == std::string::npos)
      return;
    widen(operands.at({result.pc, storedValue, static_cast<uint16_t>(result.core)}),
          static_cast<uint32_t>(std::stoul(result.message.substr(at + words.size(), 8), nullptr, 16)));
  }
  ADD_FAILURE() << subject.name << " stores too many different values";
}

/// The programs come without a plan: what their instructions do in runs of the unchanged program is taken for
/// it, as a compiler would have known it beforehand.
void plan(Subject &subject) {
  Operands operands = recordInstructions(subject);
  addStores(subject, operands);
  const MemoryImage &code = subject.images[subject.code];
  // Nothing is known about its buffers.
  PlannedCode all{code.address, static_cast<uint32_t>(code.bytes.size()), {{0, UINT32_MAX}}};
  subject.prepare = [all, list = listOf(operands)](Machine &m) { m.setMemoryPlan({all}, list); };
  subject.finish = [all](Machine &m) { return m.finishCode(all.address); };
}

class Programs : public testing::TestWithParam<const char *> {};

TEST_P(Programs, AreNeverReported) {
  auto subject = load(GetParam());
  if (!subject)
    GTEST_SKIP() << "the recorded programs are not there";
  EXPECT_EQ(MutationRun(*subject).checkOriginal(8), "");
  plan(*subject);
  EXPECT_EQ(MutationRun(*subject).checkOriginal(8), "") << "with a plan";
}
INSTANTIATE_TEST_SUITE_P(All, Programs, testing::ValuesIn(programs),
                         [](const auto &info) { return std::string(info.param); });

TEST(Mutation, OfTheRecordedPrograms) {
  std::map<Change, Tally> all;
  for (const char *name : programs) {
    auto subject = load(name);
    if (!subject)
      GTEST_SKIP() << "the recorded programs are not there";
    // The instructions of this one are there to trap: they do nothing that could be planned.
    if (subject->name == "traps")
      continue;
    plan(*subject);
    MutationRun mutation(*subject);
    ASSERT_EQ(mutation.checkOriginal(0), "") << name;
    for (auto &[change, tally] : mutation.run(12, 4))
      all[change] += tally;
  }
  std::printf("%s", table(all).c_str());
  EXPECT_EQ(all.size(), 5u);
  for (const auto &[change, tally] : all) {
    EXPECT_GT(tally.changed, 0) << changeName(change);
    EXPECT_EQ(tally.missed, 0) << changeName(change);
  }
}

} // namespace
