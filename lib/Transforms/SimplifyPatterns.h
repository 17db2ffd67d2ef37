// Patterns that several passes run to a fixed point together with their own. Private to this folder.
#pragma once
#include "Transforms/RelayPass.h"

namespace tensorturbo::relay {

/// Those of SimplifyExpr: identities, joined reshapes, transposes, casts.
void populateSimplifyPatterns(mlir::RewritePatternSet &patterns);
/// Transposes move behind the operators that follow them, where that costs no new transpose.
void populateSinkPatterns(mlir::RewritePatternSet &patterns);
/// Normalisation over the map by operators that the NPU has.
void populateNormPatterns(mlir::RewritePatternSet &patterns);
/// Convolutions of concatenated channels as sums.
void populateSplitPatterns(mlir::RewritePatternSet &patterns);
/// Discardable attributes (placement ...) of an operator for the one that replaces it.
void copyDiscardable(Operation *from, Value to);

} // namespace tensorturbo::relay
