#include "runtime/ObjectFile.h"
#include "runtime/BlockHash.h"
#include "runtime/ElfReader.h"
#include "llvm/BinaryFormat/ELF.h"
#include <algorithm>
#include <cstring>

using namespace tensorturbo;
using namespace tensorturbo::runtime;
using namespace llvm::ELF;

namespace {

/// Contents of .tt.checksum, the last bytes of the file.
struct ChecksumRecord {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  /// Bytes of the file that the hash covers: all but this record.
  uint64_t covered;
  uint64_t hash;
};
static_assert(sizeof(ChecksumRecord) == 32);
constexpr char checksumMagic[8] = {'T', 'T', 'C', 'H', 'E', 'C', 'K', '\0'};
constexpr uint32_t containerVersion = 1;
/// Segments lie at file offsets congruent to their addresses by this.
constexpr uint64_t contentAlignment = 64;

/// Lays out an ELF file as a list of pieces without copying the contents.
class Writer {
public:
  Writer(const ObjectFile &object, bool withChecksum) : object(object), withChecksum(withChecksum) {}

  /// False if the file would not fit ELF32.
  bool layOut() {
    addSection("", SHT_NULL, 0, 0, {});
    uint64_t headerEnd = headerBytes();
    end = headerEnd;
    for (const Segment &s : object.segments)
      addSegment(s);
    for (const auto &[name, bytes] : object.sections)
      addSection(name, name.rfind(".note", 0) == 0 ? SHT_NOTE : SHT_PROGBITS, 0, 4, bytes.view());
    buildSymbols();
    Elf32_Shdr &symtab = addSection(".symtab", SHT_SYMTAB, 0, 4, symbolBytes());
    symtab.sh_entsize = sizeof(Elf32_Sym);
    symtab.sh_info = 1;
    symtab.sh_link = static_cast<uint32_t>(sections.size());
    addSection(".strtab", SHT_STRTAB, 0, 1, symbolNames);
    // The names of the last two sections must be in the table before its size is known.
    uint32_t tableName = addName(".shstrtab");
    uint32_t checksumName = withChecksum ? addName(section::checksum) : 0;
    addSection(tableName, SHT_STRTAB, 0, 1, sectionNames);
    tableIndex = sections.size() - 1;
    if (withChecksum)
      addSection(checksumName, SHT_PROGBITS, 0, 8, {reinterpret_cast<const char *>(&record), sizeof record});
    return end <= UINT32_MAX;
  }

  bool write(const std::string &path, Diagnostics &diags) {
    std::string headers = headerText();
    std::vector<ByteSpan> pieces{headers};
    pieces.insert(pieces.end(), contents.begin(), contents.end());
    if (withChecksum) {
      BlockHash hash;
      for (size_t i = 0; i + 1 < pieces.size(); ++i)
        hash.update(pieces[i]);
      std::memcpy(record.magic, checksumMagic, sizeof record.magic);
      record.version = containerVersion;
      record.covered = end - sizeof record;
      record.hash = hash.finish();
    }
    return writeFileAtomically(path, pieces, diags);
  }

private:
  size_t sectionCount() const {
    return 1 + object.segments.size() + object.sections.size() + 3 + (withChecksum ? 1 : 0);
  }
  uint64_t headerBytes() const {
    return sizeof(Elf32_Ehdr) + object.segments.size() * sizeof(Elf32_Phdr) +
           sectionCount() * sizeof(Elf32_Shdr);
  }

  uint32_t addName(const std::string &name) {
    if (sectionNames.empty())
      sectionNames.push_back('\0');
    if (name.empty())
      return 0;
    uint32_t at = static_cast<uint32_t>(sectionNames.size());
    sectionNames += name;
    sectionNames.push_back('\0');
    return at;
  }

  void pad(uint64_t to) {
    static const char zeros[contentAlignment] = {};
    if (to > end)
      contents.push_back({zeros, static_cast<size_t>(to - end)});
    end = to;
  }

  Elf32_Shdr &addSection(const std::string &name, uint32_t type, uint32_t flags, uint32_t align,
                         std::string_view bytes) {
    return addSection(addName(name), type, flags, align, bytes);
  }

  Elf32_Shdr &addSection(uint32_t nameOffset, uint32_t type, uint32_t flags, uint32_t align,
                         std::string_view bytes) {
    if (align > 1)
      pad((end + align - 1) / align * align);
    Elf32_Shdr s{};
    s.sh_name = nameOffset;
    s.sh_type = type;
    s.sh_flags = flags;
    s.sh_addralign = align;
    if (type != SHT_NULL) {
      s.sh_offset = static_cast<uint32_t>(end);
      s.sh_size = static_cast<uint32_t>(bytes.size());
      contents.push_back(bytes);
      end += bytes.size();
    }
    sections.push_back(s);
    return sections.back();
  }

