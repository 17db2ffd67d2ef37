// The code path for AVX-512 (F, BW, DQ, VL): sixteen lanes.
#if defined(__x86_64__)
#include "Numerics/KernelTable.h"
#include <algorithm>
#include <cstring>
#include <immintrin.h>

namespace tensorturbo::numerics {

// Only functions from here on may use the instructions: shared inline functions stay runnable everywhere.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,f16c"))),        \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,f16c")
#endif

namespace avx512 {

constexpr int kLanes = 16;
constexpr int kTileRows = 4, kTileVectors = 2;

#include "Numerics/VectorTypes.inc"

TT_INLINE VF halvesToFloats(VH h) {
  return (VF)_mm512_cvtph_ps((__m256i)h);
}
TT_INLINE VH floatsToHalvesRaw(VF v) {
  return (VH)_mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT);
}
TT_INLINE VI multiplyPairs(VI a, VI b) {
  return (VI)_mm512_madd_epi16((__m512i)a, (__m512i)b);
}

// clang-format off: each file builds on the ones before
#include "Numerics/VectorOps.inc"
#include "Numerics/Elementwise.inc"
#include "Numerics/Reduce.inc"
#include "Numerics/Gemm.inc"
#include "Numerics/KernelEntries.inc"
// clang-format on

} // namespace avx512

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

const KernelTable kAvx512Kernels = avx512::kEntries;

} // namespace tensorturbo::numerics
#endif
