// The transfer engine: moves between L1 and LLB, broadcast, and the copy into another core's L1.
#pragma once
#include "Target/Target.h"
#include "simulator/Hart.h"

namespace tensorturbo::sim {

/// mov.l1.llb, mov.llb.l1 and icmov complete at once; pld returns Step::Wait after its legality checks.
Step executeTransfer(Hart &hart, uint32_t word, const target::Instruction &insn);
/// The copy of a pld whose partners have all arrived. Next or Fail.
Step completeBroadcast(Hart &hart, uint32_t word);

} // namespace tensorturbo::sim
