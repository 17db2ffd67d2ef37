#include "Conversion/RelayToTile/ConstantPool.h"
#include "Numerics/Half.h"
#include "mlir/IR/Builders.h"
#include <cstring>

using namespace mlir;
using namespace tensorturbo;
using namespace tensorturbo::tile;

std::string ConstantPool::add(std::vector<uint8_t> bytes, StringRef hint) {
  int64_t size = static_cast<int64_t>(bytes.size());
  uint64_t id = store.add(DType::UInt8, {size}, std::move(bytes));
  uint64_t hash = store.get(id).hash;
  auto found = byHash.find(hash);
  if (found != byHash.end())
    return found->second;
  std::string name = "const_" + std::to_string(byHash.size()) + "_" + hint.str();
  OpBuilder b(module.getContext());
  b.setInsertionPointToStart(module.getBody());
  GlobalOp::create(b, module.getLoc(), b.getStringAttr(name), b.getI64IntegerAttr(size),
                   b.getI64IntegerAttr(static_cast<int64_t>(id)), IntegerAttr());
  byHash[hash] = name;
  return name;
}

std::vector<uint8_t> tile::halvesOf(ArrayRef<float> values) {
  std::vector<uint8_t> bytes(values.size() * 2);
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t h = numerics::roundToHalf(values[i]);
    std::memcpy(&bytes[2 * i], &h, 2);
  }
  return bytes;
}

template <typename T> static void copyAs(const Constant &c, std::vector<float> &out) {
  for (size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, c.data + i * sizeof(T), sizeof(T));
    out[i] = static_cast<float>(value);
  }
}

std::vector<float> tile::floatsOf(const Constant &c) {
  std::vector<float> out(static_cast<size_t>(c.elements()));
  if (c.dtype == DType::Float32)
    copyAs<float>(c, out);
  else if (c.dtype == DType::Float64)
    copyAs<double>(c, out);
  else
    for (size_t i = 0; i < out.size(); ++i) {
      uint16_t h;
      std::memcpy(&h, c.data + 2 * i, 2);
      out[i] = numerics::halfToFloat(h);
    }
  return out;
}

const uint8_t *tile::halvesOf(const Constant &constant, std::vector<uint8_t> &storage) {
  if (constant.dtype == DType::Float16)
    return constant.data;
  storage = halvesOf(floatsOf(constant));
  return storage.data();
}
