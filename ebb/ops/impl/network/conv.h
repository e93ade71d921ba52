// ebb/ops/impl/network/conv.h -- bodies of convolution and of its two gradients.
//
// One trilinear form stands behind all of them: the sum over output * (input convolved with
// weight). Its derivative with respect to each of the three is one of the functions below, whose
// own derivatives are therefore the other two.
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

/// Input [batch, channels, sizes...] of one to three spatial dims; `bias` may be undefined.
EBB_API Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias,
                           IntSpan stride, IntSpan padding, IntSpan dilation, bool transposed,
                           IntSpan output_padding, int64_t groups);

/// The gradient of convolution with respect to an input of `input_shape`.
EBB_API Tensor convolution_backward_input(const Tensor& grad, const Tensor& weight,
                                          IntSpan input_shape, IntSpan stride, IntSpan padding,
                                          IntSpan dilation, bool transposed, IntSpan output_padding,
                                          int64_t groups);

/// The gradient of convolution with respect to a weight of `weight_shape`.
EBB_API Tensor convolution_backward_weight(const Tensor& grad, const Tensor& input,
                                           IntSpan weight_shape, IntSpan stride, IntSpan padding,
                                           IntSpan dilation, bool transposed,
                                           IntSpan output_padding, int64_t groups);

}  // namespace ebb::ops::impl
