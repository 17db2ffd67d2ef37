// Mutants of linked programs: one instruction changed, so that a barrier, a wait, a transfer or an address is
// wrong. They measure what the simulator's checks find.
#pragma once
#include "simulator/Machine.h"
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tensorturbo::sim::test {

struct MemoryImage {
  uint32_t address = 0;
  std::vector<uint8_t> bytes;
};

/// A correct program, ready to be loaded.
struct Subject {
  std::string name;
  int cores = 8;
  uint32_t entry = 0, tohost = 0;
  std::vector<MemoryImage> images;
  /// Index of the image that holds the code.
  size_t code = 0;
  /// Address and bytes of the results in DDR.
  std::vector<std::pair<uint32_t, uint32_t>> outputs;
  /// The results lie in zeroed memory of the program, which is to count as not yet written.
  bool forgetOutputs = false;
  /// Called before a run with checks: tells the machine what is planned.
  std::function<void(Machine &)> prepare;
  /// Called behind a run with checks that ended well: what is wrong with it, or nothing.
  std::function<std::string(Machine &)> finish;
};

enum class Change { DropBarrier, DropWait, SkipTransfer, SkipStore, ShiftAddress };
const char *changeName(Change change);

struct Mutant {
  Change change;
  uint32_t pc = 0;
  std::vector<uint8_t> patch;
};

struct Outcome {
  bool good = false;
  std::string message;
  std::vector<uint8_t> results;
  /// Addresses of outputs that were not written completely.
  std::set<uint32_t> incomplete;
};

/// What became of the mutants of one kind.
struct Tally {
  int mutants = 0;  ///< executed mutants
  int changed = 0;  ///< another result, or no good end, in at least one of the schedules tried
  int reported = 0; ///< the run with checks did not end well
  int missed = 0;   ///< changed, but not reported
  std::vector<std::string> misses;
  Tally &operator+=(const Tally &other);
};

class MutationRun {
public:
  explicit MutationRun(Subject subject);
  /// The unchanged program with checks, in the usual schedule and in random ones. Empty if all went well,
  /// else what did not.
  std::string checkOriginal(int seeds);
  /// At most `limit` mutants of each kind, spread over the program. Only code that runs is changed.
  std::map<Change, Tally> run(size_t limit, int seeds);

private:
  Outcome execute(const MachineOptions &options, const Mutant *mutant,
                  const std::vector<uint32_t> &breakpoints);
  std::vector<Mutant> candidates() const;
  bool isExecuted(const Mutant &mutant);
  bool storesOnChip(const Mutant &mutant);
  MachineOptions options() const;

  Subject subject;
  std::vector<uint8_t> expected;
  std::set<uint32_t> incomplete;
  /// State of the core that met the last breakpoint.
  Core stopped;
};

/// Addresses of the instructions that store a word.
std::vector<uint32_t> storesIn(const MemoryImage &code);

/// One line for each kind of change, then what was missed.
std::string table(const std::map<Change, Tally> &tallies);

} // namespace tensorturbo::sim::test
