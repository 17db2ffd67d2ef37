// A 64-bit hash over a stream of pieces: XXH3 of the XXH3 hashes of the stream's 1 MiB blocks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tensorturbo::runtime {

/// Guards against damage, not against forgery. The result depends on the bytes alone, not on the pieces.
class BlockHash {
public:
  void update(std::string_view bytes);
  uint64_t finish();

private:
  void addBlock(std::string_view block);

  static constexpr size_t blockBytes = size_t(1) << 20;
  std::string pending;
  std::string blockHashes;
};

} // namespace tensorturbo::runtime
