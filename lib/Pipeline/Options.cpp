#include "Pipeline/Options.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>

using namespace tensorturbo;

namespace {

using Member = std::variant<bool CompileOptions::*, int CompileOptions::*, std::string CompileOptions::*,
                            std::vector<std::string> CompileOptions::*>;

/// What an option does today.
enum class State {
  Works,
  /// Accepted: the result is right, but the same whatever the value.
  NoEffect,
  /// Anything but the default is refused: the result would not be what was asked for.
  ToCome
};

struct Row {
  const char *name;
  Member member;
  State state = State::Works;
  /// Allowed integers, or allowed texts.
  std::vector<int64_t> numbers = {};
  std::vector<std::string> texts = {};
  /// Allowed range where `numbers` is empty.
  int64_t low = 0, high = INT32_MAX;
};

const std::vector<Row> &table() {
  using O = CompileOptions;
  static const std::vector<Row> rows = {
      {"kernel", &O::kernel, State::Works, {}, {"NPUKernel"}},
      {"ncore", &O::ncore, State::Works, {1, 2, 4, 8}},
      {"graph_schedule_level", &O::graphScheduleLevel, State::Works, {0, 1, 2, 3, 4}},
      {"dump_file", &O::dumpFile},
      {"graph_dump_file", &O::graphDumpFile},
      {"required_pass", &O::requiredPass},
      {"disabled_pass", &O::disabledPass},
      {"unpack_graph_ops", &O::unpackGraphOps, State::NoEffect},
      {"fifo", &O::fifo, State::ToCome},
      {"dmaadd_sch", &O::dmaaddSch},
      {"insn_schedule", &O::insnSchedule},
      {"post_insn_schedule", &O::postInsnSchedule},
      {"dma_load_unroll", &O::dmaLoadUnroll},
      {"csrw_elim", &O::csrwElim},
      {"target", &O::target, State::Works, {}, {"npu", "llvm"}},
  };
  return rows;
}

const Row *findRow(const std::string &name) {
  for (const Row &row : table())
    if (name == row.name)
      return &row;
  return nullptr;
}

template <typename T> std::string joined(const std::vector<T> &list) {
  std::string out;
  for (const T &v : list) {
    out += out.empty() ? "" : ", ";
    if constexpr (std::is_same_v<T, std::string>)
      out += "'" + v + "'";
    else
      out += std::to_string(v);
  }
  return out;
}

std::string describe(const OptionValue &value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(bool b) const { return b ? "True" : "False"; }
    std::string operator()(int64_t n) const { return std::to_string(n); }
    std::string operator()(const std::string &s) const { return quoteForMessage(s); }
    std::string operator()(const std::vector<std::string> &l) const {
      return "a list of " + std::to_string(l.size()) + " names";
    }
  };
  return std::visit(Visitor{}, value);
}

/// Assigns if the types agree; else an error text.
std::string assign(CompileOptions &o, bool CompileOptions::*m, const Row &, const OptionValue &v) {
  if (auto *b = std::get_if<bool>(&v))
    return o.*m = *b, "";
  return "True or False is expected";
}

std::string assign(CompileOptions &o, int CompileOptions::*m, const Row &row, const OptionValue &v) {
  auto *n = std::get_if<int64_t>(&v);
  bool good = n && (row.numbers.empty() ? *n >= row.low && *n <= row.high
                                        : std::count(row.numbers.begin(), row.numbers.end(), *n) > 0);
  if (good)
    return o.*m = static_cast<int>(*n), "";
  return row.numbers.empty()
             ? "a number from " + std::to_string(row.low) + " to " + std::to_string(row.high) + " is expected"
             : "one of " + joined(row.numbers) + " is expected";
}

std::string assign(CompileOptions &o, std::string CompileOptions::*m, const Row &row, const OptionValue &v) {
  auto *s = std::get_if<std::string>(&v);
  if (!s)
    return row.texts.empty() ? "a text is expected" : "one of " + joined(row.texts) + " is expected";
  if (!row.texts.empty() && std::count(row.texts.begin(), row.texts.end(), *s) == 0)
    return "only " + joined(row.texts) + " can be chosen";
  return o.*m = *s, "";
}

std::string assign(CompileOptions &o, std::vector<std::string> CompileOptions::*m, const Row &,
                   const OptionValue &v) {
  if (auto *l = std::get_if<std::vector<std::string>>(&v))
    return o.*m = *l, "";
  return "a list of names is expected";
}

