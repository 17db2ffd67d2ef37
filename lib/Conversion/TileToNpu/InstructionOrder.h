// Reorders the instructions of straight pieces of code: what both scheduling passes share.
#pragma once
#include "Conversion/TileToNpu/ValueBounds.h"
#include "Schedule/ListSchedule.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace tensorturbo::tile {

/// Bytes that an instruction reads or writes.
struct Access {
  /// The buffer; accesses of different buffers never meet. Null: it may be any.
  const void *buffer;
  mlir::Value offset;
  /// At most so many from `offset` on.
  int64_t bytes;
  bool isWrite;
  /// In LLB or DDR, where the other accesses are in L1 or IM.
  bool isShared;
};

/// True if the two may touch a common byte and one of them writes it.
bool conflict(const Access &a, const Access &b, ValueBounds &bounds);

enum class MoveEngine : uint32_t { Mme, Vme, Mte };

/// An instruction and what stays directly in front of it.
struct InstructionUnit {
  llvm::SmallVector<mlir::Operation *, 2> ops;
  MoveEngine engine = MoveEngine::Vme;
  /// Time on the engine, and of the front end.
  double cycles = 0, issue = 1;
  llvm::SmallVector<Access, 4> accesses;
  /// A move that all cores make together: such moves keep their order.
  bool isTogether = false;
};

/// Bytes per cycle of a core's load or store while all cores move data.
double moveRate(int ncore);

bool mustStayInOrder(const InstructionUnit &a, const InstructionUnit &b, ValueBounds &bounds);

/// Collects the units of a block in order and list-schedules each piece between two fences. Code without
/// effects between the units of a piece goes in front of it.
class PieceScheduler {
public:
  PieceScheduler(mlir::Block &block, ValueBounds &bounds) : block(block), bounds(bounds) {}
  void add(InstructionUnit unit);
  /// Nothing moves over this place.
  void fence();
  /// Number of pieces whose order has changed.
  unsigned changed = 0;

private:
  /// Enough for a loop to reach its rhythm.
  static constexpr uint32_t turns = 4;
  std::vector<uint32_t> identity() const;
  std::vector<schedule::ScheduleUnit> repeat(const std::vector<schedule::ScheduleUnit> &units);
  static std::vector<uint32_t> turnsInOrder(const std::vector<uint32_t> &order);
  uint32_t turnsApart(const InstructionUnit &earlier, const InstructionUnit &later);
  void reorder(llvm::ArrayRef<uint32_t> order);

  mlir::Block &block;
  ValueBounds &bounds;
  std::vector<InstructionUnit> piece;
  /// after[k]: units in front of which unit k must not go.
  std::vector<std::vector<uint32_t>> after;
};

} // namespace tensorturbo::tile
