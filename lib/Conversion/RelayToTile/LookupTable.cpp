#include "Conversion/RelayToTile/LookupTable.h"
#include "Conversion/RelayToTile/ConstantPool.h"
#include "Dialect/Relay/Relay.h"
#include "Dialect/Tile/Tile.h"
#include "Numerics/Half.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

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

using Binary = double (*)(double, double);

static Binary binaryOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Binary>(op)
      .Case([](relay::AddOp) { return [](double x, double y) { return x + y; }; })
      .Case([](relay::SubtractOp) { return [](double x, double y) { return x - y; }; })
      .Case([](relay::MultiplyOp) { return [](double x, double y) { return x * y; }; })
      .Case([](relay::DivideOp) { return [](double x, double y) { return x / y; }; })
      .Case(
          [](relay::MaximumOp) { return [](double x, double y) { return x > y || std::isnan(x) ? x : y; }; })
      .Case(
          [](relay::MinimumOp) { return [](double x, double y) { return x < y || std::isnan(x) ? x : y; }; })
      .Case([](relay::PowerOp) { return [](double x, double y) { return std::pow(x, y); }; })
      .Default([](Operation *) -> Binary { return nullptr; });
}

/// Relu, clipping and their kind, and the functions with a table of their own.
static std::function<double(double)> unaryOf(Operation *op, std::string &parameters) {
  auto bounds = [](double low, double high) {
    return [low, high](double x) { return std::isnan(x) ? x : std::min(std::max(x, low), high); };
  };
  if (isa<relay::ReluOp>(op))
    return bounds(0, std::numeric_limits<double>::infinity());
  if (isa<relay::CopyOp>(op))
    return [](double x) { return x; };
  if (auto clip = dyn_cast<relay::ClipOp>(op)) {
    parameters = std::to_string(clip.getAMin()) + "_" + std::to_string(clip.getAMax());
    return bounds(clip.getAMin(), clip.getAMax());
  }
  if (auto leaky = dyn_cast<relay::LeakyReluOp>(op)) {
    double slope = leaky.getAlpha();
    parameters = std::to_string(slope);
    return [slope](double x) { return x < 0 ? x * slope : x; };
  }
  auto function = unaryFunctionOf(op);
  return function ? function->evaluate : std::function<double(double)>();
}

std::optional<UnaryFunction> tile::unaryFunctionOf(ArrayRef<Operation *> region, Value x) {
  /// One operator: its operands are earlier results (0: the element) or constants.
  struct Step {
    std::function<double(double)> unary;
    Binary binary = nullptr;
    std::array<int, 2> from = {-1, -1};
    std::array<double, 2> constant = {0, 0};
  };
  std::vector<Step> steps;
  llvm::DenseMap<Value, int> number;
  number[x] = 0;
  std::string name;
  for (Operation *op : region) {
    Step step;
    name += (name.empty() ? "" : " ") + op->getName().stripDialect().str();
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (i >= 2)
        return std::nullopt;
      auto known = number.find(operand);
      if (known != number.end()) {
        step.from[i] = known->second;
        name += " $" + std::to_string(known->second);
        continue;
      }
      auto constant = relay::constantOf(operand);
      if (!constant || constant->elements() != 1)
        return std::nullopt;
      step.constant[i] = floatsOf(*constant)[0];
      name += " " + llvm::formatv("{0:e9}", step.constant[i]).str();
    }
    step.binary = binaryOf(op);
    std::string parameters;
    if (!step.binary) {
      step.unary = unaryOf(op, parameters);
      if (!step.unary)
        return std::nullopt;
    }
    name += parameters.empty() ? "" : " " + parameters;
    number[op->getResult(0)] = static_cast<int>(steps.size()) + 1;
    steps.push_back(std::move(step));
  }
  auto evaluate = [steps](double x) {
    std::vector<double> values = {x};
    for (const Step &s : steps) {
      auto operand = [&](size_t i) {
        return s.from[i] >= 0 ? values[static_cast<size_t>(s.from[i])] : s.constant[i];
      };
      values.push_back(s.binary ? s.binary(operand(0), operand(1)) : s.unary(operand(0)));
    }
    return values.back();
  };
  return UnaryFunction{name, evaluate};
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
