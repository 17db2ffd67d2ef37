#include "Debug.h"
#include "Target/Target.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrAnalysis.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"
#include <algorithm>
#include <cstring>

extern "C" void LLVMInitializeRISCVTargetInfo();
extern "C" void LLVMInitializeRISCVTargetMC();
extern "C" void LLVMInitializeRISCVDisassembler();

using namespace tensorturbo;

struct cli::Disassembler::Impl {
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> asmInfo;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
  std::unique_ptr<llvm::MCInstrAnalysis> analysis;
};

cli::Disassembler::Disassembler() : impl(std::make_unique<Impl>()) {
  LLVMInitializeRISCVTargetInfo();
  LLVMInitializeRISCVTargetMC();
  LLVMInitializeRISCVDisassembler();
  llvm::Triple triple("riscv32-unknown-elf");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  llvm::MCTargetOptions options;
  impl->registers.reset(target->createMCRegInfo(triple));
  impl->asmInfo.reset(target->createMCAsmInfo(*impl->registers, triple, options));
  impl->instructions.reset(target->createMCInstrInfo());
  impl->subtarget.reset(target->createMCSubtargetInfo(triple, "", "+m,+a,+f,+d,+c"));
  impl->context = std::make_unique<llvm::MCContext>(triple, impl->asmInfo.get(), impl->registers.get(),
                                                    impl->subtarget.get());
  impl->disassembler.reset(target->createMCDisassembler(*impl->subtarget, *impl->context));
  impl->printer.reset(
      target->createMCInstPrinter(triple, 0, *impl->asmInfo, *impl->instructions, *impl->registers));
  impl->printer->setPrintBranchImmAsAddress(true);
  impl->analysis.reset(target->createMCInstrAnalysis(impl->instructions.get()));
}
cli::Disassembler::~Disassembler() = default;

/// Name of the chip's CSR that a CSR instruction names, as a remark.
static std::string csrRemark(uint32_t word) {
  if ((word & 0x7F) != 0x73 || (word >> 12 & 7) == 0)
    return {};
  std::string_view name = target::p920().csrName(word >> 20);
  return name.empty() ? "" : "  # " + std::string(name);
}

cli::Disassembler::Line cli::Disassembler::at(std::string_view code, uint32_t address) const {
  if (code.size() < 2)
    return {};
  uint32_t word = 0;
  std::memcpy(&word, code.data(), std::min<size_t>(4, code.size()));
  unsigned length = (word & 3) == 3 ? 4 : 2;
  if (length > code.size())
    return {};
  if (length == 4 && target::p920().decode(word))
    return {target::p920().disassemble(word), 4};
  llvm::MCInst insn;
  uint64_t size = 0;
  llvm::ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t *>(code.data()), code.size());
  if (impl->disassembler->getInstruction(insn, size, bytes, address, llvm::nulls()) !=
      llvm::MCDisassembler::Success) {
    char text[32];
    std::snprintf(text, sizeof text, length == 4 ? ".word 0x%08x" : ".half 0x%04x",
                  length == 4 ? word : word & 0xFFFF);
    return {text, length};
  }
  std::string text;
  llvm::raw_string_ostream out(text);
  impl->printer->printInst(&insn, address, "", *impl->subtarget, out);
  std::replace(text.begin(), text.end(), '\t', ' ');
  text.erase(0, text.find_first_not_of(' '));
  return {text + (length == 4 ? csrRemark(word) : ""), length};
}

static std::string joined(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + cli::plain(name);
  return text;
}

std::string cli::placeText(const runtime::ProvenanceEntry *origin, uint32_t pc) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08X", pc);
  if (!origin)
    return text;
  return std::string(text) + " in " + plain(origin->symbol) +
         (origin->nodes.empty() ? "" : " (" + joined(origin->nodes) + ")");
}

std::vector<size_t> cli::findKernels(const runtime::Metadata &meta, const std::string &name,
                                     Diagnostics &diags) {
  std::vector<size_t> found;
  std::vector<std::string> names;
  for (size_t i = 0; i < meta.kernels.size(); ++i) {
    const runtime::KernelInfo &k = meta.kernels[i];
    if (k.symbol == name || std::find(k.nodes.begin(), k.nodes.end(), name) != k.nodes.end())
      found.push_back(i);
    names.push_back(k.symbol);
    names.insert(names.end(), k.nodes.begin(), k.nodes.end());
  }
  if (!found.empty())
    return found;
  for (const runtime::NodeInfo &n : meta.nodes)
    if (n.name == name) {
      diags.userError("node " + quoteForMessage(name) + " has no code of its own: it is " +
                      (n.where == "folded" ? "folded" : n.where) +
                      (n.reason.empty() ? "" : " (" + n.reason + ")"));
      return found;
    }
  std::string near = nearestName(name, names);
  diags.userError("no node or kernel is called " + quoteForMessage(name), {},
                  near.empty() ? "'tensorturbo inspect --nodes' lists them"
                               : "did you mean " + quoteForMessage(near) + "?");
  return found;
}

void cli::printAssembly(const runtime::ObjectFile &object, const runtime::Metadata &meta,
                        const std::string &only, Diagnostics &diags) {
  std::vector<std::string> wanted;
  if (!only.empty()) {
    for (size_t i : findKernels(meta, only, diags))
      wanted.push_back(meta.kernels[i].symbol);
    if (wanted.empty())
      return;
  }
  std::vector<runtime::ProvenanceEntry> origins =
      runtime::provenanceFromJson(object.sectionText(runtime::section::provenance));
  std::map<uint32_t, const runtime::Symbol *> starts;
  for (const runtime::Symbol &s : object.symbols)
    starts.emplace(s.address, &s);
  Disassembler disassembler;
  for (const runtime::Segment &segment : object.segments) {
    if (!segment.executable)
      continue;
    bool shown = wanted.empty();
    for (size_t at = 0; at < segment.bytes.size();) {
      uint32_t address = segment.address + static_cast<uint32_t>(at);
      if (auto symbol = starts.find(address); symbol != starts.end()) {
        const std::string &name = symbol->second->name;
        shown = wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
        if (shown)
          std::printf("\n%s:\n", plain(name).c_str());
        for (const runtime::ProvenanceEntry &e : origins)
          if (shown && e.address == address && !e.nodes.empty())
            std::printf("  # nodes: %s\n", joined(e.nodes).c_str());
      }
      Disassembler::Line line = disassembler.at(segment.bytes.view().substr(at), address);
      if (!line.length)
        break;
      if (shown) {
        uint32_t word = 0;
        std::memcpy(&word, segment.bytes.data() + at, line.length);
        std::printf(line.length == 4 ? "  %08x: %08x  %s\n" : "  %08x: %04x      %s\n", address, word,
                    line.text.c_str());
      }
      at += line.length;
    }
  }
}
