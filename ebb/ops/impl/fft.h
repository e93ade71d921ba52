// ebb/ops/impl/fft.h -- bodies of Fourier transforms over several dims: one kernel call for each.
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

/// Of complex numbers. All results are multiplied by `scale`.
EBB_API Tensor fft_c2c(const Tensor& input, IntSpan dim, double scale, bool forward);
/// Of real numbers; the last of the dims keeps size / 2 + 1 elements if `onesided`.
EBB_API Tensor fft_r2c(const Tensor& input, IntSpan dim, double scale, bool forward, bool onesided);
/// From half a spectrum, of size / 2 + 1 elements in the last of the dims, to real numbers.
EBB_API Tensor fft_c2r(const Tensor& input, IntSpan dim, int64_t size, double scale, bool forward);

}  // namespace ebb::ops::impl
