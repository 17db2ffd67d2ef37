#include "Commands.h"
#include "Debug.h"
#include "Progress.h"
#include "runtime/Convert.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace tensorturbo;
namespace json = llvm::json;

namespace {

struct RunArguments {
  std::string object, output, report, trace, profile = "base", ddr = "same-model";
  std::vector<std::string> inputs;
  std::vector<std::string> constants;
  std::string breakAt, dumpAfter, compare, model, coreDump;
  std::optional<uint64_t> maxInstructions;
  bool noChecks = false, fillNan = false, timing = false, timingOnly = false;
};

/// The report as JSON, the trace and the table, as asked for.
bool writeReports(const RunArguments &arguments, const sim::RunReport &report, Diagnostics &diags) {
  bool good = true;
  if (!arguments.report.empty()) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::formatv("{0:2}\n", json::Value(report.toJson()));
    good &= writeFileAtomically(arguments.report, {text}, diags);
  }
  if (!arguments.trace.empty())
    good &= writeFileAtomically(arguments.trace, {report.perfetto()}, diags);
  if (arguments.timing || arguments.timingOnly)
    std::fputs(report.table().c_str(), stdout);
  return good;
}

void printOutput(const std::string &name, const NpyArray &array) {
  std::printf("%s: %s", cli::plain(name).c_str(), cli::typeText(array.shape, array.dtype).c_str());
  size_t count = array.bytes.size() / dtypeSize(array.dtype), shown = std::min<size_t>(count, 8);
  std::vector<double> values(shown);
  if (runtime::canConvert(array.dtype, DType::Float64)) {
    runtime::convertElements(array.bytes.data(), array.dtype, values.data(), DType::Float64, shown);
    for (size_t i = 0; i < shown; ++i)
      std::printf("%s%g", i ? ", " : " = ", values[i]);
    std::printf("%s", count > shown ? ", ..." : "");
  }
  std::printf("\n");
}

bool writeOutputs(const std::string &path, const runtime::Executor &executor, Diagnostics &diags) {
  const auto &specs = executor.metadata().outputs;
  bool single = path.size() > 4 && path.compare(path.size() - 4, 4, ".npy") == 0;
  if (single && specs.size() != 1) {
    diags.userError("the model has " + std::to_string(specs.size()) + " outputs, a .npy file holds one", {},
                    "give a .npz file");
    return false;
  }
  if (single)
    return writeNpy(path, executor.output(0), diags);
  NpzArrays arrays;
  for (size_t i = 0; i < specs.size(); ++i)
    arrays[specs[i].name] = executor.output(i);
  return writeNpz(path, arrays, diags);
}

bool timingOptions(const RunArguments &arguments, runtime::ExecutorOptions &options, Diagnostics &diags) {
  runtime::TimingRequest request;
  request.profile = arguments.profile;
  request.slices = !arguments.trace.empty();
  for (const std::string &text : arguments.constants) {
    size_t equals = text.find('=');
    double value;
    if (equals == std::string::npos || llvm::StringRef(text).substr(equals + 1).getAsDouble(value))
      diags.userError("a constant is given as NAME=NUMBER, got " + quoteForMessage(text));
    else
      request.constants.push_back({text.substr(0, equals), value});
  }
  sim::parseDdrSharing(arguments.ddr, request.ddr);
  options.timing = std::move(request);
  options.timingOnly = arguments.timingOnly;
  return !diags.hasErrors();
}

