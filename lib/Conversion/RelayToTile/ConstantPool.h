// Constants of the kernels: packed weights, vectors and tables, one tile.global each, shared by content.
#pragma once
#include "Constants/ConstantStore.h"
#include "Dialect/Tile/Tile.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>

namespace tensorturbo::tile {

class ConstantPool {
public:
  ConstantPool(mlir::ModuleOp module, ConstantStore &store) : module(module), store(store) {}

  /// Name of a global in DDR that holds exactly these bytes; `hint` makes the name readable.
  std::string add(std::vector<uint8_t> bytes, llvm::StringRef hint);

private:
  mlir::ModuleOp module;
  ConstantStore &store;
  std::map<uint64_t, std::string> byHash;
};

/// Little-endian halves, rounded to nearest even, as bytes.
std::vector<uint8_t> halvesOf(llvm::ArrayRef<float> values);
/// The elements of a float constant as halves: its own bytes, or `storage` filled with rounded values.
const uint8_t *halvesOf(const Constant &constant, std::vector<uint8_t> &storage);
/// The values of a float16, float32 or float64 constant as floats.
std::vector<float> floatsOf(const Constant &constant);

} // namespace tensorturbo::tile
