#include "Commands.h"
#include "Debug.h"
#include "runtime/ObjectFile.h"
#include <cstdio>

using namespace tensorturbo;
using runtime::Metadata;
using runtime::ObjectFile;

static void printTensors(const char *title, const std::vector<runtime::TensorSpec> &list) {
  std::printf("\n%s\n", title);
  for (const runtime::TensorSpec &t : list)
    std::printf("  %-32s %-28s at 0x%08x as %s, %s\n", cli::plain(t.name).c_str(),
                cli::typeText(t.shape, t.dtype).c_str(), t.buffer.address, dtypeName(t.buffer.dtype),
                cli::sizeText(t.buffer.bytes).c_str());
}

static void printSegments(const ObjectFile &object) {
  std::printf("\nLoadable segments (entry 0x%08x)\n", object.entry);
  for (const runtime::Segment &s : object.segments)
    std::printf("  %-32s 0x%08x..0x%08x %s%s, %s\n", cli::plain(s.name).c_str(), s.address,
                s.address + (s.memorySize ? s.memorySize - 1 : 0), s.executable ? "code" : "data",
                s.writable ? ", writable" : "", cli::sizeText(s.memorySize).c_str());
  std::printf("\nSections\n");
  for (const auto &[name, bytes] : object.sections)
    std::printf("  %-32s %s\n", cli::plain(name).c_str(), cli::sizeText(bytes.size()).c_str());
}

static void printSteps(const Metadata &meta) {
  std::printf("\nA run\n");
  for (const runtime::RunSegment &s : meta.segments)
    std::printf("  %-32s %zu nodes\n",
                s.onHost ? ("host function " + cli::plain(s.symbol)).c_str()
                         : ("NPU segment " + std::to_string(s.index)).c_str(),
                s.nodes.size());
}

static void printNodes(const Metadata &meta, bool all) {
  std::map<std::string, size_t> counts;
  for (const runtime::NodeInfo &n : meta.nodes)
    ++counts[n.where];
  std::printf("\nNodes of the source model\n");
  for (const auto &[where, count] : counts)
    std::printf("  %-32s %zu\n", cli::plain(where).c_str(), count);
  std::printf(all ? "\n" : counts.count("host") ? "\nOn the host\n" : "");
  for (const runtime::NodeInfo &n : meta.nodes)
    if (all || n.where == "host")
      std::printf("  %-8s %-32s %-24s %s\n", cli::plain(n.where).c_str(), cli::plain(n.name).c_str(),
                  cli::plain(n.op).c_str(), cli::plain(n.reason).c_str());
}

namespace {
struct InspectArguments {
  std::string object, kernel, memory;
  int core = 0;
  bool nodes = false, json = false, assembly = false;
};
} // namespace

static void inspect(const InspectArguments &arguments, Diagnostics &diags) {
  const std::string &path = arguments.object;
  auto object = ObjectFile::read(path, diags);
  if (!object)
    return;
  if (cli::isCoreDump(*object) && !arguments.assembly) {
    cli::printCoreDump(*object, arguments.memory, arguments.core, diags);
    return;
  }
  auto meta = Metadata::fromJson(object->sectionText(runtime::section::meta), diags);
  if (!meta)
    return;
  if (!arguments.memory.empty()) {
    diags.userError("--memory needs a core dump, this is a model");
    return;
  }
  if (arguments.assembly) {
    cli::printAssembly(*object, *meta, arguments.kernel, diags);
    return;
  }
  if (arguments.json) {
    std::printf("%s\n", meta->toJson().c_str());
    return;
  }
  std::printf("%s\n  made by %s from %s\n  kernel %s, target %s, %d cores, graph schedule level %d\n",
              cli::plain(path).c_str(), cli::plain(meta->producer).c_str(),
              cli::plain(meta->sourcePath).c_str(), cli::plain(meta->kernel).c_str(), meta->target.c_str(),
              meta->ncore, meta->graphScheduleLevel);
  for (const auto &[name, value] : meta->options)
    std::printf("  option %s = %s\n", cli::plain(name).c_str(), cli::plain(value).c_str());
  printTensors("Inputs", meta->inputs);
  printTensors("Outputs", meta->outputs);
  printSegments(*object);
  printSteps(*meta);
  printNodes(*meta, arguments.nodes);
}

void cli::addInspect(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App *command = app.add_subcommand("inspect", "Show what is in an object file");
  command->add_option("object", arguments->object, "the .stcobj file, or a core dump of 'run'")->required();
  command->add_flag("--nodes", arguments->nodes,
                    "list every node of the source model, not only those on the host");
  command->add_flag("--json", arguments->json, "print the metadata as JSON");
  command->add_flag("--asm", arguments->assembly, "print the code as assembly text, with its source nodes");
  command->add_option("--kernel", arguments->kernel, "--asm: only the code of this node or symbol");
  command->add_option("--memory", arguments->memory, "core dump: print 0xADDRESS:BYTES of memory");
  command->add_option("--core", arguments->core, "core dump: whose L1 and IM")->check(CLI::Range(0, 7));
  command->callback([arguments, &exitCode] {
    Diagnostics diags;
    inspect(*arguments, diags);
    exitCode = finish(diags);
  });
}
