#include "runtime/ElfReader.h"
#include <algorithm>
#include <cstring>

using namespace tensorturbo;
using namespace tensorturbo::runtime;
using namespace llvm::ELF;

bool ElfReader::inside(uint64_t offset, uint64_t size, const std::string &part, Diagnostics &diags) const {
  if (offset + size <= file.size())
    return true;
  diags.userError(what + " is truncated or corrupted: " + part + " ends at byte " +
                  std::to_string(offset + size) + ", the file has " + std::to_string(file.size()));
  return false;
}

std::optional<ElfReader> ElfReader::open(std::string_view file, const std::string &what, Diagnostics &diags) {
  ElfReader reader;
  reader.file = file;
  reader.what = what;
  if (!reader.readHeaders(diags))
    return std::nullopt;
  return reader;
}

bool ElfReader::readHeaders(Diagnostics &diags) {
  size_t magicBytes = std::min<size_t>(file.size(), 4);
  if (file.empty() || std::memcmp(file.data(), ElfMagic, magicBytes) != 0) {
    diags.userError(what + (file.empty() ? " is empty" : " is not an object file: it is no ELF file"));
    return false;
  }
  Elf32_Ehdr header;
  if (!inside(0, sizeof header, "the ELF header", diags))
    return false;
  std::memcpy(&header, file.data(), sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS32 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_RISCV || header.e_type != ET_EXEC) {
    diags.userError(what + " is an ELF file, but not a 32-bit RISC-V executable");
    return false;
  }
  if ((header.e_phnum && header.e_phentsize != sizeof(Elf32_Phdr)) ||
      (header.e_shnum && header.e_shentsize != sizeof(Elf32_Shdr))) {
    diags.userError(what + " is corrupted: its ELF headers have an unknown size");
    return false;
  }
  entry = header.e_entry;
  uint64_t bytes = uint64_t(header.e_phnum) * sizeof(Elf32_Phdr);
  if (!inside(header.e_phoff, bytes, "the table of segments", diags))
    return false;
  programHeaders.resize(header.e_phnum);
  if (bytes)
    std::memcpy(programHeaders.data(), file.data() + header.e_phoff, bytes);
  for (const Elf32_Phdr &p : programHeaders)
    if (p.p_type == PT_LOAD && !inside(p.p_offset, p.p_filesz, "a segment", diags))
      return false;
  return readSections(header, diags);
}

bool ElfReader::readSections(const Elf32_Ehdr &header, Diagnostics &diags) {
  uint64_t bytes = uint64_t(header.e_shnum) * sizeof(Elf32_Shdr);
  if (!inside(header.e_shoff, bytes, "the table of sections", diags))
    return false;
  sections.resize(header.e_shnum);
  if (bytes)
    std::memcpy(sections.data(), file.data() + header.e_shoff, bytes);
  nameTable = header.e_shstrndx;
  for (size_t i = 0; i < sections.size(); ++i) {
    const Elf32_Shdr &s = sections[i];
    if (s.sh_type == SHT_NULL || s.sh_type == SHT_NOBITS)
      continue;
    if (!inside(s.sh_offset, s.sh_size, "section " + std::to_string(i), diags))
      return false;
  }
  return true;
}

std::string_view ElfReader::contents(const Elf32_Shdr &s) const {
  if (s.sh_type == SHT_NULL || s.sh_type == SHT_NOBITS)
    return {};
  return file.substr(s.sh_offset, s.sh_size);
}

std::string_view ElfReader::stringAt(uint32_t tableSection, uint32_t offset) const {
  if (tableSection >= sections.size())
    return {};
  std::string_view table = contents(sections[tableSection]);
  if (offset >= table.size())
    return {};
  table.remove_prefix(offset);
  return table.substr(0, std::min(table.find('\0'), table.size()));
}

const Elf32_Shdr *ElfReader::findSection(std::string_view name) const {
  for (const Elf32_Shdr &s : sections)
    if (s.sh_type != SHT_NULL && s.sh_type != SHT_NOBITS && stringAt(nameTable, s.sh_name) == name)
      return &s;
  return nullptr;
}

void ElfReader::loadSymbols(ObjectFile &object) const {
  for (const Elf32_Shdr &table : sections) {
    if (table.sh_type != SHT_SYMTAB || table.sh_entsize != sizeof(Elf32_Sym))
      continue;
    std::string_view bytes = contents(table);
    for (size_t i = 0; i + sizeof(Elf32_Sym) <= bytes.size(); i += sizeof(Elf32_Sym)) {
      Elf32_Sym s;
      std::memcpy(&s, bytes.data() + i, sizeof s);
      std::string_view name = stringAt(table.sh_link, s.st_name);
      // '$x' and '$d' only mark code and data for disassemblers.
      if (s.st_shndx == SHN_UNDEF || name.empty() || name[0] == '$' || s.getType() == STT_FILE ||
          s.getType() == STT_SECTION)
        continue;
      object.symbols.push_back({std::string(name), s.st_value, s.st_size});
    }
  }
}

std::optional<ObjectFile> ElfReader::load(const Bytes &bytes, Diagnostics &diags) const {
  ObjectFile object;
  object.entry = entry;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const Elf32_Phdr &p : programHeaders) {
    if (p.p_type != PT_LOAD || p.p_memsz == 0)
      continue;
    uint64_t end = uint64_t(p.p_vaddr) + p.p_memsz;
    if (p.p_filesz > p.p_memsz || end > (uint64_t(1) << 32)) {
      diags.userError(what + " is corrupted: a segment does not fit its memory");
      return std::nullopt;
    }
    ranges.emplace_back(p.p_vaddr, end);
    Segment s;
    s.address = p.p_vaddr;
    s.memorySize = p.p_memsz;
    s.bytes = bytes.slice(p.p_offset, p.p_filesz);
    s.executable = p.p_flags & PF_X;
    s.writable = p.p_flags & PF_W;
    for (const Elf32_Shdr &h : sections)
      if ((h.sh_flags & SHF_ALLOC) && h.sh_addr == p.p_vaddr) {
        s.name = stringAt(nameTable, h.sh_name);
        break;
      }
    object.segments.push_back(std::move(s));
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second) {
      diags.userError(what + " is corrupted: its segments overlap");
      return std::nullopt;
    }
  for (const Elf32_Shdr &s : sections) {
    std::string_view name = stringAt(nameTable, s.sh_name);
    if (s.sh_type == SHT_NULL || s.sh_type == SHT_NOBITS || (s.sh_flags & SHF_ALLOC))
      continue;
    if (name.rfind(".tt.", 0) == 0 || name.rfind(".note.", 0) == 0)
      object.sections.emplace(std::string(name), bytes.slice(s.sh_offset, s.sh_size));
  }
  loadSymbols(object);
  return object;
}
