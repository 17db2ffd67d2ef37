// What single instructions and DMA descriptors cost and move.
#pragma once
#include "Target/Target.h"
#include "simulator/timing/Recorder.h"

namespace tensorturbo::sim {

/// An MME or VME instruction alone on the machine, and what it takes of its core's memory ports.
struct InstructionCost {
  double cycles = 0, l1Bytes = 0, imBytes = 0;
};
InstructionCost computeCost(const target::Costs &costs, const TraceEvent &event,
                            const target::Instruction &insn);

/// What an instruction does, for the accounts.
struct InstructionWork {
  double macs = 0;
  /// Time at peak without fixed costs: matrix instructions with ragged tiles padded, vector instructions.
  double paddedMatrixCycles = 0, vectorCycles = 0;
  double l1Bytes = 0, imBytes = 0, llbBytes = 0, meshBytes = 0;
};
InstructionWork instructionWork(const target::Costs &costs, const TraceEvent &event,
                                const target::Instruction &insn);

/// Bytes that an MTE instruction moves (pld: to one core).
double transferBytes(const TraceEvent &event);

/// Bytes of DDR and LLB time per byte of a descriptor.
struct TransferCost {
  double ddrPerByte = 0, llbPerByte = 0;
};
TransferCost transferCost(const target::Costs &costs, const TransferPiece &piece);

} // namespace tensorturbo::sim
