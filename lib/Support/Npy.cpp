#include "Support/Npy.h"
#include "Support/File.h"
#include <algorithm>
#include <cstring>
#include <zlib.h>

namespace tensorturbo {
namespace {

uint32_t little(std::string_view bytes, size_t offset, int count) {
  uint32_t value = 0;
  for (int i = 0; i < count; ++i)
    value |= uint32_t(uint8_t(bytes[offset + i])) << (8 * i);
  return value;
}

void appendLittle(std::vector<uint8_t> &out, uint64_t value, int count) {
  for (int i = 0; i < count; ++i)
    out.push_back(uint8_t(value >> (8 * i)));
}

void append(std::vector<uint8_t> &out, std::string_view text) {
  out.insert(out.end(), text.begin(), text.end());
}

/// The part of a type description after the byte order: "f4", "b1" ...
std::optional<DType> typeFromCode(std::string_view code) {
  static const std::pair<std::string_view, DType> table[] = {
      {"b1", DType::Bool},    {"?", DType::Bool},     {"i1", DType::Int8},    {"i2", DType::Int16},
      {"i4", DType::Int32},   {"i8", DType::Int64},   {"u1", DType::UInt8},   {"u2", DType::UInt16},
      {"u4", DType::UInt32},  {"u8", DType::UInt64},  {"f2", DType::Float16}, {"f4", DType::Float32},
      {"f8", DType::Float64}, {"V2", DType::BFloat16}};
  for (const auto &[name, type] : table)
    if (name == code)
      return type;
  return std::nullopt;
}

const char *codeOfType(DType type) {
  switch (type) {
  case DType::Bool:
    return "|b1";
  case DType::Int8:
    return "|i1";
  case DType::Int16:
    return "<i2";
  case DType::Int32:
    return "<i4";
  case DType::Int64:
    return "<i8";
  case DType::UInt8:
    return "|u1";
  case DType::UInt16:
    return "<u2";
  case DType::UInt32:
    return "<u4";
  case DType::UInt64:
    return "<u8";
  case DType::Float16:
    return "<f2";
  case DType::BFloat16:
    return "<V2";
  case DType::Float32:
    return "<f4";
  case DType::Float64:
    return "<f8";
  }
  return "";
}

/// The text after "'key':" in the header's dictionary, without leading blanks; empty if the key is missing.
std::string_view valueOf(std::string_view header, std::string_view key) {
  for (char quote : {'\'', '"'}) {
    std::string quoted = quote + std::string(key) + quote;
    size_t at = header.find(quoted);
    if (at == std::string_view::npos)
      continue;
    header.remove_prefix(at + quoted.size());
    size_t colon = header.find_first_not_of(" \t");
    if (colon == std::string_view::npos || header[colon] != ':')
      return {};
    size_t value = header.find_first_not_of(" \t", colon + 1);
    return value == std::string_view::npos ? std::string_view() : header.substr(value);
  }
  return {};
}

/// Parses "(2, 3)" or "(2,)" or "()".
std::optional<std::vector<int64_t>> parseShape(std::string_view text) {
  if (text.empty() || text[0] != '(')
    return std::nullopt;
  std::vector<int64_t> shape;
  size_t i = 1;
  while (i < text.size()) {
    char c = text[i];
    if (c == ')')
      return shape;
    if (c == ' ' || c == ',' || c == 'L') {
      ++i;
      continue;
    }
    if (c < '0' || c > '9')
      return std::nullopt;
    int64_t extent = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
      if (__builtin_mul_overflow(extent, 10, &extent) ||
          __builtin_add_overflow(extent, text[i] - '0', &extent))
        return std::nullopt;
    shape.push_back(extent);
    if (shape.size() > 64)
      return std::nullopt;
  }
  return std::nullopt;
}

/// Bytes of an array, or nothing if the product does not fit.
std::optional<size_t> byteCount(const std::vector<int64_t> &shape, size_t elementSize) {
  // An extent of zero makes the product zero whatever the others are.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return 0;
  size_t total = elementSize;
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(total, size_t(extent), &total))
      return std::nullopt;
  return total;
}

void swapBytes(std::vector<uint8_t> &bytes, size_t elementSize) {
  for (size_t i = 0; i + elementSize <= bytes.size(); i += elementSize)
    std::reverse(bytes.begin() + i, bytes.begin() + i + elementSize);
}

/// Column-major to row-major.
std::vector<uint8_t> fromFortranOrder(const std::vector<uint8_t> &in, const std::vector<int64_t> &shape,
                                      size_t elementSize) {
  std::vector<uint8_t> out(in.size());
  std::vector<int64_t> index(shape.size(), 0);
  for (size_t target = 0; target < in.size(); target += elementSize) {
    size_t source = 0;
    for (size_t d = shape.size(); d-- > 0;)
      source = source * shape[d] + index[d];
    std::memcpy(&out[target], &in[source * elementSize], elementSize);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
  return out;
}

/// One member of a zip archive as the central directory describes it.
struct ZipMember {
  std::string name;
  int method = 0;
  uint64_t compressedSize = 0, size = 0, headerOffset = 0;
  uint32_t crc = 0;
};

uint64_t little64(std::string_view bytes, size_t offset) {
  return little(bytes, offset, 4) | uint64_t(little(bytes, offset + 4, 4)) << 32;
}

/// Replaces the fields that are all ones by those of the zip64 extra field. False if they are not there.
bool applyZip64(ZipMember &member, std::string_view extra) {
  bool wantSize = member.size == 0xffffffffu, wantCompressed = member.compressedSize == 0xffffffffu,
       wantOffset = member.headerOffset == 0xffffffffu;
  while (extra.size() >= 4) {
    size_t id = little(extra, 0, 2), length = little(extra, 2, 2);
    if (length > extra.size() - 4)
      break;
    if (id == 1) {
      std::string_view data = extra.substr(4, length);
      auto take = [&](bool wanted, uint64_t &field) {
        if (!wanted)
          return true;
        if (data.size() < 8)
          return false;
        field = little64(data, 0);
        data.remove_prefix(8);
        return true;
      };
      return take(wantSize, member.size) && take(wantCompressed, member.compressedSize) &&
             take(wantOffset, member.headerOffset);
    }
    extra.remove_prefix(4 + length);
  }
  return !wantSize && !wantCompressed && !wantOffset;
}

/// The central directory, or nothing and a reason.
std::optional<std::vector<ZipMember>> readDirectory(std::string_view file, std::string &reason) {
  constexpr size_t endSize = 22;
  if (file.size() < endSize || file.substr(0, 2) != "PK") {
    reason = "it is not a zip archive";
    return std::nullopt;
  }
  // The end record is the last thing in the file but for a comment of at most 65535 bytes.
  size_t end = std::string_view::npos;
  size_t lowest = file.size() > endSize + 65535 ? file.size() - endSize - 65535 : 0;
  for (size_t at = file.size() - endSize + 1; at-- > lowest;)
    if (file.substr(at, 4) == std::string_view("PK\5\6", 4)) {
      end = at;
      break;
    }
  if (end == std::string_view::npos) {
    reason = "the zip directory at its end is missing (truncated file?)";
    return std::nullopt;
  }
  uint64_t count = little(file, end + 10, 2), offset = little(file, end + 16, 4);
  if ((count == 0xffff || offset == 0xffffffffu) && end >= 20 &&
      file.substr(end - 20, 4) == std::string_view("PK\6\7", 4)) {
    uint64_t end64 = little64(file, end - 20 + 8);
    if (end64 > file.size() || file.size() - end64 < 56) {
      reason = "its zip64 directory lies outside of the file";
      return std::nullopt;
    }
    count = little64(file, end64 + 32);
    offset = little64(file, end64 + 48);
  }
  std::vector<ZipMember> members;
  for (uint64_t i = 0; i < count; ++i) {
    constexpr size_t entrySize = 46;
    if (offset > file.size() || file.size() - offset < entrySize ||
        file.substr(offset, 4) != std::string_view("PK\1\2", 4)) {
      reason = "its zip directory is damaged";
      return std::nullopt;
    }
    ZipMember member;
    member.method = little(file, offset + 10, 2);
    member.crc = little(file, offset + 16, 4);
    member.compressedSize = little(file, offset + 20, 4);
    member.size = little(file, offset + 24, 4);
    member.headerOffset = little(file, offset + 42, 4);
    size_t nameSize = little(file, offset + 28, 2), extraSize = little(file, offset + 30, 2),
           commentSize = little(file, offset + 32, 2);
    bool encrypted = little(file, offset + 8, 2) & 1;
    if (file.size() - offset - entrySize < nameSize + extraSize + commentSize ||
        !applyZip64(member, file.substr(offset + entrySize + nameSize, extraSize)) || encrypted) {
      reason = encrypted ? "it is encrypted" : "its zip directory is damaged";
      return std::nullopt;
    }
    member.name = std::string(file.substr(offset + entrySize, nameSize));
    offset += entrySize + nameSize + extraSize + commentSize;
    members.push_back(std::move(member));
  }
  return members;
}

/// The member's bytes, decompressed and checked, or nothing and a reason.
std::optional<std::string> readMember(std::string_view file, const ZipMember &member, std::string &reason) {
  constexpr size_t headerSize = 30;
  reason = "its zip structure is damaged";
  if (member.headerOffset > file.size() || file.size() - member.headerOffset < headerSize ||
      file.substr(member.headerOffset, 4) != std::string_view("PK\3\4", 4))
    return std::nullopt;
  size_t start = member.headerOffset + headerSize + little(file, member.headerOffset + 26, 2) +
                 little(file, member.headerOffset + 28, 2);
  if (start > file.size() || file.size() - start < member.compressedSize)
    return std::nullopt;
  std::string_view packed = file.substr(start, member.compressedSize);
  std::string data;
  if (member.method == 0) {
    if (member.size != member.compressedSize)
      return std::nullopt;
    data = std::string(packed);
  } else if (member.method == 8) {
    // Deflate never expands by more than 1032 times, so a small file cannot ask for much memory.
    if (member.size / 1040 > member.compressedSize + 1 || packed.size() > UINT32_MAX ||
        member.size > UINT32_MAX)
      return std::nullopt;
    data.resize(member.size);
    z_stream stream = {};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
      return std::nullopt;
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(packed.data()));
    stream.avail_in = uInt(packed.size());
    stream.next_out = reinterpret_cast<Bytef *>(data.data());
    stream.avail_out = uInt(data.size());
    int status = inflate(&stream, Z_FINISH);
    bool complete = status == Z_STREAM_END && stream.total_out == member.size;
    inflateEnd(&stream);
    if (!complete)
      return std::nullopt;
  } else {
    reason = "its compression method " + std::to_string(member.method) + " is not supported";
    return std::nullopt;
  }
  if (crc32_z(0, reinterpret_cast<const Bytef *>(data.data()), data.size()) != member.crc) {
    reason = "its checksum is wrong";
    return std::nullopt;
  }
  return data;
}

} // namespace

