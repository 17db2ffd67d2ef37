#include "Mutants.h"
#include "simulator/AddressMap.h"
#include "simulator/Decode.h"
#include "simulator/hazard/AccessLog.h"
#include <algorithm>
#include <cstring>
#include <memory>

namespace tensorturbo::sim::test {

namespace {

constexpr uint32_t syncWord = 0x3800007B, nop = 0x13;

struct Site {
  uint32_t pc, word, length;
};

/// The instructions of the code image, one after the other.
std::vector<Site> instructions(const MemoryImage &code) {
  std::vector<Site> sites;
  for (size_t at = 0; at + 4 <= code.bytes.size();) {
    Site site{code.address + uint32_t(at), 0, 4};
    std::memcpy(&site.word, &code.bytes[at], 4);
    if ((site.word & 3) != 3) {
      site.word = expandCompressed(static_cast<uint16_t>(site.word));
      site.length = 2;
    }
    sites.push_back(site);
    at += site.length;
  }
  return sites;
}

std::vector<uint8_t> bytesOf(uint32_t word, uint32_t length) {
  std::vector<uint8_t> bytes(length);
  std::memcpy(bytes.data(), &word, length);
  return bytes;
}
std::vector<uint8_t> nothing(uint32_t length) {
  return bytesOf(length == 2 ? 0x0001 : nop, length);
}

bool isTransfer(uint32_t word) {
  return (word & 0xFFF0707F) == 0x2C10107B || (word & 0xFFF0707F) == 0x2C20107B ||
         (word & 0xFFF0707F) == 0x3C00107B || (word & 0xFE00707F) == 0x3400007B;
}

int32_t branchDistance(uint32_t word) {
  int32_t w = static_cast<int32_t>(word);
  return (w >> 31) * 4096 + int32_t((word >> 7 & 1) << 11 | (word >> 25 & 63) << 5 | (word >> 8 & 15) << 1);
}

/// Upper 20 bits of addresses of L1, IM and LLB.
bool isOnChipPage(uint32_t page) {
  uint32_t address = page << 12;
  return address - l1Base < l1Size || address - imBase < imSize || address - llbBase < llbSize;
}

} // namespace

std::vector<uint32_t> storesIn(const MemoryImage &code) {
  std::vector<uint32_t> stores;
  for (const Site &site : instructions(code))
    if ((site.word & 0x707F) == 0x2023)
      stores.push_back(site.pc);
  return stores;
}

const char *changeName(Change change) {
  static const char *const names[] = {"barrier dropped", "wait dropped", "transfer skipped", "store skipped",
                                      "address shifted"};
  return names[static_cast<int>(change)];
}

MutationRun::MutationRun(Subject subject) : subject(std::move(subject)) {}

MachineOptions MutationRun::options() const {
  MachineOptions options;
  options.cores = subject.cores;
  options.maxInstructions = 20'000'000;
  return options;
}

Outcome MutationRun::execute(const MachineOptions &options, const Mutant *mutant,
                             const std::vector<uint32_t> &breakpoints) {
  Machine machine(options);
  for (const MemoryImage &image : subject.images)
    machine.writeMemory(0, image.address, image.bytes.data(), image.bytes.size());
  if (mutant)
    machine.writeMemory(0, mutant->pc, mutant->patch.data(), mutant->patch.size());
  if (subject.forgetOutputs)
    for (auto [address, bytes] : subject.outputs)
      machine.markUnwritten(address, bytes);
  if (options.checks && subject.prepare)
    subject.prepare(machine);
  machine.setBreakpoints(breakpoints);
  RunResult result = machine.run(subject.entry, subject.tohost);
  Outcome outcome;
  outcome.good = result.good();
  outcome.message = !result.message.empty() ? result.message
                    : result.lastTrap       ? result.lastTrap->text
                                            : "ended with " + std::to_string(result.tohost);
  if (outcome.good && options.checks && subject.finish) {
    outcome.message = subject.finish(machine);
    outcome.good = outcome.message.empty();
  }
  if (result.status == RunStatus::Stopped) {
    stopped = machine.core(static_cast<int>(result.core));
    outcome.message = "stopped";
  }
  for (auto [address, bytes] : subject.outputs) {
    size_t at = outcome.results.size();
    outcome.results.resize(at + bytes);
    machine.readMemory(0, address, &outcome.results[at], bytes);
    if (!machine.isWritten(0, address, bytes))
      outcome.incomplete.insert(address);
    // The host reads the results: they must be there, but for those that the program itself leaves as they
    // are.
    if (outcome.good && options.checks && outcome.incomplete.count(address) && !incomplete.count(address)) {
      outcome.good = false;
      outcome.message = "a result was not written completely";
    }
  }
  return outcome;
}

std::string MutationRun::checkOriginal(int seeds) {
  for (int seed = 0; seed <= seeds; seed++) {
    MachineOptions o = options();
    if (seed)
      o.scheduleSeed = seed;
    Outcome outcome = execute(o, nullptr, {});
    if (seed == 0) {
      expected = outcome.results;
      incomplete = outcome.incomplete;
      outcome = execute(o, nullptr, {});
    }
    if (!outcome.good)
      return "schedule " + std::to_string(seed) + ": " + outcome.message;
    if (outcome.results != expected)
      return "schedule " + std::to_string(seed) + ": another result";
  }
  return {};
}

std::vector<Mutant> MutationRun::candidates() const {
  std::vector<Mutant> mutants;
  const MemoryImage &code = subject.images[subject.code];
  Memory memory;
  memory.reserve(0);
  std::memcpy(memory.ddr.data() + code.address, code.bytes.data(), code.bytes.size());
  std::vector<Site> sites = instructions(code);
  for (size_t i = 0; i < sites.size(); i++) {
    const Site &site = sites[i];
    uint32_t opcode = site.word & 0x7F;
    if (site.word == syncWord) {
      mutants.push_back({Change::DropBarrier, site.pc, nothing(site.length)});
    } else if (isTransfer(site.word)) {
      mutants.push_back({Change::SkipTransfer, site.pc, nothing(site.length)});
    } else if (opcode == 0x63 && branchDistance(site.word) <= 0 && branchDistance(site.word) >= -64) {
      uint32_t begin = site.pc + static_cast<uint32_t>(branchDistance(site.word));
      bool waits = std::any_of(sites.begin(), sites.begin() + i, [&](const Site &other) {
        return other.pc >= begin && (other.word & 0x7F) == 0x03 && isSpinLoad(memory, other.pc);
      });
      if (waits)
        mutants.push_back({Change::DropWait, site.pc, nothing(site.length)});
    } else if ((site.word & 0x707F) == 0x2023) {
      mutants.push_back({Change::SkipStore, site.pc, nothing(site.length)});
    } else if (opcode == 0x37 && site.length == 4 && isOnChipPage(site.word >> 12)) {
      mutants.push_back({Change::ShiftAddress, site.pc, bytesOf(site.word + 0x1000, 4)});
      // The low part, if it follows at once.
      const Site *low = i + 1 < sites.size() ? &sites[i + 1] : nullptr;
      if (low && low->length == 4 && (low->word & 0x707F) == 0x13 &&
          (low->word >> 15 & 31) == (site.word >> 7 & 31))
        mutants.push_back({Change::ShiftAddress, low->pc, bytesOf(low->word + (64u << 20), 4)});
    }
  }
  return mutants;
}

bool MutationRun::isExecuted(const Mutant &mutant) {
  MachineOptions o = options();
  o.checks = false;
  return execute(o, nullptr, {mutant.pc}).message == "stopped";
}

/// Whether a store that has just been met goes to a device or to on-chip memory: a change of the scalar
/// code's own data is no matter of these checks.
bool MutationRun::storesOnChip(const Mutant &mutant) {
  const MemoryImage &code = subject.images[subject.code];
  uint32_t word;
  std::memcpy(&word, &code.bytes[mutant.pc - code.address], 4);
  if ((word & 3) != 3)
    word = expandCompressed(static_cast<uint16_t>(word));
  int32_t offset = (static_cast<int32_t>(word) >> 25) * 32 + int32_t(word >> 7 & 31);
  return stopped.x[word >> 15 & 31] + static_cast<uint32_t>(offset) >= ddrSize;
}

std::map<Change, Tally> MutationRun::run(size_t limit, int seeds) {
  std::map<Change, std::vector<Mutant>> byKind;
  for (Mutant &mutant : candidates())
    byKind[mutant.change].push_back(std::move(mutant));
  std::map<Change, Tally> tallies;
  for (auto &[change, mutants] : byKind) {
    Tally &tally = tallies[change];
    // Evenly spread over the program.
    double step = std::max(1.0, double(mutants.size()) / double(limit));
    for (double at = 0; size_t(at) < mutants.size(); at += step) {
      const Mutant &mutant = mutants[size_t(at)];
      if (!isExecuted(mutant) || (change == Change::SkipStore && !storesOnChip(mutant)))
        continue;
      tally.mutants++;
      bool reported = !execute(options(), &mutant, {}).good;
      bool changed = false;
      for (int seed = 0; seed <= seeds && !changed; seed++) {
        MachineOptions o = options();
        o.checks = false;
        if (seed)
          o.scheduleSeed = seed;
        Outcome outcome = execute(o, &mutant, {});
        changed = !outcome.good || outcome.results != expected;
      }
      tally.changed += changed;
      tally.reported += reported;
      if (changed && !reported) {
        tally.missed++;
        char text[32];
        std::snprintf(text, sizeof text, " at 0x%08X", mutant.pc);
        tally.misses.push_back(subject.name + ": " + changeName(change) + text);
      }
    }
  }
  return tallies;
}

Tally &Tally::operator+=(const Tally &other) {
  mutants += other.mutants;
  changed += other.changed;
  reported += other.reported;
  missed += other.missed;
  misses.insert(misses.end(), other.misses.begin(), other.misses.end());
  return *this;
}

std::string table(const std::map<Change, Tally> &tallies) {
  std::string text = "                     mutants  changed  reported  missed\n";
  for (const auto &[change, t] : tallies) {
    char line[128];
    std::snprintf(line, sizeof line, "  %-18s %7d  %7d  %8d  %6d\n", changeName(change), t.mutants, t.changed,
                  t.reported, t.missed);
    text += line;
  }
  for (const auto &[change, t] : tallies)
    for (const std::string &miss : t.misses)
      text += "  missed: " + miss + "\n";
  return text;
}

} // namespace tensorturbo::sim::test
