// The modelled time of an executor's run: records the NPU segments and plays each on the timing model.
#pragma once
#include "runtime/Metadata.h"
#include "runtime/ObjectFile.h"
#include "simulator/timing/Report.h"
#include <memory>

namespace tensorturbo::runtime {

struct TimingRequest {
  /// "base" or "slow-vector".
  std::string profile = "base";
  std::vector<target::Target::Override> constants;
  sim::DdrSharing ddr = sim::DdrSharing::SameModel;
  /// Keep what the trace viewer shows.
  bool slices = false;
};

class RunTimer {
public:
  /// Null after errors (unknown profile or constant).
  static std::unique_ptr<RunTimer> create(const TimingRequest &request,
                                          const std::vector<ProvenanceEntry> &provenance, Diagnostics &diags);

  /// Given to the machine that runs the segments.
  sim::TraceRecorder record;
  /// A new run of the model begins.
  void begin();
  /// The machine has ended a segment.
  void addSegment();
  /// The report on all segments so far; counters and wall times are the caller's to add.
  sim::RunReport report(const ObjectFile &object, const Metadata &meta) const;

private:
  RunTimer() = default;
  std::string profile;
  sim::TimingOptions options;
  std::vector<sim::LayerName> layers;
  sim::TimingResult total;
};

} // namespace tensorturbo::runtime
