// The chip as data: sizes, address map, cost constants and the instruction table, all read from p920.json,
// which is embedded into the library. Scheduler, code generator, simulator and documentation use nothing
// else.
#pragma once
#include "Support/Diagnostics.h"
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorturbo::target {

/// The unit that executes an instruction. Scalar: the RISC-V core itself.
enum class Engine : uint8_t { Mme, Vme, Mte, Sync, Scalar };

/// What a register field of an instruction names.
enum class OperandKind : uint8_t {
  None,      ///< the field is zero
  Address,   ///< x register with a byte address
  Bytes,     ///< x register with a byte count or increment
  Float,     ///< f register
  Vector,    ///< v register
  Reduction, ///< f register if dm and dmc are both 0, else x register with a byte address
};

/// Which cost rule of Costs applies.
enum class CostClass : uint8_t {
  Vector,
  Poly,
  Lut,
  Matmul,
  MatmulInt8,
  Conv,
  ConvInt8,
  Transpose,
  Transfer,
  Broadcast,
  Exchange,
  Barrier,
  Scalar
};

/// One row of the instruction table. A word belongs to it if (word & mask) == match.
struct Instruction {
  /// Position in Target::instructions().
  uint16_t index = 0;
  std::string mnemonic;
  uint32_t mask = 0, match = 0;
  Engine engine = Engine::Scalar;
  OperandKind rd = OperandKind::None, rs1 = OperandKind::None, rs2 = OperandKind::None;
  CostClass cost = CostClass::Scalar;
  /// Numbers of the CSRs that it reads.
  std::vector<uint16_t> csrs;
  std::string doc;

  /// Bit 14 / bit 25 is an operand of the instruction (bit 25 is the mask bit "vm" of vector loads and
  /// stores).
  bool hasDm() const { return !(mask & (1u << 14)); }
  bool hasDmc() const { return !(mask & (1u << 25)); }
};

// Fields of an instruction word.
inline uint32_t rdField(uint32_t word) {
  return word >> 7 & 31;
}
inline uint32_t rs1Field(uint32_t word) {
  return word >> 15 & 31;
}
inline uint32_t rs2Field(uint32_t word) {
  return word >> 20 & 31;
}
inline bool dmField(uint32_t word) {
  return word >> 14 & 1;
}
inline bool dmcField(uint32_t word) {
  return word >> 25 & 1;
}

/// [base, base + size) of the address map.
struct MemoryRegion {
  std::string name;
  uint32_t base = 0;
  uint32_t size = 0;
  /// Second window onto the same memory, or 0.
  uint32_t alias = 0;
  /// Bytes that belong to the cluster, where the region spans the chip; otherwise `size`.
  uint32_t clusterShare = 0;
  std::string doc;

  bool contains(uint32_t address) const { return address - base < size; }
  bool contains(uint32_t address, uint64_t bytes) const {
    return contains(address) && bytes <= size - (address - base);
  }
};

struct Csr {
  uint16_t number = 0;
  std::string name;
  std::string doc;
};

/// A constant of the cost model. `source` says where it comes from; it starts with "assumed" if nobody
/// published it.
struct Constant {
  std::string name;
  double value = 0;
  std::string unit;
  std::string source;
};

/// The cost constants of a profile, by field. Times are in cycles of `clock`.
struct Costs {
  double clock = 0; ///< Hz
  double mmeFixed = 0, mmeRows = 0, mmeColumns = 0, mmeInt8Speed = 0;
  double vmeFixed = 0, vmeLanes = 0, vmeScale = 0, vmePolyFactor = 0, vmeLutFactor = 0;
  double mteFixed = 0, mteBytesPerCycle = 0;
  double icmovFixed = 0, icmovBytesPerCycle = 0;
  double l1BytesPerCycle = 0;   ///< of one core
  double llbBytesPerCycle = 0;  ///< of all cores together
  double ddrBytesPerSecond = 0; ///< both directions together
  double syncFixed = 0, csrWrite = 0;
  double mmeTransposeElements = 0;
  double meshHop = 0;
  std::array<double, 8> meshHops{}; ///< between each core and LLB
  double pldFixed = 0;
  double imBytesPerCycle = 0; ///< of one core
  double queueDepth = 0;      ///< waiting instructions per engine
  bool blockingFrontEnd = false, exactOverlap = false;
  double scalarInstruction = 0, scalarIssue = 0, scalarDeviceLoad = 0;
  double dmaStart = 0, dmaDescriptor = 0, dmaBytesPerCycle = 0;
  double dmaBurstOverhead = 0; ///< bytes per contiguous run
  double ddrClusters = 0;

  /// MME time of an M x K by K x N product, or of a convolution with M output pixels and K = kh*kw*Cin.
  double matmulCycles(uint64_t m, uint64_t n, uint64_t k, bool int8) const;
  /// VME time; cost classes Vector, Poly and Lut.
  double vectorCycles(uint64_t rows, uint64_t cols, CostClass cost = CostClass::Vector) const;
  /// MME time of metr.
  double transposeCycles(uint64_t rows, uint64_t cols) const;
  double ddrBytesPerCycle() const { return ddrBytesPerSecond / clock; }
};

class Target {
public:
  /// Reads a description in the format of p920.json. Null after errors.
  static std::unique_ptr<const Target> parse(std::string_view json, Diagnostics &diags);

  const std::string &name() const { return targetName; }
  uint32_t cores() const { return coreCount; }
  const MemoryRegion &ddr() const { return ddrRegion; }
  const MemoryRegion &l1() const { return l1Region; }
  const MemoryRegion &im() const { return imRegion; }
  const MemoryRegion &llb() const { return llbRegion; }
  /// "program", "hsync", "sysdma0", "sysdma1".
  std::optional<uint32_t> address(std::string_view name) const;
  /// "maxShape", "maxStride", "vectorLine", "icmovMax".
  std::optional<uint32_t> limit(std::string_view name) const;

  const std::vector<Constant> &constants() const { return constantList; }
  /// Whether a constant may have this value: positive numbers, 0 or 1 for switches.
  static bool acceptsValue(std::string_view constant, double value);
  std::vector<std::string> profiles() const;
  /// A constant of the cost model with another value than the profile's.
  struct Override {
    std::string name;
    double value = 0;
  };
  /// The constants of a profile ("base", "slow-vector"), with `changes` on top; nothing if there is no such
  /// profile.
  std::optional<Costs> costs(std::string_view profile = "base",
                             const std::vector<Override> &changes = {}) const;

  const std::vector<Csr> &csrs() const { return csrList; }
  std::optional<uint16_t> csrNumber(std::string_view name) const;
  /// "" if the number names no CSR of the chip.
  std::string_view csrName(uint32_t number) const;

  const std::vector<Instruction> &instructions() const { return table; }
  const Instruction *find(std::string_view mnemonic) const;
  /// The row that a word belongs to, or null for an illegal or standard RISC-V word.
  const Instruction *decode(uint32_t word) const {
    uint32_t opcode = word & 0x7F;
    if (opcode != 0x7B && opcode != 0x5B)
      return nullptr;
    for (uint16_t i = buckets[bucketOf(word)]; i != kEnd; i = next[i])
      if ((word & table[i].mask) == table[i].match)
        return &table[i];
    return nullptr;
  }
  /// The word of an instruction. Fields that the instruction does not have are ignored.
  static uint32_t encode(const Instruction &insn, unsigned rd, unsigned rs1, unsigned rs2, bool dm = false,
                         bool dmc = false);
  /// The same by mnemonic; nothing for an unknown one.
  std::optional<uint32_t> encode(std::string_view mnemonic, unsigned rd, unsigned rs1, unsigned rs2,
                                 bool dm = false, bool dmc = false) const;
  /// "veadd.mv (a0), (a1), (a2), dm"; ".word 0x..." if the word is none of the chip's own instructions.
  std::string disassemble(uint32_t word) const;

private:
  friend class Reader;
  Target() = default;
  static constexpr uint16_t kEnd = 0xFFFF;
  /// Everything that always takes part in the decision: opcode bit 5, bits 13:12 and bits 31:26.
  static uint32_t bucketOf(uint32_t word) {
    return (word >> 26) << 3 | (word >> 12 & 3) << 1 | (word >> 5 & 1);
  }
  void indexInstructions();

  struct Profile {
    std::string name;
    std::vector<std::pair<std::string, double>> overrides;
  };
  struct Named {
    std::string name;
    uint32_t value;
  };
  std::string targetName;
  uint32_t coreCount = 0;
  MemoryRegion ddrRegion, l1Region, imRegion, llbRegion;
  std::vector<Named> addresses, limits;
  std::vector<Constant> constantList;
  std::array<double, 8> meshHops{};
  std::vector<Profile> profileList;
  std::vector<Csr> csrList;
  std::vector<Instruction> table;
  std::array<uint16_t, 512> buckets{};
  std::vector<uint16_t> next;
};

/// The one chip of this product, read once.
const Target &p920();
/// Its description as text (JSON).
std::string_view p920Json();

} // namespace tensorturbo::target
