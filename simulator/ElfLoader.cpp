#include "simulator/ElfLoader.h"
#include "simulator/Machine.h"
#include "simulator/Memory.h"
#include <cstring>

namespace tensorturbo::sim {

namespace {

// The parts of the ELF32 layout that are looked at.
struct FileHeader {
  uint8_t ident[16];
  uint16_t type, machine;
  uint32_t version, entry, programOffset, sectionOffset, flags;
  uint16_t headerSize, programEntrySize, programCount, sectionEntrySize, sectionCount, nameSection;
};
struct ProgramHeader {
  uint32_t type, offset, virtualAddress, physicalAddress, fileSize, memorySize, flags, align;
};
struct SectionHeader {
  uint32_t name, type, flags, address, offset, size, link, info, align, entrySize;
};
struct SymbolEntry {
  uint32_t name, value, size;
  uint8_t info, other;
  uint16_t section;
};

constexpr uint16_t typeExecutable = 2, machineRiscv = 243;
constexpr uint32_t segmentLoad = 1, sectionSymbols = 2, sectionStrings = 3;
// More than any linker writes into a program for the chip.
constexpr uint16_t maxSegments = 4096;

class Parser {
public:
  Parser(std::string_view file, const std::string &name, Diagnostics &diags)
      : file(file), name(name), diags(diags) {}

  std::optional<ElfImage> parse() {
    if (!read(0, header) || std::memcmp(header.ident,
                                        "\x7F"
                                        "ELF",
                                        4) != 0)
      return fail("is not an ELF file");
    if (header.ident[4] != 1 || header.ident[5] != 1 || header.machine != machineRiscv)
      return fail("is not a 32-bit little-endian RISC-V file");
    if (header.type != typeExecutable)
      return fail("is not an executable (ELF type " + std::to_string(header.type) + ")");
    image.entry = header.entry;
    if (!readSegments() || !readSymbols())
      return std::nullopt;
    return std::move(image);
  }

private:
  std::nullopt_t fail(const std::string &what) {
    diags.userError(quoteForMessage(name) + " " + what);
    return std::nullopt;
  }
  bool inFile(uint64_t offset, uint64_t bytes) const {
    return offset <= file.size() && bytes <= file.size() - offset;
  }
  template <class T> bool read(uint64_t offset, T &value) const {
    if (!inFile(offset, sizeof value))
      return false;
    std::memcpy(&value, file.data() + offset, sizeof value);
    return true;
  }

  bool readSegments() {
    if (header.programCount > maxSegments || header.programEntrySize != sizeof(ProgramHeader)) {
      fail("has a program header table of " + std::to_string(header.programCount) + " entries of " +
           std::to_string(header.programEntrySize) + " bytes");
      return false;
    }
    for (uint32_t i = 0; i < header.programCount; i++) {
      ProgramHeader p;
      if (!read(uint64_t(header.programOffset) + i * sizeof p, p)) {
        fail("is truncated: program header " + std::to_string(i) + " lies outside the file");
        return false;
      }
      if (p.type != segmentLoad || p.memorySize == 0)
        continue;
      if (!inFile(p.offset, p.fileSize) || p.fileSize > p.memorySize) {
        fail("is truncated: segment " + std::to_string(i) + " lies outside the file");
        return false;
      }
      if (uint64_t(p.virtualAddress) + p.memorySize > ddrSize) {
        fail("has a segment outside DDR: " + std::to_string(p.memorySize) + " bytes at " +
             hexText(p.virtualAddress));
        return false;
      }
      image.segments.push_back({p.virtualAddress, file.substr(p.offset, p.fileSize), p.memorySize});
    }
    if (image.segments.empty())
      fail("has nothing to load");
    return !image.segments.empty();
  }

  // A file without symbol table is fine; a symbol with an impossible name is left out.
  bool readSymbols() {
    for (uint32_t i = 0; i < header.sectionCount; i++) {
      SectionHeader table, strings;
      if (header.sectionEntrySize != sizeof table ||
          !read(uint64_t(header.sectionOffset) + uint64_t(i) * sizeof table, table)) {
        fail("is truncated: section header " + std::to_string(i) + " lies outside the file");
        return false;
      }
      if (table.type != sectionSymbols)
        continue;
      if (!inFile(table.offset, table.size) || table.link >= header.sectionCount ||
          !read(uint64_t(header.sectionOffset) + uint64_t(table.link) * sizeof strings, strings) ||
          strings.type != sectionStrings || !inFile(strings.offset, strings.size)) {
        fail("has a damaged symbol table");
        return false;
      }
      std::string_view names = file.substr(strings.offset, strings.size);
      for (uint64_t at = 0; at + sizeof(SymbolEntry) <= table.size; at += sizeof(SymbolEntry)) {
        SymbolEntry symbol;
        read(table.offset + at, symbol);
        if (symbol.name == 0 || symbol.name >= names.size())
          continue;
        std::string_view text = names.substr(symbol.name);
        size_t length = text.find('\0');
        if (length != std::string_view::npos && length > 0)
          image.symbols.emplace(text.substr(0, length), symbol.value);
      }
    }
    return true;
  }

  std::string_view file;
  const std::string &name;
  Diagnostics &diags;
  FileHeader header{};
  ElfImage image;
};

} // namespace

std::optional<uint32_t> ElfImage::symbol(const std::string &name) const {
  auto found = symbols.find(name);
  return found == symbols.end() ? std::nullopt : std::optional<uint32_t>(found->second);
}

std::optional<ElfImage> parseElf(std::string_view file, const std::string &name, Diagnostics &diags) {
  return Parser(file, name, diags).parse();
}

void loadElf(Machine &machine, const ElfImage &image) {
  for (const ElfImage::Segment &segment : image.segments) {
    uint8_t *to = machine.ddr(segment.address, segment.memorySize);
    if (!to)
      continue; // an unusable machine; its run says why
    std::memcpy(to, segment.bytes.data(), segment.bytes.size());
    std::memset(to + segment.bytes.size(), 0, segment.memorySize - segment.bytes.size());
    machine.markWritten(segment.address, segment.memorySize);
  }
}

} // namespace tensorturbo::sim
