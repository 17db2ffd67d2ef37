#include "Commands.h"
#include "Pipeline/Compiler.h"
#include "Pipeline/Options.h"
#include "Progress.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstdlib>

using namespace tensorturbo;
namespace json = llvm::json;

namespace {

struct CompileArguments {
  std::string model, output, report;
  std::vector<std::string> shapes, options;
  std::string level, ncore, target, dumpFile, graphDumpFile;
  bool quiet = false;
};

/// "x=16,3,224,224"
bool parseShape(const std::string &text, ShapeMap &shapes, Diagnostics &diags) {
  size_t equals = text.rfind('=');
  std::vector<int64_t> dims;
  bool good = equals != std::string::npos && equals > 0;
  const char *at = good ? text.c_str() + equals + 1 : "";
  while (good && *at) {
    char *end = nullptr;
    errno = 0;
    long long value = std::strtoll(at, &end, 10);
    good = end != at && errno == 0 && value > 0 && (*end == '\0' || (*end == ',' && end[1] != '\0'));
    dims.push_back(value);
    at = *end ? end + 1 : end;
  }
  if (!good) {
    diags.userError("cannot read shape " + quoteForMessage(text), {},
                    "give the input's name and its positive dimensions: --shape x=16,3,224,224");
    return false;
  }
  if (!shapes.emplace(text.substr(0, equals), dims).second) {
    diags.userError("the shape of input " + quoteForMessage(text.substr(0, equals)) + " is given twice");
    return false;
  }
  return true;
}

void setOptions(const CompileArguments &arguments, CompileOptions &options, Diagnostics &diags) {
  auto set = [&](const char *name, const std::string &value) {
    if (!value.empty())
      setOptionFromText(options, name, value, diags);
  };
  set("graph_schedule_level", arguments.level);
  set("ncore", arguments.ncore);
  set("target", arguments.target);
  set("dump_file", arguments.dumpFile);
  set("graph_dump_file", arguments.graphDumpFile);
  for (const std::string &option : arguments.options) {
    size_t equals = option.find('=');
    if (equals == std::string::npos)
      diags.userError("cannot read option " + quoteForMessage(option), {}, "give --option name=value");
    else
      setOptionFromText(options, option.substr(0, equals), option.substr(equals + 1), diags);
  }
}

std::string utf8(const std::string &text) {
  return json::isUTF8(text) ? text : json::fixUTF8(text);
}

bool writeReport(const std::string &path, const CompileReport &report, Diagnostics &diags) {
  json::Array nodes, phases;
  for (const NodePlacement &n : report.nodes)
    nodes.push_back(json::Object{
        {"name", utf8(n.name)}, {"op", utf8(n.op)}, {"where", n.where}, {"reason", utf8(n.reason)}});
  for (const auto &[name, seconds] : report.phases)
    phases.push_back(json::Object{{"name", name}, {"seconds", seconds}});
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv(
      "{0:2}\n", json::Value(json::Object{{"nodes", std::move(nodes)},
                                          {"object_bytes", static_cast<int64_t>(report.objectBytes)},
                                          {"phases", std::move(phases)}}));
  return writeFileAtomically(path, {text}, diags);
}

void printSummary(const CompileArguments &arguments, const CompileReport &report) {
  size_t npu = 0, host = 0, folded = 0;
  for (const NodePlacement &n : report.nodes)
    (n.where == "npu" ? npu : n.where == "host" ? host : folded) += 1;
  double seconds = 0;
  for (const auto &phase : report.phases)
    seconds += phase.second;
  std::printf("%s: %s, %zu nodes on the NPU, %zu on the host, %zu folded, %.1f s\n",
              cli::plain(arguments.output).c_str(), cli::sizeText(report.objectBytes).c_str(), npu, host,
              folded, seconds);
}

int compile(const CompileArguments &arguments) {
  Diagnostics diags;
  CompileOptions options;
  ShapeMap shapes;
  for (const std::string &shape : arguments.shapes)
    parseShape(shape, shapes, diags);
  setOptions(arguments, options, diags);
  if (diags.hasErrors())
    return cli::finish(diags);
  CompileReport report;
  bool good = false;
  {
    cli::Progress progress;
    progress.show("import", 0);
    auto model = Model::fromOnnx(arguments.model, shapes, diags);
    good =
        model && model->compile(arguments.output, options, diags, &report,
                                [&](const std::string &phase, double done) { progress.show(phase, done); });
  }
  if (good && !arguments.report.empty())
    good = writeReport(arguments.report, report, diags);
  if (!good && !diags.hasErrors())
    diags.internalError("the compiler failed without saying why");
  if (good && !arguments.quiet)
    printSummary(arguments, report);
  return cli::finish(diags);
}

} // namespace

void cli::addCompile(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App *command = app.add_subcommand("compile", "Compile an ONNX model into an object file (.stcobj)");
  command->add_option("model", arguments->model, "the .onnx file")->required();
  command->add_option("-o,--output", arguments->output, "the object file to write")->required();
  command->add_option("--shape", arguments->shapes, "shape of an input: NAME=D0,D1,... (may be repeated)")
      ->allow_extra_args(false);
  command->add_option("--level", arguments->level, "graph schedule level, 0 to 4 (default 3)");
  command->add_option("--ncore", arguments->ncore, "NPU cores: 1, 2, 4 or 8 (default 8)");
  command->add_option("--target", arguments->target, "'npu' (default) or 'llvm': all on the host");
  command->add_option("--report", arguments->report, "write what runs where and why, as JSON");
  command
      ->add_option("--option", arguments->options, "any option of the manual: NAME=VALUE (may be repeated)")
      ->allow_extra_args(false);
  command->add_option("--dump-file", arguments->dumpFile, "write the generated C++ code (.cc)");
  command->add_option("--graph-dump-file", arguments->graphDumpFile,
                      "write the scheduled graph as Relay text (.relay)");
  command->add_flag("-q,--quiet", arguments->quiet, "print errors and warnings only");
  command->callback([arguments, &exitCode] { exitCode = compile(*arguments); });
}
