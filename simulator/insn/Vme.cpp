// Bodies of the vector-engine instructions.
#include "simulator/insn/Operands.h"
#include <algorithm>
#include <vector>

namespace tensorturbo::sim {

using namespace numerics;
using target::Instruction;

namespace {

enum class Action : uint8_t {
  Binary,
  Reduce,
  Unary,
  Copy,
  Spread,
  LookUp,
  Int8ToHalf,
  Uint8ToHalf,
  HalfToInt8,
  MulInt32
};

/// What rs1 and rs2 are. Vector: of the row (column) length if dm is 0 (1); RowVector: always of the row
/// length. For a sum of products it is the other way round, because dm also chooses the direction of the sum.
enum class Source : uint8_t { None, Matrix, Vector, RowVector, Float, Table };

struct Form {
  const char *mnemonic;
  Action action;
  uint8_t operation; ///< Binary, Reduction or Unary
  Source first, second;
  uint8_t sourceBytes, resultBytes;
};

constexpr uint8_t op(Binary b) {
  return uint8_t(b);
}
constexpr uint8_t op(Reduction r) {
  return uint8_t(r);
}
constexpr uint8_t op(Unary u) {
  return uint8_t(u);
}

const Form kForms[] = {
    {"veadd.mm", Action::Binary, op(Binary::Add), Source::Matrix, Source::Matrix, 2, 2},
    {"veadd.mv", Action::Binary, op(Binary::Add), Source::Matrix, Source::Vector, 2, 2},
    {"veadd.mf", Action::Binary, op(Binary::Add), Source::Matrix, Source::Float, 2, 2},
    {"vesub.mm", Action::Binary, op(Binary::Sub), Source::Matrix, Source::Matrix, 2, 2},
    {"vesub.mv", Action::Binary, op(Binary::Sub), Source::Matrix, Source::Vector, 2, 2},
    {"vesub.mf", Action::Binary, op(Binary::Sub), Source::Matrix, Source::Float, 2, 2},
    {"veemul.mm", Action::Binary, op(Binary::Mul), Source::Matrix, Source::Matrix, 2, 2},
    {"veemul.mv", Action::Binary, op(Binary::Mul), Source::Matrix, Source::Vector, 2, 2},
    {"veemul.mf", Action::Binary, op(Binary::Mul), Source::Matrix, Source::Float, 2, 2},
    {"vemax.mm", Action::Binary, op(Binary::Max), Source::Matrix, Source::Matrix, 2, 2},
    {"vemax.mv", Action::Binary, op(Binary::Max), Source::Matrix, Source::Vector, 2, 2},
    {"vemax.mf", Action::Binary, op(Binary::Max), Source::Matrix, Source::Float, 2, 2},
    {"vemin.mm", Action::Binary, op(Binary::Min), Source::Matrix, Source::Matrix, 2, 2},
    {"vemin.mv", Action::Binary, op(Binary::Min), Source::Matrix, Source::Vector, 2, 2},
    {"vemin.mf", Action::Binary, op(Binary::Min), Source::Matrix, Source::Float, 2, 2},
    {"velkrelu.mv", Action::Binary, op(Binary::LeakyReluVector), Source::Matrix, Source::Vector, 2, 2},
    {"velkrelu.mf", Action::Binary, op(Binary::LeakyReluScalar), Source::Matrix, Source::Float, 2, 2},
    {"veemul.x32.mv", Action::MulInt32, 0, Source::Matrix, Source::RowVector, 4, 2},
    {"veemul.x32.mf", Action::MulInt32, 0, Source::Matrix, Source::Float, 4, 2},
    {"veemul.x8.hf.mf", Action::HalfToInt8, 0, Source::Matrix, Source::Float, 2, 1},
    {"vecvt.x8.hf.m", Action::HalfToInt8, 0, Source::Matrix, Source::None, 2, 1},
    {"vecvt.hf.x8.m", Action::Int8ToHalf, 0, Source::Matrix, Source::None, 1, 2},
    {"vecvt.hf.xu8.m", Action::Uint8ToHalf, 0, Source::Matrix, Source::None, 1, 2},
    {"veemacc.mm", Action::Reduce, op(Reduction::SumOfProducts), Source::Matrix, Source::Matrix, 2, 2},
    {"veemacc.mv", Action::Reduce, op(Reduction::SumOfProducts), Source::Matrix, Source::Vector, 2, 2},
    {"veemacc.mf", Action::Reduce, op(Reduction::SumOfProducts), Source::Matrix, Source::Float, 2, 2},
    {"veacc.m", Action::Reduce, op(Reduction::Sum), Source::Matrix, Source::None, 2, 2},
    {"vemax.m", Action::Reduce, op(Reduction::Max), Source::Matrix, Source::None, 2, 2},
    {"vemin.m", Action::Reduce, op(Reduction::Min), Source::Matrix, Source::None, 2, 2},
    {"velut.m", Action::LookUp, 0, Source::Matrix, Source::Table, 2, 2},
    {"veexp.m", Action::Unary, op(Unary::Exp), Source::Matrix, Source::None, 2, 2},
    {"vesqrt.m", Action::Unary, op(Unary::Sqrt), Source::Matrix, Source::None, 2, 2},
    {"verecip.m", Action::Unary, op(Unary::Reciprocal), Source::Matrix, Source::None, 2, 2},
    {"mov.m", Action::Copy, 0, Source::Matrix, Source::None, 2, 2},
    {"mov.v", Action::Spread, 0, Source::Vector, Source::None, 2, 2},
    {"mov.f", Action::Spread, 0, Source::Float, Source::None, 2, 2}};

constexpr uint64_t kTableBytes = 65536;

/// Null for an instruction that is none of the VME's.
const Form *formOf(const Instruction &insn) {
  static const std::vector<const Form *> byIndex = [] {
    std::vector<const Form *> list(target::p920().instructions().size());
    for (const Form &form : kForms)
      if (const Instruction *i = target::p920().find(form.mnemonic))
        list[i->index] = &form;
    return list;
  }();
  return byIndex[insn.index];
}

enum class Direction : uint8_t { Full, Columns, Rows };

Direction directionOf(uint32_t word) {
  if (target::dmField(word))
    return Direction::Rows;
  return target::dmcField(word) ? Direction::Columns : Direction::Full;
}

/// A vector operand runs along the columns of a matrix (one element per row).
bool alongColumns(uint32_t word, const Form &form) {
  return form.action == Action::Reduce ? !target::dmField(word) : target::dmField(word);
}

Extent sourceExtent(const Core &core, uint32_t word, const Form &form, Source kind, uint32_t reg,
                    uint32_t stride) {
  uint32_t shape = core.csr[0x400];
  uint64_t cols = shape >> 16, rows = shape & 0xFFFF;
  switch (kind) {
  case Source::None:
  case Source::Float:
    return {};
  case Source::Matrix:
    return {core.x[reg], form.sourceBytes, rows, cols, stride};
  case Source::Vector:
    return {core.x[reg], 2, 1, alongColumns(word, form) ? rows : cols, 0};
  case Source::RowVector:
    return {core.x[reg], 2, 1, cols, 0};
  case Source::Table:
    break;
  }
  return {core.x[reg], 2, 1, kTableBytes / 2, 0};
}

Operand operand(const Checks &checks, const Core &core, uint32_t word, const Form &form, Source kind,
                uint32_t reg, const Extent &e) {
  switch (kind) {
  case Source::Float:
    return Operand::value(scalarOperand(core, reg));
  case Source::Matrix:
    return Operand::full(checks.source(e).data, checks.source(e).stride);
  case Source::Vector:
    return alongColumns(word, form) ? Operand::column(checks.source(e).data)
                                    : Operand::row(checks.source(e).data);
  case Source::RowVector:
    return Operand::row(checks.source(e).data);
  case Source::None:
  case Source::Table:
    break;
  }
  return Operand::value(0);
}

} // namespace

Layout vmeLayout(const Core &core, uint32_t word, const Instruction &insn) {
  const Form *form = formOf(insn);
  if (!form)
    return {};
  uint32_t shape = core.csr[0x400], strides = core.csr[0x403], d = core.x[target::rdField(word)];
  uint64_t cols = shape >> 16, rows = shape & 0xFFFF;
  uint32_t stride = core.csr[0x402] & 0xFFFF;
  Layout layout;
  layout.a = sourceExtent(core, word, *form, form->first, target::rs1Field(word), strides & 0xFFFF);
  layout.b = sourceExtent(core, word, *form, form->second, target::rs2Field(word), strides >> 16);
  if (form->action != Action::Reduce)
    layout.d = {d, form->resultBytes, rows, cols, stride};
  else if (directionOf(word) == Direction::Columns)
    layout.d = {d, 2, 1, cols, 0};
  else if (directionOf(word) == Direction::Rows)
    layout.d = {d, 2, rows, 1, stride};
  return layout;
}

std::optional<Trap> executeVme(Core &core, uint32_t word, const Instruction &insn) {
  const Form *form = formOf(insn);
  if (!form)
    return Trap{2, 0};
  Layout l = vmeLayout(core, word, insn);
  uint32_t shape = core.csr[0x400];
  uint64_t cols = shape >> 16, rows = shape & 0xFFFF;
  bool reduce = form->action == Action::Reduce;
  Direction direction = directionOf(word);
  bool hasA = form->first != Source::Float,
       hasB = form->second != Source::None && form->second != Source::Float;
  bool hasD = !reduce || direction != Direction::Full;

  Checks checks(core);
  if (hasA)
    checks.base(l.a.address, l.a.elementBytes);
  if (hasB)
    checks.base(l.b.address, 2);
  if (hasD)
    checks.base(l.d.address, l.d.elementBytes);
  checks.shape(cols, rows);
  if (rows > 1) {
    if (form->first == Source::Matrix)
      checks.sourceStride(l.a.address, l.a.elementBytes, l.a.stride);
    if (form->second == Source::Matrix)
      checks.sourceStride(l.b.address, 2, l.b.stride);
    if (hasD && direction != Direction::Columns && reduce)
      checks.destinationStride(l.d.address, 2, l.d.stride, 1);
    else if (!reduce)
      checks.destinationStride(l.d.address, l.d.elementBytes, l.d.stride, cols);
  }
  // Some lengths that the chip checks differ from those that it touches.
  uint64_t bytesB = l.b.span(), bytesD = l.d.span();
  if (form->action == Action::MulInt32 && hasB)
    bytesB = 2 * rows;
  if (l.d.stride && (form->action == Action::Int8ToHalf || form->action == Action::Uint8ToHalf))
    bytesD = l.d.stride * (rows - 1) + cols;
  if (l.d.stride && form->action == Action::HalfToInt8 && !hasB && form->second == Source::None)
    bytesD = l.d.stride * (rows - 1) + 2 * cols;
  if (reduce && direction == Direction::Rows)
    bytesD = 2 * rows;
  if (hasA)
    checks.access(l.a.address, l.a.span());
  if (hasB)
    checks.access(l.b.address, bytesB);
  if (hasD)
    checks.access(l.d.address, bytesD);
  // Whatever the chip does where its own checks are too weak, this model does not leave the memories.
  if (hasB && form->second != Source::Table)
    checks.access(l.b.address, l.b.span());
  if (hasD)
    checks.access(l.d.address, l.d.span());
  if (!checks.trap && form->action == Action::LookUp)
    checks.access(l.b.address,
                  std::max(kTableBytes, 2 * (uint64_t(largestIndex(l.a.shape(), checks.source(l.a))) + 1)));
  if (checks.trap)
    return checks.trap;

  ConstMatrix a = hasA ? checks.source(l.a) : ConstMatrix{nullptr, 0};
  Matrix d = hasD ? checks.destination(l.d) : Matrix{nullptr, 0};
  Operand b = operand(checks, core, word, *form, form->second, target::rs2Field(word), l.b);
  Shape size{size_t(rows), size_t(cols)};
  switch (form->action) {
  case Action::Binary:
    binary(Binary(form->operation), size, d, a, b);
    break;
  case Action::Unary:
    unary(Unary(form->operation), size, d, a);
    break;
  case Action::Copy:
    copy(rows, 2 * cols, d, a);
    break;
  case Action::Spread:
    broadcast(size, d, operand(checks, core, word, *form, form->first, target::rs1Field(word), l.a));
    break;
  case Action::LookUp:
    lookUp(size, d, a, checks.source(l.b).data);
    break;
  case Action::Int8ToHalf:
    int8ToHalf(size, d, a);
    break;
  case Action::Uint8ToHalf:
    uint8ToHalf(size, d, a);
    break;
  case Action::HalfToInt8:
    halfToInt8(size, d, a, form->second == Source::Float ? std::optional<Half>(b.scalar) : std::nullopt);
    break;
  case Action::MulInt32:
    mulInt32(size, d, a, b);
    break;
  case Action::Reduce: {
    Reduction operation = Reduction(form->operation);
    if (direction == Direction::Full)
      core.f[target::rdField(word)] =
          0xFFFFFFFF00000000ull | halfToFloatBits(reduceAll(operation, size, a, b));
    else if (direction == Direction::Columns)
      reduceColumns(operation, size, d.data, a, b);
    else
      reduceRows(operation, size, d, a, b);
    break;
  }
  }
  return std::nullopt;
}

} // namespace tensorturbo::sim
