// Whether two instructions of a core must not run at the same time.
#pragma once
#include "simulator/timing/Recorder.h"

namespace tensorturbo::sim {

/// Some byte that one of them writes is touched by the other. exact = false: operands are taken as intervals
/// from their first to their last byte.
bool conflicts(const TraceEvent &a, const TraceEvent &b, bool exact);

/// The same between an instruction of the core that starts a transfer and that transfer, in LLB.
bool conflicts(const Transfer &transfer, const TraceEvent &event);

} // namespace tensorturbo::sim
