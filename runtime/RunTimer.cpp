#include "runtime/RunTimer.h"

using namespace tensorturbo;
using namespace tensorturbo::runtime;

std::unique_ptr<RunTimer> RunTimer::create(const TimingRequest &request,
                                           const std::vector<ProvenanceEntry> &provenance,
                                           Diagnostics &diags) {
  const target::Target &chip = target::p920();
  auto costs = chip.costs(request.profile, request.constants);
  if (!costs)
    diags.userError("there is no timing profile " + quoteForMessage(request.profile), {},
                    "profiles: base, slow-vector");
  std::vector<std::string> known;
  for (const target::Constant &c : chip.constants())
    known.push_back(c.name);
  for (const auto &change : request.constants) {
    if (std::find(known.begin(), known.end(), change.name) == known.end()) {
      std::string near = nearestName(change.name, known);
      diags.userError("the timing model has no constant " + quoteForMessage(change.name), {},
                      near.empty() ? "" : "did you mean " + near + "?");
    } else if (!chip.acceptsValue(change.name, change.value)) {
      diags.userError("the value of constant " + change.name + " is out of range");
    }
  }
  if (diags.hasErrors())
    return nullptr;
  std::unique_ptr<RunTimer> timer(new RunTimer);
  timer->profile = request.profile;
  timer->options.costs = *costs;
  timer->options.ddr = request.ddr;
  timer->options.slices = request.slices;
  for (const ProvenanceEntry &entry : provenance) {
    timer->options.ranges.push_back({entry.address, entry.size, uint32_t(timer->layers.size())});
    timer->layers.push_back({entry.symbol, entry.nodes});
  }
  timer->options.layers = uint32_t(timer->layers.size());
  return timer;
}

void RunTimer::begin() {
  total = {};
}

void RunTimer::addSegment() {
  total.append(sim::simulateTiming(record, options));
}

/// The arithmetic of the model instead of that of the program.
static void useWorkload(sim::LowerBound &bound, const Workload &work, const target::Costs &costs, int cores) {
  double matrix = double(work.groupedMacs) / (costs.mmeRows * costs.mmeColumns);
  for (const Workload::Product &p : work.products)
    matrix += double(p.count) *
              (costs.matmulCycles(uint64_t(p.m), uint64_t(p.n), uint64_t(p.k), false) - costs.mmeFixed);
  bound.mme = matrix / cores;
  bound.vme = costs.vmeScale * double(work.vectorElements) / costs.vmeLanes / cores;
  bound.basis = "model";
}

sim::RunReport RunTimer::report(const ObjectFile &object, const Metadata &meta) const {
  sim::RunReport report;
  report.profile = profile;
  report.ddr = options.ddr;
  report.costs = options.costs;
  report.timing = total;
  report.timing.layers.resize(layers.size() + 1);
  report.layers = layers;
  sim::CompulsoryBytes bytes;
  for (const Segment &segment : object.segments)
    if (!segment.executable && !segment.writable)
      bytes.constants += double(segment.bytes.size());
  // A program may hold weights in a larger form than the model has them.
  if (meta.workload)
    bytes.constants = double(meta.workload->constantBytes);
  for (const TensorSpec &spec : meta.inputs)
    bytes.inputs += spec.buffer.bytes;
  for (const TensorSpec &spec : meta.outputs)
    bytes.outputs += spec.buffer.bytes;
  report.bound = sim::programBound(total, options.costs, bytes, meta.ncore, options.ddr);
  if (meta.workload)
    useWorkload(report.bound, *meta.workload, options.costs, meta.ncore);
  return report;
}
