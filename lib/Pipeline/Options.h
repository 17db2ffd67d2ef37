// The compile options by name, with their types, ranges and what has no effect yet. MLIR-free.
#pragma once
#include "Pipeline/Compiler.h"
#include <variant>

namespace tensorturbo {

/// An option's value as a caller gives it; monostate is Python's None.
using OptionValue = std::variant<std::monostate, bool, int64_t, std::string, std::vector<std::string>>;

/// Names of all options, as in the manual.
std::vector<std::string> optionNames();

/// Sets one option. User errors: unknown name (with the nearest one), wrong type, value out of range, an
/// option whose effect is still to come. Warns about an option that is accepted but has no effect yet.
bool setOption(CompileOptions &options, const std::string &name, const OptionValue &value,
               Diagnostics &diags);

/// The same for text from a command line: "8", "true", "a,b".
bool setOptionFromText(CompileOptions &options, const std::string &name, const std::string &text,
                       Diagnostics &diags);

/// Options that differ from "not given", as text, for the metadata of the object file.
std::map<std::string, std::string> optionsAsText(const CompileOptions &options);

} // namespace tensorturbo
