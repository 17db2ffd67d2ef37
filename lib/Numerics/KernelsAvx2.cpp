// The code path for AVX2 and F16C: eight lanes.
#if defined(__x86_64__)
#include "Numerics/KernelTable.h"
#include <algorithm>
#include <cstring>
#include <immintrin.h>

namespace tensorturbo::numerics {

// Only functions from here on may use the instructions: shared inline functions stay runnable everywhere.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,f16c")
#endif

namespace avx2 {

constexpr int kLanes = 8;
constexpr int kTileRows = 2, kTileVectors = 2;

#include "Numerics/VectorTypes.inc"

TT_INLINE VF halvesToFloats(VH h) {
  return (VF)_mm256_cvtph_ps((__m128i)h);
}
TT_INLINE VH floatsToHalvesRaw(VF v) {
  return (VH)_mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT);
}
TT_INLINE VI multiplyPairs(VI a, VI b) {
  return (VI)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}

// clang-format off: each file builds on the ones before
#include "Numerics/VectorOps.inc"
#include "Numerics/Elementwise.inc"
#include "Numerics/Reduce.inc"
#include "Numerics/Gemm.inc"
#include "Numerics/KernelEntries.inc"
// clang-format on

} // namespace avx2

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

const KernelTable kAvx2Kernels = avx2::kEntries;

} // namespace tensorturbo::numerics
#endif