void run(const RunArguments &arguments, Diagnostics &diags) {
  runtime::ExecutorOptions options;
  options.checks = !arguments.noChecks;
  options.maxInstructions = arguments.maxInstructions;
  if (arguments.fillNan)
    options.fill = 0xFFFF;
  bool timed =
      arguments.timing || arguments.timingOnly || !arguments.report.empty() || !arguments.trace.empty();
  if (timed && !timingOptions(arguments, options, diags))
    return;
  for (auto [name, value] : {std::pair("--output", &arguments.output),
                             {"--dump-after", &arguments.dumpAfter},
                             {"--compare", &arguments.compare}})
    if (arguments.timingOnly && !value->empty())
      diags.userError(std::string(name) + " needs a run with data, --timing-only runs without");
  if (diags.hasErrors())
    return;
  std::unique_ptr<runtime::Executor> executor;
  std::optional<cli::ResultDump> dump;
  std::optional<cli::FloatComparison> comparison;
  if (!arguments.dumpAfter.empty() || !arguments.compare.empty())
    options.onResult = [&](const runtime::KernelInfo &kernel, const runtime::KernelBuffer &output, int part) {
      if (dump)
        dump->resultDone(*executor, kernel, output, part);
      if (comparison)
        comparison->resultDone(*executor, kernel, output, part);
    };
  executor = runtime::Executor::load(arguments.object, diags, std::move(options));
  if (!executor)
    return;
  if (!arguments.compare.empty() && arguments.model.empty())
    diags.userError("--compare needs the model: --model FILE.onnx");
  else if (!arguments.compare.empty())
    comparison.emplace();
  if (!arguments.dumpAfter.empty())
    dump.emplace(arguments.dumpAfter, executor->metadata(), diags);
  if (!arguments.breakAt.empty())
    executor->setBreakpoints(
        cli::breakAddresses(executor->file(), executor->metadata(), arguments.breakAt, diags));
  NpzArrays arrays = cli::readInputs(arguments.inputs, diags);
  if (diags.hasErrors() || !executor->setInputs(cli::viewsOf(arrays), diags))
    return;
  bool good;
  {
    cli::Progress progress;
    progress.show("run", 0);
    good = executor->run(diags);
  }
  if (!good && !arguments.coreDump.empty() && executor->chip()) {
    if (cli::writeCoreDump(arguments.coreDump, *executor, diags))
      std::printf("%s: registers and memory, see 'tensorturbo inspect'\n",
                  cli::plain(arguments.coreDump).c_str());
  }
  if (!good)
    return;
  if (dump && !dump->write(diags))
    return;
  if (executor->stopped()) {
    cli::printState(*executor, *executor->stopped());
    return;
  }
  if (!arguments.breakAt.empty())
    diags.warning("the run did not come to " + quoteForMessage(arguments.breakAt));
  if (timed && !writeReports(arguments, *executor->statistics().report, diags))
    return;
  if (comparison) {
    comparison->print(arguments.model, executor->metadata(), arrays, diags);
    return;
  }
  if (arguments.timingOnly)
    return;
  if (!arguments.output.empty()) {
    writeOutputs(arguments.output, *executor, diags);
    return;
  }
  for (size_t i = 0; i < executor->metadata().outputs.size(); ++i)
    printOutput(executor->metadata().outputs[i].name, executor->output(i));
}

} // namespace

void cli::addRun(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App *command = app.add_subcommand("run", "Run an object file on the simulated chip");
  command->add_option("object", arguments->object, "the .stcobj file")->required();
  command
      ->add_option("--input", arguments->inputs,
                   "NAME=array.npy, or arrays.npz with one array for each input")
      ->allow_extra_args(false);
  command->add_option("--output", arguments->output, "write the outputs (.npz, or .npy for a single one)");
  command->add_option("--report", arguments->report,
                      "write modelled time, engines, layers and instruction counts, as JSON");
  command->add_flag("--timing", arguments->timing, "print the modelled time by engine and layer");
  command->add_flag("--timing-only", arguments->timingOnly,
                    "the same without data: no inputs, no outputs, fast");
  command->add_option("--trace", arguments->trace, "write a trace for the Perfetto viewer");
  command->add_option("--profile", arguments->profile, "constants of the timing model")
      ->check(CLI::IsMember(target::p920().profiles()));
  command
      ->add_option("--ddr", arguments->ddr,
                   "what the other clusters do to the DDR: same-model, idle, saturating")
      ->check(CLI::IsMember({"same-model", "idle", "saturating"}));
  command->add_option("--constant", arguments->constants, "NAME=NUMBER: another value of a timing constant")
      ->allow_extra_args(false);
  command->add_flag("--no-checks", arguments->noChecks,
                    "do not stop at reads of memory never written, races and the like");
  command->add_option(
      "--break", arguments->breakAt,
      "stop in front of a node's code, a symbol or 0xADDRESS and print registers and operands");
  command->add_option("--dump-after", arguments->dumpAfter,
                      "write what a node's kernel leaves: NODE, or NODE=FILE.npy");
  command
      ->add_option("--compare", arguments->compare,
                   "'float': compare every layer with the float32 results of --model on the host")
      ->check(CLI::IsMember({"float"}));
  command->add_option("--model", arguments->model, "the .onnx file that the object was compiled from");
  command->add_option("--max-instructions", arguments->maxInstructions,
                      "fail after so many instructions of all cores together");
  command->add_option("--core-dump", arguments->coreDump,
                      "write registers and memory to this file if the program fails");
  command->add_flag("--fill-nan", arguments->fillNan, "start with all on-chip memory full of NaN");
  command->callback([arguments, &exitCode] {
    Diagnostics diags;
    run(*arguments, diags);
    exitCode = finish(diags);
  });
}
