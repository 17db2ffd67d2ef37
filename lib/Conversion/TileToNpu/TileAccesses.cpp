#include "Conversion/TileToNpu/TileAccesses.h"
#include "Target/Target.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tensorturbo::tile {
namespace {

constexpr int64_t half = halfBytes;

class Collector {
public:
  Collector(ValueBounds &bounds, SmallVector<Access, 4> &list) : bounds(bounds), list(list) {}

  void collect(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<LoadOp, BroadcastOp>([&](auto move) {
          write(move.getDst(), matrix(move.getRows(), move.getColumns(), {}));
          read(move.getSrc(), matrix(move.getRows(), move.getColumns(), move.getLlbStride()));
        })
        .Case<StoreOp>([&](StoreOp move) {
          write(move.getDst(), matrix(move.getRows(), move.getColumns(), move.getLlbStride()));
          read(move.getSrc(), matrix(move.getRows(), move.getColumns(), {}));
        })
        .Case<ConvOp>([&](ConvOp conv) {
          write(conv.getDst(),
                image(conv.getOutHeight(), conv.getOutWidth(), conv.getDstPixelStride(), conv.getCout()));
          read(conv.getSrc(),
               image(conv.getHeight(), conv.getWidth(), conv.getSrcPixelStride(), conv.getCin()));
          int64_t taps = int64_t(conv.getKernelHeight()) * conv.getKernelWidth();
          read(conv.getWeights(), taps * high(conv.getCin()) *
                                      std::max(high(conv.getWeightRowStride()), half * high(conv.getCout())));
        })
        .Case<MatmulOp>([&](MatmulOp product) {
          bool transposed = product.getTransposed();
          Value rows = transposed ? product.getK() : product.getM();
          Value columns = transposed ? product.getM() : product.getK();
          write(product.getDst(), matrix(product.getM(), product.getN(), product.getDstStride()));
          read(product.getLhs(), matrix(rows, columns, product.getLhsStride()));
          read(product.getRhs(), matrix(product.getK(), product.getN(), product.getRhsStride()));
        })
        .Case<TransposeOp>([&](TransposeOp op) {
          write(op.getDst(), matrix(op.getColumns(), op.getRows(), op.getDstStride()));
          read(op.getSrc(), matrix(op.getRows(), op.getColumns(), op.getSrcStride()));
        })
        .Case<BinaryOp>([&](BinaryOp op) {
          write(op.getDst(), matrix(op.getRows(), op.getColumns(), op.getDstStride()));
          read(op.getLhs(), matrix(op.getRows(), op.getColumns(), op.getLhsStride()));
          read(op.getRhs(), matrix(op.getRows(), op.getColumns(), op.getRhsStride()));
        })
        .Case<BinaryVectorOp>([&](BinaryVectorOp op) {
          write(op.getDst(), matrix(op.getRows(), op.getColumns(), op.getDstStride()));
          read(op.getLhs(), matrix(op.getRows(), op.getColumns(), op.getLhsStride()));
          read(op.getVector(), vector(op));
        })
        .Case<BinaryScalarOp>([&](BinaryScalarOp op) {
          write(op.getDst(), matrix(op.getRows(), op.getColumns(), op.getDstStride()));
          read(op.getLhs(), matrix(op.getRows(), op.getColumns(), op.getLhsStride()));
        })
        .Case<UnaryOp>([&](UnaryOp op) {
          write(op.getDst(), matrix(op.getRows(), op.getColumns(), op.getDstStride()));
          read(op.getSrc(), matrix(op.getRows(), op.getColumns(), op.getSrcStride()));
        })
        .Case<LookupOp>([&](LookupOp op) {
          write(op.getDst(), matrix(op.getRows(), op.getColumns(), op.getDstStride()));
          read(op.getSrc(), matrix(op.getRows(), op.getColumns(), op.getSrcStride()));
          read(op.getTable(), tableBytes);
        })
        .Case<FillOp>(
            [&](FillOp op) { write(op.getDst(), matrix(op.getRows(), op.getColumns(), op.getDstStride())); })
        .Case<SpreadOp>([&](SpreadOp op) {
          write(op.getDst(), matrix(op.getRows(), op.getColumns(), op.getDstStride()));
          read(op.getVector(), vector(op));
        })
        .Case<ReduceOp>([&](ReduceOp op) {
          write(op.getDst(), results(op));
          read(op.getSrc(), matrix(op.getRows(), op.getColumns(), op.getSrcStride()));
        })
        .Case<DotOp>([&](DotOp op) {
          write(op.getDst(), results(op));
          read(op.getLhs(), matrix(op.getRows(), op.getColumns(), op.getLhsStride()));
          read(op.getRhs(), matrix(op.getRows(), op.getColumns(), op.getRhsStride()));
        });
  }

private:
  int64_t high(Value value) { return std::max<int64_t>(bounds.of(value).high, 0); }
  /// Rows of halves; a stride of 0 stands for dense rows.
  int64_t matrix(Value rows, Value columns, Value stride) {
    int64_t row = high(columns) * half;
    return (high(rows) - 1) * std::max(row, stride ? high(stride) : 0) + row;
  }
  int64_t image(Value height, Value width, Value pixelStride, Value channels) {
    return high(height) * high(width) * std::max(high(pixelStride), half * high(channels));
  }
  template <typename Op> int64_t vector(Op op) {
    return half * high(op.getAxis() == Axis::rows ? op.getRows() : op.getColumns());
  }
  template <typename Op> int64_t results(Op op) {
    if (op.getAxis() == Axis::columns)
      return half * high(op.getColumns());
    return high(op.getRows()) * std::max(half, high(op.getDstStride()));
  }
  void read(Value pointer, int64_t bytes) { add(pointer, bytes, false); }
  void write(Value pointer, int64_t bytes) { add(pointer, bytes, true); }
  void add(Value pointer, int64_t bytes, bool isWrite) {
    bool isShared = cast<PointerType>(pointer.getType()).getLevel() <= MemoryLevel::LLB;
    auto view = pointer.getDefiningOp<ViewOp>();
    // Where a pointer comes from no view, it may point into anything.
    if (!view) {
      list.push_back({nullptr, {}, bytes, isWrite, isShared});
      return;
    }
    const void *buffer = view.getBuffer().getDefiningOp();
    if (auto global = view.getBuffer().getDefiningOp<GlobalBufferOp>())
      buffer = global.getGlobalAttr().getAttr().getAsOpaquePointer();
    list.push_back({buffer, view.getOffset(), bytes, isWrite, isShared});
  }

