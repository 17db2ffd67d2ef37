#include "runtime/Metadata.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <set>
#include <tuple>

using namespace tensorturbo;
using namespace tensorturbo::runtime;
namespace json = llvm::json;

int64_t TensorSpec::elements() const {
  int64_t n = 1;
  for (int64_t d : shape)
    n *= d;
  return n;
}

bool runtime::jsonNestsSanely(std::string_view text) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      if (++depth > 64)
        return false;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return true;
}

// Writing.

static std::string utf8(const std::string &text) {
  return json::isUTF8(text) ? text : json::fixUTF8(text);
}

static json::Array strings(const std::vector<std::string> &list) {
  json::Array out;
  for (const std::string &s : list)
    out.push_back(utf8(s));
  return out;
}

template <typename T> static json::Array numbers(const std::vector<T> &list) {
  json::Array out;
  for (T v : list)
    out.push_back(static_cast<int64_t>(v));
  return out;
}

static json::Object bufferToJson(const Buffer &b) {
  return json::Object{
      {"address", int64_t(b.address)}, {"bytes", int64_t(b.bytes)}, {"dtype", dtypeName(b.dtype)}};
}

static json::Array tensors(const std::vector<TensorSpec> &list) {
  json::Array out;
  for (const TensorSpec &t : list) {
    out.push_back(json::Object{{"name", utf8(t.name)},
                               {"shape", numbers(t.shape)},
                               {"dtype", dtypeName(t.dtype)},
                               {"buffer", bufferToJson(t.buffer)}});
  }
  return out;
}

static json::Array kernelBuffers(const std::vector<KernelBuffer> &list) {
  json::Array out;
  for (const KernelBuffer &b : list) {
    json::Object o{{"buffer", bufferToJson(b.buffer)}, {"shape", numbers(b.shape)}};
    if (!b.node.empty())
      o["node"] = utf8(b.node);
    if (b.parts != 1)
      o["parts"] = b.parts;
    out.push_back(std::move(o));
  }
  return out;
}

static json::Array plannedBuffers(const std::vector<PlannedBuffer> &list) {
  json::Array out;
  for (const PlannedBuffer &b : list) {
    json::Object o{{"name", utf8(b.name)}, {"address", int64_t(b.address)}, {"bytes", int64_t(b.bytes)}};
    if (b.parts != 1)
      o["parts"] = b.parts;
    out.push_back(std::move(o));
  }
  return out;
}

static json::Object kernelToJson(const KernelInfo &k) {
  return json::Object{{"symbol", utf8(k.symbol)},
                      {"on_host", k.onHost},
                      {"parts", k.parts},
                      {"nodes", strings(k.nodes)},
                      {"inputs", kernelBuffers(k.inputs)},
                      {"outputs", kernelBuffers(k.outputs)},
                      {"buffers", plannedBuffers(k.buffers)}};
}

static json::Object segmentToJson(const RunSegment &s) {
  json::Object out{{"kind", s.onHost ? "host" : "npu"}, {"nodes", strings(s.nodes)}};
  if (!s.onHost) {
    out["index"] = int64_t(s.index);
    return out;
  }
  out["symbol"] = utf8(s.symbol);
  out["buffers"] = numbers(s.buffers);
  out["buffer_bytes"] = numbers(s.bufferBytes);
  out["results"] = s.results;
  return out;
}

static json::Object workloadToJson(const Workload &work) {
  json::Array products;
  for (const Workload::Product &p : work.products)
    products.push_back(json::Array{p.m, p.n, p.k, p.count});
  return json::Object{{"products", std::move(products)},
                      {"grouped_macs", work.groupedMacs},
                      {"vector_elements", work.vectorElements},
                      {"constant_bytes", work.constantBytes}};
}

