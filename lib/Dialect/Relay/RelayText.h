// Relay text (.relay, version 0.0.5) as an export of the relay dialect.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <cstddef>
#include <string>

namespace tensorturbo::relay {

struct RelayTextOptions {
  /// Constants go into the metadata section, which makes the text complete, up to this many bytes in all.
  /// Beyond, the section is left out and a comment says so.
  size_t metadataLimit = size_t(64) << 20;
};

/// The module as Relay text. Functions are sorted by name; @main keeps its parameters' names as far as Relay
/// can spell them. Node names stand in span comments. Floats are printed so that they read back exactly.
std::string printRelayText(mlir::ModuleOp module, const RelayTextOptions &options = {});

} // namespace tensorturbo::relay
