// Tensor data: views of the file where the bytes are there as they are needed, decoded where they are not.
#include "Import/onnx/ReaderDetail.h"
#include "Import/onnx/Wire.h"
#include <climits>
#include <cstdlib>

using namespace tensorturbo;
using namespace tensorturbo::onnx;

/// Sparse initializers are made dense up to this size.
static constexpr uint64_t maxDenseBytes = uint64_t(1) << 28;

TensorReader::TensorReader(std::shared_ptr<const MappedFile> file, Diagnostics &diags)
    : file(std::move(file)), diags(diags) {
  size_t slash = this->file->path().rfind('/');
  folder = slash == std::string::npos ? "." : this->file->path().substr(0, slash + 1);
}

static std::string shapeText(const std::vector<int64_t> &dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size() && i < 16; ++i)
    out += (i ? ", " : "") + std::to_string(dims[i]);
  return out + (dims.size() > 16 ? ", ...]" : "]");
}

bool TensorReader::checkDims(const std::vector<int64_t> &dims, unsigned bits, uint64_t &bytes,
                             std::string &message) const {
  if (dims.size() > maxRank) {
    message =
        "has rank " + std::to_string(dims.size()) + "; at most " + std::to_string(maxRank) + " is supported";
    return false;
  }
  uint64_t elements = 1;
  bool zero = false, overflow = false;
  for (int64_t d : dims) {
    if (d < 0) {
      message = "has a negative extent: shape " + shapeText(dims);
      return false;
    }
    zero |= d == 0;
    // Zero extents must not hide an overflow of the others; 2^56 elements are beyond any file.
    if (d > 0 && elements > (uint64_t(1) << 56) / static_cast<uint64_t>(d))
      overflow = true;
    else if (d > 0)
      elements *= static_cast<uint64_t>(d);
  }
  if (overflow) {
    message = "has too many elements: shape " + shapeText(dims);
    return false;
  }
  bytes = zero ? 0 : (elements * bits + 7) / 8;
  return true;
}

/// The fields that may hold the elements of a type; 0 where there is none.
static unsigned typedField(int64_t type) {
  switch (static_cast<ElementType>(type)) {
  case ElementType::Float:
  case ElementType::Complex64:
    return 4;
  case ElementType::Int64:
    return 7;
  case ElementType::Double:
  case ElementType::Complex128:
    return 10;
  case ElementType::UInt32:
  case ElementType::UInt64:
    return 11;
  case ElementType::String:
    return 6;
  default:
    return 5;
  }
}

bool TensorReader::resolve(Tensor &tensor) {
  unsigned bits = elementTypeBits(tensor.dataType);
  bool isString = tensor.dataType == static_cast<int64_t>(ElementType::String);
  std::string message;
  uint64_t bytes = 0;
  External external;
  bool ok = true;
  if (bits == 0 && !isString) {
    message = "has no valid element type: " + elementTypeName(tensor.dataType);
    ok = false;
  }
  ok = ok && checkDims(tensor.dims, bits, bytes, message);

  bool hasRaw = false, isExternal = false, segmented = false;
  std::string_view raw;
  if (ok) {
    try {
      for (std::string_view body : tensor.messages)
        for (Wire w(body); w.next();) {
          if (w.field() == 9) {
            raw = w.readBytes();
            hasRaw = true;
          } else if (w.field() == 3) {
            segmented = true;
            w.skip();
          } else if (w.field() == 14) {
            isExternal = w.readVarint() == 1;
          } else if (w.field() == 13) {
            std::string_view key, value;
            for (Wire p(w.readBytes()); p.next();) {
              if (p.field() == 1)
                key = p.readBytes();
              else if (p.field() == 2)
                value = p.readBytes();
              else
                p.skip();
            }
            if (key == "location")
              external.location = value;
            else if (key == "offset")
              external.offset = value, external.hasOffset = true;
            else if (key == "length")
              external.length = value, external.hasLength = true;
          } else {
            w.skip();
          }
        }
      if (segmented) {
        message = "is segmented, which is not supported";
        ok = false;
      } else if (isExternal) {
        ok = resolveExternal(tensor, external, bytes, message);
      } else if (isString) {
        // Strings carry no data for the compiler; whoever uses such a tensor refuses it by its type.
      } else if (hasRaw) {
        if (raw.size() != bytes) {
          message = "needs " + std::to_string(bytes) + " bytes for shape " + shapeText(tensor.dims) + " of " +
                    elementTypeName(tensor.dataType) + ", but raw_data has " + std::to_string(raw.size());
          ok = false;
        } else if (bytes) {
          tensor.data = reinterpret_cast<const uint8_t *>(raw.data());
          tensor.bytes = bytes;
          tensor.owner = file;
        }
      } else {
        ok = resolveTyped(tensor, bytes, message);
      }
    } catch (const WireError &e) {
      message = e.message;
      ok = false;
    } catch (const protozero::exception &e) {
      message = e.what();
      ok = false;
    } catch (const std::bad_alloc &) {
      message = "needs more memory than there is";
      ok = false;
    }
  }
  if (ok && tensor.dataType == static_cast<int64_t>(ElementType::Bool))
    for (size_t i = 0; i < tensor.bytes; ++i)
      if (tensor.data[i] > 1) {
        message = "is bool but holds the byte " + std::to_string(tensor.data[i]);
        ok = false;
        break;
      }
  tensor.messages.clear();
  tensor.messages.shrink_to_fit();
  if (!ok)
    diags.userError("tensor " + quoteForMessage(tensor.name) + " " + message);
  return ok;
}

