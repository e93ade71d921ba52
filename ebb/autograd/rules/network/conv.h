// ebb/autograd/rules/network/conv.h -- convolutions by the name of their op, and gradient rules
// (composites/network/conv.cpp).
#pragma once

#include <string_view>

#include "ebb/core/tensor/tensor.h"
#include "ebb/ops/impl/network/conv_shape.h"

namespace ebb::autograd::rules {

inline constexpr int64_t kNoPadding[] = {0};

/// A convolution over `spatial` dims. Throws ShapeError, naming `op`, for operands of other dims.
Tensor convolve(const char* op, int spatial, const Tensor& input, const Tensor& weight,
                const Tensor& bias, const ops::ConvOptions& options);
/// The same with padding 'valid', which adds none, or 'same', which keeps the sizes.
Tensor convolve_named(const char* op, int spatial, const Tensor& input, const Tensor& weight,
                      const Tensor& bias, const ops::ConvOptions& options,
                      std::string_view padding);

/// The sum over all dims but the channels.
Tensor convolution_grad_bias(const Tensor& grad);
Tensor convolution_jvp_bias(const Tensor& tangent, IntSpan shape);

}  // namespace ebb::autograd::rules
