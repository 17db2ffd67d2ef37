// The user's command line tool: compile, run, inspect and pack models.
#include "Commands.h"
#include "Support/File.h"
#include <csignal>
#include <cstdio>
#include <new>

using namespace tensorturbo;

/// Leaves nothing half-written, then ends as the signal would have.
static void onSignal(int number) {
  removeUnfinishedFiles();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

/// CLI11 only says that a command is missing; this names the nearest one.
static void checkCommand(const CLI::App &app, const std::string &word, Diagnostics &diags) {
  std::vector<std::string> names;
  std::string list;
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; })) {
    if (command->get_name() == word)
      return;
    names.push_back(command->get_name());
    list += (list.empty() ? "" : ", ") + command->get_name();
  }
  std::string near = nearestName(word, names);
  diags.userError("unknown command " + quoteForMessage(word), {},
                  near.empty() ? "commands are: " + list : "did you mean " + quoteForMessage(near) + "?");
}

static int runTool(int argc, char **argv) {
  int exitCode = 0;
  CLI::App app{"TensorTurbo compiles neural networks for the STCP920 NPU and runs them on a simulated chip.",
               "tensorturbo"};
  app.set_version_flag("--version", "tensorturbo " TT_VERSION);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App *, const CLI::Error &e) {
    return "error: " + std::string(e.what()) +
           "\n  hint: 'tensorturbo COMMAND --help' tells how it is used\n";
  });
  cli::addCompile(app, exitCode);
  cli::addRun(app, exitCode);
  cli::addInspect(app, exitCode);
  cli::addPack(app, exitCode);
  Diagnostics diags;
  if (argc > 1 && argv[1][0] != '-')
    checkCommand(app, argv[1], diags);
  if (diags.hasErrors())
    return cli::finish(diags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &e) {
    // Help and version are no failures; everything else is the user's.
    return app.exit(e) == 0 ? 0 : 1;
  }
  return exitCode;
}

int main(int argc, char **argv) {
  for (int number : {SIGINT, SIGTERM, SIGHUP})
    std::signal(number, onSignal);
  // A closed output and a file size limit show as failed writes, not as a silent end.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  int exitCode;
  try {
    exitCode = runTool(argc, argv);
  } catch (const std::bad_alloc &) {
    std::fputs("resource error: out of memory\n", stderr);
    exitCode = 2;
  }
  if (std::fflush(stdout) != 0 && exitCode == 0) {
    std::perror("error: cannot write to standard output");
    exitCode = 1;
  }
  return exitCode;
}
