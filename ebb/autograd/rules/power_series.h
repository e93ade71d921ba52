// ebb/autograd/rules/power_series.h -- what stands for a function near a point at which its formula
// divides 0 by 0.
#pragma once

#include <span>

#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/mul.h"

namespace ebb::autograd::rules {

/// The sum of coefficients[k] * x^k, of at least two.
inline Tensor power_series(const Tensor& x, std::span<const double> coefficients) {
  size_t k = coefficients.size() - 1;
  Tensor sum = mul(x, coefficients[k]);
  while (--k > 0) sum = mul(add(sum, coefficients[k]), x);
  return add(sum, coefficients[0]);
}

}  // namespace ebb::autograd::rules
