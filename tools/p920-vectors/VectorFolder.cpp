#include "VectorFolder.h"
#include "VectorRunner.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>

namespace tensorturbo::vectors {

using llvm::StringRef;

namespace {

struct Totals : FolderResult {
  const std::function<void(const std::string &, const std::string &)> &onFailure;
  void count(const std::string &name, const std::string &error) {
    if (error.empty()) {
      ++passed;
      return;
    }
    ++failed;
    onFailure(name, error);
  }
};

void runRecords(const std::string &name, StringRef text, VectorRunner &runner, Totals &totals) {
  size_t number = 0;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    ++number;
    if (line.trim().empty())
      continue;
    std::string error;
    std::optional<Record> record = parseRecord(line, error);
    if (!record)
      totals.count(name + " line " + std::to_string(number), error);
    else
      totals.count(record->name, runner.run(*record));
  }
}

void runSweep(const std::string &name, StringRef text, VectorRunner &runner, Totals &totals) {
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

std::optional<FolderResult>
runFolder(const std::string &folder, const std::string &part,
          const std::function<void(const std::string &, const std::string &)> &onFailure,
          std::string &error) {
  std::vector<std::string> paths;
  std::error_code failure;
  for (llvm::sys::fs::directory_iterator it(folder, failure), end; it != end && !failure;
       it.increment(failure))
    paths.push_back(it->path());
  if (failure) {
    error = "cannot list " + folder + ": " + failure.message();
    return std::nullopt;
  }
  std::sort(paths.begin(), paths.end());

  VectorRunner runner;
  Totals totals{{}, onFailure};
  for (const std::string &path : paths) {
    StringRef name = llvm::sys::path::filename(path);
    if (!name.contains(part))
      continue;
    StringRef plain = name.ends_with(".gz") ? name.drop_back(3) : name;
    bool records = plain.ends_with(".jsonl"), sweep = plain.ends_with(".sweep.hex"),
         program = name == "sync_timeout.json";
    if (!records && !sweep && !program)
      continue;
    std::string message;
    std::optional<std::string> text = readText(path, message);
    if (!text) {
      totals.count(name.str(), message);
    } else if (records) {
      runRecords(plain.str(), *text, runner, totals);
    } else if (sweep) {
      runSweep(plain.str(), *text, runner, totals);
    } else {
      std::optional<ProgramRecord> record = parseProgram(*text, message);
      totals.count(name.str(), record ? runner.run(*record) : message);
    }
  }
  return totals;
}

} // namespace tensorturbo::vectors
