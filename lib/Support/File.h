// Files: read-only memory mapping, and writing that never leaves a half-written file.
#pragma once
#include "Support/Diagnostics.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorturbo {

/// A file mapped read-only. Pages are loaded on first use, so that weights cost no memory of their own.
class MappedFile {
public:
  /// Null after an error (missing file, directory, no permission ...), which is reported as a user error.
  static std::shared_ptr<const MappedFile> open(const std::string &path, Diagnostics &diags);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const uint8_t *data() const { return bytes; }
  size_t size() const { return length; }
  std::string_view view() const { return {reinterpret_cast<const char *>(bytes), length}; }
  const std::string &path() const { return name; }

private:
  MappedFile(std::string name, const uint8_t *bytes, size_t length)
      : name(std::move(name)), bytes(bytes), length(length) {}
  std::string name;
  const uint8_t *bytes;
  size_t length;
};

/// A piece of a file to write.
using ByteSpan = std::string_view;

/// Writes the pieces one after the other into a temporary file beside `path`, flushes it to the disk and
/// renames it. On failure (unwritable folder, full disk ...) nothing is left and an old `path` is unharmed.
bool writeFileAtomically(const std::string &path, const std::vector<ByteSpan> &pieces, Diagnostics &diags);

/// Says, for the time of its scope, that a file is only half of something.
class UnfinishedFile {
public:
  explicit UnfinishedFile(std::string path);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile &) = delete;
  UnfinishedFile &operator=(const UnfinishedFile &) = delete;

private:
  const std::string path;
  int slot = -1;
};

/// Deletes all unfinished files: for the signal handler of a program that ends. Async-signal-safe.
void removeUnfinishedFiles() noexcept;

} // namespace tensorturbo
