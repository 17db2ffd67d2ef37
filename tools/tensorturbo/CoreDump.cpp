// Core dumps: an ELF with registers as JSON and all written memory, made after a run that failed.
#include "Debug.h"
#include "simulator/AddressMap.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cstring>

using namespace tensorturbo;
namespace json = llvm::json;

namespace {
/// A stretch of written memory: in the view of `core`, at `offset` of the memory section.
struct Range {
  int core = 0;
  uint32_t address = 0;
  uint64_t bytes = 0, offset = 0;
};
} // namespace

/// Appends the written stretches of [begin, end) in the view of a core, in steps of `grain` bytes.
static void collect(sim::Machine &chip, int core, uint64_t begin, uint64_t end, std::vector<Range> &ranges,
                    std::vector<uint8_t> &bytes) {
  constexpr uint64_t grain = 256;
  bool open = false;
  for (uint64_t at = begin; at < end; at += grain) {
    uint64_t size = std::min(grain, end - at);
    std::vector<uint8_t> block(size);
    uint32_t address = static_cast<uint32_t>(at);
    // A block counts if any of its bytes was written.
    bool written = false;
    for (uint64_t i = 0; i < size && !written; i += 4)
      written = chip.isWritten(core, address + static_cast<uint32_t>(i), std::min<uint64_t>(4, size - i));
    if (written && chip.readMemory(core, address, block.data(), size)) {
      if (!open)
        ranges.push_back({core, address, 0, bytes.size()});
      ranges.back().bytes += size;
      bytes.insert(bytes.end(), block.begin(), block.end());
    }
    open = written;
  }
}

static json::Object coreToJson(const sim::Core &core, const sim::CoreStatus &status) {
  json::Array x, f, csr;
  for (uint32_t value : core.x)
    x.push_back(int64_t(value));
  for (uint64_t value : core.f)
    f.push_back(value);
  for (uint32_t value : core.csr.value)
    csr.push_back(int64_t(value));
  return json::Object{{"pc", int64_t(status.pc)}, {"status", status.text}, {"x", std::move(x)},
                      {"f", std::move(f)},        {"csr", std::move(csr)}, {"vtype", int64_t(core.vtype)},
                      {"vl", int64_t(core.vl)}};
}

bool cli::writeCoreDump(const std::string &path, runtime::Executor &executor, Diagnostics &diags) {
  sim::Machine &chip = *executor.chip();
  std::vector<Range> ranges;
  std::vector<uint8_t> bytes;
  const runtime::ObjectFile &object = executor.file();
  // DDR without what the object file holds anyway.
  uint64_t at = 0x01400000;
  std::vector<std::pair<uint64_t, uint64_t>> constant;
  for (const runtime::Segment &s : object.segments)
    if (!s.writable)
      constant.emplace_back(s.address, uint64_t(s.address) + s.memorySize);
  std::sort(constant.begin(), constant.end());
  for (auto [begin, end] : constant) {
    collect(chip, 0, at, begin, ranges, bytes);
    at = std::max(at, end);
  }
  collect(chip, 0, at, std::max<uint64_t>(at, executor.metadata().ddrEnd), ranges, bytes);
  collect(chip, 0, sim::llbBase, uint64_t(sim::llbBase) + sim::llbSize, ranges, bytes);
  for (int core = 0; core < chip.cores(); ++core) {
    collect(chip, core, sim::l1Base, sim::l1Base + sim::l1Size, ranges, bytes);
    collect(chip, core, sim::imBase, sim::imBase + sim::imSize, ranges, bytes);
  }
  json::Array cores, memory;
  for (int i = 0; i < chip.cores(); ++i)
    cores.push_back(coreToJson(chip.core(i), chip.status(i)));
  for (const Range &r : ranges)
    memory.push_back(json::Object{{"core", r.core},
                                  {"address", int64_t(r.address)},
                                  {"bytes", int64_t(r.bytes)},
                                  {"offset", int64_t(r.offset)}});
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(json::Object{{"format_version", 1},
                                                             {"reason", executor.lastResult().message},
                                                             {"cores", std::move(cores)},
                                                             {"memory", std::move(memory)}});
  runtime::ObjectFile dump;
  dump.entry = object.entry;
  // The code, so that places can be shown as instructions.
  for (const runtime::Segment &s : object.segments)
    if (s.executable)
      dump.segments.push_back(s);
  dump.symbols = object.symbols;
  for (const char *name : {runtime::section::meta, runtime::section::provenance})
    if (auto found = object.sections.find(name); found != object.sections.end())
      dump.sections[name] = found->second;
  dump.sections[runtime::section::core] = runtime::Bytes(text);
  dump.sections[runtime::section::memory] = runtime::Bytes(std::move(bytes));
  return dump.write(path, diags);
}

bool cli::isCoreDump(const runtime::ObjectFile &file) {
  return file.sections.count(runtime::section::core) != 0;
}

static bool damaged(Diagnostics &diags) {
  diags.userError("the core dump is damaged");
  return false;
}

static uint32_t number(const json::Object &o, const char *key) {
  return static_cast<uint32_t>(o.getInteger(key).value_or(0));
}

