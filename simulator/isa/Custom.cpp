// The chip's own instructions of opcode 0x7B: dispatch to the engines, counting, checks of never-written
// memory.
#include "Target/Target.h"
#include "simulator/Decode.h"
#include "simulator/hazard/AccessLog.h"
#include "simulator/hazard/MemoryPlan.h"
#include "simulator/insn/Insn.h"
#include "simulator/isa/Transfer.h"
#include "simulator/timing/Recorder.h"

namespace tensorturbo::sim {

namespace {

const target::Instruction &rowOf(const Decoded &d) {
  return target::p920().instructions()[d.rs1 << 8u | d.rd];
}

Step trapped(Hart &h, Trap trap) {
  h.counters.trapped++;
  h.trap = trap;
  return Step::Trap;
}

/// An operand with never-written bytes ends the run. Operands are judged after the execution: a destination
/// is marked as written only later, so that an instruction in place does not excuse itself.
Step checkReads(Hart &h, const Regions &regions) {
  for (const Region &r : regions) {
    if (r.isWrite || r.rows == 0 || r.rowBytes == 0)
      continue;
    bool dense = r.stride == r.rowBytes || r.rows == 1;
    uint32_t runs = dense ? 1 : r.rows;
    size_t runBytes = dense ? size_t(r.rows) * r.rowBytes : r.rowBytes;
    for (uint32_t i = 0; i < runs; i++) {
      MemorySpan span = h.memory->find(h.id, r.address + i * r.stride, runBytes);
      if (!span)
        return h.fail("reads outside the memories at " + hexText(r.address + i * r.stride));
      if (auto bad = span.region->firstUnwritten(span.offset, runBytes))
        return h.fail("reads " + std::string(memoryName(r.address)) + " at " +
                      hexText(span.region->base() + *bad) + ", " + h.bus->whyUnwritten(*span.region, *bad) +
                      " (operand at " + hexText(r.address) + ", " + std::to_string(r.rows) + " rows of " +
                      std::to_string(r.rowBytes) + " bytes)");
    }
  }
  return Step::Next;
}

/// What the memory plan has against an instruction: its operands' values, or the memory that they are.
std::string planViolation(Hart &h, uint32_t word, const Regions &regions) {
  std::string text = h.plan->execute(h.pc, h.id, h.executions, [&](uint32_t field) {
    uint32_t number = field == 0   ? target::rdField(word)
                      : field == 1 ? target::rs1Field(word)
                                   : target::rs2Field(word);
    return h.x[number];
  });
  for (const Region *r = regions.begin(); r != regions.end() && text.empty(); ++r)
    text = h.plan->violation(h.pc, r->address, r->end() - r->address);
  return text;
}

void markWrites(Hart &h, const Regions &regions) {
  for (const Region &r : regions) {
    if (!r.isWrite)
      continue;
    bool dense = r.stride == r.rowBytes || r.rows == 1;
    for (uint32_t i = 0; i < (dense ? 1 : r.rows); i++)
      if (MemorySpan span = h.memory->find(h.id, r.address + i * r.stride,
                                           dense ? size_t(r.rows) * r.rowBytes : r.rowBytes))
        span.region->markWritten(span.offset, dense ? size_t(r.rows) * r.rowBytes : r.rowBytes);
  }
}

const target::Costs &costs() {
  static const target::Costs base = *target::p920().costs();
  return base;
}

void countMatrix(Hart &h, uint32_t word, const target::Instruction &insn) {
  if (insn.cost == target::CostClass::Transpose)
    return;
  MatrixWork work = matrixWork(h, word, insn);
  h.counters.mmeCycles += static_cast<uint64_t>(costs().matmulCycles(work.m, work.n, work.k, work.int8));
}

void countVector(Hart &h, const target::Instruction &insn) {
  uint32_t shape = h.csr[0x400];
  h.counters.vmeCycles += static_cast<uint64_t>(costs().vectorCycles(shape & 0xFFFF, shape >> 16, insn.cost));
}

template <std::optional<Trap> (*body)(Core &, uint32_t, const target::Instruction &)>
Step compute(Hart &h, const Decoded &d) {
  const target::Instruction &insn = rowOf(d);
  uint32_t word = static_cast<uint32_t>(d.immediate);
  if (h.arithmetic)
    if (auto trap = body(h, word, insn))
      return trapped(h, *trap);
  Regions regions = describeOperands(h, word, insn);
  if (h.checks)
    if (Step step = checkReads(h, regions); step != Step::Next)
      return step;
  if (h.checks && h.plan)
    if (std::string text = planViolation(h, word, regions); !text.empty())
      return h.fail(text);
  if (h.arithmetic)
    markWrites(h, regions);
  if (h.accesses)
    for (const Region &r : regions)
      h.accesses->block(r.address, r.rows, r.rowBytes, r.stride, r.isWrite, h.pc);
  if (h.trace)
    h.trace->instruction(h, word, insn, regions);
  h.stores++;
  h.counters.executed[insn.index]++;
  if (insn.engine == target::Engine::Mme)
    countMatrix(h, word, insn);
  else
    countVector(h, insn);
  return Step::Next;
}

Step transfer(Hart &h, const Decoded &d) {
  const target::Instruction &insn = rowOf(d);
  uint32_t word = static_cast<uint32_t>(d.immediate);
  Step step = executeTransfer(h, word, insn);
  if (step == Step::Trap)
    return trapped(h, h.trap);
  if (step == Step::Fail)
    return step;
  if (h.checks && h.plan)
    if (std::string text = planViolation(h, word, describeOperands(h, word, insn)); !text.empty())
      return h.fail(text);
  if (h.trace)
    h.trace->instruction(h, word, insn, describeOperands(h, word, insn));
  h.stores++;
  h.counters.executed[insn.index]++;
  if (step == Step::Wait)
    h.wait = WaitKind::Rendezvous;
  h.waitWord = word;
  return step;
}

Step barrier(Hart &h, const Decoded &d) {
  if (h.vectorTypeIllegal())
    return trapped(h, {kTrapIllegalVtype, 0});
  h.counters.executed[rowOf(d).index]++;
  if (h.checks && h.plan)
    h.plan->execute(h.pc, h.id, h.executions, [](uint32_t) { return 0u; });
  if (h.trace)
    h.trace->barrier(h, rowOf(d));
  h.wait = WaitKind::Barrier;
  h.waitWord = static_cast<uint32_t>(d.immediate);
  return Step::Wait;
}

Step illegal(Hart &h, const Decoded &) {
  return trapped(h, {2, 0});
}

} // namespace

bool decodeCustom(uint32_t word, Decoded &d) {
  const target::Instruction *insn = target::p920().decode(word);
  if (insn && insn->engine == target::Engine::Scalar)
    return decodeVector(word, d);
  if (!insn) {
    d.execute = illegal;
    return true;
  }
  // The operand fields are read from the word; two of them hold the row of the instruction table instead.
  d.rd = insn->index & 0xFF;
  d.rs1 = static_cast<uint8_t>(insn->index >> 8);
  switch (insn->engine) {
  case target::Engine::Vme:
    d.execute = compute<executeVme>;
    break;
  case target::Engine::Mme:
    d.execute = compute<executeMme>;
    break;
  case target::Engine::Mte:
    d.execute = transfer;
    break;
  default:
    d.execute = barrier;
    break;
  }
  return true;
}

} // namespace tensorturbo::sim
