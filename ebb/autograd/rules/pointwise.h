// ebb/autograd/rules/pointwise.h -- rules of element-wise ops; those of sparse operands.
#pragma once

#include "ebb/autograd/rules/sparse_math.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

/// The product of two numbers, of the wider kind of both.
Scalar product(const Scalar& lhs, const Scalar& rhs);
/// `term` times a number, which mostly is 1, to be added to `sum`: of the dtype that the two
/// tensors have together if that is of the number's kind, so that no number makes the sum wider.
Tensor scaled(const Tensor& term, const Scalar& number, const Tensor& sum);

/// Of a quotient by a number.
Tensor div_grad_number(const Tensor& grad, const Scalar& other);

}  // namespace ebb::autograd::rules
