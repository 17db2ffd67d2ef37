#include "HostCpu/Internal.h"
#include "llvm/BinaryFormat/ELF.h"
#include <cstring>

using namespace llvm::ELF;

namespace tensorturbo::host {
namespace {

constexpr size_t alignment = 64;
size_t aligned(size_t offset) {
  return (offset + alignment - 1) / alignment * alignment;
}

} // namespace

std::vector<char> makeDataObject(const std::vector<HostConstant> &constants) {
  // Sections: none, .rodata, .symtab, .strtab, .shstrtab.
  static const char sectionNames[] = "\0.rodata\0.symtab\0.strtab\0.shstrtab";
  std::vector<Elf64_Sym> symbols(1);
  std::string names(1, '\0');
  size_t dataSize = 0;
  for (const HostConstant &constant : constants) {
    Elf64_Sym symbol = {};
    symbol.st_name = Elf64_Word(names.size());
    symbol.setBindingAndType(STB_GLOBAL, STT_OBJECT);
    symbol.st_other = STV_HIDDEN;
    symbol.st_shndx = 1;
    symbol.st_value = dataSize;
    symbol.st_size = constant.bytes;
    symbols.push_back(symbol);
    names += constant.symbol;
    names += '\0';
    dataSize = aligned(dataSize + constant.bytes);
  }
  const size_t dataOffset = alignment, symbolOffset = dataOffset + dataSize,
               nameOffset = symbolOffset + symbols.size() * sizeof(Elf64_Sym),
               sectionNameOffset = nameOffset + names.size(),
               headerOffset = aligned(sectionNameOffset + sizeof(sectionNames));

  Elf64_Shdr sections[5] = {};
  auto set = [&](int i, int name, int type, size_t offset, size_t size) {
    sections[i].sh_name = name;
    sections[i].sh_type = type;
    sections[i].sh_offset = offset;
    sections[i].sh_size = size;
    sections[i].sh_addralign = 1;
  };
  set(1, 1, SHT_PROGBITS, dataOffset, dataSize);
  sections[1].sh_flags = SHF_ALLOC;
  sections[1].sh_addralign = alignment;
  set(2, 9, SHT_SYMTAB, symbolOffset, symbols.size() * sizeof(Elf64_Sym));
  sections[2].sh_link = 3;
  sections[2].sh_info = 1; // the first global symbol
  sections[2].sh_entsize = sizeof(Elf64_Sym);
  sections[2].sh_addralign = 8;
  set(3, 17, SHT_STRTAB, nameOffset, names.size());
  set(4, 25, SHT_STRTAB, sectionNameOffset, sizeof(sectionNames));

  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ElfMagic, 4);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(header);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 5;
  header.e_shstrndx = 4;
  header.e_shoff = headerOffset;

  std::vector<char> object(headerOffset + sizeof(sections));
  std::memcpy(object.data(), &header, sizeof(header));
  for (size_t i = 0; i < constants.size(); ++i)
    if (constants[i].bytes > 0)
      std::memcpy(object.data() + dataOffset + symbols[i + 1].st_value, constants[i].data,
                  constants[i].bytes);
  std::memcpy(object.data() + symbolOffset, symbols.data(), symbols.size() * sizeof(Elf64_Sym));
  std::memcpy(object.data() + nameOffset, names.data(), names.size());
  std::memcpy(object.data() + sectionNameOffset, sectionNames, sizeof(sectionNames));
  std::memcpy(object.data() + headerOffset, sections, sizeof(sections));
  return object;
}

} // namespace tensorturbo::host
