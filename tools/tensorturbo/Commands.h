// The subcommands of the command line tool. Each adds itself to the parser; its callback leaves the exit
// code.
#pragma once
#include "Support/Diagnostics.h"
#include "Support/Npy.h"
#include "runtime/Executor.h"
#include <CLI/CLI.hpp>

namespace tensorturbo::cli {

void addCompile(CLI::App &app, int &exitCode);
void addRun(CLI::App &app, int &exitCode);
void addInspect(CLI::App &app, int &exitCode);
void addPack(CLI::App &app, int &exitCode);

/// Prints all findings on stderr and gives the exit code.
int finish(const Diagnostics &diags);

/// Arrays from "name=file.npy" and "file.npz" arguments. Every unreadable file and double name is reported.
NpzArrays readInputs(const std::vector<std::string> &arguments, Diagnostics &diags);
/// The arrays as the run-time library takes them; they must outlive the result.
std::map<std::string, runtime::TensorView> viewsOf(const NpzArrays &arrays);

/// "16x3x224x224 float32"
std::string typeText(const std::vector<int64_t> &shape, DType dtype);
/// "1.25 MiB"
std::string sizeText(uint64_t bytes);
/// Text of a foreign file made harmless for a terminal, without quotes around it.
std::string plain(const std::string &text);

} // namespace tensorturbo::cli
