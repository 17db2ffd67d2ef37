// p920-run: runs a program for the chip from reset on the functional model.
#include "Support/File.h"
#include "simulator/ElfLoader.h"
#include "simulator/Machine.h"
#include "simulator/timing/Report.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using namespace tensorturbo;

namespace {

const char *const usage =
    "usage: p920-run [options] program.elf\n"
    "Runs an executable from reset on all cores until the word at its symbol 'tohost' becomes non-zero.\n"
    "The exit status is 0 if that word is 1, else its low byte (or 1); 1 after a trap without handler, a "
    "failed\n"
    "check or a deadlock; 2 for wrong arguments.\n"
    "  --cores N            number of cores, 1 to 8 (default 8)\n"
    "  --threads N          number of host threads (default 1)\n"
    "  --fill HALF          fill L1, IM and LLB with this hexadecimal half first, e.g. FFFF\n"
    "  --no-checks          do not stop at reads of never-written memory\n"
    "  --timing             print what the timing model says: cycles, engines, waits\n"
    "  --report F           write the same as JSON, with what every core executed\n"
    "  --trace F            write a trace for the Perfetto viewer\n"
    "  --profile NAME       constants of the timing model: base (default) or slow-vector\n"
    "  --ddr SHARING        what the other clusters do to the DDR: same-model (default), idle or saturating\n"
    "  --timing-only        skip tensor arithmetic and data movement\n"
    "  --counts             print what every core executed, as JSON\n"
    "  --dump ADDR:BYTES=F  write memory to the file F afterwards (ADDR hexadecimal; may be repeated)\n"
    "  --max-instructions N stop after N instructions of all cores together\n"
    "  --sync-timeout N     barrier time-out in instructions\n";

struct Dump {
  uint32_t address;
  size_t bytes;
  std::string file;
};

struct Arguments {
  sim::MachineOptions machine;
  bool counts = false, timing = false;
  std::string report, trace, profile = "base";
  sim::DdrSharing ddr = sim::DdrSharing::SameModel;
  std::string program;
  std::vector<Dump> dumps;
};

bool parseNumber(const char *text, int base, uint64_t most, uint64_t &value) {
  char *end = nullptr;
  errno = 0;
  value = std::strtoull(text, &end, base);
  return *text && *text != '-' && !*end && errno == 0 && value <= most;
}

bool parseDump(const std::string &text, Dump &dump) {
  size_t colon = text.find(':'), equals = text.find('=');
  uint64_t address, bytes;
  if (colon == std::string::npos || equals == std::string::npos || equals < colon ||
      !parseNumber(text.substr(0, colon).c_str(), 16, 0xFFFFFFFF, address) ||
      !parseNumber(text.substr(colon + 1, equals - colon - 1).c_str(), 10, 1u << 30, bytes))
    return false;
  dump = {static_cast<uint32_t>(address), bytes, text.substr(equals + 1)};
  return true;
}

/// An option of the timing model; nothing if `name` is none, false for a bad value.
std::optional<bool> parseTimingOption(const std::string &name, const std::string &text,
                                      Arguments &arguments) {
  if (name == "--report")
    arguments.report = text;
  else if (name == "--trace")
    arguments.trace = text;
  else if (name == "--profile")
    arguments.profile = text;
  else if (name == "--ddr")
    return sim::parseDdrSharing(text, arguments.ddr);
  else
    return std::nullopt;
  return !text.empty() && (name != "--profile" || target::p920().costs(text));
}

/// False after wrong arguments, which are reported.
bool parseArguments(int argc, char **argv, Arguments &arguments) {
  for (int i = 1; i < argc; i++) {
    std::string name = argv[i];
    if (name == "--no-checks") {
      arguments.machine.checks = false;
    } else if (name == "--counts") {
      arguments.counts = true;
    } else if (name == "--timing") {
      arguments.timing = true;
    } else if (name == "--timing-only") {
      arguments.timing = true;
      arguments.machine.arithmetic = false;
    } else if (name == "--report" || name == "--trace" || name == "--profile" || name == "--ddr") {
      const char *text = ++i < argc ? argv[i] : "";
      if (!*parseTimingOption(name, text, arguments)) {
        std::fprintf(stderr, "p920-run: error: bad value %s of %s\n", quoteForMessage(text).c_str(),
                     name.c_str());
        return false;
      }
    } else if (name == "--cores" || name == "--threads" || name == "--fill" || name == "--max-instructions" ||
               name == "--sync-timeout" || name == "--dump") {
      const char *text = ++i < argc ? argv[i] : "";
      uint64_t value = 0;
      Dump dump;
      bool good = name == "--dump"                           ? parseDump(text, dump)
                  : name == "--fill"                         ? parseNumber(text, 16, 0xFFFF, value)
                  : name == "--cores" || name == "--threads" ? parseNumber(text, 10, 8, value) && value >= 1
                                                             : parseNumber(text, 10, ~0ull, value);
      if (!good) {
        std::fprintf(stderr, "p920-run: error: bad value %s of %s\n", quoteForMessage(text).c_str(),
                     name.c_str());
        return false;
      }
      if (name == "--dump")
        arguments.dumps.push_back(dump);
      else if (name == "--fill")
        arguments.machine.fill = static_cast<uint16_t>(value);
      else if (name == "--cores")
        arguments.machine.cores = static_cast<int>(value);
      else if (name == "--threads")
        arguments.machine.threads = static_cast<int>(value);
      else if (name == "--max-instructions")
        arguments.machine.maxInstructions = value;
      else
        arguments.machine.syncTimeout = value;
    } else if (name.size() > 1 && name[0] == '-') {
      std::fprintf(stderr, "p920-run: error: unknown option %s\n%s", quoteForMessage(name).c_str(), usage);
      return false;
    } else if (arguments.program.empty()) {
      arguments.program = name;
    } else {
      std::fprintf(stderr, "p920-run: error: more than one program given\n");
      return false;
    }
  }
  if (arguments.program.empty())
    std::fputs(usage, stderr);
  return !arguments.program.empty();
}

void printCounts(const sim::Machine &machine) {
  std::printf("{");
  for (int i = 0; i < machine.cores(); i++) {
    const sim::CoreCounters &c = machine.counters(i);
    std::printf("%s\n \"%d\": {\"retired\": %llu, \"instructions\": {", i ? "," : "", i,
                static_cast<unsigned long long>(c.retired));
    const char *separator = "";
    for (const auto &[mnemonic, count] : c.instructions) {
      std::printf("%s\"%s\": %llu", separator, mnemonic.c_str(), static_cast<unsigned long long>(count));
      separator = ", ";
    }
    std::printf("}, \"csr_writes\": %llu, \"csr_writes_same_value\": %llu, \"mme_cycles\": %llu, "
                "\"vme_cycles\": %llu, \"mte_bytes\": %llu, \"trapped\": %llu}",
                static_cast<unsigned long long>(c.csrWrites),
                static_cast<unsigned long long>(c.csrWritesSameValue),
                static_cast<unsigned long long>(c.mmeCycles), static_cast<unsigned long long>(c.vmeCycles),
                static_cast<unsigned long long>(c.mteBytes), static_cast<unsigned long long>(c.trapped));
  }
  std::printf("\n}\n");
}

void reportTiming(const Arguments &arguments, const sim::Machine &machine, const sim::TraceRecorder &record,
                  Diagnostics &diags) {
  sim::RunReport report;
  report.profile = arguments.profile;
  report.ddr = arguments.ddr;
  report.costs = *target::p920().costs(arguments.profile);
  sim::TimingOptions options;
  options.costs = report.costs;
  options.ddr = arguments.ddr;
  options.slices = !arguments.trace.empty();
  report.timing = sim::simulateTiming(record, options);
  report.bound = sim::programBound(report.timing, report.costs, {}, machine.cores(), arguments.ddr);
  for (int i = 0; i < machine.cores(); i++)
    report.cores.push_back(machine.counters(i));
  if (arguments.timing)
    std::fputs(report.table().c_str(), stdout);
  if (!arguments.report.empty())
    writeFileAtomically(arguments.report,
                        {llvm::formatv("{0:2}\n", llvm::json::Value(report.toJson())).str()}, diags);
  if (!arguments.trace.empty())
    writeFileAtomically(arguments.trace, {report.perfetto()}, diags);
}

int exitStatus(const sim::RunResult &result) {
  if (result.good())
    return 0;
  int code = static_cast<int>(result.tohost & 0xFF);
  return result.status == sim::RunStatus::Exited && code ? code : 1;
}

int failed(const Diagnostics &diags) {
  std::fputs(diags.render().c_str(), stderr);
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i++)
    if (!std::strcmp(argv[i], "--help")) {
      std::fputs(usage, stdout);
      return 0;
    }
  if (!parseArguments(argc, argv, arguments))
    return 2;
  Diagnostics diags;
  auto file = MappedFile::open(arguments.program, diags);
  if (!file)
    return failed(diags);
  auto image = sim::parseElf(file->view(), arguments.program, diags);
  if (image && !image->symbol("tohost"))
    diags.userError(quoteForMessage(arguments.program) + " has no symbol 'tohost'");
  if (diags.hasErrors())
    return failed(diags);

