// Checks of what the user hands to a model.
#include "runtime/Convert.h"
#include "runtime/Executor.h"
#include "llvm/ADT/STLExtras.h"

using namespace tensorturbo;
using namespace tensorturbo::runtime;

static std::string shapeText(const std::vector<int64_t> &shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

static std::string nameList(const std::vector<TensorSpec> &specs) {
  std::string out;
  for (const TensorSpec &s : specs)
    out += (out.empty() ? "" : ", ") + quoteForMessage(s.name);
  return out.empty() ? "none" : out;
}

/// The declared type, or the other one of float16 and float32.
static bool acceptable(DType given, DType declared) {
  auto convertible = [](DType t) { return t == DType::Float16 || t == DType::Float32; };
  return given == declared || (convertible(given) && convertible(declared));
}

static void checkInput(const TensorSpec &spec, const TensorView &view, Diagnostics &diags) {
  if (view.shape != spec.shape)
    diags.userError("input " + quoteForMessage(spec.name) + " has shape " + shapeText(spec.shape) + ", got " +
                    shapeText(view.shape));
  if (!acceptable(view.dtype, spec.dtype))
    diags.userError("input " + quoteForMessage(spec.name) + " has element type " + dtypeName(spec.dtype) +
                        ", got " + dtypeName(view.dtype),
                    {}, std::string("convert it first: array.astype(\"") + dtypeName(spec.dtype) + "\")");
}

std::optional<std::vector<std::optional<std::vector<uint8_t>>>>
runtime::convertInputs(const std::vector<TensorSpec> &specs, const std::map<std::string, TensorView> &inputs,
                       bool requireAll, Diagnostics &diags) {
  // Only what is wrong here counts, not what the caller has collected before.
  Diagnostics found;
  std::vector<std::string> names;
  for (const TensorSpec &s : specs)
    names.push_back(s.name);
  for (const auto &[name, view] : inputs) {
    auto it = llvm::find(names, name);
    if (it != names.end()) {
      checkInput(specs[static_cast<size_t>(it - names.begin())], view, found);
      continue;
    }
    std::string near = nearestName(name, names);
    found.userError("the model has no input " + quoteForMessage(name) +
                        "; its inputs are: " + nameList(specs),
                    {}, near.empty() ? "" : "did you mean " + quoteForMessage(near) + "?");
  }
  if (requireAll)
    for (const std::string &name : names)
      if (!inputs.count(name))
        found.userError("input " + quoteForMessage(name) + " is missing");
  for (const Diagnostic &d : found.all())
    diags.report(d);
  if (found.hasErrors())
    return std::nullopt;

  std::vector<std::optional<std::vector<uint8_t>>> out(specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    auto it = inputs.find(specs[i].name);
    if (it == inputs.end())
      continue;
    const TensorSpec &spec = specs[i];
    std::vector<uint8_t> bytes(spec.buffer.bytes);
    size_t overflows = convertElements(it->second.data, it->second.dtype, bytes.data(), spec.buffer.dtype,
                                       static_cast<size_t>(spec.elements()));
    if (overflows)
      diags.warning(std::to_string(overflows) + " elements of input " + quoteForMessage(spec.name) +
                    " exceed the range of " + dtypeName(spec.buffer.dtype) + " and become infinite");
    out[i] = std::move(bytes);
  }
  return out;
}
