#include "simulator/timing/TimingModel.h"
#include <algorithm>

namespace tensorturbo::sim {

void EngineTime::add(const EngineTime &other) {
  busy += other.busy;
  for (size_t i = 0; i < causeCount; i++)
    stall[i] += other.stall[i];
}

void MemoryBytes::add(const MemoryBytes &other) {
  ddr += other.ddr;
  llb += other.llb;
  l1 += other.l1;
  im += other.im;
  mesh += other.mesh;
}

void LayerTime::add(const LayerTime &other, double cyclesBefore) {
  if (other.end > 0) {
    begin = end > 0 ? begin : other.begin + cyclesBefore;
    end = other.end + cyclesBefore;
  }
  cycles += other.cycles;
  for (size_t i = 0; i < engineCount; i++)
    engines[i].add(other.engines[i]);
  bytes.add(other.bytes);
  instructions += other.instructions;
  macs += other.macs;
  paddedMatrixCycles += other.paddedMatrixCycles;
  vectorCycles += other.vectorCycles;
}

void Utilisation::add(size_t track, double begin, double end) {
  while (end >= width * most) {
    width *= 2;
    for (std::vector<double> &list : bins) {
      for (size_t i = 0; i < list.size(); i += 2)
        list[i / 2] = list[i] + (i + 1 < list.size() ? list[i + 1] : 0);
      list.resize((list.size() + 1) / 2);
    }
  }
  std::vector<double> &list = bins[track];
  size_t first = size_t(begin / width), last = size_t(end / width);
  if (list.size() <= last)
    list.resize(last + 1);
  for (size_t i = first; i <= last; i++)
    list[i] += std::min(end, double(i + 1) * width) - std::max(begin, double(i) * width);
}

void TimingResult::append(const TimingResult &next) {
  if (cores.size() < next.cores.size())
    cores.resize(next.cores.size());
  for (size_t i = 0; i < next.cores.size(); i++)
    for (size_t e = 0; e < engineCount; e++)
      cores[i][e].add(next.cores[i][e]);
  for (size_t i = 0; i < dmaBusy.size(); i++)
    dmaBusy[i] += next.dmaBusy[i];
  if (layers.size() < next.layers.size())
    layers.resize(next.layers.size());
  for (size_t i = 0; i < next.layers.size(); i++)
    layers[i].add(next.layers[i], cycles);
  bytes.add(next.bytes);
  l1Used = std::max(l1Used, next.l1Used);
  imUsed = std::max(imUsed, next.imUsed);
  llbUsed = std::max(llbUsed, next.llbUsed);
  instructions += next.instructions;
  for (size_t t = 0; t < next.utilisation.bins.size(); t++)
    for (size_t i = 0; i < next.utilisation.bins[t].size(); i++)
      if (double busy = next.utilisation.bins[t][i]; busy > 0) {
        // Spread over the bin; more cores than one make it larger than the bin is wide.
        double begin = cycles + double(i) * next.utilisation.width, width = next.utilisation.width;
        for (double left = busy; left > 0; left -= width)
          utilisation.add(t, begin, begin + std::min(left, width));
      }
  for (Slice slice : next.slices) {
    slice.begin += cycles;
    slice.end += cycles;
    slices.push_back(slice);
  }
  complete &= next.complete;
  cycles += next.cycles;
}

} // namespace tensorturbo::sim