bool TensorReader::resolveTyped(Tensor &tensor, uint64_t wantedBytes, std::string &message) {
  unsigned field = typedField(tensor.dataType), bits = elementTypeBits(tensor.dataType);
  // Elements as the field holds them: sub-byte types come packed, one byte an entry; complex as pairs.
  uint64_t entryBytes = field == 4 ? 4 : field == 10 ? 8 : std::max(1u, bits / 8);
  uint64_t wanted = wantedBytes / entryBytes, found = 0;
  auto buffer = std::make_shared<std::vector<uint8_t>>();
  auto put = [&](uint64_t value) {
    if (++found <= wanted)
      for (uint64_t i = 0; i < entryBytes; ++i)
        buffer->push_back(static_cast<uint8_t>(value >> (8 * i)));
  };
  // Values that do not fit the type are refused, not cut.
  auto fits = [&](uint64_t value) {
    if (bits >= 64 || field == 11)
      return bits >= 64 || value >> bits == 0;
    auto v = static_cast<int64_t>(value);
    uint64_t width = entryBytes * 8;
    return v >= -(int64_t(1) << (width - 1)) && v < (int64_t(1) << width);
  };
  std::string_view single;
  size_t pieces = 0;
  for (std::string_view body : tensor.messages)
    for (Wire w(body); w.next();) {
      if (w.field() != field) {
        w.skip();
        continue;
      }
      ++pieces;
      if (field == 4 || field == 10) {
        if (w.type() == Wire::Bytes) {
          std::string_view packed = w.readBytes();
          single = packed;
          if (packed.size() % entryBytes) {
            message = "has a damaged list of values";
            return false;
          }
          if (found + packed.size() / entryBytes <= wanted)
            buffer->insert(buffer->end(), packed.begin(), packed.end());
          found += packed.size() / entryBytes;
        } else {
          put(field == 4 ? w.fixed<uint32_t>() : w.fixed<uint64_t>());
        }
        continue;
      }
      if (w.type() == Wire::Varint) {
        uint64_t v = w.readVarint();
        if (!fits(v)) {
          message =
              "holds the value " + std::to_string(static_cast<int64_t>(v)) + ", which its type cannot hold";
          return false;
        }
        put(v);
        continue;
      }
      for (Wire p(w.readBytes()); !p.atEnd();) {
        uint64_t v = p.varint();
        if (!fits(v)) {
          message =
              "holds the value " + std::to_string(static_cast<int64_t>(v)) + ", which its type cannot hold";
          return false;
        }
        put(v);
      }
    }
  if (found != wanted) {
    message = "needs " + std::to_string(wanted) + " values for shape " + shapeText(tensor.dims) +
              ", but has " + std::to_string(found);
    return false;
  }
  if (wantedBytes == 0)
    return true;
  tensor.bytes = wantedBytes;
  if (pieces == 1 && single.size() == wantedBytes) {
    tensor.data = reinterpret_cast<const uint8_t *>(single.data());
    tensor.owner = file;
  } else {
    tensor.data = buffer->data();
    tensor.owner = std::move(buffer);
  }
  return true;
}

