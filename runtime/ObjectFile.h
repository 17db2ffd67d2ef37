// The object file (.stcobj): an ELF32 RISC-V executable with the NPU program, the weights and named sections.
//
// Layout in the file: ELF header, program headers, section headers, contents, and last the section
// .tt.checksum, which protects every byte before it. docs/object-file.md describes it for readers.
#pragma once
#include "Support/Diagnostics.h"
#include "runtime/Bytes.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tensorturbo::runtime {

/// Names of the project's own sections.
namespace section {
inline constexpr const char *meta = ".tt.meta";
inline constexpr const char *host = ".tt.host";
inline constexpr const char *provenance = ".tt.provenance";
inline constexpr const char *schedule = ".tt.schedule";
inline constexpr const char *operands = ".tt.operands";
inline constexpr const char *checksum = ".tt.checksum";
/// Of a core dump: registers as JSON, and the bytes of the memories.
inline constexpr const char *core = ".tt.core";
inline constexpr const char *memory = ".tt.memory";
} // namespace section

/// Section .tt.operands is an array of these: whenever core `core` executes the instruction at `pc`, the
/// register of its field `field` (0 rd, 1 rs1, 2 rs2; 3: the value that it stores) is one of `low`, low +
/// step,
/// ... `high`. Field 4: each run of its kernel executes the instructions of number `step`, all together,
/// between `low` and `high` times.
struct OperandBounds {
  static constexpr uint16_t storedValue = 3, executions = 4, everyCore = 0xFFFF;
  uint32_t pc = 0;
  uint16_t field = 0, core = everyCore;
  uint32_t low = 0, high = 0, step = 1;
};
static_assert(sizeof(OperandBounds) == 20);

/// Bytes that a loader puts into the chip's memory.
struct Segment {
  /// Address in the chip's map, e.g. 0x01400000 for the program.
  uint32_t address = 0;
  Bytes bytes;
  /// Size in memory; what lies beyond `bytes` is zero. Never below bytes.size().
  uint32_t memorySize = 0;
  bool executable = false;
  bool writable = false;
  /// Section name, e.g. ".text" or ".weights"; made up from the flags when empty.
  std::string name;
};

struct Symbol {
  std::string name;
  uint32_t address = 0;
  uint32_t size = 0;
};

struct ObjectFile {
  uint32_t entry = 0;
  std::vector<Segment> segments;
  /// Non-loadable sections by name (".tt.meta" ...), .tt.checksum excepted.
  std::map<std::string, Bytes> sections;
  std::vector<Symbol> symbols;

  /// Null if there is no such symbol.
  const Symbol *findSymbol(std::string_view name) const;
  /// Contents of a section as text; empty if absent.
  std::string_view sectionText(const std::string &name) const;

  /// Writes the file atomically, with checksum. Errors: unwritable path, full disk, overlapping segments.
  bool write(const std::string &path, Diagnostics &diags) const;
  /// Maps and checks an object file; segments and sections are views into the mapping. A missing, truncated,
  /// corrupted, foreign or newer file is one user error.
  static std::optional<ObjectFile> read(const std::string &path, Diagnostics &diags);

  /// Reads any ELF32 RISC-V executable (a linker's output, say): loadable segments, symbols with names and
  /// sections that start with ".tt." or ".note.". No checksum is asked for. `what` names it in messages.
  static std::optional<ObjectFile> parseElf(const Bytes &file, const std::string &what, Diagnostics &diags);
  /// Writes a plain ELF without checksum, for other loaders.
  bool writeElf(const std::string &path, Diagnostics &diags) const;
};

} // namespace tensorturbo::runtime
