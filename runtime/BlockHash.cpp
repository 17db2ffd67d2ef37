#include "runtime/BlockHash.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>

using namespace tensorturbo::runtime;

static uint64_t hashOf(std::string_view bytes) {
  return llvm::xxh3_64bits(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
}

void BlockHash::addBlock(std::string_view block) {
  uint64_t hash = hashOf(block);
  blockHashes.append(reinterpret_cast<const char *>(&hash), sizeof hash);
}

void BlockHash::update(std::string_view bytes) {
  while (!bytes.empty()) {
    // Whole blocks are hashed where they lie; only pieces of blocks are gathered.
    if (pending.empty() && bytes.size() >= blockBytes) {
      addBlock(bytes.substr(0, blockBytes));
      bytes.remove_prefix(blockBytes);
      continue;
    }
    size_t take = std::min(bytes.size(), blockBytes - pending.size());
    pending.append(bytes.substr(0, take));
    bytes.remove_prefix(take);
    if (pending.size() == blockBytes) {
      addBlock(pending);
      pending.clear();
    }
  }
}

uint64_t BlockHash::finish() {
  if (!pending.empty())
    addBlock(pending);
  pending.clear();
  return hashOf(blockHashes);
}