std::optional<NpyArray> parseNpy(std::string_view contents, const std::string &what, Diagnostics &diags) {
  auto fail = [&](const std::string &reason) {
    diags.userError(quoteForMessage(what) + " cannot be read as a NumPy array: " + reason);
    return std::nullopt;
  };
  if (contents.size() < 10 || contents.substr(0, 6) != "\x93NUMPY")
    return fail("it does not start like a .npy file");
  int major = uint8_t(contents[6]);
  if (major < 1 || major > 3)
    return fail("its format version " + std::to_string(major) + " is not known");
  size_t lengthSize = major == 1 ? 2 : 4;
  size_t start = 8 + lengthSize;
  if (contents.size() < start)
    return fail("it is truncated");
  size_t headerSize = little(contents, 8, int(lengthSize));
  if (contents.size() - start < headerSize)
    return fail("it is truncated");
  std::string_view header = contents.substr(start, headerSize), data = contents.substr(start + headerSize);

  std::string_view description = valueOf(header, "descr");
  if (description.size() < 2 || (description[0] != '\'' && description[0] != '"'))
    return fail("it has no plain element type (structured arrays are not supported)");
  size_t close = description.find(description[0], 1);
  if (close == std::string_view::npos)
    return fail("its header is damaged");
  description = description.substr(1, close - 1);
  bool bigEndian = !description.empty() && description[0] == '>';
  std::string_view code = description;
  if (!code.empty() && std::string_view("<>|=").find(code[0]) != std::string_view::npos)
    code.remove_prefix(1);
  std::optional<DType> type = typeFromCode(code);
  if (!type)
    return fail("its element type " + quoteForMessage(description) + " is not supported");
  std::optional<std::vector<int64_t>> shape = parseShape(valueOf(header, "shape"));
  if (!shape)
    return fail("its header has no valid shape");
  size_t elementSize = dtypeSize(*type);
  std::optional<size_t> bytes = byteCount(*shape, elementSize);
  if (!bytes || *bytes > data.size())
    return fail("it is truncated: its header promises more data than there is");

  NpyArray array;
  array.dtype = *type;
  array.shape = *shape;
  array.bytes.assign(data.begin(), data.begin() + *bytes);
  if (bigEndian)
    swapBytes(array.bytes, elementSize);
  if (valueOf(header, "fortran_order").substr(0, 4) == "True")
    array.bytes = fromFortranOrder(array.bytes, array.shape, elementSize);
  return array;
}