/// A non-negative decimal number and nothing else.
static bool parseNumber(std::string_view text, uint64_t &value) {
  if (text.empty() || text.size() > 18)
    return false;
  value = 0;
  for (char c : text) {
    if (c < '0' || c > '9')
      return false;
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  return true;
}

bool TensorReader::resolveExternal(Tensor &tensor, const External &external, uint64_t wantedBytes,
                                   std::string &message) {
  std::string_view location = external.location;
  std::string quoted = quoteForMessage(location);
  message = "is in an external file, ";
  if (elementTypeBits(tensor.dataType) == 0) {
    message += "but strings cannot be external";
    return false;
  }
  if (location.empty()) {
    message += "but its location is missing";
    return false;
  }
  bool climbs = location.front() == '/' || location.find('\\') != std::string_view::npos ||
                location.find('\0') != std::string_view::npos;
  for (size_t i = 0; i <= location.size() && !climbs;) {
    size_t slash = std::min(location.find('/', i), location.size());
    climbs = location.substr(i, slash - i) == "..";
    i = slash + 1;
  }
  uint64_t offset = 0, length = 0;
  if (climbs) {
    message += "but " + quoted + " is not a path inside the model's folder";
    return false;
  }
  if (external.hasOffset && !parseNumber(external.offset, offset)) {
    message += "but the offset " + quoteForMessage(external.offset) + " is not a valid number";
    return false;
  }
  if (external.hasLength && !parseNumber(external.length, length)) {
    message += "but the length " + quoteForMessage(external.length) + " is not a valid number";
    return false;
  }
  std::string path = folder + (folder.back() == '/' ? "" : "/") + std::string(location);
  std::shared_ptr<const MappedFile> &mapped = externalFiles[path];
  if (!mapped) {
    // A symbolic link may lead out of the folder too.
    char *realFolder = realpath(folder.c_str(), nullptr), *realFile = realpath(path.c_str(), nullptr);
    std::string inside = realFolder ? realFolder : "", target = realFile ? realFile : "";
    free(realFolder);
    free(realFile);
    if (inside != "/")
      inside += '/';
    if (target.empty()) {
      message += "but " + quoted + " does not exist beside the model";
      return false;
    }
    if (target.compare(0, inside.size(), inside) != 0) {
      message += "but " + quoted + " leads out of the model's folder";
      return false;
    }
    Diagnostics reason;
    mapped = MappedFile::open(target, reason);
    if (!mapped) {
      message += "but " + quoted + " cannot be read: " +
                 (reason.all().empty() ? std::string("unknown reason") : reason.all().front().message);
      return false;
    }
  }
  if (offset > mapped->size()) {
    message += "but the offset " + std::to_string(offset) + " is past the end of " + quoted + " (" +
               std::to_string(mapped->size()) + " bytes)";
    return false;
  }
  uint64_t available = mapped->size() - offset;
  if (!external.hasLength)
    length = available;
  if (length != wantedBytes || length > available) {
    message += "where it needs " + std::to_string(wantedBytes) + " bytes for shape " +
               shapeText(tensor.dims) + ", but " + quoted + " has " +
               std::to_string(std::min(length, available)) + " at offset " + std::to_string(offset);
    return false;
  }
  if (wantedBytes) {
    tensor.data = mapped->data() + offset;
    tensor.bytes = wantedBytes;
    tensor.owner = mapped;
  }
  return true;
}

bool TensorReader::resolveSparse(Tensor &values, Tensor &indices, const std::vector<int64_t> &dims,
                                 Tensor &dense) {
  unsigned bits = elementTypeBits(values.dataType);
  std::string message;
  uint64_t bytes = 0;
  auto fail = [&](const std::string &text) {
    diags.userError("sparse tensor " + quoteForMessage(values.name) + " " + text);
    return false;
  };
  if (bits < 8)
    return fail("has element type " + elementTypeName(values.dataType) + ", which is not supported");
  if (!checkDims(dims, bits, bytes, message))
    return fail(message);
  if (bytes > maxDenseBytes)
    return fail("would need " + std::to_string(bytes) + " bytes; at most " + std::to_string(maxDenseBytes) +
                " are supported");
  bool linear = indices.dims.size() == 1;
  bool matrix = indices.dims.size() == 2 && indices.dims[1] == static_cast<int64_t>(dims.size());
  if (values.dims.size() != 1 || indices.dataType != static_cast<int64_t>(ElementType::Int64) ||
      !(linear || matrix) || indices.dims[0] != values.dims[0])
    return fail("has indices of shape " + shapeText(indices.dims) +
                " that do not match its values of shape " + shapeText(values.dims));
  size_t elementBytes = bits / 8;
  auto buffer = std::make_shared<std::vector<uint8_t>>(bytes);
  for (int64_t n = 0; n < values.dims[0]; ++n) {
    auto indexAt = [&](int64_t k) {
      int64_t v;
      std::memcpy(&v, indices.data + 8 * k, 8);
      return v;
    };
    uint64_t linearIndex = 0;
    if (linear) {
      int64_t v = indexAt(n);
      if (v < 0 || static_cast<uint64_t>(v) >= bytes / elementBytes)
        return fail("has the index " + std::to_string(v) + " outside shape " + shapeText(dims));
      linearIndex = static_cast<uint64_t>(v);
    } else {
      for (size_t d = 0; d < dims.size(); ++d) {
        int64_t v = indexAt(n * static_cast<int64_t>(dims.size()) + static_cast<int64_t>(d));
        if (v < 0 || v >= dims[d])
          return fail("has the index " + std::to_string(v) + " outside shape " + shapeText(dims));
        linearIndex = linearIndex * static_cast<uint64_t>(dims[d]) + static_cast<uint64_t>(v);
      }
    }
    std::memcpy(buffer->data() + linearIndex * elementBytes,
                values.data + static_cast<size_t>(n) * elementBytes, elementBytes);
  }
  dense.name = values.name;
  dense.dataType = values.dataType;
  dense.dims = dims;
  dense.bytes = bytes;
  dense.data = bytes ? buffer->data() : nullptr;
  dense.owner = std::move(buffer);
  return true;
}