  void addSegment(const Segment &s) {
    std::string name = s.name;
    if (name.empty())
      name = s.executable ? ".text" : s.bytes.empty() ? ".bss" : s.writable ? ".data" : ".rodata";
    uint32_t flags = SHF_ALLOC | (s.executable ? SHF_EXECINSTR : 0u) | (s.writable ? SHF_WRITE : 0u);
    pad(end + (s.address - end) % contentAlignment);
    Elf32_Shdr &header =
        addSection(name, s.bytes.empty() ? SHT_NOBITS : SHT_PROGBITS, flags, 1, s.bytes.view());
    header.sh_addr = s.address;
    if (s.bytes.empty())
      header.sh_size = s.memorySize;
    Elf32_Phdr p{};
    p.p_type = PT_LOAD;
    p.p_offset = header.sh_offset;
    p.p_vaddr = p.p_paddr = s.address;
    p.p_filesz = static_cast<uint32_t>(s.bytes.size());
    p.p_memsz = s.memorySize;
    p.p_flags = PF_R | (s.executable ? PF_X : 0u) | (s.writable ? PF_W : 0u);
    p.p_align = contentAlignment;
    programHeaders.push_back(p);
  }

  void buildSymbols() {
    symbols.push_back({});
    symbolNames.push_back('\0');
    for (const Symbol &s : object.symbols) {
      Elf32_Sym out{};
      out.st_name = static_cast<uint32_t>(symbolNames.size());
      symbolNames += s.name;
      symbolNames.push_back('\0');
      out.st_value = s.address;
      out.st_size = s.size;
      out.st_shndx = SHN_ABS;
      unsigned char type = STT_NOTYPE;
      for (size_t i = 0; i < object.segments.size(); ++i) {
        const Segment &segment = object.segments[i];
        if (s.address - segment.address < segment.memorySize) {
          out.st_shndx = static_cast<uint16_t>(i + 1);
          type = segment.executable ? STT_FUNC : STT_OBJECT;
        }
      }
      out.setBindingAndType(STB_GLOBAL, type);
      symbols.push_back(out);
    }
  }

  std::string_view symbolBytes() const {
    return {reinterpret_cast<const char *>(symbols.data()), symbols.size() * sizeof(Elf32_Sym)};
  }

  std::string headerText() const {
    Elf32_Ehdr e{};
    std::memcpy(e.e_ident, ElfMagic, 4);
    e.e_ident[EI_CLASS] = ELFCLASS32;
    e.e_ident[EI_DATA] = ELFDATA2LSB;
    e.e_ident[EI_VERSION] = EV_CURRENT;
    e.e_type = ET_EXEC;
    e.e_machine = EM_RISCV;
    e.e_version = EV_CURRENT;
    e.e_entry = object.entry;
    e.e_flags = EF_RISCV_RVC | EF_RISCV_FLOAT_ABI_DOUBLE;
    e.e_ehsize = sizeof(Elf32_Ehdr);
    e.e_phentsize = sizeof(Elf32_Phdr);
    e.e_phnum = static_cast<uint16_t>(programHeaders.size());
    e.e_phoff = programHeaders.empty() ? 0 : sizeof(Elf32_Ehdr);
    e.e_shoff = static_cast<uint32_t>(sizeof(Elf32_Ehdr) + programHeaders.size() * sizeof(Elf32_Phdr));
    e.e_shentsize = sizeof(Elf32_Shdr);
    e.e_shnum = static_cast<uint16_t>(sections.size());
    e.e_shstrndx = static_cast<uint16_t>(tableIndex);
    std::string out(reinterpret_cast<const char *>(&e), sizeof e);
    out.append(reinterpret_cast<const char *>(programHeaders.data()),
               programHeaders.size() * sizeof(Elf32_Phdr));
    out.append(reinterpret_cast<const char *>(sections.data()), sections.size() * sizeof(Elf32_Shdr));
    return out;
  }

  const ObjectFile &object;
  bool withChecksum;
  ChecksumRecord record{};
  /// Everything after the headers, in file order.
  std::vector<ByteSpan> contents;
  uint64_t end = 0;
  std::vector<Elf32_Phdr> programHeaders;
  std::vector<Elf32_Shdr> sections;
  std::vector<Elf32_Sym> symbols;
  std::string symbolNames, sectionNames;
  size_t tableIndex = 0;
};

} // namespace

const Symbol *ObjectFile::findSymbol(std::string_view name) const {
  for (const Symbol &s : symbols)
    if (s.name == name)
      return &s;
  return nullptr;
}

