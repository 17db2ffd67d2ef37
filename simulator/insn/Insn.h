// Bodies of the VME and MME instructions, bit-exact, with all legality checks in the chip's order.
#pragma once
#include "Target/Target.h"
#include "simulator/Core.h"
#include <array>
#include <optional>

namespace tensorturbo::sim {

// Causes that the bodies raise.
constexpr uint32_t kTrapIllegalVtype = 0x29;
constexpr uint32_t kTrapBase = 0x32;      ///< misaligned base; mtval = base address
constexpr uint32_t kTrapParameter = 0x33; ///< zero shape or other bad parameter; mtval = 0
constexpr uint32_t kTrapStride = 0x34;    ///< bad stride; mtval = base address of the operand
constexpr uint32_t kTrapAccess = 0x35;    ///< operand outside its memories; mtval = base address

/// Executes one instruction whose engine is Engine::Vme (Engine::Mme). Returns the trap; then nothing has
/// changed. Memory outside the core's L1 and IM is never touched: where the chip's own checks let an operand
/// leave them (see the project's notes on the instruction set), kTrapAccess is raised as well; a convolution
/// whose output shape contradicts its geometry raises kTrapParameter.
/// A memul whose inner dimensions differ does nothing and does not trap.
std::optional<Trap> executeVme(Core &core, uint32_t word, const target::Instruction &insn);
std::optional<Trap> executeMme(Core &core, uint32_t word, const target::Instruction &insn);

/// SEW is not 16 or LMUL is not 1 (also after vsetvl with an unsupported type, which leaves 0x80000000).
inline bool illegalVtype(uint32_t vtype) {
  return (vtype & 0x1F) != 4;
}

/// A strided piece of memory that an instruction reads or writes: `rows` runs of `rowBytes` bytes, `stride`
/// bytes apart.
struct Region {
  uint32_t address = 0;
  uint32_t rows = 0;
  uint32_t rowBytes = 0;
  uint32_t stride = 0;
  bool isWrite = false;
  /// The core in whose view `address` lies; differs from the executing core for icmov's destination only.
  uint32_t core = 0;

  /// First byte behind the region; may exceed 32 bits for senseless operands.
  uint64_t end() const { return address + (rows ? uint64_t(rows - 1) * stride : 0) + rowBytes; }
};

/// At most three regions: rd, rs1, rs2.
class Regions {
public:
  void add(const Region &r) { items[count++] = r; }
  const Region *begin() const { return items.data(); }
  const Region *end() const { return items.data() + count; }
  size_t size() const { return count; }

private:
  std::array<Region, 3> items;
  size_t count = 0;
};

/// The size of an MME instruction: a product of m x k by k x n; a convolution as the product of its output
/// pixels; metr: m x n elements, k = 0.
struct MatrixWork {
  uint64_t m = 0, n = 0, k = 0;
  bool int8 = false;
};
MatrixWork matrixWork(const Core &core, uint32_t word, const target::Instruction &insn);

/// What a legal VME, MME or MTE instruction would read and write with the core's present registers: sources
/// first, then the destination. Only meaningful if the instruction does not trap; never fails otherwise
/// (zero shapes give empty regions). velut's table counts as read in full, a convolution's image in full.
/// Empty for sync and scalar instructions and for a memul with unequal inner dimensions.
Regions describeOperands(const Core &core, uint32_t word, const target::Instruction &insn);

} // namespace tensorturbo::sim