/// Values of a list of numbers; missing ones are 0.
template <typename T, size_t n>
static void fill(const json::Object &o, const char *key, std::array<T, n> &out) {
  const json::Array *list = o.getArray(key);
  for (size_t i = 0; list && i < std::min(n, list->size()); ++i)
    out[i] = static_cast<T>((*list)[i].getAsUINT64().value_or(0));
}

static bool printBytes(const runtime::ObjectFile &dump, const std::vector<Range> &ranges,
                       const std::string &range, int core, Diagnostics &diags) {
  char *end = nullptr;
  unsigned long long address = std::strtoull(range.c_str(), &end, 16), count = 0;
  if (end != range.c_str() && *end == ':')
    count = std::strtoull(end + 1, &end, 10);
  if (*end || count == 0 || address > UINT32_MAX || count > (1u << 20)) {
    diags.userError("cannot read memory range " + quoteForMessage(range), {},
                    "give 0xADDRESS:BYTES, at most 1048576");
    return false;
  }
  const runtime::Bytes &bytes = dump.sections.at(runtime::section::memory);
  bool isPrivate = address - sim::l1Base < sim::l1Size || address - sim::imBase < sim::imSize;
  for (unsigned long long row = address & ~15ull; row < address + count; row += 16) {
    std::string line;
    bool any = false;
    for (unsigned long long at = row; at < row + 16; ++at) {
      const Range *found = nullptr;
      for (const Range &r : ranges)
        if (at >= r.address && at - r.address < r.bytes && (!isPrivate || r.core == core))
          found = &r;
      bool shown = found && at >= address && at < address + count;
      char text[8];
      std::snprintf(text, sizeof text, shown ? " %02x" : "   ",
                    shown ? bytes.data()[found->offset + (at - found->address)] : 0);
      line += text;
      any |= shown;
    }
    if (any)
      std::printf("  %08llX:%s\n", row, line.c_str());
  }
  return true;
}

void cli::printCoreDump(const runtime::ObjectFile &dump, const std::string &range, int core,
                        Diagnostics &diags) {
  auto memory = dump.sections.find(runtime::section::memory);
  std::string_view text = dump.sectionText(runtime::section::core);
  auto value = runtime::jsonNestsSanely(text) ? json::parse(llvm::StringRef(text.data(), text.size()))
                                              : llvm::Expected<json::Value>(nullptr);
  if (!value)
    llvm::consumeError(value.takeError());
  const json::Object *root = value ? value->getAsObject() : nullptr;
  const json::Array *cores = root ? root->getArray("cores") : nullptr;
  const json::Array *list = root ? root->getArray("memory") : nullptr;
  if (!cores || !list || memory == dump.sections.end()) {
    damaged(diags);
    return;
  }
  std::vector<Range> ranges;
  for (const json::Value &v : *list) {
    const json::Object *o = v.getAsObject();
    if (!o)
      continue;
    Range r{static_cast<int>(number(*o, "core")), number(*o, "address"), number(*o, "bytes"),
            static_cast<uint64_t>(o->getInteger("offset").value_or(-1))};
    if (r.offset > memory->second.size() || r.bytes > memory->second.size() - r.offset) {
      damaged(diags);
      return;
    }
    ranges.push_back(r);
  }
  if (!range.empty()) {
    printBytes(dump, ranges, range, core, diags);
    return;
  }
  if (auto reason = root->getString("reason"))
    for (llvm::StringRef rest = *reason; !rest.empty();) {
      auto [line, more] = rest.split('\n');
      std::printf("%s\n", plain(line.str()).c_str());
      rest = more;
    }
  std::vector<runtime::ProvenanceEntry> origins =
      runtime::provenanceFromJson(dump.sectionText(runtime::section::provenance));
  Disassembler disassembler;
  for (size_t i = 0; i < cores->size(); ++i) {
    const json::Object *o = (*cores)[i].getAsObject();
    if (!o)
      continue;
    sim::Core state;
    state.pc = number(*o, "pc");
    state.vtype = number(*o, "vtype");
    state.vl = number(*o, "vl");
    fill(*o, "x", state.x);
    fill(*o, "f", state.f);
    fill(*o, "csr", state.csr.value);
    const runtime::ProvenanceEntry *origin = nullptr;
    for (const runtime::ProvenanceEntry &e : origins)
      if (state.pc - e.address < e.size)
        origin = &e;
    std::printf("\ncore %zu at %s: %s\n", i, placeText(origin, state.pc).c_str(),
                plain(o->getString("status").value_or("").str()).c_str());
    for (const runtime::Segment &s : dump.segments)
      if (state.pc - s.address < s.bytes.size())
        std::printf("  %s\n",
                    disassembler.at(s.bytes.view().substr(state.pc - s.address), state.pc).text.c_str());
    std::printf("%s", registerText(state).c_str());
  }
  std::printf("\nWritten memory\n");
  for (const Range &r : ranges) {
    bool isPrivate = r.address - sim::l1Base < sim::l1Size || r.address - sim::imBase < sim::imSize;
    std::printf(
        "  0x%08X..0x%08llX %s%s\n", r.address, static_cast<unsigned long long>(r.address + r.bytes - 1),
        isPrivate ? ("core " + std::to_string(r.core) + ", ").c_str() : "", sizeText(r.bytes).c_str());
  }
}
