// Runs all conformance vectors of a folder.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace tensorturbo::vectors {

struct FolderResult {
  size_t passed = 0, failed = 0;
};

/// Files *.jsonl and *.sweep.hex, both possibly .gz, and sync_timeout.json whose name contains `part`, in the
/// order of their names; a record, a sweep and the program count one each. `onFailure` gets the record's name
/// and what went wrong. Nothing with a message if the folder cannot be listed.
std::optional<FolderResult>
runFolder(const std::string &folder, const std::string &part,
          const std::function<void(const std::string &, const std::string &)> &onFailure, std::string &error);

} // namespace tensorturbo::vectors
