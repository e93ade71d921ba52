// ebb/autograd/composites/linalg/vector.cpp -- lengths, angles and distances of vectors along a
// dim.
#include <vector>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/gradients/in_blocks.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operands/loss.h"
#include "ebb/autograd/operands/norm.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/abs.h"
#include "ebb/autograd/ops/amax.h"
#include "ebb/autograd/ops/broadcast_tensors.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/clamp_min.h"
#include "ebb/autograd/ops/cosine_similarity.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/frexp_exponent.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/ldexp.h"
#include "ebb/autograd/ops/less.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/norm.h"
#include "ebb/autograd/ops/normalize.h"
#include "ebb/autograd/ops/ones_like.h"
#include "ebb/autograd/ops/pairwise_distance.h"
#include "ebb/autograd/ops/sqrt.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/rules/widened.h"

namespace ebb {
namespace {

/// The power of two for each vector along `dim` that brings its elements below 1, if they are not:
/// then none of their powers leaves the range of the dtype, and no digit is lost.
Tensor shrinking(const Tensor& input, int64_t dim) {
  const NoGradGuard no_grad;
  const Tensor sizes = abs(detach(input));
  const Shape dims{dim};
  const Tensor top = sizes.size(dim) == 0 ? sum(sizes, dims, true) : amax(sizes, dims, true);
  const Tensor exponent = clamp_min(frexp_exponent(top), Scalar(0));
  return ldexp(ones_like(exponent), neg(exponent));
}

/// Each vector along `dim` over its p-norm, or over eps if that is larger; NaN stays. Quotients of
/// products of lengths would leave the range of the dtype long before.
Tensor direction_of(const Tensor& input, double p, int64_t dim, double eps) {
  const bool may_overflow = p > 0 && input.ndim() > 0;
  const Tensor scale = may_overflow ? shrinking(input, dim)
                                    : full({}, 1.0, real_type_of(input.dtype()), input.device());
  const Tensor vectors = input * scale;
  const Tensor sizes = is_complex(input.dtype()) ? abs(vectors) : vectors;
  const Tensor length =
      p == 2 ? sqrt(sum(sizes * sizes, IntSpan{dim}, true)) : norm(sizes, p, IntSpan{dim}, true);
  const Tensor least = scale * eps;
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
  std::vector<Tensor> both = {autograd::widened(x1), autograd::widened(x2)};
  // A length counts what is repeated along dim.
  if (x1.shape() != x2.shape()) both = broadcast_tensors(both);
  // A length of its own is of this dtype too.
  const DType common = promote(both[0].dtype(), both[1].dtype());
  const Tensor first = cast(both[0], common);
  const Tensor second = cast(both[1], common);
  const Tensor cosine =
      sum(direction_of(first, 2, dim, eps) * direction_of(second, 2, dim, eps), IntSpan{dim});
  const bool has_own_dtype = x1.dtype() == x2.dtype();
  return has_own_dtype ? cast(cosine, x1.dtype()) : cosine;
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  const autograd::operands::pairwise_distance call(x1, x2);
  const auto compute = [&](const Tensor& x1, const Tensor& x2) {
    const Tensor difference = x1 - x2 + eps;
    const bool is_real = !is_complex(difference.dtype());
    return norm(is_real ? difference : abs(difference), p, IntSpan{-1}, keepdim);
  };
  return autograd::through_float(compute, autograd::in_default_dtype(x1),
                                 autograd::in_default_dtype(x2));
}

}  // namespace ebb
