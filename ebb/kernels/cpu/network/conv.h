// ebb/kernels/cpu/network/conv.h -- the engines of convolution: oneDNN, and im2col with gemm().
//
// Arguments are dense arrays in the order of the tensors: input [batch, in_channels, sizes...],
// weight [out_channels, in_channels / groups, kernel...], output [batch, out_channels, sizes...].
#pragma once

#include "ebb/core/base/dtype.h"
#include "ebb/core/base/export.h"
#include "ebb/kernels/signatures_conv.h"

namespace ebb::kernels::cpu {

/// The three derivatives of one trilinear form; see signatures_conv.h.
enum class ConvPass : int64_t { output, input, weight };

/// The arrays of a pass, one of which it writes; `bias` may be null.
struct ConvArrays {
  void* input;
  void* weight;
  const void* bias;
  void* output;
};

/// Runs a pass by oneDNN, or returns false if it has no good kernel for the shape. The weight that
/// a pass of bfloat16 writes is float32.
EBB_API bool onednn_convolve(ConvPass pass, const ConvShape& shape, DType dtype,
                             const ConvArrays& arrays);

/// Runs any pass of any shape in float32 or float64.
EBB_API void gemm_convolve(ConvPass pass, const ConvShape& shape, DType dtype,
                           const ConvArrays& arrays);

/// Sets dest += src for `count` elements.
template <typename T>
void add_arrays(T* dest, const T* src, int64_t count) {
  for (int64_t i = 0; i < count; ++i) dest[i] += src[i];
}

}  // namespace ebb::kernels::cpu
