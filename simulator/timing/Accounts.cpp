#include "simulator/timing/Accounts.h"

namespace tensorturbo::sim {

namespace {

/// Why an engine without instructions has none; why the front end itself stands still.
StallCause frontCause(Front front, bool awaitedTransfer) {
  switch (front) {
  case Front::Queue:
    return StallQueueFull;
  case Front::Conflict:
    return StallOverlap;
  case Front::Drain:
    return StallBarrier;
  case Front::Barrier:
    return awaitedTransfer ? StallDma : StallBarrier;
  case Front::Dma:
    return StallDma;
  case Front::End:
    return StallEnd;
  default:
    return StallFrontEnd;
  }
}

} // namespace

void chargeTime(TimingResult &result, CoreState &core, double now, bool awaitedTransfer) {
  double time = now - core.accrued;
  core.accrued = now;
  if (time <= 0)
    return;
  LayerTime &layer = result.layers[core.layer];
  layer.cycles += time;
  auto &totals = result.cores[core.id];
  for (unsigned e = MmeEngine; e < engineCount; e++) {
    const EngineState &engine = core.engines[e];
    if (engine.running && !engine.meeting) {
      totals[e].busy += time;
      result.layers[engine.current.layer].engines[e].busy += time;
    } else {
      // A running one waits at its pld.
      StallCause cause = engine.running         ? StallRendezvous
                         : engine.queue.empty() ? frontCause(core.front, awaitedTransfer)
                                                : StallOverlap;
      totals[e].stall[cause] += time;
      layer.engines[e].stall[cause] += time;
    }
  }
  for (EngineTime *account : {&totals[ScalarEngine], &layer.engines[ScalarEngine]})
    if (core.front == Front::Run)
      account->busy += time;
    else
      account->stall[frontCause(core.front, awaitedTransfer)] += time;
}

} // namespace tensorturbo::sim