bool sameValue(const CompileOptions &a, const CompileOptions &b, const Member &member) {
  return std::visit([&](auto m) { return a.*m == b.*m; }, member);
}

} // namespace

std::vector<std::string> tensorturbo::optionNames() {
  std::vector<std::string> out;
  for (const Row &row : table())
    out.push_back(row.name);
  out.push_back("quant_config");
  return out;
}

bool tensorturbo::setOption(CompileOptions &options, const std::string &name, const OptionValue &value,
                            Diagnostics &diags) {
  bool isNone = std::holds_alternative<std::monostate>(value);
  if (name == "quant_config") {
    if (!isNone)
      diags.userError("option 'quant_config': quantisation to INT8 is still to come", {},
                      "leave the option out to compile in FP16");
    return isNone;
  }
  const Row *row = findRow(name);
  if (!row) {
    std::string near = nearestName(name, optionNames());
    diags.userError("unknown option " + quoteForMessage(name), {},
                    near.empty() ? "known options: " + joined(optionNames())
                                 : "did you mean " + quoteForMessage(near) + "?");
    return false;
  }
  const CompileOptions defaults;
  CompileOptions changed = options;
  // None stands for the default.
  if (isNone) {
    std::visit([&](auto m) { options.*m = defaults.*m; }, row->member);
    return true;
  }
  std::string wrong = std::visit([&](auto m) { return assign(changed, m, *row, value); }, row->member);
  if (!wrong.empty()) {
    diags.userError("option " + quoteForMessage(name) + ": " + wrong + ", got " + describe(value));
    return false;
  }
  if (row->state == State::ToCome && !sameValue(changed, defaults, row->member)) {
    diags.userError("option " + quoteForMessage(name) + ": only its default is possible so far, got " +
                        describe(value),
                    {}, "leave the option out");
    return false;
  }
  if (row->state == State::NoEffect)
    diags.warning("option " + quoteForMessage(name) + " has no effect yet");
  options = std::move(changed);
  return true;
}

static OptionValue parseText(const Row &row, const std::string &text) {
  struct Visitor {
    const std::string &text;
    OptionValue operator()(bool CompileOptions::*) const {
      for (const char *yes : {"true", "True", "1", "on", "yes"})
        if (text == yes)
          return true;
      for (const char *no : {"false", "False", "0", "off", "no"})
        if (text == no)
          return false;
      return text;
    }
    OptionValue operator()(int CompileOptions::*) const {
      char *end = nullptr;
      errno = 0;
      long long number = std::strtoll(text.c_str(), &end, 10);
      if (text.empty() || *end || errno)
        return text;
      return static_cast<int64_t>(number);
    }
    OptionValue operator()(std::string CompileOptions::*) const { return text; }
    OptionValue operator()(std::vector<std::string> CompileOptions::*) const {
      std::vector<std::string> list;
      for (size_t at = 0; at <= text.size();) {
        size_t comma = std::min(text.find(',', at), text.size());
        if (comma > at)
          list.push_back(text.substr(at, comma - at));
        at = comma + 1;
      }
      return list;
    }
  };
  return std::visit(Visitor{text}, row.member);
}

bool tensorturbo::setOptionFromText(CompileOptions &options, const std::string &name, const std::string &text,
                                    Diagnostics &diags) {
  const Row *row = findRow(name);
  return setOption(options, name, row ? parseText(*row, text) : OptionValue(text), diags);
}

std::map<std::string, std::string> tensorturbo::optionsAsText(const CompileOptions &options) {
  std::map<std::string, std::string> out;
  const CompileOptions defaults;
  for (const Row &row : table()) {
    // Where dumps go does not belong to the result.
    if (sameValue(options, defaults, row.member) || std::string(row.name).find("dump") != std::string::npos)
      continue;
    struct Visitor {
      const CompileOptions &o;
      std::string operator()(bool CompileOptions::*m) const { return o.*m ? "true" : "false"; }
      std::string operator()(int CompileOptions::*m) const { return std::to_string(o.*m); }
      std::string operator()(std::string CompileOptions::*m) const { return o.*m; }
      std::string operator()(std::vector<std::string> CompileOptions::*m) const {
        std::string text;
        for (const std::string &s : o.*m)
          text += (text.empty() ? "" : ",") + s;
        return text;
      }
    };
    out[row.name] = std::visit(Visitor{options}, row.member);
  }
  return out;
}
