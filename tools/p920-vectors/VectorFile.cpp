#include "VectorFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <zlib.h>

namespace tensorturbo::vectors {

using llvm::StringRef;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

namespace {

/// Reads a record and remembers the first thing that is wrong with it.
class Parser {
public:
  std::string error;

  uint64_t hex(std::optional<StringRef> text, const char *what) {
    uint64_t value = 0;
    if (!text || text->getAsInteger(16, value))
      fail(std::string(what) + " is no hexadecimal text");
    return value;
  }
  uint64_t hex(const Value &v, const char *what) { return hex(v.getAsString(), what); }

  std::vector<Numbered> numbered(const Object *o, unsigned base) {
    std::vector<Numbered> list;
    if (o)
      for (const auto &entry : *o) {
        uint32_t number = 0;
        if (StringRef(entry.first).getAsInteger(base, number))
          fail("bad register number");
        list.push_back({number, hex(entry.second, "register value")});
      }
    return list;
  }

  void unhex(StringRef text, std::string &out) {
    if (text.size() % 2)
      return fail("odd number of hexadecimal digits");
    out.reserve(text.size() / 2);
    for (size_t i = 0; i < text.size(); i += 2) {
      unsigned high = llvm::hexDigitValue(text[i]), low = llvm::hexDigitValue(text[i + 1]);
      if (high > 15 || low > 15)
        return fail("bytes are not hexadecimal");
      out += char(high << 4 | low);
    }
  }

  /// [address, bytes], [address, "fill", byte, count] or [address, "ramp", start, step, count].
  Piece piece(const Value &v) {
    Piece p;
    const Array *a = v.getAsArray();
    if (!a || a->size() < 2)
      return fail("bad memory piece"), p;
    p.address = uint32_t(hex((*a)[0], "address"));
    std::optional<StringRef> kind = (*a)[1].getAsString();
    auto count = [&](size_t i) {
      std::optional<int64_t> n = (*a)[i].getAsInteger();
      if (!n || *n < 0 || *n > 1 << 28)
        fail("bad count of a memory piece");
      return n && *n >= 0 && *n <= 1 << 28 ? size_t(*n) : 0;
    };
    if (kind && *kind == "fill" && a->size() == 4) {
      p.bytes.assign(count(3), char(hex((*a)[2], "fill byte")));
    } else if (kind && *kind == "ramp" && a->size() == 5) {
      // Start and step may be hexadecimal texts or decimal integers.
      auto number = [&](size_t i) {
        std::optional<int64_t> n = (*a)[i].getAsInteger();
        return n ? uint64_t(*n) : hex((*a)[i], "ramp");
      };
      uint64_t value = number(2), step = number(3);
      for (size_t i = 0, n = count(4); i < n; ++i, value += step) {
        p.bytes += char(value & 255);
        p.bytes += char(value >> 8 & 255);
      }
    } else if (kind && a->size() == 2) {
      unhex(*kind, p.bytes);
    } else {
      fail("bad memory piece");
    }
    return p;
  }

  std::vector<Piece> pieces(const Object &o, StringRef key) {
    std::vector<Piece> list;
    if (const Array *a = o.getArray(key))
      for (const Value &v : *a)
        list.push_back(piece(v));
    return list;
  }

  Exec exec(const Object &o) {
    Exec e;
    e.word = uint32_t(hex(o.getString("word"), "word"));
    e.csr = numbered(o.getObject("csr"), 16);
    e.x = numbered(o.getObject("x"), 10);
    e.f = numbered(o.getObject("f"), 10);
    e.memory = pieces(o, "mem");
    if (const Object *after = o.getObject("after")) {
      e.memoryAfter = pieces(*after, "mem");
      e.xAfter = numbered(after->getObject("x"), 10);
      e.fAfter = numbered(after->getObject("f"), 10);
      if (const Object *trap = after->getObject("trap"))
        e.trap = ExpectedTrap{uint32_t(hex(trap->getString("cause"), "cause")),
                              uint32_t(hex(trap->getString("tval"), "tval"))};
    } else {
      fail("no 'after'");
    }
    return e;
  }

