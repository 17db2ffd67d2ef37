#include "simulator/timing/Report.h"
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <numeric>

namespace tensorturbo::sim {

namespace json = llvm::json;

namespace {

const char *const engineNames[engineCount] = {"scalar", "mme", "vme", "mte"};
const char *const causeNames[causeCount] = {"overlap", "rendezvous", "bandwidth", "queue_full",
                                            "barrier", "dma",        "front_end", "end"};
const struct {
  DdrSharing value;
  const char *name;
} sharingNames[] = {{DdrSharing::Idle, "idle"},
                    {DdrSharing::SameModel, "same-model"},
                    {DdrSharing::Saturating, "saturating"}};

double round6(double value) {
  return std::round(value * 1e6) / 1e6;
}

json::Object enginesJson(const std::array<EngineTime, engineCount> &engines, double time) {
  json::Object all;
  for (size_t e = 0; e < engineCount; e++) {
    json::Object stall;
    for (size_t c = 0; c < causeCount; c++)
      if (engines[e].stall[c] > 0)
        stall[causeNames[c]] = time > 0 ? round6(engines[e].stall[c] / time) : 0.0;
    all[engineNames[e]] = json::Object{{"busy", time > 0 ? round6(engines[e].busy / time) : 0.0},
                                       {"busy_cycles", std::round(engines[e].busy * 100) / 100},
                                       {"stall", std::move(stall)}};
  }
  return all;
}

json::Object bytesJson(const MemoryBytes &bytes) {
  return json::Object{{"ddr", int64_t(bytes.ddr)},
                      {"llb", int64_t(bytes.llb)},
                      {"l1", int64_t(std::llround(bytes.l1))},
                      {"im", int64_t(std::llround(bytes.im))},
                      {"mesh", int64_t(bytes.mesh)}};
}

std::array<EngineTime, engineCount> sumOf(const TimingResult &timing) {
  std::array<EngineTime, engineCount> sum;
  for (const auto &core : timing.cores)
    for (size_t e = 0; e < engineCount; e++)
      sum[e].add(core[e]);
  return sum;
}

json::Object countsJson(const CoreCounters &c) {
  json::Object instructions;
  for (const auto &[name, count] : c.instructions)
    instructions[name] = int64_t(count);
  return json::Object{{"retired", int64_t(c.retired)},
                      {"instructions", std::move(instructions)},
                      {"trapped", int64_t(c.trapped)},
                      {"csr_writes", int64_t(c.csrWrites)},
                      {"csr_writes_same_value", int64_t(c.csrWritesSameValue)},
                      {"mme_cycles", int64_t(c.mmeCycles)},
                      {"vme_cycles", int64_t(c.vmeCycles)},
                      {"mte_bytes", int64_t(c.mteBytes)}};
}

std::string format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
std::string format(const char *pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

std::string bytesText(double bytes) {
  const char *const units[] = {"B", "KB", "MB", "GB"};
  int unit = 0;
  while (bytes >= 10000 && unit < 3) {
    bytes /= 1000;
    unit++;
  }
  return format("%.0f %s", bytes, units[unit]);
}

/// Control characters and the like of a model's node names must not reach the terminal.
std::string printable(const std::string &text, size_t width) {
  std::string out;
  for (char c : text)
    out += c >= 32 && c < 127 ? c : '?';
  if (out.size() > width)
    out = out.substr(0, width - 3) + "...";
  return out;
}

} // namespace

const char *ddrSharingName(DdrSharing sharing) {
  for (const auto &entry : sharingNames)
    if (entry.value == sharing)
      return entry.name;
  return "";
}

bool parseDdrSharing(std::string_view text, DdrSharing &sharing) {
  for (const auto &entry : sharingNames)
    if (text == entry.name) {
      sharing = entry.value;
      return true;
    }
  return false;
}

std::string LayerName::text() const {
  std::string out;
  for (const std::string &node : nodes)
    out += (out.empty() ? "" : "+") + node;
  return out.empty() ? symbol : out;
}

double LowerBound::total() const {
  return std::max({mme, vme, ddr, llb, mte}) + edge;
}

const char *LowerBound::limit() const {
  const std::pair<double, const char *> terms[] = {
      {mme, "mme"}, {vme, "vme"}, {ddr, "ddr"}, {llb, "llb"}, {mte, "mte"}};
  return std::max_element(std::begin(terms), std::end(terms),
                          [](const auto &a, const auto &b) { return a.first < b.first; })
      ->second;
}

LowerBound programBound(const TimingResult &timing, const target::Costs &costs, CompulsoryBytes bytes,
                        int cores, DdrSharing sharing) {
  LowerBound bound;
  for (const LayerTime &layer : timing.layers) {
    bound.mme += layer.paddedMatrixCycles / cores;
    bound.vme += layer.vectorCycles / cores;
  }
  bound.ddr =
      bytes.total() / costs.ddrBytesPerCycle() / (sharing == DdrSharing::Idle ? costs.ddrClusters : 1);
  bound.llb = bytes.total() / costs.llbBytesPerCycle;
  bound.mte = bytes.total() / (cores * costs.mteBytesPerCycle);
  if (bytes.total() > 0)
    bound.edge = 2 * (costs.dmaStart + costs.mteFixed);
  return bound;
}

json::Object RunReport::toJson() const {
  double cycles = timing.cycles, coreCycles = cycles * double(timing.cores.size());
  double toMs = 1e3 / costs.clock;
  double peak = costs.mmeRows * costs.mmeColumns;
  double macs = 0;
  for (const LayerTime &layer : timing.layers)
    macs += layer.macs;

  json::Object engines = enginesJson(sumOf(timing), coreCycles);
  double dmaBusy = std::accumulate(timing.dmaBusy.begin(), timing.dmaBusy.end(), 0.0);
  json::Array channels;
  for (double busy : timing.dmaBusy)
    channels.push_back(cycles > 0 ? round6(busy / cycles) : 0.0);
  engines["dma"] =
      json::Object{{"busy", cycles > 0 ? round6(dmaBusy / cycles / double(timing.dmaBusy.size())) : 0.0},
                   {"channels", std::move(channels)}};

  json::Array layerList;
  for (size_t i = 0; i < timing.layers.size(); i++) {
    const LayerTime &layer = timing.layers[i];
    bool other = i >= layers.size();
    if (other && layer.cycles <= 0)
      continue;
    json::Array nodes;
    if (!other)
      for (const std::string &node : layers[i].nodes)
        nodes.push_back(json::fixUTF8(node));
    double time = layer.cycles * double(timing.cores.size());
    layerList.push_back(
        json::Object{{"name", other ? "(outside all layers)" : json::fixUTF8(layers[i].text())},
                     {"symbol", other ? "" : json::fixUTF8(layers[i].symbol)},
                     {"nodes", std::move(nodes)},
                     {"cycles", std::round(layer.cycles * 100) / 100},
                     {"share", cycles > 0 ? round6(layer.cycles / cycles) : 0.0},
                     {"begin", std::round(layer.begin)},
                     {"end", std::round(layer.end)},
                     {"instructions", int64_t(layer.instructions)},
                     {"engines", enginesJson(layer.engines, time)},
                     {"bytes", bytesJson(layer.bytes)},
                     {"macs", int64_t(layer.macs)},
                     {"matrix_peak_share", time > 0 ? round6(layer.macs / (time * peak)) : 0.0}});
  }

  json::Object utilisation{{"cycles_per_bin", timing.utilisation.width}};
  for (size_t t = 0; t <= engineCount; t++) {
    json::Array bins;
    double full =
        timing.utilisation.width * double(t < engineCount ? timing.cores.size() : timing.dmaBusy.size());
    for (double busy : timing.utilisation.bins[t])
      bins.push_back(round6(busy / full));
    if (t != ScalarEngine)
      utilisation[t < engineCount ? engineNames[t] : "dma"] = std::move(bins);
  }

  json::Array coreList;
  for (size_t i = 0; i < cores.size(); i++) {
    json::Object core = countsJson(cores[i]);
    if (i < timing.cores.size())
      core["engines"] = enginesJson(timing.cores[i], cycles);
    coreList.push_back(std::move(core));
  }

  double boundMs = bound.total() * toMs, timeMs = cycles * toMs;
  return json::Object{
      {"schema", "tensorturbo.run-report"},
      {"schema_version", reportVersion},
      {"profile", profile},
      {"ddr_sharing", ddrSharingName(ddr)},
      {"clock_hz", costs.clock},
      {"cycles", int64_t(std::llround(std::ceil(cycles - 1e-6)))},
      {"time_ms", timeMs},
      {"lower_bound_ms", boundMs},
      {"gap", bound.total() > 0 ? json::Value((timeMs - boundMs) / boundMs) : json::Value(nullptr)},
      {"lower_bound", json::Object{{"basis", bound.basis},
                                   {"limit", bound.limit()},
                                   {"terms_ms", json::Object{{"mme", bound.mme * toMs},
                                                             {"vme", bound.vme * toMs},
                                                             {"ddr", bound.ddr * toMs},
                                                             {"llb", bound.llb * toMs},
                                                             {"mte", bound.mte * toMs},
                                                             {"edge", bound.edge * toMs}}}}},
      {"engines", std::move(engines)},
      {"bytes", bytesJson(timing.bytes)},
      {"macs", int64_t(macs)},
      {"matrix_peak_share", cycles > 0 ? round6(macs / (coreCycles * peak)) : 0.0},
      {"memory_peak", json::Object{{"l1", int64_t(timing.l1Used)},
                                   {"im", int64_t(timing.imUsed)},
                                   {"llb", int64_t(timing.llbUsed)}}},
      {"utilisation", std::move(utilisation)},
      {"layers", std::move(layerList)},
      {"cores", std::move(coreList)},
      {"simulation_seconds", simulationSeconds},
      {"host_seconds", hostSeconds}};
}

std::string RunReport::table(size_t most) const {
  double cycles = timing.cycles, toMs = 1e3 / costs.clock;
  double peak = costs.mmeRows * costs.mmeColumns, count = double(timing.cores.size());
  if (cycles <= 0)
    return "no cycles on the chip\n";
  std::string out =
      format("%.0f cycles = %.4f ms at %.2f GHz (modelled; profile %s, DDR %s)\n", std::ceil(cycles - 1e-6),
             cycles * toMs, costs.clock / 1e9, profile.c_str(), ddrSharingName(ddr));
  if (bound.total() > 0)
    out += format(
        "lower bound %.4f ms, set by %s (mme %.4f, vme %.4f, ddr %.4f, llb %.4f, mte %.4f, edge %.4f); "
        "gap %.1f %%\n",
        bound.total() * toMs, bound.limit(), bound.mme * toMs, bound.vme * toMs, bound.ddr * toMs,
        bound.llb * toMs, bound.mte * toMs, bound.edge * toMs, (cycles / bound.total() - 1) * 100);
  auto sum = sumOf(timing);
  for (size_t e = 0; e < engineCount; e++) {
    double time = cycles * count;
    out += format("%-7s busy %5.1f %%  waits:", engineNames[e], sum[e].busy / time * 100);
    std::vector<size_t> order(causeCount);
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::make_pair(-sum[e].stall[a], a) < std::make_pair(-sum[e].stall[b], b);
    });
    for (size_t i = 0; i < 4 && sum[e].stall[order[i]] / time >= 0.0005; i++)
      out += format(" %s %.1f %%", causeNames[order[i]], sum[e].stall[order[i]] / time * 100);
    out += "\n";
  }
  out += format("DDR %s, LLB %s; most in use at once of L1 %s, IM %s, LLB %s\n",
                bytesText(timing.bytes.ddr).c_str(), bytesText(timing.bytes.llb).c_str(),
                bytesText(double(timing.l1Used)).c_str(), bytesText(double(timing.imUsed)).c_str(),
                bytesText(double(timing.llbUsed)).c_str());
  out += format("%-40s %12s %6s %6s %6s %6s %6s %6s %9s %9s  %s\n", "layer", "cycles", "share", "peak", "mme",
                "vme", "mte", "dma", "DDR", "LLB", "mme waits for");
  std::vector<size_t> order(timing.layers.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::make_pair(-timing.layers[a].cycles, a) < std::make_pair(-timing.layers[b].cycles, b);
  });
  size_t shown = std::min(most, order.size());
  double rest = 0;
  for (size_t i = shown; i < order.size(); i++)
    rest += timing.layers[order[i]].cycles;
  order.resize(shown);
  std::sort(order.begin(), order.end());
  for (size_t i : order) {
    const LayerTime &layer = timing.layers[i];
    if (layer.cycles <= 0)
      continue;
    double time = layer.cycles * count;
    const auto &stall = layer.engines[MmeEngine].stall;
    size_t cause = size_t(std::max_element(stall.begin(), stall.end()) - stall.begin());
    double dma = layer.engines[ScalarEngine].stall[StallDma];
    out += format("%-40s %12.0f %5.1f%% %5.1f%% %5.1f%% %5.1f%% %5.1f%% %5.1f%% %9s %9s  %s\n",
                  printable(i < layers.size() ? layers[i].text() : "(outside all layers)", 40).c_str(),
                  layer.cycles, layer.cycles / cycles * 100, layer.macs / (time * peak) * 100,
                  layer.engines[MmeEngine].busy / time * 100, layer.engines[VmeEngine].busy / time * 100,
                  layer.engines[MteEngine].busy / time * 100, dma / time * 100,
                  bytesText(layer.bytes.ddr).c_str(), bytesText(layer.bytes.llb).c_str(),
                  stall[cause] > 0 ? causeNames[cause] : "");
  }
  if (rest > 0)
    out += format("%-40s %12.0f %5.1f%%\n", "(shorter ones)", rest, rest / cycles * 100);
  return out;
}

} // namespace tensorturbo::sim
