// tests/ops/op_test_support.h -- what the tests of op bodies share: small tensors in, vectors out.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/core/tensor/tensor.h"
#include "tests/core/core_test_support.h"

namespace ebb {

/// A contiguous tensor of these values.
template <typename T>
Tensor tensor_of(std::initializer_list<T> values, const Shape& shape) {
  const Tensor out = empty(shape, dtype_of<T>);
  std::copy(values.begin(), values.end(), out.data<T>());
  return out;
}
template <typename T>
Tensor vector_of(std::initializer_list<T> values) {
  return tensor_of<T>(values, {static_cast<int64_t>(values.size())});
}

/// 0, 1, 2, ... in this shape.
inline Tensor count_up(const Shape& shape, DType dtype = DType::float32) {
  return cast(reshape(arange(checked_numel("count_up", shape, 8)), shape), dtype);
}

/// All elements in row-major order, whatever the strides.
template <typename T>
std::vector<T> values_of(const Tensor& tensor) {
  const Tensor flat = clone(cast(tensor, dtype_of<T>));
  return {flat.data<T>(), flat.data<T>() + flat.numel()};
}
inline std::vector<float> floats(const Tensor& tensor) { return values_of<float>(tensor); }
inline std::vector<int64_t> ints(const Tensor& tensor) { return values_of<int64_t>(tensor); }
inline std::vector<int64_t> list(IntSpan values) { return {values.begin(), values.end()}; }

/// The names of tensors that have some.
inline std::vector<std::string> names_of(
    const std::vector<std::pair<std::string, Tensor>>& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

}  // namespace ebb