std::vector<uint8_t> formatNpy(const NpyArray &array) {
  std::string header =
      "{'descr': '" + std::string(codeOfType(array.dtype)) + "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : array.shape)
    header += std::to_string(extent) + (array.shape.size() == 1 ? "," : ", ");
  if (array.shape.size() > 1)
    header.resize(header.size() - 2);
  header += "), }";
  // The data starts at a multiple of 64; the header ends with a line feed.
  while ((10 + header.size() + 1) % 64)
    header += ' ';
  header += '\n';
  std::vector<uint8_t> out;
  out.reserve(10 + header.size() + array.bytes.size());
  append(out, std::string_view("\x93NUMPY\1\0", 8));
  appendLittle(out, header.size(), 2);
  append(out, header);
  out.insert(out.end(), array.bytes.begin(), array.bytes.end());
  return out;
}

std::optional<NpyArray> readNpy(const std::string &path, Diagnostics &diags) {
  std::shared_ptr<const MappedFile> file = MappedFile::open(path, diags);
  if (!file)
    return std::nullopt;
  return parseNpy(file->view(), path, diags);
}

std::optional<NpzArrays> readNpz(const std::string &path, Diagnostics &diags) {
  std::shared_ptr<const MappedFile> file = MappedFile::open(path, diags);
  if (!file)
    return std::nullopt;
  std::string reason;
  std::optional<std::vector<ZipMember>> members = readDirectory(file->view(), reason);
  if (!members) {
    diags.userError(quoteForMessage(path) + " cannot be read as a .npz file: " + reason);
    return std::nullopt;
  }
  NpzArrays arrays;
  bool good = true;
  for (const ZipMember &member : *members) {
    std::string key = member.name;
    if (key.size() > 4 && key.compare(key.size() - 4, 4, ".npy") == 0)
      key.resize(key.size() - 4);
    std::optional<std::string> data = readMember(file->view(), member, reason);
    if (!data) {
      diags.userError("member " + quoteForMessage(key) + " of " + quoteForMessage(path) +
                      " cannot be read: " + reason);
      good = false;
      continue;
    }
    if (std::optional<NpyArray> array = parseNpy(*data, path + ": " + key, diags))
      arrays[key] = std::move(*array);
    else
      good = false;
  }
  if (!good)
    return std::nullopt;
  return arrays;
}

