// The metadata section of Relay text: constants as a JSON graph with base64 arrays. Private to this folder.
#pragma once
#include "Constants/ConstantStore.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <vector>

namespace tensorturbo::relay {

class RelayMetadata {
public:
  /// Appends meta[relay.Constant][size()]. Without data (an id that the store does not hold) zeros are
  /// written.
  void add(mlir::RankedTensorType type, std::optional<Constant> constant);
  size_t size() const { return entries.size(); }
  bool empty() const { return entries.empty(); }
  /// Bytes of all data.
  size_t bytes() const;
  void print(llvm::raw_ostream &os) const;

private:
  struct Entry {
    mlir::RankedTensorType type;
    std::optional<Constant> constant;
  };
  std::vector<Entry> entries;
};

} // namespace tensorturbo::relay
