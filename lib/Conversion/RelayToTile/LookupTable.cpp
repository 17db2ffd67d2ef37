#include "Conversion/RelayToTile/LookupTable.h"
#include "Dialect/Relay/Relay.h"
#include "Numerics/Half.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace tensorturbo;
using namespace tensorturbo::tile;

static const llvm::StringMap<double (*)(double)> &simpleFunctions() {
  using F = double (*)(double);
  static const llvm::StringMap<F> table = {
      {"relay.abs", [](double x) { return std::fabs(x); }},
      {"relay.negative", [](double x) { return -x; }},
      {"relay.sign", [](double x) { return std::isnan(x) ? x
                                           : x > 0       ? 1.0
                                           : x < 0       ? -1.0
                                                         : x; }},
      {"relay.floor", [](double x) { return std::floor(x); }},
      {"relay.ceil", [](double x) { return std::ceil(x); }},
      {"relay.round", [](double x) { return std::nearbyint(x); }},
      {"relay.trunc", [](double x) { return std::trunc(x); }},
      {"relay.exp", [](double x) { return std::exp(x); }},
      {"relay.log", [](double x) { return std::log(x); }},
      {"relay.log2", [](double x) { return std::log2(x); }},
      {"relay.log10", [](double x) { return std::log10(x); }},
      {"relay.sqrt", [](double x) { return std::sqrt(x); }},
      {"relay.rsqrt", [](double x) { return 1.0 / std::sqrt(x); }},
      {"relay.sigmoid", [](double x) { return 1.0 / (1.0 + std::exp(-x)); }},
      {"relay.tanh", [](double x) { return std::tanh(x); }},
      {"relay.sin", [](double x) { return std::sin(x); }},
      {"relay.cos", [](double x) { return std::cos(x); }},
      {"relay.tan", [](double x) { return std::tan(x); }},
      {"relay.asin", [](double x) { return std::asin(x); }},
      {"relay.acos", [](double x) { return std::acos(x); }},
      {"relay.atan", [](double x) { return std::atan(x); }},
      {"relay.sinh", [](double x) { return std::sinh(x); }},
      {"relay.cosh", [](double x) { return std::cosh(x); }},
      {"relay.asinh", [](double x) { return std::asinh(x); }},
      {"relay.acosh", [](double x) { return std::acosh(x); }},
      {"relay.atanh", [](double x) { return std::atanh(x); }},
      {"relay.erf", [](double x) { return std::erf(x); }},
  };
  return table;
}

std::optional<UnaryFunction> tile::unaryFunctionOf(Operation *op) {
  StringRef name = op->getName().getStringRef();
  auto found = simpleFunctions().find(name);
  if (found == simpleFunctions().end())
    return std::nullopt;
  return UnaryFunction{name.drop_front(strlen("relay.")).str(), found->second};
}

/// Double to half with a single rounding: through a float that is rounded to odd, which keeps ties apart.
static uint16_t roundOnce(double value) {
  float f = static_cast<float>(value);
  if (std::isfinite(f) && static_cast<double>(f) != value) {
    if (std::fabs(static_cast<double>(f)) > std::fabs(value))
      f = std::nextafterf(f, 0.0f);
    uint32_t bits;
    std::memcpy(&bits, &f, sizeof(bits));
    bits |= 1;
    std::memcpy(&f, &bits, sizeof(bits));
  }
  return numerics::roundToHalf(f);
}

std::vector<uint8_t> tile::lookupTable(const UnaryFunction &function) {
  std::vector<uint8_t> bytes(tableBytes);
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    double x = numerics::halfToFloat(static_cast<uint16_t>(bits));
    uint16_t h = roundOnce(function.evaluate(x));
    std::memcpy(&bytes[2 * bits], &h, 2);
  }
  return bytes;
}
