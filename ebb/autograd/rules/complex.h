// ebb/autograd/rules/complex.h -- gradient rules of complex numbers.
#pragma once

#include "ebb/autograd/history/region.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

using autograd::as_complex;

/// Complex numbers with these real, or imaginary, parts.
Tensor as_real_part(const Tensor& parts);
Tensor as_imag_part(const Tensor& parts);
/// imag(), under a name that no parameter has.
Tensor imag_of(const Tensor& input);
/// The derivative of the angle: where a number moves that turns by a radian, over its length.
Tensor turning(const Tensor& input);
/// The gradient of input / |input|, and its tangent: the part across `input`, over its length.
Tensor sign_grad(const Tensor& grad, const Tensor& input);

}  // namespace ebb::autograd::rules
