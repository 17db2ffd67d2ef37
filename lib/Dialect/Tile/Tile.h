// The tile dialect: buffers, moves and compute on tiles. See TileOps.td and the README.
#pragma once
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "Dialect/Tile/TileDialect.h.inc"
#include "Dialect/Tile/TileEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "Dialect/Tile/TileAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "Dialect/Tile/TileTypes.h.inc"
#define GET_OP_CLASSES
#include "Dialect/Tile/TileOps.h.inc"

namespace tensorturbo::tile {
/// Bytes a kernel may use of a level: LLB 8 MiB of the cluster, L1 and IM per core. DDR is planned apart.
int64_t levelCapacity(MemoryLevel level);
} // namespace tensorturbo::tile