static std::string toText(json::Value value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

std::string Metadata::toJson() const {
  json::Array segmentList, nodeList, kernelList;
  for (const KernelInfo &k : kernels)
    kernelList.push_back(kernelToJson(k));
  for (const RunSegment &s : segments)
    segmentList.push_back(segmentToJson(s));
  for (const NodeInfo &n : nodes)
    nodeList.push_back(json::Object{
        {"name", utf8(n.name)}, {"op", utf8(n.op)}, {"where", n.where}, {"reason", utf8(n.reason)}});
  json::Object optionMap;
  for (const auto &[name, value] : options)
    optionMap[utf8(name)] = utf8(value);
  json::Object document{
      {"format_version", formatVersion},
      {"producer", producer},
      {"kernel", kernel},
      {"target", target},
      {"ncore", ncore},
      {"graph_schedule_level", graphScheduleLevel},
      {"inputs", tensors(inputs)},
      {"outputs", tensors(outputs)},
      {"segments", std::move(segmentList)},
      {"kernels", std::move(kernelList)},
      {"residents", plannedBuffers(residents)},
      {"ddr_end", int64_t(ddrEnd)},
      {"nodes", std::move(nodeList)},
      {"options", std::move(optionMap)},
      {"source", json::Object{{"path_name", utf8(sourcePath)}, {"hash", sourceHash}}},
  };
  if (workload)
    document["workload"] = workloadToJson(*workload);
  return toText(std::move(document));
}

// Reading.

namespace {

/// Reads members of JSON objects and collects what is wrong with them, each with its place in the document.
class Reader {
public:
  explicit Reader(Diagnostics &diags) : diags(diags) {}

  void error(const std::string &place, const std::string &what) {
    failed = true;
    diags.userError("the object file's metadata is damaged: " + place + ": " + what);
  }

  std::string string(const json::Object &o, const char *key, const std::string &place, bool required = true) {
    if (auto s = o.getString(key))
      return s->str();
    if (required || o.get(key))
      error(place + "." + key, "a text is expected");
    return {};
  }

  int64_t integer(const json::Object &o, const char *key, int64_t low, int64_t high,
                  const std::string &place) {
    return integer(o.get(key), low, high, place + "." + key);
  }

  int64_t integer(const json::Value *value, int64_t low, int64_t high, const std::string &place) {
    std::optional<int64_t> n;
    if (value)
      n = value->getAsInteger();
    if (n && *n >= low && *n <= high)
      return *n;
    error(place, "a number from " + std::to_string(low) + " to " + std::to_string(high) + " is expected" +
                     (n ? ", got " + std::to_string(*n) : ""));
    return low;
  }

  DType dtype(const json::Object &o, const std::string &place) {
    std::string name = string(o, "dtype", place);
    if (auto type = dtypeFromName(name))
      return *type;
    error(place + ".dtype", "unknown element type " + quoteForMessage(name));
    return DType::Float32;
  }

  const json::Array *array(const json::Object &o, const char *key, const std::string &place) {
    const json::Array *list = o.getArray(key);
    if (!list)
      error(place + key, "a list is expected");
    return list;
  }

  /// Calls f(object, place) for every element of list `key`.
  template <typename F>
  void objects(const json::Object &o, const char *key, F f, const std::string &where = "") {
    const json::Array *list = array(o, key, where);
    for (size_t i = 0; list && i < list->size(); ++i) {
      std::string place = where + key + "[" + std::to_string(i) + "]";
      if (const json::Object *element = (*list)[i].getAsObject())
        f(*element, place);
      else
        error(place, "an object is expected");
    }
  }

  std::vector<std::string> names(const json::Object &o, const char *key) {
    std::vector<std::string> out;
    if (const json::Array *list = o.getArray(key))
      for (const json::Value &v : *list)
        if (auto s = v.getAsString())
          out.push_back(s->str());
    return out;
  }

  template <typename T>
  std::vector<T> integers(const json::Object &o, const char *key, int64_t high, const std::string &place) {
    std::vector<T> out;
    const json::Array *list = array(o, key, place + ".");
    for (size_t i = 0; list && i < list->size(); ++i)
      out.push_back(
          static_cast<T>(integer(&(*list)[i], 0, high, place + "." + key + "[" + std::to_string(i) + "]")));
    return out;
  }

  TensorSpec tensor(const json::Object &o, const std::string &place) {
    TensorSpec t;
    t.name = string(o, "name", place);
    t.dtype = dtype(o, place);
    readBuffer(o, place, t.shape, 1, t.buffer);
    return t;
  }

  KernelBuffer kernelBuffer(const json::Object &o, const std::string &place) {
    KernelBuffer b;
    b.parts = parts(o, place);
    readBuffer(o, place, b.shape, b.parts, b.buffer);
    b.node = string(o, "node", place, false);
    return b;
  }

  int parts(const json::Object &o, const std::string &place) {
    return o.get("parts") ? static_cast<int>(integer(o, "parts", 1, INT32_MAX, place)) : 1;
  }

  bool failed = false;

private:
  void readBuffer(const json::Object &o, const std::string &place, std::vector<int64_t> &shape, int parts,
                  Buffer &out) {
    shape = integers<int64_t>(o, "shape", UINT32_MAX, place);
    const json::Object *buffer = o.getObject("buffer");
    if (!buffer)
      return error(place + ".buffer", "an object is expected");
    out.dtype = dtype(*buffer, place + ".buffer");
    out.address = static_cast<uint32_t>(integer(*buffer, "address", 0, UINT32_MAX, place + ".buffer"));
    out.bytes = static_cast<uint32_t>(integer(*buffer, "bytes", 0, UINT32_MAX, place + ".buffer"));
    if (!failed)
      checkSize(shape, parts, out, place);
  }

  void checkSize(const std::vector<int64_t> &shape, int parts, const Buffer &buffer,
                 const std::string &place) {
    uint64_t bytes = dtypeSize(buffer.dtype);
    for (int64_t d : shape) {
      // Every factor fits 32 bits, so that a product below 2^32 cannot overflow in the next step.
      bytes *= static_cast<uint64_t>(d);
      if (bytes > UINT32_MAX)
        return error(place + ".shape", "a tensor of 4 GiB or more does not fit the chip");
    }
    if (parts != 1 && (shape.empty() || shape[0] % parts != 0))
      return error(place + ".parts", "the first axis cannot be cut into " + std::to_string(parts) + " parts");
    bytes /= static_cast<uint64_t>(parts);
    if (bytes != buffer.bytes)
      error(place + ".buffer.bytes",
            "the shape needs " + std::to_string(bytes) + " bytes, got " + std::to_string(buffer.bytes));
    if (uint64_t(buffer.address) + buffer.bytes > (uint64_t(1) << 32))
      error(place + ".buffer", "it ends beyond the address space");
  }

  Diagnostics &diags;
};

} // namespace

static RunSegment readSegment(Reader &reader, const json::Object &o, const std::string &place) {
  RunSegment s;
  s.nodes = reader.names(o, "nodes");
  std::string kind = reader.string(o, "kind", place);
  if (kind == "npu") {
    s.index = static_cast<uint32_t>(reader.integer(o, "index", 0, UINT32_MAX, place));
  } else if (kind == "host") {
    s.onHost = true;
    s.symbol = reader.string(o, "symbol", place);
    s.buffers = reader.integers<uint32_t>(o, "buffers", UINT32_MAX, place);
    s.bufferBytes = reader.integers<uint32_t>(o, "buffer_bytes", UINT32_MAX, place);
    if (s.bufferBytes.size() != s.buffers.size())
      reader.error(place + ".buffer_bytes", "one number for each buffer is expected");
    s.results = static_cast<int>(reader.integer(o, "results", 0, int64_t(s.buffers.size()), place));
  } else {
    reader.error(place + ".kind", "'npu' or 'host' is expected, got " + quoteForMessage(kind));
  }
  return s;
}

/// A list of planned buffers, which older files do not have.
static std::vector<PlannedBuffer> readPlanned(Reader &reader, const json::Object &o, const char *key,
                                              const std::string &where) {
  std::vector<PlannedBuffer> list;
  if (o.get(key))
    reader.objects(
        o, key,
        [&](const json::Object &b, const std::string &place) {
          list.push_back({reader.string(b, "name", place),
                          static_cast<uint32_t>(reader.integer(b, "address", 0, UINT32_MAX, place)),
                          static_cast<uint32_t>(reader.integer(b, "bytes", 0, UINT32_MAX, place)),
                          reader.parts(b, place)});
        },
        where);
  return list;
}

static KernelInfo readKernel(Reader &reader, const json::Object &o, const std::string &place) {
  KernelInfo k;
  k.symbol = reader.string(o, "symbol", place);
  k.onHost = o.getBoolean("on_host").value_or(false);
  k.parts = reader.parts(o, place);
  k.nodes = reader.names(o, "nodes");
  auto read = [&](const char *key, std::vector<KernelBuffer> &list) {
    reader.objects(
        o, key,
        [&](const json::Object &b, const std::string &at) { list.push_back(reader.kernelBuffer(b, at)); },
        place + ".");
  };
  read("inputs", k.inputs);
  read("outputs", k.outputs);
  k.buffers = readPlanned(reader, o, "buffers", place + ".");
  return k;
}

static void checkNames(Reader &reader, const std::vector<TensorSpec> &list, const char *what) {
  std::set<std::string> seen;
  for (const TensorSpec &t : list)
    if (!seen.insert(t.name).second)
      reader.error(what, "the name " + quoteForMessage(t.name) + " comes twice");
}

static Workload readWorkload(Reader &reader, const json::Object &o) {
  constexpr int64_t most = int64_t(1) << 52;
  Workload work;
  work.groupedMacs = reader.integer(o, "grouped_macs", 0, most, "workload.");
  work.vectorElements = reader.integer(o, "vector_elements", 0, most, "workload.");
  work.constantBytes = reader.integer(o, "constant_bytes", 0, most, "workload.");
  const json::Array *products = reader.array(o, "products", "workload.");
  for (size_t i = 0; products && i < products->size(); ++i) {
    const json::Array *p = (*products)[i].getAsArray();
    if (!p || p->size() != 4) {
      reader.error("workload.products", "four numbers are expected");
      break;
    }
    auto number = [&](size_t at) { return reader.integer(&(*p)[at], 0, most, "workload.products"); };
    work.products.push_back({number(0), number(1), number(2), number(3)});
  }
  return work;
}

std::optional<Metadata> Metadata::fromJson(std::string_view text, Diagnostics &diags) {
  Reader reader(diags);
  if (!jsonNestsSanely(text)) {
    reader.error("document", "nested too deeply");
    return std::nullopt;
  }
  llvm::Expected<json::Value> value = json::parse(llvm::StringRef(text.data(), text.size()));
  if (!value) {
    reader.error("document", llvm::toString(value.takeError()));
    return std::nullopt;
  }
  const json::Object *root = value->getAsObject();
  if (!root) {
    reader.error("document", "an object is expected");
    return std::nullopt;
  }
  int64_t version = reader.integer(*root, "format_version", 1, INT32_MAX, "document");
  if (version > formatVersion) {
    diags.userError("the object file was written by a newer version of TensorTurbo: its format is " +
                        std::to_string(version) + ", this one reads up to " + std::to_string(formatVersion),
                    {}, "compile the model again, or install the newer version");
    return std::nullopt;
  }

  Metadata m;
  m.producer = reader.string(*root, "producer", "document", false);
  m.kernel = reader.string(*root, "kernel", "document", false);
  m.target = reader.string(*root, "target", "document");
  if (m.target != "npu" && m.target != "llvm")
    reader.error("document.target", "'npu' or 'llvm' is expected, got " + quoteForMessage(m.target));
  m.ncore = static_cast<int>(reader.integer(*root, "ncore", 1, 8, "document"));
  m.graphScheduleLevel = static_cast<int>(reader.integer(*root, "graph_schedule_level", 0, 4, "document"));
  m.ddrEnd = static_cast<uint32_t>(reader.integer(*root, "ddr_end", 0, UINT32_MAX, "document"));
  reader.objects(*root, "inputs", [&](const json::Object &o, const std::string &place) {
    m.inputs.push_back(reader.tensor(o, place));
  });
  reader.objects(*root, "outputs", [&](const json::Object &o, const std::string &place) {
    m.outputs.push_back(reader.tensor(o, place));
  });
  reader.objects(*root, "segments", [&](const json::Object &o, const std::string &place) {
    m.segments.push_back(readSegment(reader, o, place));
  });
  if (const json::Object *work = root->getObject("workload"))
    m.workload = readWorkload(reader, *work);
  if (root->get("kernels"))
    reader.objects(*root, "kernels", [&](const json::Object &o, const std::string &place) {
      m.kernels.push_back(readKernel(reader, o, place));
    });
  m.residents = readPlanned(reader, *root, "residents", "");
  reader.objects(*root, "nodes", [&](const json::Object &o, const std::string &place) {
    m.nodes.push_back({reader.string(o, "name", place), reader.string(o, "op", place),
                       reader.string(o, "where", place), reader.string(o, "reason", place, false)});
  });
  checkNames(reader, m.inputs, "inputs");
  checkNames(reader, m.outputs, "outputs");
  if (const json::Object *options = root->getObject("options"))
    for (const auto &[name, option] : *options) {
      auto s = option.getAsString();
      m.options[name.str()] = s ? s->str() : toText(option);
    }
  if (const json::Object *source = root->getObject("source")) {
    m.sourcePath = reader.string(*source, "path_name", "source", false);
    m.sourceHash = reader.string(*source, "hash", "source", false);
  }
  if (reader.failed)
    return std::nullopt;
  return m;
}

// Provenance.

std::string runtime::provenanceToJson(const std::vector<ProvenanceEntry> &entries) {
  json::Array out;
  for (const ProvenanceEntry &e : entries)
    out.push_back(json::Object{{"symbol", utf8(e.symbol)},
                               {"address", int64_t(e.address)},
                               {"size", int64_t(e.size)},
                               {"nodes", strings(e.nodes)}});
  return toText(std::move(out));
}

std::vector<ProvenanceEntry> runtime::provenanceFromJson(std::string_view text) {
  std::vector<ProvenanceEntry> out;
  if (!jsonNestsSanely(text))
    return out;
  llvm::Expected<json::Value> value = json::parse(llvm::StringRef(text.data(), text.size()));
  if (!value) {
    llvm::consumeError(value.takeError());
    return out;
  }
  const json::Array *list = value->getAsArray();
  if (!list)
    return out;
  Diagnostics unused;
  Reader reader(unused);
  for (const json::Value &v : *list) {
    const json::Object *o = v.getAsObject();
    if (!o)
      continue;
    auto address = o->getInteger("address"), size = o->getInteger("size");
    if (!address || !size || *address < 0 || *size < 0 || *address > UINT32_MAX || *size > UINT32_MAX)
      continue;
    out.push_back({reader.string(*o, "symbol", ""), static_cast<uint32_t>(*address),
                   static_cast<uint32_t>(*size), reader.names(*o, "nodes")});
  }
  std::sort(out.begin(), out.end(), [](const ProvenanceEntry &a, const ProvenanceEntry &b) {
    return std::tie(a.address, a.size) < std::tie(b.address, b.size);
  });
  return out;
}
