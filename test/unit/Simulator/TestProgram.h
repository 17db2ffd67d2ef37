// Compiles programs for the chip at test time and runs them on the machine.
#pragma once
#include "simulator/ElfLoader.h"
#include "simulator/Machine.h"
#include <memory>
#include <string>
#include <vector>

namespace tensorturbo::sim::test {

/// Whether a clang for riscv32 is there; otherwise tests that need it are skipped.
bool canCompile();

/// A compiled program: the file's bytes and their parsed form.
struct Program {
  std::string file;
  ElfImage image;
};

/// Compiles test/unit/Simulator/programs/Start.S together with `sources` (files of that folder) and
/// `assembly` (text, may be empty). Reports a test failure and returns null if that fails.
std::unique_ptr<Program> compileProgram(const std::vector<std::string> &sources,
                                        const std::string &assembly = {},
                                        const std::string &march = "rv32imafdc");

/// Loads and runs; the machine stays for inspection.
RunResult runProgram(Machine &machine, const Program &program);

/// 32-bit word of DDR at a symbol of the program plus 4 * index.
uint32_t wordAt(Machine &machine, const Program &program, const std::string &symbol, uint32_t index = 0);

/// Folder of the recorded programs and vectors, or "" if it is not there.
std::string sharedFolder(const std::string &name);

} // namespace tensorturbo::sim::test
