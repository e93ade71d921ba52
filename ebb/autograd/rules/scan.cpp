// ebb/autograd/rules/scan.cpp -- running products.
//
// cumprod is made of products of shifted slices: after each round an element holds the product of
// twice as many elements up to it. The gradients of those are exact with zeros, in every order.
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/cumprod.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/infer.h"

namespace ebb {

Tensor cumprod(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  const autograd::CompositeCall call("cumprod", __builtin_return_address(0));
  ops::infer::check_defined("cumprod", "input", input);
  const int axis = normalize_dim("cumprod", dim, input);
  const DType natural = is_differentiable(input.dtype()) ? input.dtype() : DType::int64;
  const DType wanted = dtype.value_or(natural);
  Tensor product = cast(input, wanted);
  const int64_t count = input.ndim() == 0 ? 1 : input.size(axis);
  for (int64_t reach = 1; reach < count; reach *= 2) {
    const Tensor later = narrow(product, axis, reach, count - reach);
    const Tensor parts[] = {narrow(product, axis, 0, reach),
                            mul(later, narrow(product, axis, 0, count - reach))};
    product = cat(parts, axis);
  }
  return product;
}

}  // namespace ebb
