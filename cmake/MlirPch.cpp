// Carries the precompiled header that the MLIR libraries share.