  ValueBounds &bounds;
  SmallVector<Access, 4> &list;
};

bool containsBroadcast(Operation *op) {
  return op->walk([](BroadcastOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

} // namespace

std::optional<MoveEngine> engineOf(Operation *op) {
  if (isa<LoadOp, StoreOp, BroadcastOp>(op))
    return MoveEngine::Mte;
  if (isa<ConvOp, MatmulOp, TransposeOp>(op))
    return MoveEngine::Mme;
  if (isa<BinaryOp, BinaryVectorOp, BinaryScalarOp, UnaryOp, LookupOp, FillOp, SpreadOp, ReduceOp, DotOp>(op))
    return MoveEngine::Vme;
  return std::nullopt;
}

bool isFence(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        bool harmless = engineOf(inner) || isMemoryEffectFree(inner) || inner->getNumRegions() != 0;
        return harmless && !isa<CallOpInterface>(inner) ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

SmallVector<Access, 4> accessesOf(Operation *op, ValueBounds &bounds) {
  SmallVector<Access, 4> list;
  Collector collector(bounds, list);
  op->walk([&](Operation *inner) { collector.collect(inner); });
  return list;
}

bool mustStayInOrder(Operation *a, Operation *b, ValueBounds &bounds) {
  if (isFence(a) || isFence(b))
    return true;
  InstructionUnit first, second;
  first.accesses = accessesOf(a, bounds), second.accesses = accessesOf(b, bounds);
  first.isTogether = containsBroadcast(a), second.isTogether = containsBroadcast(b);
  return mustStayInOrder(first, second, bounds);
}

std::optional<InstructionUnit> unitOf(Operation *op, ValueBounds &bounds) {
  std::optional<MoveEngine> engine = engineOf(op);
  if (!engine && (!isa<scf::IfOp>(op) || op->getNumResults() != 0))
    return std::nullopt;
  InstructionUnit unit;
  bool mixed = false;
  op->walk([&](Operation *inner) {
    auto e = engineOf(inner);
    mixed |= isa<scf::ForOp>(inner) || (e && engine && *e != *engine);
    engine = e ? e : engine;
    unit.cycles += cyclesOf(inner, bounds);
  });
  if (mixed || !engine)
    return std::nullopt;
  unit.ops = {op};
  unit.engine = *engine;
  // CSR writes and addresses in front of it.
  unit.issue = 6;
  unit.accesses = accessesOf(op, bounds);
  unit.isTogether = containsBroadcast(op);
  return unit;
}

double cyclesOf(Operation *op, ValueBounds &bounds) {
  static const target::Costs costs = *target::p920().costs();
  auto high = [&](Value value) { return uint64_t(std::max<int64_t>(bounds.of(value).high, 1)); };
  auto move = [&](auto op, double fixed, double rate) {
    return fixed + double(high(op.getRows()) * high(op.getColumns()) * half) / rate;
  };
  auto vector = [&](auto op, target::CostClass kind = target::CostClass::Vector) {
    return costs.vectorCycles(high(op.getRows()), high(op.getColumns()), kind);
  };
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case<LoadOp, StoreOp>([&](auto op) { return move(op, costs.mteFixed, moveRate(bounds.cores())); })
      .Case<BroadcastOp>([&](auto op) { return move(op, costs.pldFixed, costs.mteBytesPerCycle); })
      .Case<ConvOp>([&](ConvOp op) {
        uint64_t taps = uint64_t(op.getKernelHeight()) * op.getKernelWidth();
        return costs.matmulCycles(high(op.getOutHeight()) * high(op.getOutWidth()), high(op.getCout()),
                                  taps * high(op.getCin()), false);
      })
      .Case<MatmulOp>([&](MatmulOp op) {
        return costs.matmulCycles(high(op.getM()), high(op.getN()), high(op.getK()), false);
      })
      .Case<TransposeOp>(
          [&](TransposeOp op) { return costs.transposeCycles(high(op.getRows()), high(op.getColumns())); })
      .Case<UnaryOp>([&](UnaryOp op) {
        bool isPoly = op.getKind() == UnaryKind::exp || op.getKind() == UnaryKind::sqrt ||
                      op.getKind() == UnaryKind::reciprocal;
        return vector(op, isPoly ? target::CostClass::Poly : target::CostClass::Vector);
      })
      .Case<LookupOp>([&](LookupOp op) { return vector(op, target::CostClass::Lut); })
      .Case<BinaryOp, BinaryVectorOp, BinaryScalarOp, FillOp, SpreadOp, ReduceOp, DotOp>(
          [&](auto op) { return vector(op); })
      .Default([](Operation *) { return 0.0; });
}

} // namespace tensorturbo::tile
