// ebb/kernels/signatures_loss.h -- the kernels of losses that depend on input - target alone.
#pragma once

#include <cstdint>

#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels {

/// f(input - target): the square; the absolute value; smooth_l1, which is d^2 / (2 beta) below beta
/// and |d| - beta / 2 above; huber, which is beta times that.
enum class DifferenceLoss : uint8_t { square, absolute, smooth, huber };

/// out[i] = f(input[i] - target[i]), or if reduced (out is 0-d) the sum of them over divisor.
/// Contiguous, one dtype; half types accumulate in float32.
using DifferenceLossKernel = void (*)(const Context&, DifferenceLoss loss, double beta,
                                      const TensorView& input, const TensorView& target,
                                      double divisor, bool is_reduced, const TensorView& out);

/// grad_input[i] = grad_out[i] / divisor * f'(input[i] - target[i]); grad_out may be 0-d.
using DifferenceLossBackwardKernel = void (*)(const Context&, DifferenceLoss loss, double beta,
                                              const TensorView& grad_out, const TensorView& input,
                                              const TensorView& target, double divisor,
                                              const TensorView& grad_input);

}  // namespace ebb::kernels
