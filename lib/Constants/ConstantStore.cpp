#include "Constants/ConstantStore.h"
#include "llvm/Support/xxhash.h"

using namespace tensorturbo;

int64_t tensorturbo::elementCount(const std::vector<int64_t> &shape) {
  int64_t n = 1;
  for (int64_t d : shape)
    n *= d;
  return n;
}

int64_t Constant::elements() const {
  return elementCount(shape);
}

static uint64_t hashOf(const Constant &c) {
  uint64_t h = llvm::xxh3_64bits(llvm::ArrayRef<uint8_t>(c.data, c.bytes));
  auto mix = [&](uint64_t v) { h = (h ^ v) * 0x9E3779B97F4A7C15ull + (h >> 29); };
  mix(static_cast<uint64_t>(c.dtype));
  for (int64_t d : c.shape)
    mix(static_cast<uint64_t>(d));
  return h;
}

uint64_t ConstantStore::addView(DType dtype, std::vector<int64_t> shape, const void *data,
                                std::shared_ptr<const void> owner) {
  Constant c;
  c.dtype = dtype;
  c.shape = std::move(shape);
  c.data = static_cast<const uint8_t *>(data);
  c.bytes = static_cast<size_t>(c.elements()) * dtypeSize(dtype);
  c.owner = std::move(owner);
  c.hash = hashOf(c);
  std::lock_guard<std::mutex> lock(mutex);
  constants.push_back(std::move(c));
  return constants.size();
}

uint64_t ConstantStore::add(DType dtype, std::vector<int64_t> shape, std::vector<uint8_t> bytes) {
  auto owner = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
  const void *data = owner->data();
  return addView(dtype, std::move(shape), data, std::move(owner));
}

Constant ConstantStore::get(uint64_t id) const {
  std::lock_guard<std::mutex> lock(mutex);
  return id >= 1 && id <= constants.size() ? constants[id - 1] : Constant{};
}

size_t ConstantStore::size() const {
  std::lock_guard<std::mutex> lock(mutex);
  return constants.size();
}

void ConstantStore::release(uint64_t id) {
  std::lock_guard<std::mutex> lock(mutex);
  if (id < 1 || id > constants.size())
    return;
  Constant &c = constants[id - 1];
  c.data = nullptr;
  c.bytes = 0;
  c.owner.reset();
}
