// ebb/kernels/signatures_fft.h -- the kernel type of Fourier transforms along one dim.
#pragma once

#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels {

/// A transform of every line of `input` along `dim` into `out`, which may be the same memory if the
/// elements have one size. Its length is that of the line with more elements: a kernel from or to
/// real numbers takes, or leaves, only the first half of a spectrum (size / 2 + 1 elements), or
/// leaves all of it if `out` has room. `forward` says the sign; results are multiplied by `scale`.
using FftKernel = void (*)(const Context&, const TensorView& input, int dim, bool forward,
                           double scale, const TensorView& out);

}  // namespace ebb::kernels
