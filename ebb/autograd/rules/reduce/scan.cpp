// ebb/autograd/rules/reduce/scan.cpp -- running products, and running sums of exponentials.
//
// Both are made of shifted slices: after each round an element holds what twice as many elements up
// to it give. The gradients of those are exact with zeros and infinities, in every order.
#include "ebb/autograd/history/gradients/in_blocks.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operands/running.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/cumprod.h"
#include "ebb/autograd/ops/logaddexp.h"
#include "ebb/autograd/ops/logcumsumexp.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

/// What `join`, which is associative, makes of all elements up to each along `axis`.
Tensor scanned(Tensor result, int axis, Tensor (*join)(const Tensor&, const Tensor&)) {
  const int64_t count = result.ndim() == 0 ? 1 : result.size(axis);
  for (int64_t reach = 1; reach < count; reach *= 2) {
    const Tensor later = narrow(result, axis, reach, count - reach);
    const Tensor parts[] = {narrow(result, axis, 0, reach),
                            join(later, narrow(result, axis, 0, count - reach))};
    result = cat(parts, axis);
  }
  return result;
}

}  // namespace

Tensor cumprod(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  const autograd::CompositeCall call("cumprod", __builtin_return_address(0));
  ops::infer::check_defined("cumprod", "input", input);
  const int axis = normalize_dim("cumprod", dim, input);
  const DType natural = is_differentiable(input.dtype()) ? input.dtype() : DType::int64;
  const auto compute = [&](const Tensor& x) { return scanned(x, axis, &mul); };
  return autograd::through_float(compute, cast(input, dtype.value_or(natural)));
}

Tensor logcumsumexp(const Tensor& input, int64_t dim) {
  const autograd::operands::logcumsumexp call(input);
  const int axis = normalize_dim("logcumsumexp", dim, input);
  const auto compute = [&](const Tensor& x) { return scanned(clone(x), axis, &logaddexp); };
  return autograd::through_float(compute, input);
}

}  // namespace ebb
