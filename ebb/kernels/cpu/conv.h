// ebb/kernels/cpu/conv.h -- the engines of convolution: oneDNN, and im2col with gemm().
//
// Arguments are dense arrays in the order of the tensors: input [batch, in_channels, sizes...],
// weight [out_channels, in_channels / groups, kernel...], output [batch, out_channels, sizes...].
#pragma once

#include "ebb/core/export.h"
#include "ebb/kernels/signatures_conv.h"

namespace ebb::kernels::cpu {

/// The three derivatives of one trilinear form; see signatures_conv.h.
enum class ConvPass : int64_t { output, input, weight };

/// The arrays of a pass, one of which it writes; `bias` may be null.
template <typename T>
struct ConvArrays {
  T* input;
  T* weight;
  const T* bias;
  T* output;
};

/// Runs a pass by oneDNN, or returns false if it has no good kernel for the shape.
EBB_API bool onednn_convolve(ConvPass pass, const ConvShape& shape,
                             const ConvArrays<float>& arrays);

/// Runs any pass of any shape.
EBB_API void gemm_convolve(ConvPass pass, const ConvShape& shape, const ConvArrays<float>& arrays);
EBB_API void gemm_convolve(ConvPass pass, const ConvShape& shape, const ConvArrays<double>& arrays);

/// Sets dest += src for `count` elements.
template <typename T>
void add_arrays(T* dest, const T* src, int64_t count) {
  for (int64_t i = 0; i < count; ++i) dest[i] += src[i];
}

}  // namespace ebb::kernels::cpu
