// Reads ELF32 little-endian RISC-V files without trusting any number in them.
#pragma once
#include "runtime/ObjectFile.h"
#include "llvm/BinaryFormat/ELF.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorturbo::runtime {

class ElfReader {
public:
  /// Checks the header and that all tables, segments and sections lie inside the file. `what` (quoted
  /// already) names the file in messages. One user error on failure.
  static std::optional<ElfReader> open(std::string_view file, const std::string &what, Diagnostics &diags);

  /// Null if there is none.
  const llvm::ELF::Elf32_Shdr *findSection(std::string_view name) const;
  /// Segments, symbols and sections as views into `file`, which must be the bytes given to open().
  std::optional<ObjectFile> load(const Bytes &file, Diagnostics &diags) const;

private:
  bool readHeaders(Diagnostics &diags);
  bool readSections(const llvm::ELF::Elf32_Ehdr &header, Diagnostics &diags);
  bool inside(uint64_t offset, uint64_t size, const std::string &part, Diagnostics &diags) const;
  std::string_view stringAt(uint32_t tableSection, uint32_t offset) const;
  std::string_view contents(const llvm::ELF::Elf32_Shdr &section) const;
  void loadSymbols(ObjectFile &object) const;

  std::string_view file;
  std::string what;
  uint32_t entry = 0;
  uint32_t nameTable = 0;
  std::vector<llvm::ELF::Elf32_Phdr> programHeaders;
  std::vector<llvm::ELF::Elf32_Shdr> sections;
};

} // namespace tensorturbo::runtime
