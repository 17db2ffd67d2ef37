// What tile ops touch, and how long they take: what schedulers before the memory plan need to know.
#pragma once
#include "Conversion/TileToNpu/InstructionOrder.h"
#include "Dialect/Tile/Tile.h"

namespace tensorturbo::tile {

/// The engine of a tile op; nothing for ops that are no instruction of an engine.
std::optional<MoveEngine> engineOf(mlir::Operation *op);

/// True if nothing may be moved over the op: barriers, system DMA, exchange between cores, calls.
bool isFence(mlir::Operation *op);

/// Accesses of an op and of everything nested in it.
llvm::SmallVector<Access, 4> accessesOf(mlir::Operation *op, ValueBounds &bounds);

/// The op as a unit for scheduling, with everything nested in it; nothing if more than one engine works on
/// it, or a loop is in it.
std::optional<InstructionUnit> unitOf(mlir::Operation *op, ValueBounds &bounds);

/// True if the two must stay in order: they may touch the same bytes, or are moves that cores do together.
bool mustStayInOrder(mlir::Operation *a, mlir::Operation *b, ValueBounds &bounds);

/// Cycles of one instruction alone on the chip, at its largest size.
double cyclesOf(mlir::Operation *op, ValueBounds &bounds);

} // namespace tensorturbo::tile
