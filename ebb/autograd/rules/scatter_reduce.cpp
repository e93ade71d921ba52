// ebb/autograd/rules/scatter_reduce.cpp -- gradients of products and extrema that an index puts
// together.
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/gather.h"
#include "ebb/autograd/ops/logical_and.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/ones_like.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/scatter_add.h"
#include "ebb/autograd/ops/scatter_prod.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/ops/zeros_like.h"
#include "ebb/autograd/rules/index.h"
#include "ebb/autograd/rules/widened.h"

namespace ebb::autograd::rules {
namespace {

/// What the index covers of src, in the shape of the index: a 0-d tensor counts as one of shape
/// [1].
Tensor covered(const Tensor& src, const Tensor& index) {
  Tensor part = src.ndim() == 0 && index.ndim() > 0 ? reshape(src, Shape{1}) : src;
  for (int dim = 0; dim < part.ndim(); ++dim) {
    const int64_t size = index.ndim() == 0 ? 1 : index.size(dim);
    if (part.size(dim) != size) part = narrow(part, dim, 0, size);
  }
  return index.ndim() == 0 && part.ndim() > 0 ? reshape(part, Shape()) : part;
}

/// The product of all others that go where each element of `part`, what the index covers, goes.
Tensor others(const Tensor& narrow_input, int64_t dim, const Tensor& index,
              const Tensor& narrow_part) {
  const Tensor input = widened(narrow_input), part = widened(narrow_part);
  const Tensor is_zero = eq(part, 0);
  const Tensor nonzero = where(is_zero, 1, part);
  const Tensor product = gather(scatter_prod(input, dim, index, nonzero), dim, index);
  const Tensor none = zeros_like(input, DType::int64);
  const Tensor zeros =
      gather(scatter_add(none, dim, index, cast(is_zero, DType::int64)), dim, index);
  // Without a zero the element itself is divided out; a single zero is the element itself.
  const Tensor divided = where(eq(zeros, 0), product / nonzero, 0);
  return where(logical_and(is_zero, eq(zeros, 1)), product, divided);
}

/// Who holds the extremum, and how many share it.
struct Sharers {
  Tensor input, src, count;
};

Sharers sharers(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& part,
                const Tensor& out) {
  const Tensor own = eq(input, out);
  const Tensor given = eq(part, gather(out, dim, index));
  const DType dtype = widened(out.dtype());
  return {own, given, scatter_add(cast(own, dtype), dim, index, cast(given, dtype))};
}

}  // namespace

Tensor scatter_prod_slope(const Tensor& input, int64_t dim, const Tensor& index,
                          const Tensor& src) {
  return scatter_prod(ones_like(widened(input)), dim, index, widened(src));
}

Tensor scatter_prod_grad_src(const Tensor& grad, const Tensor& input, int64_t dim,
                             const Tensor& index, const Tensor& src) {
  const Tensor factors = conj(others(input, dim, index, covered(src, index)));
  return with_zeros_around(gather(grad, dim, index) * factors, src.sizes());
}

Tensor scatter_prod_jvp_src(const Tensor& tangent, const Tensor& input, int64_t dim,
                            const Tensor& index, const Tensor& src) {
  const Tensor part = covered(src, index);
  const Tensor changes = covered(tangent, index) * others(input, dim, index, part);
  return scatter_add(zeros_like(widened(input)), dim, index, changes);
}

std::vector<Tensor> scatter_extremum_grads(const Tensor& grad, const Tensor& input, int64_t dim,
                                           const Tensor& index, const Tensor& src,
                                           const Tensor& out) {
  const Sharers who = sharers(input, dim, index, covered(src, index), out);
  const Tensor share = over_counts(grad, who.count);
  const Tensor used = where(who.src, gather(share, dim, index), 0);
  return {where(who.input, share, 0), with_zeros_around(used, src.sizes())};
}

std::vector<Tensor> scatter_extremum_jvp(const Tensor& input_tangent, const Tensor& src_tangent,
                                         const Tensor& input, int64_t dim, const Tensor& index,
                                         const Tensor& src, const Tensor& out) {
  const Sharers who = sharers(input, dim, index, covered(src, index), out);
  // Of half types in float32: sums of tangents may leave their range.
  const Tensor own = widened(input_tangent.defined() ? input_tangent : zeros_like(input));
  Tensor sum = where(who.input, own, 0);
  if (src_tangent.defined()) {
    sum = scatter_add(sum, dim, index, where(who.src, widened(covered(src_tangent, index)), 0));
  }
  return {narrowed(div(sum, who.count), out.dtype())};
}

}  // namespace ebb::autograd::rules
