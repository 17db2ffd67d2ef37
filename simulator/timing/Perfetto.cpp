// The trace of a run in the event format that the Perfetto viewer and Chrome read. One process per core with
// a thread per engine, one for the system DMA; flows from a transfer to whoever waits for it and from the
// last core at a barrier to the others. A viewer's microsecond is one of the chip's: cycles become time.
#include "simulator/timing/Report.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

namespace tensorturbo::sim {

namespace {

const char *const trackNames[engineCount] = {"scalar", "MME", "VME", "MTE"};
constexpr unsigned dmaProcess = 1000;

std::string quoted(const std::string &text) {
  return llvm::formatv("{0}", llvm::json::Value(llvm::json::fixUTF8(text))).str();
}

class Writer {
public:
  explicit Writer(const RunReport &report) : report(report), toUs(1e6 / report.costs.clock) {
    for (const LayerName &layer : report.layers)
      layerNames.push_back(quoted(layer.text()));
    layerNames.push_back("\"(outside all layers)\"");
  }

  std::string write() {
    out = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
    for (size_t core = 0; core < report.timing.cores.size(); core++) {
      nameProcess(unsigned(core), "core " + std::to_string(core));
      for (unsigned e = 0; e < engineCount; e++)
        nameThread(unsigned(core), e, trackNames[e]);
    }
    nameProcess(dmaProcess, "system DMA");
    for (unsigned c = 0; c < TraceRecorder::channels; c++)
      nameThread(dmaProcess, c, "controller " + std::to_string(c / 2) + " channel " + std::to_string(c % 2));
    // The last core at each barrier, whose slice is the shortest, and the transfers.
    std::map<std::pair<uint32_t, double>, const Slice *> lastAt;
    std::map<uint32_t, const Slice *> transfers;
    for (const Slice &slice : report.timing.slices)
      if (slice.kind == Slice::BarrierWait) {
        const Slice *&last = lastAt[{slice.link, slice.end}];
        if (!last || slice.begin > last->begin)
          last = &slice;
      } else if (slice.kind == Slice::Transfer) {
        transfers[slice.link] = &slice;
      }
    for (const Slice &slice : report.timing.slices) {
      writeSlice(slice);
      const Slice *from = slice.kind == Slice::BarrierWait ? lastAt[{slice.link, slice.end}] : nullptr;
      if (slice.kind == Slice::DmaWait)
        from = transfers[slice.link];
      if (from && from != &slice)
        writeFlow(slice.kind == Slice::BarrierWait ? "barrier" : "transfer", *from, slice);
    }
    out += "\n]}\n";
    return std::move(out);
  }

private:
  void begin() {
    out += first ? "\n" : ",\n";
    first = false;
  }
  void nameProcess(unsigned process, const std::string &name) {
    begin();
    out += llvm::formatv(
               "{{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": {0}, \"args\": {{\"name\": \"{1}\"}}",
               process, name)
               .str();
  }
  void nameThread(unsigned process, unsigned thread, const std::string &name) {
    begin();
    out += llvm::formatv("{{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": {0}, \"tid\": {1}, \"args\": "
                         "{{\"name\": \"{2}\"}}",
                         process, thread, name)
               .str();
  }
  static unsigned process(const Slice &slice) {
    return slice.kind == Slice::Transfer ? dmaProcess : slice.core;
  }

  void writeSlice(const Slice &slice) {
    begin();
    std::string name = slice.kind == Slice::Instruction
                           ? target::p920().instructions()[slice.instruction].mnemonic
                       : slice.kind == Slice::BarrierWait ? "barrier"
                       : slice.kind == Slice::DmaWait     ? "wait for transfer"
                                                          : "transfer";
    char text[256];
    std::snprintf(text, sizeof text,
                  "{\"ph\": \"X\", \"name\": \"%s\", \"pid\": %u, \"tid\": %u, \"ts\": %.6f, \"dur\": %.6f, "
                  "\"args\": {\"pc\": \"0x%08X\", \"node\": ",
                  name.c_str(), process(slice), unsigned(slice.engine), slice.begin * toUs,
                  (slice.end - slice.begin) * toUs, slice.pc);
    out += text;
    out += layerNames[std::min<size_t>(slice.layer, layerNames.size() - 1)];
    out += "}}";
  }

  /// An arrow from the end of one slice to the end of another.
  void writeFlow(const char *name, const Slice &from, const Slice &to) {
    flows++;
    writeFlowEnd("s", name, from);
    writeFlowEnd("f", name, to);
  }

  void writeFlowEnd(const char *phase, const char *name, const Slice &slice) {
    // It binds to the slice around it, hence the small step back from the slice's end.
    begin();
    char text[256];
    std::snprintf(
        text, sizeof text,
        "{\"ph\": \"%s\", \"bp\": \"e\", \"cat\": \"%s\", \"name\": \"%s\", \"id\": %u, \"pid\": %u, "
        "\"tid\": %u, \"ts\": %.6f}",
        phase, name, name, flows, process(slice), unsigned(slice.engine),
        std::max(slice.begin, slice.end - 0.5) * toUs);
    out += text;
  }

  const RunReport &report;
  double toUs;
  std::vector<std::string> layerNames;
  unsigned flows = 0;
  std::string out;
  bool first = true;
};

} // namespace

std::string RunReport::perfetto() const {
  return Writer(*this).write();
}

} // namespace tensorturbo::sim