  StepRecord step(const Value &v) {
    StepRecord s;
    const Array *a = v.getAsArray();
    std::optional<StringRef> kind = a && !a->empty() ? (*a)[0].getAsString() : std::nullopt;
    auto argument = [&](size_t i) {
      return i < a->size() ? uint32_t(hex((*a)[i], "step argument")) : (fail("step too short"), 0);
    };
    if (!kind) {
      fail("bad step");
    } else if (*kind == "exec" && a->size() == 2 && (*a)[1].getAsObject()) {
      s.kind = StepRecord::Execute;
      s.exec = exec(*(*a)[1].getAsObject());
    } else if (*kind == "barrier") {
      s.kind = StepRecord::Barrier;
    } else if (*kind == "store" || *kind == "load") {
      s.kind = *kind == "store" ? StepRecord::Store : StepRecord::Load;
      s.address = argument(1);
      s.value = argument(2);
    } else if (*kind == "poll") {
      s.kind = StepRecord::Poll;
      s.address = argument(1);
      s.mask = argument(2);
      s.value = argument(3);
    } else if (*kind != "delay") {
      fail("unknown step '" + kind->str() + "'");
    }
    return s;
  }

  CoreRecord core(StringRef number, const Value &v) {
    CoreRecord c;
    const Object *o = v.getAsObject();
    if (!o || number.getAsInteger(10, c.core))
      return fail("bad core"), c;
    c.memory = pieces(*o, "mem");
    if (const Array *steps = o->getArray("steps"))
      for (const Value &s : *steps)
        c.steps.push_back(step(s));
    if (const Object *after = o->getObject("after"))
      c.memoryAfter = pieces(*after, "mem");
    return c;
  }

  void fail(std::string message) {
    if (error.empty())
      error = std::move(message);
  }
};

std::string nameOf(const Object &o) {
  std::optional<StringRef> name = o.getString("name");
  return name ? name->str() : "(no name)";
}

} // namespace

std::optional<std::string> readText(const std::string &path, std::string &error) {
  gzFile file = gzopen(path.c_str(), "rb"); // also reads what is not compressed
  if (!file) {
    error = "cannot open " + path;
    return std::nullopt;
  }
  gzbuffer(file, 1 << 17);
  std::string text;
  std::vector<char> buffer(1 << 18);
  int got = 0;
  while ((got = gzread(file, buffer.data(), unsigned(buffer.size()))) > 0)
    text.append(buffer.data(), size_t(got));
  int status = gzclose(file);
  if (got < 0 || status != Z_OK) {
    error = "cannot read " + path;
    return std::nullopt;
  }
  return text;
}

std::optional<Record> parseRecord(std::string_view line, std::string &error) {
  llvm::Expected<Value> value = llvm::json::parse(StringRef(line.data(), line.size()));
  if (!value) {
    error = llvm::toString(value.takeError());
    return std::nullopt;
  }
  const Object *o = value->getAsObject();
  if (!o) {
    error = "not an object";
    return std::nullopt;
  }
  Parser parser;
  Record record;
  record.name = nameOf(*o);
  if (std::optional<int64_t> cores = o->getInteger("cores")) {
    record.systemCores = int(*cores);
    if (const Object *list = o->getObject("core"))
      for (const auto &entry : *list)
        record.cores.push_back(parser.core(entry.first, entry.second));
    if (record.cores.empty() || *cores < 1 || *cores > 8)
      parser.fail("a record of several cores needs 1 to 8 cores");
    for (const CoreRecord &c : record.cores)
      if (c.core >= uint32_t(*cores))
        parser.fail("core number out of range");
  } else {
    record.exec = parser.exec(*o);
  }
  if (!parser.error.empty()) {
    error = record.name + ": " + parser.error;
    return std::nullopt;
  }
  return record;
}

std::optional<ProgramRecord> parseProgram(std::string_view text, std::string &error) {
  llvm::Expected<Value> value = llvm::json::parse(StringRef(text.data(), text.size()));
  if (!value) {
    error = llvm::toString(value.takeError());
    return std::nullopt;
  }
  const Object *o = value->getAsObject();
  const Object *after = o ? o->getObject("after") : nullptr;
  if (!after) {
    error = "not a program record";
    return std::nullopt;
  }
  Parser parser;
  ProgramRecord record;
  record.name = nameOf(*o);
  record.systemCores = int(o->getInteger("cores").value_or(1));
  record.syncTimeout = uint64_t(o->getInteger("sync_timeout_ticks").value_or(0));
  record.entry = uint32_t(parser.hex(o->getString("entry"), "entry"));
  record.exitAddress = uint32_t(parser.hex(o->getString("exit_when_nonzero"), "exit_when_nonzero"));
  record.load = parser.pieces(*o, "load");
  record.memoryAfter = parser.pieces(*after, "mem");
  if (!parser.error.empty()) {
    error = record.name + ": " + parser.error;
    return std::nullopt;
  }
  return record;
}

} // namespace tensorturbo::vectors
