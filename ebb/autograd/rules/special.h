// ebb/autograd/rules/special.h -- gradient rules of special functions. `out` is the op's result.
#pragma once

#include "ebb/autograd/rules/sparse_math.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

/// Of input * log, a number; 0 where the gradient is, and, where the logarithm has no finite value
/// because its argument is 0 or less (`is_at_pole`), where input is.
Tensor product_with_log_grad(const Tensor& grad, const Tensor& input, double log, bool is_at_pole);
/// `grad` times the second derivative of sinc, whose first one is `slope`.
Tensor sinc_curve(const Tensor& grad, const Tensor& input, const Tensor& slope);

}  // namespace ebb::autograd::rules
