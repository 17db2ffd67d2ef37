// What one core did during a run: the raw numbers of the run report.
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace tensorturbo::sim {

struct CoreCounters {
  /// Retired scalar and custom instructions.
  uint64_t retired = 0;
  /// Executed custom instructions by mnemonic; trapping ones are not included.
  std::map<std::string, uint64_t> instructions;
  /// Custom instructions that trapped.
  uint64_t trapped = 0;
  /// Writes to the custom CSRs 0x400..0x426, and how many of them wrote the value that the program itself had
  /// last written there.
  uint64_t csrWrites = 0;
  uint64_t csrWritesSameValue = 0;
  /// Sum of 20 + ceil(M/32) * ceil(N/64) * K over memul and meconv (INT8: K/2).
  uint64_t mmeCycles = 0;
  /// Sum of 10 + rows * ceil(cols/64) over all VME instructions (exp, square root, reciprocal: four times the
  /// second term), with the rows and columns of shape_s1.
  uint64_t vmeCycles = 0;
  /// Bytes moved by mov.l1.llb, mov.llb.l1, pld (its own copy) and icmov.
  uint64_t mteBytes = 0;
};

} // namespace tensorturbo::sim
