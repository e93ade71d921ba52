// ebb/autograd/rules/special.h -- gradient rules of special functions. `out` is the op's result.
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

/// Of input * log(other) for a number: other below 0 counts only where something is multiplied.
Tensor xlogy_grad_number(const Tensor& grad, const Scalar& other);
/// `grad` times the second derivative of sinc, whose first one is `slope`.
Tensor sinc_curve(const Tensor& grad, const Tensor& input, const Tensor& slope);

/// Throws NotImplementedError: `op` has no derivative to its first operand, `input`.
[[noreturn]] Tensor refused_first_gradient(const Tensor& grad, const char* op);

}  // namespace ebb::autograd::rules
