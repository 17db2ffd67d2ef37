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
/// Bytes of a half, and of a table of tile.lookup: one half for each half.
constexpr int64_t halfBytes = 2, tableBytes = 65536 * halfBytes;

/// Channels of tile.dma_start: numbers below `weightChannels` serve other kernels, the last one moves the
/// chunks of the kernel's own tensors. The latter is also the one of tile.dma, which copies on the spot.
constexpr uint32_t weightChannels = 3, chunkChannel = 3;
/// Bytes that a copy of tile.dma_start can have: a field of 22 bits.
constexpr int64_t largestCopy = 0x3FFFFF;

/// Bytes a kernel may use of a level: LLB 8 MiB of the cluster, L1 and IM per core. DDR is planned apart.
int64_t levelCapacity(MemoryLevel level);
} // namespace tensorturbo::tile
