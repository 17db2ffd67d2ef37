// The linker as a function: lld's ELF driver in this process.
#pragma once
#include "Support/Diagnostics.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorturbo {

/// Links relocatable objects given as bytes; `arguments` are ld.lld's own ("-shared", "-Ttext=0x1400000"
/// ...), without inputs and without -o. The objects are linked in the order given. lld itself is not
/// thread-safe: calls from several threads wait for each other. Gives back the linked file, or nothing after
/// an internal error that carries lld's message.
std::optional<std::vector<char>> linkElf(const std::vector<std::string_view> &objects,
                                         const std::vector<std::string> &arguments, Diagnostics &diags);

} // namespace tensorturbo
