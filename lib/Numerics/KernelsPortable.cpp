// The code path for any host: four lanes, plain C++ vector arithmetic.
#include "Numerics/KernelTable.h"
#include <algorithm>
#include <cstring>

namespace tensorturbo::numerics {
namespace portable {

constexpr int kLanes = 4;
constexpr int kTileRows = 2, kTileVectors = 2;

#include "Numerics/VectorTypes.inc"

TT_INLINE VF halvesToFloats(VH h) {
  VU wide = __builtin_convertvector(h, VU);
  VU sign = (wide & 0x8000u) << 16, magnitude = (wide & 0x7FFFu) << 13;
  VU normal = magnitude + (112u << 23);
  // Exponent 31 becomes 255; a signalling NaN becomes quiet, as with hardware conversions.
  VU special = (normal + (112u << 23)) | ((VU)(magnitude > splat<VU>(0x0F800000u)) & 0x400000u);
  // Exponent 0: the fraction is added to 2^-14 as a normal number, which is then subtracted.
  VU subnormal = bits(floats(normal + (1u << 23)) - splat<VF>(0x1p-14f));
  VU result = choose((VI)(magnitude >= splat<VU>(0x0F800000u)), special,
                     choose((VI)(magnitude < splat<VU>(0x00800000u)), subnormal, normal));
  return floats(result | sign);
}

TT_INLINE VH floatsToHalvesRaw(VF v) {
  VU sign = (bits(v) >> 16) & 0x8000u, magnitude = bits(v) & 0x7FFFFFFFu;
  VU normal = (magnitude - (112u << 23)) >> 13;
  // Multiples of 2^-24 are the last place of numbers near 1/2.
  VU subnormal = bits(floats(magnitude) + splat<VF>(0.5f)) - 0x3F000000u;
  VU result = choose((VI)(magnitude < splat<VU>(0x38800000u)), subnormal, normal);
  result = choose((VI)(magnitude >= splat<VU>(0x477FF000u)), splat<VU>(0x7C00u), result);
  result = choose((VI)(magnitude > splat<VU>(0x7F800000u)), splat<VU>(0x7E00u), result);
  return __builtin_convertvector(result | sign, VH);
}

/// Per lane: the sum of the products of the two signed 16-bit halves.
TT_INLINE VI multiplyPairs(VI a, VI b) {
  return ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
}

// clang-format off: each file builds on the ones before
#include "Numerics/VectorOps.inc"
#include "Numerics/Elementwise.inc"
#include "Numerics/Reduce.inc"
#include "Numerics/Gemm.inc"
#include "Numerics/KernelEntries.inc"
// clang-format on

} // namespace portable

const KernelTable kPortableKernels = portable::kEntries;

} // namespace tensorturbo::numerics
