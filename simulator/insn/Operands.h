// Internal: operand layout and legality checks shared by the VME and MME bodies.
#pragma once
#include "Numerics/Kernels.h"
#include "simulator/insn/Insn.h"

namespace tensorturbo::sim {

constexpr uint32_t kL1Base = 0xC0000000, kL1Size = 0x140000;
constexpr uint32_t kImBase = 0xC0400000, kImSize = 0x40000;

/// A matrix operand. `rows` is 0 for an operand that the instruction does not have.
struct Extent {
  uint32_t address = 0;
  uint32_t elementBytes = 2;
  uint64_t rows = 0, cols = 0;
  /// As in the CSR: bytes, 0 means dense.
  uint32_t stride = 0;

  /// Bytes from the first to behind the last element.
  uint64_t span() const {
    if (!rows || !cols)
      return 0;
    return stride ? uint64_t(stride) * (rows - 1) + cols * elementBytes : rows * cols * elementBytes;
  }
  /// Bytes between rows as the engines compute it: whole elements.
  uint64_t step() const { return stride ? stride / elementBytes * elementBytes : cols * elementBytes; }
  Region region(bool isWrite, uint32_t core) const {
    return {address, uint32_t(rows), uint32_t(cols * elementBytes), uint32_t(step()), isWrite, core};
  }
  numerics::Shape shape() const { return {size_t(rows), size_t(cols)}; }
};

enum class Where { Any, L1, Im };

/// The legality checks in the order of the calls; the first one that fails decides the trap.
class Checks {
public:
  explicit Checks(Core &core) : core(core) {
    if (illegalVtype(core.vtype))
      trap = Trap{kTrapIllegalVtype, 0};
  }
  void base(uint32_t address, uint32_t elementBytes) {
    require(address % elementBytes == 0, kTrapBase, address);
  }
  void shape(uint64_t a, uint64_t b) { require(a && b, kTrapParameter, 0); }
  void parameter(bool good) { require(good, kTrapParameter, 0); }
  void sourceStride(uint32_t address, uint32_t elementBytes, uint32_t stride) {
    require(stride % elementBytes == 0, kTrapStride, address);
  }
  void destinationStride(uint32_t address, uint32_t elementBytes, uint32_t stride, uint64_t cols) {
    require(!stride || (stride % elementBytes == 0 && stride >= cols * elementBytes), kTrapStride, address);
  }
  void access(uint32_t address, uint64_t bytes, Where where = Where::Any) {
    require(memory(address, bytes, where) != nullptr, kTrapAccess, address);
  }
  /// Host address of a range of L1 or IM, or null.
  uint8_t *memory(uint32_t address, uint64_t bytes, Where where = Where::Any) const {
    if (where != Where::Im && address - kL1Base < kL1Size)
      return bytes <= kL1Size - (address - kL1Base) ? core.l1 + (address - kL1Base) : nullptr;
    if (where != Where::L1 && address - kImBase < kImSize)
      return bytes <= kImSize - (address - kImBase) ? core.im + (address - kImBase) : nullptr;
    return nullptr;
  }
  numerics::ConstMatrix source(const Extent &e) const { return {memory(e.address, 0), size_t(e.step())}; }
  numerics::Matrix destination(const Extent &e) const { return {memory(e.address, 0), size_t(e.step())}; }

  std::optional<Trap> trap;

private:
  void require(bool good, uint32_t cause, uint32_t value) {
    if (!good && !trap)
      trap = Trap{cause, value};
  }
  Core &core;
};

/// The scalar operand in an f register: a value that is no NaN-boxed FP32 number counts as NaN.
inline numerics::Half scalarOperand(const Core &core, uint32_t reg) {
  uint64_t value = core.f[reg];
  return value >> 32 == 0xFFFFFFFF ? numerics::truncateToHalf(uint32_t(value)) : numerics::Half(0x7E00);
}

/// What an instruction reads and writes with the present registers.
struct Layout {
  Extent a, b, d;
};
Layout vmeLayout(const Core &core, uint32_t word, const target::Instruction &insn);
Layout mmeLayout(const Core &core, uint32_t word, const target::Instruction &insn);

} // namespace tensorturbo::sim
