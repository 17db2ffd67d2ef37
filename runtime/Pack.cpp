#include "runtime/Pack.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace tensorturbo;
using namespace tensorturbo::runtime;
namespace json = llvm::json;

static std::string noteContents(const std::vector<TensorSpec> &outputs) {
  json::Array list;
  for (const TensorSpec &t : outputs) {
    json::Array shape;
    for (int64_t d : t.shape)
      shape.push_back(d);
    list.push_back(json::Object{{"name", json::isUTF8(t.name) ? t.name : json::fixUTF8(t.name)},
                                {"address", int64_t(t.buffer.address)},
                                {"bytes", int64_t(t.buffer.bytes)},
                                {"dtype", dtypeName(t.buffer.dtype)},
                                {"shape", std::move(shape)}});
  }
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(list));
  const char owner[] = "TensorTurbo";
  uint32_t header[3] = {sizeof owner, static_cast<uint32_t>(text.size()), 1};
  std::string note(reinterpret_cast<const char *>(header), sizeof header);
  note.append(owner, sizeof owner);
  note += text;
  note.append((4 - note.size() % 4) % 4, '\0');
  return note;
}

/// The index of the only NPU segment, or nothing after an error.
static std::optional<uint32_t> onlySegment(const Metadata &meta, Diagnostics &diags) {
  std::string hostNodes;
  size_t hostCount = 0;
  for (const RunSegment &s : meta.segments)
    if (s.onHost)
      for (const std::string &n : s.nodes)
        if (++hostCount <= 10)
          hostNodes += (hostNodes.empty() ? "" : ", ") + quoteForMessage(n);
  if (hostCount > 10)
    hostNodes += " and " + std::to_string(hostCount - 10) + " more";
  bool anyHost = false;
  for (const RunSegment &s : meta.segments)
    anyHost |= s.onHost;
  if (anyHost || meta.segments.size() != 1) {
    diags.userError(anyHost ? "a stand-alone program cannot contain a part that runs on the host" +
                                  (hostNodes.empty() ? "" : "; on the host are: " + hostNodes)
                            : "a stand-alone program needs exactly one NPU segment, the model has " +
                                  std::to_string(meta.segments.size()),
                    {}, anyHost ? "'tensorturbo inspect' shows why these nodes are not on the NPU" : "");
    return std::nullopt;
  }
  return meta.segments.front().index;
}

/// Makes `index` the segment that the program runs from reset.
static bool selectSegment(ObjectFile &object, uint32_t index, Diagnostics &diags) {
  const Symbol *word = object.findSymbol("tt_segment");
  for (Segment &s : object.segments) {
    if (!word || word->address < s.address ||
        uint64_t(word->address) + 4 > uint64_t(s.address) + s.memorySize)
      continue;
    uint32_t offset = word->address - s.address;
    std::vector<uint8_t> bytes(s.bytes.data(), s.bytes.data() + s.bytes.size());
    bytes.resize(std::max<size_t>(bytes.size(), offset + 4));
    std::memcpy(bytes.data() + offset, &index, 4);
    s.bytes = Bytes(std::move(bytes));
    return true;
  }
  diags.userError("the object file is damaged: its program has no symbol tt_segment in a segment");
  return false;
}

bool runtime::packWithInputs(const std::string &objectPath, const std::map<std::string, TensorView> &inputs,
                             const std::string &outputPath, Diagnostics &diags) {
  auto object = ObjectFile::read(objectPath, diags);
  if (!object)
    return false;
  auto meta = Metadata::fromJson(object->sectionText(section::meta), diags);
  if (!meta)
    return false;
  auto index = onlySegment(*meta, diags);
  if (!index || !selectSegment(*object, *index, diags))
    return false;
  auto converted = convertInputs(meta->inputs, inputs, true, diags);
  if (!converted)
    return false;
  for (size_t i = 0; i < converted->size(); ++i) {
    if ((*converted)[i]->empty())
      continue;
    Segment s;
    s.address = meta->inputs[i].buffer.address;
    s.bytes = Bytes(std::move(*(*converted)[i]));
    s.memorySize = static_cast<uint32_t>(s.bytes.size());
    s.writable = true;
    s.name = ".input." + std::to_string(i);
    object->segments.push_back(std::move(s));
  }
  object->sections.clear();
  object->sections.emplace(outputsNote, Bytes(noteContents(meta->outputs)));
  return object->writeElf(outputPath, diags);
}
