// ebb/autograd/rules/linalg/linalg_products.h -- powers of square matrices, in one dtype.
#pragma once

#include <cstdint>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

Tensor matrix_power(const Tensor& A, int64_t n);
Tensor matrix_exp(const Tensor& A);

}  // namespace ebb::autograd::rules