bool writeNpy(const std::string &path, const NpyArray &array, Diagnostics &diags) {
  std::vector<uint8_t> bytes = formatNpy(array);
  return writeFileAtomically(path, {{reinterpret_cast<const char *>(bytes.data()), bytes.size()}}, diags);
}

bool writeNpz(const std::string &path, const NpzArrays &arrays, Diagnostics &diags) {
  std::vector<uint8_t> file, directory;
  uint64_t count = 0;
  for (const auto &[key, array] : arrays) {
    std::vector<uint8_t> data = formatNpy(array);
    std::string name = key + ".npy";
    if (data.size() >= UINT32_MAX || file.size() + data.size() >= UINT32_MAX - 65536 || name.size() > 4096 ||
        arrays.size() >= 65535) {
      diags.resourceError("arrays of more than 4 GB together do not fit into the .npz file " +
                          quoteForMessage(path));
      return false;
    }
    uint32_t crc = uint32_t(crc32_z(0, data.data(), data.size()));
    uint64_t offset = file.size();
    // Fields that the local header and the directory entry share: versions, flags (names are UTF-8), method
    // "stored", a fixed date (1980-01-01: the same arrays give the same bytes), checksum, sizes.
    auto common = [&](std::vector<uint8_t> &out) {
      appendLittle(out, 20, 2);
      appendLittle(out, 0x800, 2);
      appendLittle(out, 0, 2);
      appendLittle(out, 0, 2);
      appendLittle(out, 0x21, 2);
      appendLittle(out, crc, 4);
      appendLittle(out, data.size(), 4);
      appendLittle(out, data.size(), 4);
      appendLittle(out, name.size(), 2);
      appendLittle(out, 0, 2);
    };
    append(file, std::string_view("PK\3\4", 4));
    common(file);
    append(file, name);
    file.insert(file.end(), data.begin(), data.end());
    append(directory, std::string_view("PK\1\2", 4));
    appendLittle(directory, 20, 2);
    common(directory);
    appendLittle(directory, 0, 2);
    appendLittle(directory, 0, 2);
    appendLittle(directory, 0, 2);
    appendLittle(directory, 0, 4);
    appendLittle(directory, offset, 4);
    append(directory, name);
    ++count;
  }
  uint64_t directoryOffset = file.size();
  file.insert(file.end(), directory.begin(), directory.end());
  append(file, std::string_view("PK\5\6", 4));
  appendLittle(file, 0, 4);
  appendLittle(file, count, 2);
  appendLittle(file, count, 2);
  appendLittle(file, directory.size(), 4);
  appendLittle(file, directoryOffset, 4);
  appendLittle(file, 0, 2);
  return writeFileAtomically(path, {{reinterpret_cast<const char *>(file.data()), file.size()}}, diags);
}

} // namespace tensorturbo