  sim::TraceRecorder record;
  bool timed = arguments.timing || !arguments.report.empty() || !arguments.trace.empty();
  if (timed)
    arguments.machine.trace = &record;
  sim::Machine machine(arguments.machine);
  sim::loadElf(machine, *image);
  sim::RunResult result = machine.run(image->entry, *image->symbol("tohost"));
  if (!result.message.empty())
    std::fprintf(stderr, "p920-run: %s\n", result.message.c_str());
  else if (!result.good()) {
    std::fprintf(stderr, "p920-run: the program ended with %llu\n",
                 static_cast<unsigned long long>(result.tohost));
    if (result.lastTrap)
      std::fprintf(stderr, "p920-run: last %s\n", result.lastTrap->text.c_str());
  }
  if (arguments.counts)
    printCounts(machine);
  if (timed)
    reportTiming(arguments, machine, record, diags);
  for (const Dump &dump : arguments.dumps) {
    std::vector<char> bytes(dump.bytes);
    if (!machine.readMemory(0, dump.address, bytes.data(), bytes.size()))
      diags.userError("cannot dump " + std::to_string(dump.bytes) + " bytes: outside the memories");
    else
      writeFileAtomically(dump.file, {{bytes.data(), bytes.size()}}, diags);
  }
  return diags.hasErrors() ? failed(diags) : exitStatus(result);
}
