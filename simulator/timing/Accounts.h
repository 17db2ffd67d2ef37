// The state of a core in the timing model, and the accounts of what its engines did.
#pragma once
#include "simulator/timing/TimingModel.h"
#include <deque>

namespace tensorturbo::sim {

/// An instruction in a queue or in its engine.
struct Entry {
  const TraceEvent *event = nullptr;
  uint64_t order = 0; ///< position in the core's record
  uint32_t layer = 0;
};

struct EngineState {
  std::deque<Entry> queue;
  bool running = false;
  Entry current;
  double start = 0;
  /// What the instruction would take alone.
  double alone = 0;
  /// The instruction waits for the other cores of its pld.
  bool meeting = false;
  /// Its latency is over, data flow.
  bool flowing = false;
};

enum class Front : uint8_t { Run, Queue, Conflict, Drain, Barrier, Dma, Result, End };

struct CoreState {
  uint32_t id = 0;
  size_t cursor = 0;
  Front front = Front::Run;
  /// Run: the entry at the cursor has been done, only its cost still runs.
  bool leaving = false;
  uint8_t waitsFor = 0; ///< engine whose queue is full, or that computes the awaited result
  double waitStart = 0;
  std::array<EngineState, engineCount> engines;
  /// Of the entry at the cursor. Code between layers (calls, barriers) belongs to the layer before it.
  uint32_t cursorLayer = 0;
  /// Of the oldest unfinished work.
  uint32_t layer = 0;
  double accrued = 0;
};

/// Charges the time since the last change of the core's state to its engines and its layer. Called before
/// every change. `awaitedTransfer`: some core waits for a transfer, so that cores at a barrier wait for it
/// too.
void chargeTime(TimingResult &result, CoreState &core, double now, bool awaitedTransfer);

} // namespace tensorturbo::sim
