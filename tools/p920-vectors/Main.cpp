// p920-vectors FOLDER [NAME-PART]: runs the conformance vectors of a folder (*.jsonl, *.sweep.hex, both
// possibly .gz, and sync_timeout.json), optionally only the files whose name contains NAME-PART. Prints each
// failure and closes with "N passed, N failed". Exit code 0 if all passed.
#include "VectorRunner.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cstdio>

using namespace tensorturbo;
using llvm::StringRef;

namespace {

struct Totals {
  size_t passed = 0, failed = 0;
  void count(const std::string &name, const std::string &error) {
    if (error.empty()) {
      ++passed;
      return;
    }
    ++failed;
    std::printf("FAILED %s: %s\n", name.c_str(), error.c_str());
  }
};

void runRecords(const std::string &name, StringRef text, vectors::VectorRunner &runner, Totals &totals) {
  size_t number = 0;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    ++number;
    if (line.trim().empty())
      continue;
    std::string error;
    std::optional<vectors::Record> record = vectors::parseRecord(line, error);
    if (!record)
      totals.count(name + " line " + std::to_string(number), error);
    else
      totals.count(record->name, runner.run(*record));
  }
}

void runSweep(const std::string &name, StringRef text, vectors::VectorRunner &runner, Totals &totals) {
  std::vector<uint16_t> expected;
  while (!(text = text.ltrim()).empty()) {
    StringRef word = text.take_until([](char c) { return c == ' ' || c == '\n' || c == '\r'; });
    uint16_t value = 0;
    if (word.getAsInteger(16, value))
      return totals.count(name, "not a hexadecimal number: result " + std::to_string(expected.size()));
    expected.push_back(value);
    text = text.drop_front(word.size());
  }
  totals.count(name, runner.runSweep(name.substr(0, name.find(".sweep")), expected));
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: p920-vectors FOLDER [NAME-PART]\n");
    return 2;
  }
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(argv[1], error), end; it != end && !error; it.increment(error))
    paths.push_back(it->path());
  if (error) {
    std::fprintf(stderr, "p920-vectors: cannot list %s: %s\n", argv[1], error.message().c_str());
    return 2;
  }
  std::sort(paths.begin(), paths.end());

  vectors::VectorRunner runner;
  Totals totals;
  for (const std::string &path : paths) {
    StringRef name = llvm::sys::path::filename(path);
    if (argc == 3 && !name.contains(argv[2]))
      continue;
    StringRef plain = name.ends_with(".gz") ? name.drop_back(3) : name;
    bool records = plain.ends_with(".jsonl"), sweep = plain.ends_with(".sweep.hex"),
         program = name == "sync_timeout.json";
    if (!records && !sweep && !program)
      continue;
    std::string message;
    std::optional<std::string> text = vectors::readText(path, message);
    if (!text) {
      totals.count(name.str(), message);
    } else if (records) {
      runRecords(plain.str(), *text, runner, totals);
    } else if (sweep) {
      runSweep(plain.str(), *text, runner, totals);
    } else {
      std::optional<vectors::ProgramRecord> record = vectors::parseProgram(*text, message);
      totals.count(name.str(), record ? runner.run(*record) : message);
    }
  }
  std::printf("%zu passed, %zu failed\n", totals.passed, totals.failed);
  return totals.failed || !totals.passed ? 1 : 0;
}
