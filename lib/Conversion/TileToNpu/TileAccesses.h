// What tile ops touch, and how long they take: what schedulers before the memory plan need to know.
#pragma once
#include "Conversion/TileToNpu/ValueBounds.h"
#include "Dialect/Tile/Tile.h"

namespace tensorturbo::tile {

/// Bytes of a buffer that an op reads or writes.
struct TileAccess {
  /// The op that names the buffer, or the symbol of a global tensor.
  const void *buffer;
  mlir::Value offset;
  /// At most so many from `offset` on.
  int64_t bytes;
  bool isWrite;
  bool isShared; // in LLB or DDR
};

enum class TileEngine { Mme, Vme, Mte };

/// The engine of a tile op; nothing for ops that are no instruction of an engine.
std::optional<TileEngine> engineOf(mlir::Operation *op);

/// True if nothing may be moved over the op: barriers, system DMA, exchange between cores, calls.
bool isFence(mlir::Operation *op);

/// Accesses of an op and of everything nested in it.
llvm::SmallVector<TileAccess> accessesOf(mlir::Operation *op, ValueBounds &bounds);

/// True if the two must stay in order: they touch the same bytes, or are moves that cores do together.
bool mustStayInOrder(mlir::Operation *a, mlir::Operation *b, ValueBounds &bounds);

/// Cycles of one instruction alone on the chip, at its largest size.
double cyclesOf(mlir::Operation *op, ValueBounds &bounds);

} // namespace tensorturbo::tile
