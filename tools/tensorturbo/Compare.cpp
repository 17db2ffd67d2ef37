// run --compare float: each kernel's result against the float32 result of the same model on the host.
#include "Debug.h"
#include "Pipeline/Compiler.h"
#include "runtime/Convert.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>
#include <unistd.h>

using namespace tensorturbo;

// A layer below this cosine counts as bad.
static constexpr double badCosine = 0.99;

void cli::FloatComparison::resultDone(const runtime::Executor &executor, const runtime::KernelInfo &kernel,
                                      const runtime::KernelBuffer &output, int part) {
  if (output.node.empty())
    return;
  if (auto array = reader.read(executor, kernel, output, DType::Float32, part)) {
    auto number = static_cast<size_t>(&kernel - executor.metadata().kernels.data());
    layers.push_back({output.node, kernel.symbol, number, std::move(*array)});
  }
}

/// The reference run: every node's result by name.
static std::optional<NpzArrays> runReference(const std::string &model, const runtime::Metadata &meta,
                                             const NpzArrays &inputs, Diagnostics &diags) {
  ShapeMap shapes;
  for (const runtime::TensorSpec &t : meta.inputs)
    shapes[t.name] = t.shape;
  auto source = Model::fromOnnx(model, shapes, diags);
  if (!source)
    return std::nullopt;
  CompileOptions options;
  options.target = "llvm";
  options.graphScheduleLevel = 0;
  options.keepIntermediates = true;
  std::filesystem::path object =
      std::filesystem::temp_directory_path() / ("tensorturbo-float-" + std::to_string(getpid()) + ".stcobj");
  std::unique_ptr<runtime::Executor> executor;
  if (source->compile(object.string(), options, diags))
    executor = runtime::Executor::load(object.string(), diags);
  std::error_code ignored;
  std::filesystem::remove(object, ignored);
  if (!executor)
    return std::nullopt;
  if (executor->metadata().sourceHash != meta.sourceHash) {
    diags.userError(quoteForMessage(model) + " is not the model that the object file was compiled from (" +
                    quoteForMessage(meta.sourcePath) + ")");
    return std::nullopt;
  }
  if (!executor->setInputs(cli::viewsOf(inputs), diags) || !executor->run(diags))
    return std::nullopt;
  NpzArrays results;
  const std::string prefix = intermediatePrefix;
  for (size_t i = 0; i < executor->metadata().outputs.size(); ++i) {
    const std::string &name = executor->metadata().outputs[i].name;
    if (name.compare(0, prefix.size(), prefix) == 0)
      results[name.substr(prefix.size())] = executor->output(i);
  }
  return results;
}

namespace {
struct Difference {
  double cosine = 0, maxError = 0, maxValue = 0;
};
} // namespace

static Difference compare(const NpyArray &a, const NpyArray &reference) {
  size_t count = a.bytes.size() / 4;
  std::vector<double> x(count), y(count);
  runtime::convertElements(a.bytes.data(), DType::Float32, x.data(), DType::Float64, count);
  runtime::convertElements(reference.bytes.data(), reference.dtype, y.data(), DType::Float64, count);
  Difference d;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < count; ++i) {
    xy += x[i] * y[i];
    xx += x[i] * x[i];
    yy += y[i] * y[i];
    // A NaN on one side counts as the largest error.
    double error = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])) ? 0 : std::fabs(x[i] - y[i]);
    d.maxError = std::isnan(error) ? INFINITY : std::max(d.maxError, error);
    d.maxValue = std::max(d.maxValue, std::fabs(y[i]));
  }
  d.cosine = xx == 0 && yy == 0 ? 1 : xy / std::sqrt(xx * yy);
  return d;
}

bool cli::FloatComparison::print(const std::string &model, const runtime::Metadata &meta,
                                 const NpzArrays &inputs, Diagnostics &diags) {
  auto reference = runReference(model, meta, inputs, diags);
  if (!reference)
    return false;
  // Results become complete in another order than the kernels'.
  std::sort(layers.begin(), layers.end(), [](const Layer &a, const Layer &b) {
    return std::tie(a.kernel, a.node) < std::tie(b.kernel, b.node);
  });
  std::string firstBad;
  std::printf("%-36s %-18s %9s %11s %11s\n", "node", "shape", "cosine", "max error", "max value");
  for (const Layer &layer : layers) {
    std::string shape = typeText(layer.result.shape, DType::Float32);
    shape = shape.substr(0, shape.find(' '));
    auto found = reference->find(layer.node);
    bool comparable = found != reference->end() && runtime::canConvert(found->second.dtype, DType::Float64) &&
                      found->second.shape == layer.result.shape;
    if (!comparable) {
      std::printf("%-36s %-18s %s\n", plain(layer.node).c_str(), shape.c_str(),
                  found == reference->end() ? "no such value in the float model" : "other layout");
      continue;
    }
    Difference d = compare(layer.result, found->second);
    bool bad = !(d.cosine >= badCosine);
    std::printf("%-36s %-18s %9.6f %11.4g %11.4g%s\n", plain(layer.node).c_str(), shape.c_str(), d.cosine,
                d.maxError, d.maxValue, bad ? "  bad" : "");
    if (bad && firstBad.empty())
      firstBad = layer.node + " (" + layer.symbol + ")";
  }
  if (firstBad.empty())
    std::printf("no layer's cosine is below %g\n", badCosine);
  else
    std::printf("first bad layer: %s\n", plain(firstBad).c_str());
  return true;
}
