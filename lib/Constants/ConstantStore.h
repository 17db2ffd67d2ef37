// Weights live here, beside the IR: the IR holds an id and a hash (#relay.const), never the data.
#pragma once
#include "Support/DType.h"
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tensorturbo {

/// One constant tensor: dense, row-major, little-endian bytes.
struct Constant {
  DType dtype = DType::Float32;
  std::vector<int64_t> shape;
  const uint8_t *data = nullptr;
  size_t bytes = 0;
  /// FNV-style hash of dtype, shape and data; equal constants have equal hashes.
  uint64_t hash = 0;
  /// Keeps `data` alive: a memory-mapped file, or a buffer of its own.
  std::shared_ptr<const void> owner;

  int64_t elements() const;
};

/// Product of the extents.
int64_t elementCount(const std::vector<int64_t> &shape);

/// Ids start at 1, are given once and never change their meaning. Safe to use from several threads.
class ConstantStore {
public:
  /// Adds a view of memory that `owner` keeps alive (no copy).
  uint64_t addView(DType dtype, std::vector<int64_t> shape, const void *data,
                   std::shared_ptr<const void> owner);
  /// Adds a buffer; its size must be elements * element size.
  uint64_t add(DType dtype, std::vector<int64_t> shape, std::vector<uint8_t> bytes);
  /// A copy of the descriptor (cheap; shares the data). Null `data` with bytes 0 for an unknown id.
  Constant get(uint64_t id) const;
  /// The number of ids given so far, which is also the last of them.
  size_t size() const;
  /// Forgets the data of a constant; descriptors handed out before keep them alive. `get` then gives the
  /// shape without data.
  void release(uint64_t id);

private:
  mutable std::mutex mutex;
  std::vector<Constant> constants;
};

} // namespace tensorturbo
