#include "Commands.h"
#include "Progress.h"
#include "runtime/Convert.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace tensorturbo;
namespace json = llvm::json;

namespace {

struct RunArguments {
  std::string object, output, report;
  std::vector<std::string> inputs;
  bool noChecks = false, fillNan = false;
};

bool writeReport(const std::string &path, const runtime::RunStatistics &stats, Diagnostics &diags) {
  json::Array cores;
  for (const sim::CoreCounters &c : stats.cores) {
    json::Object instructions;
    for (const auto &[name, count] : c.instructions)
      instructions[name] = static_cast<int64_t>(count);
    cores.push_back(json::Object{{"retired", static_cast<int64_t>(c.retired)},
                                 {"instructions", std::move(instructions)},
                                 {"csr_writes", static_cast<int64_t>(c.csrWrites)},
                                 {"csr_writes_same_value", static_cast<int64_t>(c.csrWritesSameValue)},
                                 {"mme_cycles", static_cast<int64_t>(c.mmeCycles)},
                                 {"vme_cycles", static_cast<int64_t>(c.vmeCycles)},
                                 {"mte_bytes", static_cast<int64_t>(c.mteBytes)}});
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv(
      "{0:2}\n", json::Value(json::Object{{"simulation_seconds", stats.npuSeconds},
                                          {"host_seconds", stats.hostSeconds},
                                          {"cores", std::move(cores)}}));
  return writeFileAtomically(path, {text}, diags);
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

void run(const RunArguments &arguments, Diagnostics &diags) {
  runtime::ExecutorOptions options;
  options.checks = !arguments.noChecks;
  if (arguments.fillNan)
    options.fill = 0xFFFF;
  auto executor = runtime::Executor::load(arguments.object, diags, options);
  if (!executor)
    return;
  NpzArrays arrays = cli::readInputs(arguments.inputs, diags);
  if (diags.hasErrors() || !executor->setInputs(cli::viewsOf(arrays), diags))
    return;
  bool good;
  {
    cli::Progress progress;
    progress.show("run", 0);
    good = executor->run(diags);
  }
  if (!good)
    return;
  if (!arguments.report.empty() && !writeReport(arguments.report, executor->statistics(), diags))
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
  command->add_option("--report", arguments->report, "write instruction counts of each core, as JSON");
  command->add_flag("--no-checks", arguments->noChecks, "do not stop at reads of memory never written");
  command->add_flag("--fill-nan", arguments->fillNan, "start with all on-chip memory full of NaN");
  command->callback([arguments, &exitCode] {
    Diagnostics diags;
    run(*arguments, diags);
    exitCode = finish(diags);
  });
}
