// Texts about instructions and traps for messages.
#pragma once
#include <cstdint>
#include <string>

namespace tensorturbo::sim {

/// Any instruction as assembly text; scalar memory accesses by name and operands, other scalar ones as
/// ".insn". A word whose lower two bits are not 11 is a compressed instruction in its lower half.
std::string disassemble(uint32_t word);
/// "operand outside L1 and IM" for a trap cause, or "unknown cause".
const char *causeName(uint32_t cause);

} // namespace tensorturbo::sim
