#include "simulator/timing/InstructionCost.h"
#include "simulator/AddressMap.h"
#include <algorithm>
#include <cmath>

namespace tensorturbo::sim {

using target::CostClass;

namespace {

bool isInt8(const target::Instruction &insn) {
  return insn.cost == CostClass::MatmulInt8 || insn.cost == CostClass::ConvInt8;
}

double regionBytes(const Region &region) {
  return double(region.rows) * region.rowBytes;
}

void addBytes(InstructionCost &cost, const Region &region, double bytes) {
  (region.address < imBase ? cost.l1Bytes : cost.imBytes) += bytes;
}

/// The array reads one column of the left and one row of the right operand per step and tile.
void addMatrixBytes(InstructionCost &cost, const target::Costs &costs, const TraceEvent &event,
                    double steps) {
  if (event.regionCount < 3)
    return;
  addBytes(cost, event.regions[0], steps * 2 * costs.mmeRows);
  addBytes(cost, event.regions[1], steps * 2 * costs.mmeColumns);
  addBytes(cost, event.regions[2], regionBytes(event.regions[2]));
}

} // namespace

InstructionCost computeCost(const target::Costs &costs, const TraceEvent &event,
                            const target::Instruction &insn) {
  InstructionCost cost;
  if (insn.engine == target::Engine::Vme) {
    cost.cycles = costs.vectorCycles(event.m, event.n, insn.cost);
  } else if (insn.cost == CostClass::Transpose) {
    cost.cycles = costs.transposeCycles(event.m, event.n);
  } else {
    cost.cycles = costs.matmulCycles(event.m, event.n, event.k, isInt8(insn));
    addMatrixBytes(cost, costs, event, cost.cycles - costs.mmeFixed);
    return cost;
  }
  for (uint8_t i = 0; i < event.regionCount; i++) {
    double bytes = regionBytes(event.regions[i]);
    // A table is read where the indices point.
    if (insn.cost == CostClass::Lut)
      bytes = std::min(bytes, double(event.m) * event.n * 2);
    addBytes(cost, event.regions[i], bytes);
  }
  return cost;
}

InstructionWork instructionWork(const target::Costs &costs, const TraceEvent &event,
                                const target::Instruction &insn) {
  InstructionWork work;
  if (insn.engine == target::Engine::Mte) {
    work.meshBytes = transferBytes(event);
    bool exchange = insn.cost == CostClass::Exchange;
    work.l1Bytes = work.meshBytes * (exchange ? 2 : 1);
    work.llbBytes = exchange ? 0 : work.meshBytes;
    return work;
  }
  InstructionCost cost = computeCost(costs, event, insn);
  work.l1Bytes = cost.l1Bytes;
  work.imBytes = cost.imBytes;
  if (insn.engine == target::Engine::Vme) {
    work.vectorCycles = cost.cycles - costs.vmeScale * costs.vmeFixed;
  } else if (insn.cost != CostClass::Transpose) {
    work.macs = double(event.m) * event.n * event.k;
    work.paddedMatrixCycles = cost.cycles - costs.mmeFixed;
  }
  return work;
}

double transferBytes(const TraceEvent &event) {
  return event.regionCount ? regionBytes(event.regions[0]) : 0;
}

TransferCost transferCost(const target::Costs &costs, const TransferPiece &piece) {
  TransferCost cost;
  double bytes = double(piece.bytes());
  bool dense = piece.rows == 1 || piece.sourceStride == piece.rowBytes;
  double ddrBytes = 0;
  if (piece.fromDdr)
    ddrBytes += bytes + costs.dmaBurstOverhead * (dense ? 1 : piece.rows);
  if (piece.toDdr)
    ddrBytes += bytes + costs.dmaBurstOverhead;
  cost.ddrPerByte = ddrBytes / bytes;
  cost.llbPerByte = !piece.fromDdr + !piece.toDdr;
  return cost;
}

} // namespace tensorturbo::sim
