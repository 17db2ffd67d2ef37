// Read-only bytes together with whatever keeps them alive, so that weights travel without being copied.
#pragma once
#include "Support/File.h"
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tensorturbo::runtime {

class Bytes {
public:
  Bytes() = default;
  Bytes(std::vector<uint8_t> data) {
    auto shared = std::make_shared<const std::vector<uint8_t>>(std::move(data));
    bytes = {reinterpret_cast<const char *>(shared->data()), shared->size()};
    owner = std::move(shared);
  }
  Bytes(std::string text) {
    auto shared = std::make_shared<const std::string>(std::move(text));
    bytes = *shared;
    owner = std::move(shared);
  }
  Bytes(std::shared_ptr<const MappedFile> file) {
    bytes = file->view();
    owner = std::move(file);
  }
  /// `view` must stay valid as long as `owner` lives; without an owner, as long as this object and its
  /// copies.
  Bytes(std::string_view view, std::shared_ptr<const void> owner) : bytes(view), owner(std::move(owner)) {}

  const uint8_t *data() const { return reinterpret_cast<const uint8_t *>(bytes.data()); }
  size_t size() const { return bytes.size(); }
  bool empty() const { return bytes.empty(); }
  std::string_view view() const { return bytes; }
  /// A part; the caller has checked that it lies inside.
  Bytes slice(size_t offset, size_t length) const { return Bytes(bytes.substr(offset, length), owner); }

private:
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};

} // namespace tensorturbo::runtime
