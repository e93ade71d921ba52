// ebb/autograd/rules/fft.h -- the functions of ebb.fft and the derivatives of what they call.
//
// A size of -1, or none, leaves a dim as it is; others cut it off, or fill it with zeros.
#pragma once

#include <optional>
#include <string_view>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

/// A transform is its own adjoint, in the other direction, but for what half a spectrum leaves out.
Tensor fft_r2c_grad(const Tensor& grad, IntSpan dim, int64_t size, double scale, bool forward,
                    bool onesided);
Tensor fft_c2r_grad(const Tensor& grad, IntSpan dim, double scale, bool forward);

using Norm = std::optional<std::string_view>;
using Sizes = std::optional<IntSpan>;

/// Complex numbers from real or complex ones.
Tensor fft_full(const Tensor& input, Sizes s, Sizes dim, Norm norm, bool forward);
/// Half a spectrum of real numbers.
Tensor fft_half(const Tensor& input, Sizes s, Sizes dim, Norm norm, bool forward);
/// Real numbers from half a spectrum.
Tensor fft_real(const Tensor& input, Sizes s, Sizes dim, Norm norm, bool forward);

/// The same along one dim.
Tensor fft_full(const Tensor& input, std::optional<int64_t> n, int64_t dim, Norm norm,
                bool forward);
Tensor fft_half(const Tensor& input, std::optional<int64_t> n, int64_t dim, Norm norm,
                bool forward);
Tensor fft_real(const Tensor& input, std::optional<int64_t> n, int64_t dim, Norm norm,
                bool forward);

/// Moves the middle of dims to their beginning, or back.
Tensor fft_shift(const Tensor& input, Sizes dim, bool back);
/// Frequencies 0, 1, ... of n elements, the negative ones behind; or only half of them.
Tensor fft_frequencies(int64_t n, double d, bool onesided, std::optional<DType> dtype,
                       std::optional<Device> device);

}  // namespace ebb::autograd::rules
