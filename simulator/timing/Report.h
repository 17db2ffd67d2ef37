// The report of a run: JSON (docs/run-report.md), a table for the terminal, a trace for the Perfetto viewer.
#pragma once
#include "simulator/Counters.h"
#include "simulator/timing/TimingModel.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace tensorturbo::sim {

/// Raised when a key changes its meaning or goes away; new keys do not raise it.
inline constexpr int reportVersion = 1;

/// What a layer is called and where it came from.
struct LayerName {
  std::string symbol;
  std::vector<std::string> nodes;
  /// The nodes, or the symbol if there are none.
  std::string text() const;
};

/// Cycles below which no program for this model can stay, by resource.
struct LowerBound {
  double mme = 0, vme = 0, ddr = 0, llb = 0, mte = 0;
  /// Not overlapped with anything: first load, last store.
  double edge = 0;
  /// "model": counted from the source model's operators; "program": from the executed instructions.
  std::string basis = "program";

  double total() const;
  /// The largest term: "mme", ...
  const char *limit() const;
};

/// Bytes that have to cross DDR whatever the program does.
struct CompulsoryBytes {
  double constants = 0, inputs = 0, outputs = 0;
  double total() const { return constants + inputs + outputs; }
};
/// The bound with the arithmetic of the executed instructions.
LowerBound programBound(const TimingResult &timing, const target::Costs &costs, CompulsoryBytes bytes,
                        int cores, DdrSharing sharing);

struct RunReport {
  std::string profile = "base";
  DdrSharing ddr = DdrSharing::SameModel;
  target::Costs costs;
  TimingResult timing;
  LowerBound bound;
  /// One for each layer but the last of timing.layers, which is all other code.
  std::vector<LayerName> layers;
  std::vector<CoreCounters> cores;
  /// Wall time of this machine.
  double simulationSeconds = 0, hostSeconds = 0;

  llvm::json::Object toJson() const;
  /// A few lines on the whole and one per layer, the `most` longest ones in the order of the program.
  std::string table(size_t most = 40) const;
  /// Trace events of the slices in `timing`.
  std::string perfetto() const;
};

/// "idle", "same-model", "saturating".
const char *ddrSharingName(DdrSharing sharing);
bool parseDdrSharing(std::string_view text, DdrSharing &sharing);

} // namespace tensorturbo::sim
