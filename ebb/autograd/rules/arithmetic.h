// ebb/autograd/rules/arithmetic.h -- gradient rules of arithmetic. `out` is the op's result.
#pragma once

#include "ebb/autograd/rules/sparse_math.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

Tensor pow_grad_input(const Tensor& grad, const Tensor& input, const Tensor& exponent);
Tensor pow_grad_exponent(const Tensor& grad, const Tensor& input, const Tensor& exponent,
                         const Tensor& out);
/// The exponent, or the base, is a number.
Tensor pow_grad_number(const Tensor& grad, const Tensor& input, const Scalar& exponent);
Tensor pow_grad_number_exponent(const Tensor& grad, const Scalar& input, const Tensor& exponent,
                                const Tensor& out);
/// `grad` where input > other, half of it where they are equal, 0 elsewhere.
Tensor larger_share(const Tensor& grad, const Tensor& input, const Tensor& other);
/// `share` between two numbers; of a number and NaN all of `grad` for the number, of NaN half each.
Tensor number_share(const Tensor& share, const Tensor& grad, const Tensor& input,
                    const Tensor& other);
Tensor hypot_grad(const Tensor& grad, const Tensor& input, const Tensor& out);
/// `grad` times `along` over the squared length of the points (along, across); 0 at (0, 0).
Tensor atan2_grad(const Tensor& grad, const Tensor& along, const Tensor& across);

}  // namespace ebb::autograd::rules
