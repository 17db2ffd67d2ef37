#include "Dialect/Npu/Npu.h"
#include "Support/Diagnostics.h"
#include "Target/Target.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tensorturbo;
using namespace tensorturbo::npu;

#include "Dialect/Npu/NpuDialect.cpp.inc"
#include "Dialect/Npu/NpuInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "Dialect/Npu/NpuOps.cpp.inc"

void NpuDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "Dialect/Npu/NpuOps.cpp.inc"
      >();
}

namespace {

/// Where an operand may lie and how it is aligned.
struct OperandRule {
  enum Where { CoreMemory, L1, IM, LLB, Anywhere } where = Anywhere;
  uint32_t alignment = 1;
};

/// Rules for rd, rs1, rs2 of a row of the instruction table.
std::array<OperandRule, 3> operandRules(const target::Instruction &row) {
  StringRef name = row.mnemonic;
  OperandRule core{OperandRule::CoreMemory, 2};
  switch (row.engine) {
  case target::Engine::Vme: {
    std::array<OperandRule, 3> rules = {core, core, core};
    if (name.starts_with("veemul.x32."))
      rules[1].alignment = 4;
    if (name.starts_with("vecvt.hf."))
      rules[1].alignment = 1;
    if (name == "vecvt.x8.hf.m" || name == "veemul.x8.hf.mf")
      rules[0].alignment = 1;
    return rules;
  }
  case target::Engine::Mme: {
    uint32_t source = name.contains(".x8.") ? 1 : 2;
    uint32_t destination = name.contains(".hf.x8.") || source == 2 ? 2 : 4;
    return {OperandRule{OperandRule::IM, destination}, OperandRule{OperandRule::CoreMemory, source},
            OperandRule{OperandRule::L1, source}};
  }
  case target::Engine::Mte:
    return {OperandRule{name == "mov.llb.l1" ? OperandRule::LLB : OperandRule::L1},
            OperandRule{name == "mov.l1.llb" || name == "pld" ? OperandRule::LLB : OperandRule::L1},
            OperandRule{}};
  default:
    return {};
  }
}

bool lies(uint32_t address, OperandRule::Where where) {
  const target::Target &chip = target::p920();
  switch (where) {
  case OperandRule::CoreMemory:
    return chip.l1().contains(address) || chip.im().contains(address);
  case OperandRule::L1:
    return chip.l1().contains(address);
  case OperandRule::IM:
    return chip.im().contains(address);
  case OperandRule::LLB:
    return chip.llb().contains(address);
  case OperandRule::Anywhere:
    return true;
  }
  return true;
}

const char *whereName(OperandRule::Where where) {
  static const char *const names[] = {"L1 or IM", "L1", "IM", "LLB", "memory"};
  return names[where];
}

} // namespace

LogicalResult npu::detail::verifyInstruction(Operation *op) {
  auto insn = cast<Instruction>(op);
  const target::Instruction *row = target::p920().find(insn.instructionName());
  if (!row)
    return op->emitOpError("has no row '") << insn.instructionName() << "' in the chip's instruction table";
  std::array<OperandRule, 3> rules = operandRules(*row);
  static const char *const fields[] = {"rd", "rs1", "rs2"};
  // An instruction with an f register as destination has no address there.
  unsigned first = op->getNumResults();
  bool good = true;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    unsigned field = index + first;
    APInt value;
    if (field > 2 || !operand.getType().isInteger(32) || !matchPattern(operand, m_ConstantInt(&value)))
      continue;
    uint32_t address = uint32_t(value.getZExtValue());
    if (!lies(address, rules[field].where)) {
      op->emitOpError() << fields[field] << " must lie in " << whereName(rules[field].where) << ", got 0x"
                        << llvm::utohexstr(address);
      good = false;
    } else if (address % rules[field].alignment != 0) {
      op->emitOpError() << fields[field] << " must be a multiple of " << rules[field].alignment
                        << " bytes, got 0x" << llvm::utohexstr(address);
      good = false;
    }
  }
  return success(good);
}

LogicalResult CsrwOp::verify() {
  if (target::p920().csrNumber(getCsr()))
    return success();
  std::vector<std::string> names;
  for (const target::Csr &csr : target::p920().csrs())
    names.push_back(csr.name);
  InFlightDiagnostic d = emitOpError("names no CSR of the chip: '") << getCsr() << "'";
  if (std::string near = nearestName(getCsr(), names); !near.empty())
    d << "; did you mean '" << near << "'?";
  return d;
}
