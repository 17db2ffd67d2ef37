#include "Dialect/Tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tensorturbo::tile;

#include "Dialect/Tile/TileDialect.cpp.inc"
#include "Dialect/Tile/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "Dialect/Tile/TileAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "Dialect/Tile/TileTypes.cpp.inc"
#define GET_OP_CLASSES
#include "Dialect/Tile/TileOps.cpp.inc"

void TileDialect::initialize() {
  registerTypes();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Dialect/Tile/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "Dialect/Tile/TileOps.cpp.inc"
      >();
}

void TileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "Dialect/Tile/TileTypes.cpp.inc"
      >();
}

int64_t tensorturbo::tile::levelCapacity(MemoryLevel level) {
  switch (level) {
  case MemoryLevel::DDR:
    return int64_t(3) << 30;
  case MemoryLevel::LLB:
    return int64_t(8) << 20;
  case MemoryLevel::L1:
    return 0x140000;
  case MemoryLevel::IM:
    return 0x40000;
  }
  return 0;
}

LogicalResult AllocOp::verify() {
  MemoryLevel level = getBuffer().getType().getLevel();
  if (level == MemoryLevel::DDR)
    return emitOpError("a kernel allocates in LLB, L1 or IM; DDR tensors are tile.global");
  if (int64_t(getBytes()) <= 0 || int64_t(getBytes()) > levelCapacity(level))
    return emitOpError("size must be between 1 and the level's ")
           << levelCapacity(level) << " bytes, got " << int64_t(getBytes());
  return success();
}

LogicalResult ViewOp::verify() {
  if (getBuffer().getType().getLevel() != getPointer().getType().getLevel())
    return emitOpError("pointer and buffer must lie in the same level");
  return success();
}
