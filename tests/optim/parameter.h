// tests/optim/parameter.h -- parameters with given values and gradients.
#pragma once

#include <vector>

#include "ebb/autograd/history/variable.h"
#include "ebb/core/tensor/tensor.h"
#include "tests/core/core_test_support.h"

namespace ebb::testing {

template <typename T>
Tensor vector_of(const std::vector<T>& values) {
  const Tensor tensor = ebb::empty(Shape{static_cast<int64_t>(values.size())}, dtype_of<T>);
  std::copy(values.begin(), values.end(), tensor.data<T>());
  return tensor;
}

template <typename T>
std::vector<T> to_vector(const Tensor& tensor) {
  return std::vector<T>(tensor.data<T>(), tensor.data<T>() + tensor.numel());
}

/// A leaf of these values whose gradient is `grad`.
template <typename T = double>
Tensor parameter(const std::vector<T>& values, const std::vector<T>& grad) {
  const Tensor leaf = requires_grad_(vector_of<T>(values));
  set_grad(leaf, vector_of<T>(grad));
  return leaf;
}

}  // namespace ebb::testing
