// ebb/autograd/rules/pointwise.h -- a gradient rule of element-wise ops; those of sparse operands.
#pragma once

#include "ebb/autograd/rules/sparse_math.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

/// Of a quotient by a number.
Tensor div_grad_number(const Tensor& grad, const Scalar& other);

}  // namespace ebb::autograd::rules
