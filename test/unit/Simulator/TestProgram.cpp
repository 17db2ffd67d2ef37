#include "TestProgram.h"
#include "Support/File.h"
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tensorturbo::sim::test {

namespace fs = std::filesystem;

bool canCompile() {
  return *TT_TEST_CLANG && std::string(TT_TEST_CLANG).find("NOTFOUND") == std::string::npos;
}

std::unique_ptr<Program> compileProgram(const std::vector<std::string> &sources, const std::string &assembly,
                                        const std::string &march) {
  static int count = 0;
  fs::path folder = fs::temp_directory_path() /
                    ("tt-simulator-test-" + std::to_string(getpid()) + "-" + std::to_string(count++));
  fs::create_directories(folder);
  fs::path elf = folder / "program.elf", log = folder / "log.txt", text = folder / "text.S";
  std::string programs = TT_TEST_PROGRAMS;
  std::string command =
      std::string(TT_TEST_CLANG) + " --target=riscv32-unknown-elf -march=" + march +
      " -mabi=ilp32d -ffreestanding -fno-builtin -nostdlib -O2 -ffp-contract=off -fuse-ld=lld"
      " -Wl,-T," +
      programs + "/Link.ld -o " + elf.string() + " " + programs + "/Start.S";
  for (const std::string &source : sources)
    command += " " + programs + "/" + source;
  if (!assembly.empty()) {
    std::ofstream(text) << assembly;
    command += " " + text.string();
  }
  auto program = std::make_unique<Program>();
  if (std::system((command + " > " + log.string() + " 2>&1").c_str()) != 0) {
    std::ifstream in(log);
    ADD_FAILURE() << command << "\n" << in.rdbuf();
    program = nullptr;
  } else {
    std::ifstream in(elf, std::ios::binary);
    program->file.assign(std::istreambuf_iterator<char>(in), {});
    Diagnostics diags;
    auto image = parseElf(program->file, elf.string(), diags);
    if (image) {
      program->image = std::move(*image);
    } else {
      ADD_FAILURE() << diags.render();
      program = nullptr;
    }
  }
  fs::remove_all(folder);
  return program;
}

RunResult runProgram(Machine &machine, const Program &program) {
  loadElf(machine, program.image);
  return machine.run(program.image.entry, program.image.symbol("tohost").value_or(0));
}

uint32_t wordAt(Machine &machine, const Program &program, const std::string &symbol, uint32_t index) {
  auto address = program.image.symbol(symbol);
  EXPECT_TRUE(address) << symbol;
  uint32_t word = 0;
  if (address)
    EXPECT_TRUE(machine.readMemory(0, *address + 4 * index, &word, 4));
  return word;
}

std::string sharedFolder(const std::string &name) {
  const char *root = std::getenv("TT_SHARED");
  fs::path folder = fs::path(root ? root : TT_TEST_SHARED) / name;
  return fs::is_directory(folder) ? folder.string() : "";
}

} // namespace tensorturbo::sim::test