std::string_view ObjectFile::sectionText(const std::string &name) const {
  auto it = sections.find(name);
  return it == sections.end() ? std::string_view() : it->second.view();
}

static std::string hexAddress(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%08llx", static_cast<unsigned long long>(value));
  return text;
}

/// True if no two segments share an address and none leaves the address space.
static bool checkSegments(const ObjectFile &object, Diagnostics &diags) {
  std::vector<const Segment *> order;
  for (const Segment &s : object.segments)
    order.push_back(&s);
  std::sort(order.begin(), order.end(),
            [](const Segment *a, const Segment *b) { return a->address < b->address; });
  uint64_t end = 0;
  for (const Segment *s : order) {
    uint64_t segmentEnd = uint64_t(s->address) + s->memorySize;
    if (s->address < end || s->bytes.size() > s->memorySize || segmentEnd > (uint64_t(1) << 32)) {
      diags.internalError("segment " + quoteForMessage(s->name) + " at " + hexAddress(s->address) +
                          " overlaps another one or leaves the address space");
      return false;
    }
    end = segmentEnd;
  }
  return true;
}

static bool writeObject(const ObjectFile &object, bool withChecksum, const std::string &path,
                        Diagnostics &diags) {
  // ELF counts both in 16 bits, with the top values reserved.
  constexpr size_t mostHeaders = 0xFE00;
  if (!checkSegments(object, diags))
    return false;
  Writer writer(object, withChecksum);
  if (object.segments.size() + object.sections.size() + 8 > mostHeaders || !writer.layOut()) {
    diags.resourceError("the object file would be larger than the 4 GiB of its format");
    return false;
  }
  return writer.write(path, diags);
}

bool ObjectFile::write(const std::string &path, Diagnostics &diags) const {
  return writeObject(*this, true, path, diags);
}

bool ObjectFile::writeElf(const std::string &path, Diagnostics &diags) const {
  return writeObject(*this, false, path, diags);
}

/// Checks length and hash. `record` is the content of .tt.checksum.
static bool checkRecord(const ElfReader &elf, const Elf32_Shdr &header, std::string_view file,
                        const std::string &what, Diagnostics &diags) {
  ChecksumRecord record;
  if (header.sh_size < sizeof record) {
    diags.userError(what + " is corrupted: its checksum section is too short");
    return false;
  }
  std::memcpy(&record, file.data() + header.sh_offset, sizeof record);
  if (std::memcmp(record.magic, checksumMagic, sizeof record.magic) != 0) {
    diags.userError(what + " is corrupted: its checksum section has no mark");
    return false;
  }
  if (record.version > containerVersion) {
    diags.userError(what + " was written by a newer version of TensorTurbo: its file format is " +
                        std::to_string(record.version) + ", this one reads up to " +
                        std::to_string(containerVersion),
                    {}, "compile the model again, or install the newer version");
    return false;
  }
  if (record.version == 0 || record.reserved != 0 || record.covered != header.sh_offset ||
      header.sh_offset + sizeof record != file.size()) {
    diags.userError(what + " is corrupted: it should have " + std::to_string(record.covered + sizeof record) +
                    " bytes, but has " + std::to_string(file.size()));
    return false;
  }
  BlockHash hash;
  hash.update(file.substr(0, header.sh_offset));
  if (hash.finish() != record.hash) {
    diags.userError(what + " is corrupted: its checksum is wrong", {}, "compile the model again");
    return false;
  }
  return true;
}

std::optional<ObjectFile> ObjectFile::read(const std::string &path, Diagnostics &diags) {
  auto file = MappedFile::open(path, diags);
  if (!file)
    return std::nullopt;
  std::string what = quoteForMessage(path, 400);
  Bytes bytes(file);
  auto elf = ElfReader::open(bytes.view(), what, diags);
  if (!elf)
    return std::nullopt;
  const Elf32_Shdr *checksum = elf->findSection(section::checksum);
  if (!checksum) {
    diags.userError(what + " is an ELF file, but not an object file of TensorTurbo (it has no section " +
                    section::checksum + ")");
    return std::nullopt;
  }
  if (!checkRecord(*elf, *checksum, bytes.view(), what, diags))
    return std::nullopt;
  auto object = elf->load(bytes, diags);
  if (object)
    object->sections.erase(section::checksum);
  return object;
}

std::optional<ObjectFile> ObjectFile::parseElf(const Bytes &file, const std::string &what,
                                               Diagnostics &diags) {
  auto elf = ElfReader::open(file.view(), what, diags);
  return elf ? elf->load(file, diags) : std::nullopt;
}
