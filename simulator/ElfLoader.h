// Reads RISC-V executables for the machine. The file may be damaged or hostile: everything is bounds-checked.
#pragma once
#include "Support/Diagnostics.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorturbo::sim {

class Machine;

struct ElfImage {
  struct Segment {
    uint32_t address = 0;
    /// Bytes of the file; views the text given to parseElf.
    std::string_view bytes;
    /// At least bytes.size(); the rest is zero.
    uint32_t memorySize = 0;
  };
  uint32_t entry = 0;
  std::vector<Segment> segments;
  /// Values of the named symbols.
  std::map<std::string, uint32_t> symbols;
  std::optional<uint32_t> symbol(const std::string &name) const;
};

/// Accepts 32-bit little-endian RISC-V executables whose segments lie in DDR. Nothing after an error, which
/// is reported with `name` as the file's name.
std::optional<ElfImage> parseElf(std::string_view file, const std::string &name, Diagnostics &diags);

/// Copies the segments into DDR; all of their memory counts as written.
void loadElf(Machine &machine, const ElfImage &image);

} // namespace tensorturbo::sim
