// Stops in the middle of a run: where, and what the cores hold.
#include "Debug.h"
#include "Target/Target.h"
#include "simulator/insn/Insn.h"
#include <cinttypes>
#include <cstring>

using namespace tensorturbo;

std::vector<uint32_t> cli::breakAddresses(const runtime::ObjectFile &object, const runtime::Metadata &meta,
                                          const std::string &where, Diagnostics &diags) {
  if (where.compare(0, 2, "0x") == 0) {
    char *end = nullptr;
    unsigned long long value = std::strtoull(where.c_str(), &end, 16);
    for (const runtime::Segment &s : object.segments)
      if (!*end && s.executable && value >= s.address && value - s.address < s.bytes.size())
        return {static_cast<uint32_t>(value)};
    diags.userError("no code lies at " + quoteForMessage(where), {},
                    "'tensorturbo inspect --asm' shows the code");
    return {};
  }
  if (const runtime::Symbol *symbol = object.findSymbol(where))
    return {symbol->address};
  std::vector<uint32_t> addresses;
  for (size_t i : findKernels(meta, where, diags)) {
    if (meta.kernels[i].onHost)
      diags.userError("node " + quoteForMessage(where) + " runs on the host, where no breakpoint can be set");
    else if (const runtime::Symbol *symbol = object.findSymbol(meta.kernels[i].symbol))
      addresses.push_back(symbol->address);
  }
  return addresses;
}

std::string cli::registerText(const sim::Core &core) {
  static const char *const names[32] = {"zero", "ra", "sp", "gp", "tp",  "t0",  "t1", "t2", "s0", "s1", "a0",
                                        "a1",   "a2", "a3", "a4", "a5",  "a6",  "a7", "s2", "s3", "s4", "s5",
                                        "s6",   "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};
  std::string text;
  char item[64];
  for (int i = 0; i < 32; ++i) {
    std::snprintf(item, sizeof item, "%s%4s %08X", i % 8 ? "  " : "  ", names[i], core.x[i]);
    text += item;
    text += i % 8 == 7 ? "\n" : "";
  }
  int shown = 0;
  for (int i = 0; i < 32; ++i) {
    if (!core.f[i])
      continue;
    uint32_t bits = static_cast<uint32_t>(core.f[i]);
    float single;
    std::memcpy(&single, &bits, 4);
    double value = single;
    if (core.f[i] >> 32 != 0xFFFFFFFF)
      std::memcpy(&value, &core.f[i], 8);
    std::snprintf(item, sizeof item, "  f%-2d %016" PRIX64 " %-12g", i, core.f[i], value);
    text += item;
    text += ++shown % 3 ? "" : "\n";
  }
  text += shown % 3 ? "\n" : "";
  std::snprintf(item, sizeof item, "  vtype 0x%X  vl %u\n", core.vtype, core.vl);
  text += item;
  shown = 0;
  for (const target::Csr &csr : target::p920().csrs()) {
    if (csr.number < 0x400 || csr.number >= 0x430)
      continue;
    std::snprintf(item, sizeof item, "  %03X %-20s %08X", csr.number, csr.name.c_str(), core.csr[csr.number]);
    text += item;
    text += ++shown % 3 ? "" : "\n";
  }
  return text + (shown % 3 ? "\n" : "");
}

void cli::printState(runtime::Executor &executor, const sim::RunResult &stop) {
  sim::Machine &chip = *executor.chip();
  const sim::Core &core = chip.core(static_cast<int>(stop.core));
  std::printf("stopped: core %u at %s\n", stop.core, placeText(executor.origin(stop.pc), stop.pc).c_str());
  char code[4] = {};
  chip.readMemory(0, stop.pc, code, 4);
  Disassembler disassembler;
  std::printf("  %s\n%s", disassembler.at({code, 4}, stop.pc).text.c_str(), registerText(core).c_str());
  uint32_t word;
  std::memcpy(&word, code, 4);
  if (const target::Instruction *insn = (word & 3) == 3 ? target::p920().decode(word) : nullptr) {
    sim::Regions operands = sim::describeOperands(core, word, *insn);
    if (operands.size())
      std::printf("operands\n");
    for (const sim::Region &r : operands)
      std::printf("  %s 0x%08X: %u rows of %u bytes, %u apart%s\n", r.isWrite ? "writes" : "reads ",
                  r.address, r.rows, r.rowBytes, r.stride,
                  r.core != core.id ? (" on core " + std::to_string(r.core)).c_str() : "");
  }
  std::printf("other cores\n");
  for (int i = 0; i < chip.cores(); ++i)
    if (i != static_cast<int>(stop.core)) {
      sim::CoreStatus status = chip.status(i);
      std::printf("  core %d at %s: %s\n", i, placeText(executor.origin(status.pc), status.pc).c_str(),
                  status.text.c_str());
    }
}

std::optional<NpyArray> cli::ResultReader::read(const runtime::Executor &executor,
                                                const runtime::KernelInfo &kernel,
                                                const runtime::KernelBuffer &output, DType dtype, int part) {
  // So many runs of the kernel fill the buffer.
  int runs = std::max(1, kernel.parts / output.parts);
  if ((part + 1) % runs != 0)
    return std::nullopt;
  auto array = executor.read(output, dtype);
  if (!array || output.parts == 1)
    return array;
  auto &bytes = begun[{kernel.symbol, output.buffer.address}];
  bytes.insert(bytes.end(), array->bytes.begin(), array->bytes.end());
  if (part + 1 < kernel.parts)
    return std::nullopt;
  array->shape = output.shape;
  array->bytes = std::move(bytes);
  return array;
}

cli::ResultDump::ResultDump(const std::string &argument, const runtime::Metadata &meta, Diagnostics &diags)
    : node(argument) {
  size_t equals = argument.rfind('=');
  if (equals != std::string::npos && argument.size() > 4 &&
      argument.compare(argument.size() - 4, 4, ".npy") == 0) {
    node = argument.substr(0, equals);
    file = argument.substr(equals + 1);
  } else {
    for (char c : argument)
      file += std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' ? c : '_';
    file += ".npy";
  }
  // The kernel that makes the node's own result, if one does; else the last one that has part in it.
  for (size_t i : findKernels(meta, node, diags)) {
    symbol = meta.kernels[i].symbol;
    bool makesIt = std::any_of(meta.kernels[i].outputs.begin(), meta.kernels[i].outputs.end(),
                               [&](const runtime::KernelBuffer &b) { return b.node == node; });
    if (makesIt && meta.kernels[i].nodes.size() > 1)
      break;
  }
}

void cli::ResultDump::resultDone(const runtime::Executor &executor, const runtime::KernelInfo &kernel,
                                 const runtime::KernelBuffer &output, int part) {
  if (kernel.symbol != symbol)
    return;
  if (auto array = reader.read(executor, kernel, output, output.buffer.dtype, part))
    results.emplace_back(output.node, std::move(*array));
}

bool cli::ResultDump::write(Diagnostics &diags) const {
  if (results.empty()) {
    diags.userError("the run did not come to " + quoteForMessage(symbol));
    return false;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const auto &[made, array] = results[i];
    std::string path = file;
    if (results.size() > 1)
      path.insert(path.size() - 4, "." + std::to_string(i));
    if (!writeNpy(path, array, diags))
      return false;
    std::printf("%s: %s after %s%s\n", plain(path).c_str(), typeText(array.shape, array.dtype).c_str(),
                plain(symbol).c_str(),
                made == node || made.empty() ? "" : (", result of node " + plain(made)).c_str());
  }
  return true;
}
