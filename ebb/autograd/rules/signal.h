// ebb/autograd/rules/signal.h -- windows, and the Fourier transforms of pieces of a signal.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

// Windows are computed in double precision. A period of `length` elements, or from end to end.

/// c0 - c1 cos x + c2 cos 2x - ...
Tensor cosine_window(int64_t length, bool periodic, std::initializer_list<double> coefficients,
                     std::optional<DType> dtype, std::optional<Device> device);
Tensor bartlett_window(int64_t length, bool periodic, std::optional<DType> dtype,
                       std::optional<Device> device);
Tensor kaiser_window(int64_t length, bool periodic, double beta, std::optional<DType> dtype,
                     std::optional<Device> device);

Tensor stft(const Tensor& input, int64_t n_fft, std::optional<int64_t> hop_length,
            std::optional<int64_t> win_length, const Tensor& window, bool center,
            std::string_view pad_mode, bool normalized, std::optional<bool> onesided,
            std::optional<bool> return_complex, std::optional<bool> align_to_window);
Tensor istft(const Tensor& input, int64_t n_fft, std::optional<int64_t> hop_length,
             std::optional<int64_t> win_length, const Tensor& window, bool center, bool normalized,
             std::optional<bool> onesided, std::optional<int64_t> length, bool return_complex);

}  // namespace ebb::autograd::rules
