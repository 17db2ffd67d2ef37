// State of one NPC (neural processing core) of the cluster, and the interface of the instruction bodies.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

namespace tensorturbo::sim {

/// mcause and mtval of a trap. An instruction that traps has changed nothing.
struct Trap {
  uint32_t cause;
  uint32_t value;
};

/// Raw values of the custom CSRs 0x400..0x42F, by number.
struct NpuCsrs {
  std::array<uint32_t, 0x30> value{};
  uint32_t &operator[](uint32_t number) { return value[number - 0x400]; }
  uint32_t operator[](uint32_t number) const { return value[number - 0x400]; }
};

struct Core {
  uint32_t id = 0;
  uint32_t pc = 0;
  std::array<uint32_t, 32> x{};
  /// FP32 values are NaN-boxed (upper half all ones).
  std::array<uint64_t, 32> f{};
  /// Rounding mode and accrued exception flags of the scalar floating-point unit (fcsr = frm << 5 | fflags).
  uint32_t frm = 0;
  uint32_t fflags = 0;
  NpuCsrs csr;
  uint32_t vl = 64;
  uint32_t vtype = 4;
  /// Vector registers as halves (VLEN 1024).
  std::array<std::array<uint16_t, 64>, 32> v{};
  /// Private memories: L1 (1.25 MiB) and IM (256 KiB), owned by the machine.
  uint8_t *l1 = nullptr;
  uint8_t *im = nullptr;
};

} // namespace tensorturbo::sim
