// ebb/autograd/rules/reduce/reduce.cpp -- gradients of sums and extrema.
#include "ebb/autograd/rules/reduce/reduce.h"

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/gradients/in_blocks.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/gather.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/nansum.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/scatter_add.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/rules/shape.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/ops/infer.h"

namespace ebb::autograd::rules {

Tensor with_reduced_dims(const Tensor& tensor, IntSpan shape, std::optional<IntSpan> dim,
                         bool keepdim) {
  if (keepdim || tensor.ndim() == 0) return tensor;  // a 0-d tensor broadcasts anyway
  const int ndim = static_cast<int>(shape.size());
  const ops::infer::DimMask mask = ops::infer::dim_mask("sum", dim, ndim);
  Shape kept(shape);
  for (int each = 0; each < ndim; ++each) {
    if ((mask >> each & 1) != 0) kept[each] = 1;
  }
  return reshape(tensor, kept);
}

int64_t reduced_count(IntSpan shape, std::optional<IntSpan> dim) {
  const int ndim = static_cast<int>(shape.size());
  const ops::infer::DimMask mask = ops::infer::dim_mask("mean", dim, ndim);
  int64_t count = 1;
  for (int each = 0; each < ndim; ++each) {
    if ((mask >> each & 1) != 0) count *= shape[static_cast<size_t>(each)];
  }
  return count;
}

namespace {

/// `weight` times 1 / n at each of the n elements that equal their group's result, 0 elsewhere.
/// Those shares are constants, like the indices of a sort.
Tensor along_shares(const Tensor& weight, const Tensor& input, const Tensor& out,
                    std::optional<IntSpan> dim) {
  Tensor is_chosen, count;
  {
    const NoGradGuard guard;
    is_chosen = in_blocks(
        [](const Tensor& x, const Tensor& result) {
          // A result that is NaN belongs to the elements that are.
          return where(eq(result, result), eq(x, result), eq(eq(x, x), false));
        },
        input, out);
    count = sum(is_chosen, dim, true);
  }
  const DType dtype = input.dtype(), wide = widened(dtype);
  return in_blocks(
      [&](const Tensor& w, const Tensor& chosen, const Tensor& n) {
        return narrowed(mul(w, div(cast(chosen, wide), n)), dtype);
      },
      weight, is_chosen, count);
}

/// `tensor` with a size of 1 at `dim`, unless it has it already or everything is 0-d.
Tensor with_dim(const Tensor& tensor, int64_t dim, bool keepdim, int ndim) {
  if (keepdim || ndim == 0) return tensor;
  return unsqueeze(tensor, normalize_dim("max", dim, ndim));
}

}  // namespace

Tensor sum_grad(const Tensor& grad, IntSpan shape, std::optional<IntSpan> dim, bool keepdim) {
  return expand(with_reduced_dims(grad, shape, dim, keepdim), shape);
}

Tensor mean_of_numbers(const Tensor& input, std::optional<IntSpan> dim, bool keepdim,
                       std::optional<DType> dtype) {
  const DType own = dtype.value_or(input.dtype()), wide = widened(own);
  const Tensor total = nansum(input, dim, keepdim, wide == input.dtype() ? dtype : wide);
  return narrowed(div(total, sum(eq(input, input), dim, keepdim)), own);
}

Tensor mean_grad(const Tensor& grad, IntSpan shape, std::optional<IntSpan> dim, bool keepdim) {
  const int64_t count = reduced_count(shape, dim);
  // Of nothing: there is no element that a gradient could go to.
  const Tensor share = count == 0 ? grad : div(grad, count);
  return sum_grad(share, shape, dim, keepdim);
}

Tensor extremum_grad(const Tensor& grad, const Tensor& input, const Tensor& out,
                     std::optional<IntSpan> dim, bool keepdim) {
  const IntSpan shape = input.sizes();
  return along_shares(with_reduced_dims(grad, shape, dim, keepdim), input,
                      with_reduced_dims(out, shape, dim, keepdim), dim);
}

Tensor extremum_jvp(const Tensor& tangent, const Tensor& input, const Tensor& out,
                    std::optional<IntSpan> dim, bool keepdim) {
  const Tensor kept = with_reduced_dims(out, input.sizes(), dim, keepdim);
  return sum(along_shares(tangent, input, kept, dim), dim, keepdim);
}

Tensor at_index_grad(const Tensor& grad, const Tensor& indices, IntSpan shape, int64_t dim,
                     bool keepdim) {
  const int ndim = static_cast<int>(shape.size());
  return scatter_add(zeros_to_copy(shape, grad.dtype(), grad.device()), dim,
                     with_dim(indices, dim, keepdim, ndim), with_dim(grad, dim, keepdim, ndim));
}

Tensor at_index_jvp(const Tensor& tangent, const Tensor& indices, int64_t dim, bool keepdim) {
  const Tensor index = with_dim(indices, dim, keepdim, tangent.ndim());
  return reshape(gather(tangent, dim, index), indices.sizes());
}

}  // namespace ebb::autograd::rules
