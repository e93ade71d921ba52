// ebb/autograd/rules/pointwise.h -- rules of element-wise ops; those of sparse operands.
#pragma once

#include "ebb/autograd/rules/sparse_math.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

/// The product of two numbers, of the wider kind of both.
Scalar product(const Scalar& lhs, const Scalar& rhs);

/// Of a quotient by a number.
Tensor div_grad_number(const Tensor& grad, const Scalar& other);

}  // namespace ebb::autograd::rules
