// Conformance records: one JSON object per line, possibly compressed.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace llvm::json {
class Object;
class Array;
class Value;
} // namespace llvm::json

namespace tensorturbo::vectors {

/// The text of a file; .gz is unpacked. Nothing with a message after an error.
std::optional<std::string> readText(const std::string &path, std::string &error);

/// Bytes at an address.
struct Piece {
  uint32_t address = 0;
  std::string bytes;
};

/// A register or CSR number with a value.
struct Numbered {
  uint32_t number = 0;
  uint64_t value = 0;
};

struct ExpectedTrap {
  uint32_t cause = 0, value = 0;
};

/// One instruction with the state before and after.
struct Exec {
  uint32_t word = 0;
  std::vector<Numbered> csr, x, f;
  std::vector<Piece> memory;
  std::vector<Piece> memoryAfter;
  std::vector<Numbered> xAfter, fAfter;
  std::optional<ExpectedTrap> trap;
};

/// One step of a core in a record of several cores.
struct StepRecord {
  enum Kind { Execute, Barrier, Store, Load, Poll, Delay } kind = Delay;
  Exec exec;
  uint32_t address = 0, value = 0, mask = 0;
};

struct CoreRecord {
  uint32_t core = 0;
  std::vector<Piece> memory, memoryAfter;
  std::vector<StepRecord> steps;
};

struct Record {
  std::string name;
  /// 0: a single instruction, `exec`. Otherwise the number of cores in the system.
  int systemCores = 0;
  Exec exec;
  std::vector<CoreRecord> cores;
};

/// A whole program on several cores (sync_timeout.json).
struct ProgramRecord {
  std::string name;
  int systemCores = 1;
  uint64_t syncTimeout = 0;
  uint32_t entry = 0, exitAddress = 0;
  std::vector<Piece> load, memoryAfter;
};

/// Nothing with a message if the text is no such record.
std::optional<Record> parseRecord(std::string_view line, std::string &error);
std::optional<ProgramRecord> parseProgram(std::string_view text, std::string &error);

} // namespace tensorturbo::vectors
