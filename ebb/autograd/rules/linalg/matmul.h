// ebb/autograd/rules/linalg/matmul.h -- gradient rules of products. Ranks say which operand was a
// vector.
#pragma once

#include "ebb/autograd/rules/sparse_math.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

Tensor matmul_grad_input(const Tensor& grad, const Tensor& other, IntSpan input_shape);
Tensor matmul_grad_other(const Tensor& grad, const Tensor& input, IntSpan other_shape);
Tensor linear_grad_input(const Tensor& grad, const Tensor& weight);
Tensor linear_grad_weight(const Tensor& grad, const Tensor& input, int weight_ndim);

}  // namespace ebb::autograd::rules
