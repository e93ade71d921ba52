// ebb/autograd/rules/pointwise_rules.h -- gradient rules of arithmetic and activation functions.
//
// See rules.h, which includes this, for what they have in common.
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

// Arithmetic (arithmetic.cpp). `out` is the op's result.
Tensor pow_grad_input(const Tensor& grad, const Tensor& input, const Tensor& exponent);
Tensor pow_grad_exponent(const Tensor& grad, const Tensor& input, const Tensor& exponent,
                         const Tensor& out);
/// The exponent, or the base, is a number.
Tensor pow_grad_number(const Tensor& grad, const Tensor& input, const Scalar& exponent);
Tensor pow_grad_number_exponent(const Tensor& grad, const Scalar& input, const Tensor& exponent,
                                const Tensor& out);
/// `grad` where input > other, half of it where they are equal, 0 elsewhere.
Tensor larger_share(const Tensor& grad, const Tensor& input, const Tensor& other);
Tensor hypot_grad(const Tensor& grad, const Tensor& input, const Tensor& out);
/// `grad` times `along` over the squared length of the points (along, across); 0 at (0, 0).
Tensor atan2_grad(const Tensor& grad, const Tensor& along, const Tensor& across);
/// Of a quotient by a number.
Tensor div_grad_number(const Tensor& grad, const Scalar& other);

// Complex numbers (complex.cpp).
/// Pairs of real numbers as complex ones, copied if they do not lie as such.
Tensor as_complex(const Tensor& pairs);
/// Complex numbers with these real, or imaginary, parts.
Tensor as_real_part(const Tensor& parts);
Tensor as_imag_part(const Tensor& parts);
/// imag(), under a name that no parameter has.
Tensor imag_of(const Tensor& input);
/// The derivative of the angle: where a number moves that turns by a radian, over its length.
Tensor turning(const Tensor& input);
/// The gradient of input / |input|, and its tangent: the part across `input`, over its length.
Tensor sign_grad(const Tensor& grad, const Tensor& input);

// Activations (activation.cpp): `weight` times the second derivative at `input`.
Tensor silu_second(const Tensor& weight, const Tensor& input);
Tensor gelu_erf_second(const Tensor& weight, const Tensor& input);
Tensor gelu_tanh_second(const Tensor& weight, const Tensor& input);
Tensor softplus_grad(const Tensor& grad, const Tensor& input, const Scalar& beta,
                     const Scalar& threshold);

}  // namespace ebb::autograd::rules
