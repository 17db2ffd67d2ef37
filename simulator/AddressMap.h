// What a core sees at which address.
#pragma once
#include <cstdint>

namespace tensorturbo::sim {

inline constexpr uint32_t ddrSize = 0xC0000000; // from 0
inline constexpr uint32_t l1Base = 0xC0000000, l1Size = 0x140000;
inline constexpr uint32_t imBase = 0xC0400000, imSize = 0x40000;
/// One memory in two windows; the transfer engine takes the first only.
inline constexpr uint32_t llbBase = 0xF8000000, llbAlias = 0xFA000000, llbSize = 0x2000000;
/// Addresses that mean the cluster's upper DDR when a system DMA channel's upper address byte says so.
inline constexpr uint32_t upperDdrBase = 0xC0800000, upperDdrSize = 0x37800000;
inline constexpr uint32_t hsyncBase = 0xD0080000, hsyncSize = 0x40;
inline constexpr uint32_t dmaBase[2] = {0xC9F00000, 0xD1F00000};
inline constexpr uint32_t dmaSize = 0x2000;

} // namespace tensorturbo::sim
