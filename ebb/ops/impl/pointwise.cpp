// ebb/ops/impl/pointwise.cpp -- pointwise ops made of several kernels.
#include "ebb/ops/impl/pointwise.h"

#include "ebb/ops/compare.h"
#include "ebb/ops/pointwise.h"

namespace ebb::ops::impl {

Tensor mul0(const Tensor& input, const Tensor& other) {
  const Tensor product = mul(input, other);
  // A bool is below every dtype, so the comparison does not widen.
  const Tensor is_zero = eq(input, Scalar(false));
  return where(is_zero, input, product);
}

}  // namespace ebb::ops::impl
