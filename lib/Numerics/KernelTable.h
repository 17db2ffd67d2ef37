// Internal: the entry points of one code path. Called with the host rounding toward zero, see Kernels.cpp.
#pragma once
#include "Numerics/Kernels.h"

namespace tensorturbo::numerics {

struct KernelTable {
  void (*binary)(Binary, Shape, Matrix, ConstMatrix, const Operand &);
  void (*int8ToHalf)(Shape, Matrix, ConstMatrix);
  void (*uint8ToHalf)(Shape, Matrix, ConstMatrix);
  void (*halfToInt8)(Shape, Matrix, ConstMatrix, const Half *scale);
  void (*mulInt32)(Shape, Matrix, ConstMatrix, const Operand &);
  void (*reduceColumns)(Reduction, Shape, uint8_t *, ConstMatrix, const Operand &);
  void (*reduceRows)(Reduction, Shape, Matrix, ConstMatrix, const Operand &);
  void (*matmul)(size_t, size_t, size_t, Matrix, const LeftMatrix &, ConstMatrix);
  void (*convolve)(size_t, Matrix, const ConvolutionWindow &, ConstMatrix);
  void (*matmulInt8)(size_t, size_t, size_t, Matrix, const LeftMatrix &, ConstMatrix, const Half *scale);
  void (*convolveInt8)(size_t, Matrix, const ConvolutionWindow &, ConstMatrix, const Half *scale);
  void (*floatToHalf)(const float *, Half *, size_t);
  void (*halfToFloat)(const Half *, float *, size_t);
};

extern const KernelTable kPortableKernels;
#if defined(__x86_64__)
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvx512Kernels;
#endif

/// `bytes` of uninitialised memory of the calling thread, 64-byte aligned, valid until the next call with the
/// same slot (0 or 1).
void *scratch(int slot, size_t bytes);

/// At least (1 + 2^-11)^steps: by how much rounding can enlarge a sum; infinity if that is beyond FP32.
float growthBound(size_t steps);

} // namespace tensorturbo::numerics
