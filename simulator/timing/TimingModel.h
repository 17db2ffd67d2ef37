// The timing model: plays the record of a run on queues, engines and bandwidth servers. docs/timing-model.md
// describes what it does.
#pragma once
#include "Target/Target.h"
#include "simulator/timing/Recorder.h"
#include <array>
#include <cstdint>
#include <vector>

namespace tensorturbo::sim {

/// What the chip's other clusters do to the DDR meanwhile.
enum class DdrSharing {
  Idle,      ///< nothing: the whole chip's bandwidth is free
  SameModel, ///< the same as this one: a cluster's share
  Saturating ///< all their DMA channels are always hungry
};

/// A stretch of the program and the layer (an index of the caller) that it belongs to.
struct LayerRange {
  uint32_t address = 0, size = 0;
  uint32_t layer = 0;
};

struct TimingOptions {
  target::Costs costs;
  DdrSharing ddr = DdrSharing::SameModel;
  /// Sorted by address. Code outside belongs to layer `layers`.
  std::vector<LayerRange> ranges;
  uint32_t layers = 0;
  /// Keep a slice for every instruction, wait and transfer.
  bool slices = false;
};

/// The engines of a core in the order of all tables here.
enum TimedEngine : uint8_t { ScalarEngine, MmeEngine, VmeEngine, MteEngine, engineCount };

/// Why an engine does not compute.
enum StallCause : uint8_t {
  StallOverlap,    ///< its next instruction waits for an older one with overlapping operands
  StallRendezvous, ///< its pld waits for the other cores
  StallBandwidth,  ///< busy, but slower than alone
  StallQueueFull,  ///< no instruction: the front end waits for another engine's queue
  StallBarrier,    ///< no instruction: the core waits at a barrier or for its engines before one
  StallDma,        ///< no instruction: the core, or one that it meets at a barrier, waits for a transfer
  StallFrontEnd,   ///< no instruction: the scalar core computes, or waits for a result
  StallEnd,        ///< the core has ended its program
  causeCount
};

/// Cycles: busy + all of stall = the time looked at.
struct EngineTime {
  double busy = 0;
  std::array<double, causeCount> stall{};
  void add(const EngineTime &other);
};

struct MemoryBytes {
  double ddr = 0, llb = 0, l1 = 0, im = 0, mesh = 0;
  void add(const MemoryBytes &other);
};

struct LayerTime {
  /// Mean over the cores of the time in which the core's oldest unfinished work belonged to this layer.
  double cycles = 0;
  /// Summed over the cores.
  std::array<EngineTime, engineCount> engines;
  MemoryBytes bytes;
  uint64_t instructions = 0;
  /// Multiply-adds that count, and cycles of all cores at peak with ragged tiles padded.
  double macs = 0, paddedMatrixCycles = 0;
  /// Cycles of all cores without fixed costs, for the lower bound.
  double vectorCycles = 0;
  /// From the first start to the last end of anything of the layer.
  double begin = 0, end = 0;
  void add(const LayerTime &other, double cyclesBefore);
};

/// Something that took time on a track, for a trace viewer.
struct Slice {
  enum Kind : uint8_t { Instruction, BarrierWait, DmaWait, Transfer } kind = Instruction;
  uint8_t core = 0;
  /// TimedEngine; for transfers the channel.
  uint8_t engine = 0;
  uint16_t instruction = 0;
  uint32_t layer = 0, pc = 0;
  /// Meeting (barriers, pld) or transfer (waits, transfers); 0 if none.
  uint32_t link = 0;
  double begin = 0, end = 0;
};

/// Busy share of the engines over the run, in equal steps.
class Utilisation {
public:
  static constexpr size_t most = 128;
  void add(size_t track, double begin, double end);
  /// Cycles per bin.
  double width = 256;
  /// Busy cycles of all cores per bin. Tracks: TimedEngine, then one for all DMA channels.
  std::array<std::vector<double>, engineCount + 1> bins;
};

struct TimingResult {
  /// Cycles from the start of all cores until everything has ended.
  double cycles = 0;
  /// Per core.
  std::vector<std::array<EngineTime, engineCount>> cores;
  std::array<double, TraceRecorder::channels> dmaBusy{};
  /// options.layers + 1 entries.
  std::vector<LayerTime> layers;
  MemoryBytes bytes;
  /// Most bytes that held something of use at once, in blocks of MemoryUse::blockBytes; L1 and IM: of the
  /// core that used most.
  uint64_t l1Used = 0, imUsed = 0, llbUsed = 0;
  uint64_t instructions = 0;
  Utilisation utilisation;
  std::vector<Slice> slices;
  /// Cores stopped in front of a partner that never came, or an overlap that never ended.
  bool complete = true;

  /// Another run after this one.
  void append(const TimingResult &next);
};

TimingResult simulateTiming(const TraceRecorder &record, const TimingOptions &options);

} // namespace tensorturbo::sim
