// ebb/autograd/composites/vector.cpp -- lengths, angles and distances of vectors along a dim.
#include <limits>
#include <vector>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operands/loss.h"
#include "ebb/autograd/operands/norm.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/abs.h"
#include "ebb/autograd/ops/broadcast_tensors.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/clamp_min.h"
#include "ebb/autograd/ops/cosine_similarity.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/frexp_exponent.h"
#include "ebb/autograd/ops/ldexp.h"
#include "ebb/autograd/ops/less.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/norm.h"
#include "ebb/autograd/ops/normalize.h"
#include "ebb/autograd/ops/ones_like.h"
#include "ebb/autograd/ops/pairwise_distance.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/rules/widened.h"

namespace ebb {
namespace {

/// The power of two for each vector along `dim` that brings its elements below 1, if they are not:
/// then none of their powers leaves the range of the dtype, and no digit is lost.
Tensor shrinking(const Tensor& sizes, int64_t dim) {
  const NoGradGuard no_grad;
  const double order = sizes.size(dim) == 0 ? 1 : std::numeric_limits<double>::infinity();
  const Tensor top = norm(sizes, order, IntSpan{dim}, true);
  const Tensor exponent = clamp_min(frexp_exponent(top), Scalar(0));
  return ldexp(ones_like(exponent), neg(exponent));
}

/// Each vector along `dim` over its p-norm, or over eps if that is larger; NaN stays. Quotients of
/// products of lengths would leave the range of the dtype long before.
Tensor direction_of(const Tensor& input, double p, int64_t dim, double eps) {
  const auto sizes_of = [](const Tensor& of) { return is_complex(of.dtype()) ? abs(of) : of; };
  if (!(p > 0) || input.ndim() == 0) {
    const Tensor length = norm(sizes_of(input), p, IntSpan{dim}, true);
    return input / where(length < eps, eps, length);
  }
  const Tensor scale = shrinking(sizes_of(detach(input)), dim), least = scale * eps;
  const Tensor vectors = input * scale;
  const Tensor length = norm(sizes_of(vectors), p, IntSpan{dim}, true);
  return vectors / where(less(length, least), least, length);
}

}  // namespace

Tensor normalize(const Tensor& input, double p, int64_t dim, double eps) {
  const autograd::operands::normalize call(input);
  const Tensor wide = autograd::widened(input);
  return cast(direction_of(wide, p, dim, eps), input.dtype());
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  const autograd::operands::cosine_similarity call(x1, x2);
  std::vector<Tensor> both = {x1, x2};
  // A length counts what is repeated along dim.
  if (x1.shape() != x2.shape()) both = broadcast_tensors(both);
  const DType common = promote(x1.dtype(), x2.dtype());  // a length of its own is one of these too
  const Tensor first = autograd::widened(cast(both[0], common));
  const Tensor second = autograd::widened(cast(both[1], common));
  const Tensor cosine =
      sum(direction_of(first, 2, dim, eps) * direction_of(second, 2, dim, eps), IntSpan{dim});
  const bool has_own_dtype = x1.dtype() == x2.dtype();
  return has_own_dtype ? cast(cosine, x1.dtype()) : cosine;
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  const autograd::operands::pairwise_distance call(x1, x2);
  const Tensor difference = autograd::in_default_dtype(x1) - autograd::in_default_dtype(x2) + eps;
  const bool is_real = !is_complex(difference.dtype());
  return norm(is_real ? difference : abs(difference), p, IntSpan{-1}, keepdim);
}

}  // namespace ebb
