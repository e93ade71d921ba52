// ebb/autograd/composites/vector.cpp -- lengths, angles and distances of vectors along a dim.
#include <vector>

#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operands/loss.h"
#include "ebb/autograd/operands/norm.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/abs.h"
#include "ebb/autograd/ops/broadcast_tensors.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/cosine_similarity.h"
#include "ebb/autograd/ops/norm.h"
#include "ebb/autograd/ops/normalize.h"
#include "ebb/autograd/ops/pairwise_distance.h"
#include "ebb/autograd/ops/sqrt.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/rules/widened.h"

namespace ebb {
namespace {

/// The p-norm of each vector along `dim`, or eps if that is larger.
Tensor length_of(const Tensor& input, double p, int64_t dim, bool keepdim, double eps) {
  if (is_complex(input.dtype())) return length_of(abs(input), p, dim, keepdim, eps);
  const Tensor length = p == 2 ? sqrt(sum(input * input, IntSpan{dim}, keepdim))
                               : norm(input, p, IntSpan{dim}, keepdim);
  return where(length > eps, length, eps);
}

}  // namespace

Tensor normalize(const Tensor& input, double p, int64_t dim, double eps) {
  const autograd::operands::normalize call(input);
  const Tensor wide = autograd::widened(input);
  return cast(wide / length_of(wide, p, dim, true, eps), input.dtype());
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  const autograd::operands::cosine_similarity call(x1, x2);
  std::vector<Tensor> both = {x1, x2};
  // A length counts what is repeated along dim.
  if (x1.shape() != x2.shape()) both = broadcast_tensors(both);
  const DType common = promote(x1.dtype(), x2.dtype());  // a length of its own is one of these too
  const Tensor first = autograd::widened(cast(both[0], common));
  const Tensor second = autograd::widened(cast(both[1], common));
  const Tensor product = sum(first * second, IntSpan{dim});
  const Tensor cosine =
      product / (length_of(first, 2, dim, false, eps) * length_of(second, 2, dim, false, eps));
  const bool has_own_dtype = x1.dtype() == x2.dtype();
  return has_own_dtype ? cast(cosine, x1.dtype()) : cosine;
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  const autograd::operands::pairwise_distance call(x1, x2);
  const Tensor difference = x1 - x2 + eps;
  const bool is_real = !is_complex(difference.dtype());
  return norm(is_real ? difference : abs(difference), p, IntSpan{-1}, keepdim);
}

}  // namespace ebb
