// ebb/autograd/rules/moments.cpp -- gradients of variances, norms and logsumexp.
//
// Where a formula would divide by 0 the divisor is replaced by 1 and the quotient masked: neither
// the gradient nor its own gradients meet 0 / 0 then.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/greater.h"
#include "ebb/autograd/ops/less.h"
#include "ebb/autograd/ops/log.h"
#include "ebb/autograd/ops/mean.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/mul0.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/ones_like.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/ops/zeros_like.h"
#include "ebb/autograd/rules/reduce.h"

namespace ebb::autograd::rules {
namespace {

/// Quotients by the result are 0 where the divisor was, and so is how they change.
Tensor with_infinity_for_zeros(const Tensor& divisor) {
  return where(eq(divisor, 0), std::numeric_limits<double>::infinity(), divisor);
}

Tensor with_ones_for_zeros(const Tensor& divisor) { return where(eq(divisor, 0), 1, divisor); }

/// Half types in float32: their means, powers and quotients are off by as much as what is left of
/// them in the end.
Tensor widened(const Tensor& x) { return is_half(x.dtype()) ? cast(x, DType::float32) : x; }

/// input - mean, times 2 / divisor of the variance.
Tensor var_slopes(const Tensor& input, std::optional<IntSpan> dim, double correction) {
  const double count = static_cast<double>(reduced_count(input.sizes(), dim));
  const Tensor wide = widened(input);
  return mul(sub(wide, mean(wide, dim, true)), 2.0 / std::max(0.0, count - correction));
}

Tensor std_slopes(const Tensor& input, const Tensor& kept, std::optional<IntSpan> dim,
                  double correction) {
  const Tensor half = div(var_slopes(input, dim, correction), with_ones_for_zeros(mul(kept, 2)));
  return where(eq(kept, 0), 0, half);
}

Tensor magnitude(const Tensor& x) { return where(less(x, 0), neg(x), x); }
Tensor sign_of(const Tensor& x) {
  return sub(cast(greater(x, 0), x.dtype()), cast(less(x, 0), x.dtype()));
}

/// sign(x) (|x| / norm)^(p - 1), 0 where x is.
Tensor power_slopes(const Tensor& input, const Tensor& kept, double p) {
  const Tensor ratio = div(magnitude(widened(input)), with_ones_for_zeros(kept));
  const Tensor is_zero = eq(input, 0);
  const Tensor power = exp(mul(log(where(is_zero, 1, ratio)), p - 1));
  return where(is_zero, 0, mul(sign_of(input), power));
}

/// The slopes of the norm; `kept` is the norm with the reduced dims.
Tensor norm_slopes(const Tensor& input, const Tensor& kept, double p, std::optional<IntSpan> dim) {
  if (p == 0) return zeros_like(input);
  if (p == 1) return sign_of(input);
  if (p == 2) return div(input, with_infinity_for_zeros(kept));
  if (!std::isinf(p)) return power_slopes(input, kept, p);
  const Tensor share =
      extremum_grad(ones_like(kept), magnitude(detach(input)), detach(kept), dim, true);
  return mul(sign_of(input), share);
}

Tensor as_input(const Tensor& input, const Tensor& out) {
  return input.dtype() == out.dtype() ? input : cast(input, out.dtype());
}

/// The share of each element: exp(input - out).
Tensor softmax_over(const Tensor& input, const Tensor& kept) {
  // Nothing but -inf: all shares are 0.
  const Tensor finite = where(eq(kept, -std::numeric_limits<double>::infinity()), 0, kept);
  return exp(sub(input, finite));
}

}  // namespace

Tensor var_grad(const Tensor& grad, const Tensor& input, std::optional<IntSpan> dim,
                double correction, bool keepdim) {
  return mul0(with_reduced_dims(grad, input.sizes(), dim, keepdim),
              var_slopes(input, dim, correction));
}

Tensor var_jvp(const Tensor& tangent, const Tensor& input, std::optional<IntSpan> dim,
               double correction, bool keepdim) {
  return sum(mul0(tangent, var_slopes(input, dim, correction)), dim, keepdim);
}

Tensor std_grad(const Tensor& grad, const Tensor& input, const Tensor& out,
                std::optional<IntSpan> dim, double correction, bool keepdim) {
  const Tensor kept = with_reduced_dims(out, input.sizes(), dim, keepdim);
  return mul0(with_reduced_dims(grad, input.sizes(), dim, keepdim),
              std_slopes(input, kept, dim, correction));
}

Tensor std_jvp(const Tensor& tangent, const Tensor& input, const Tensor& out,
               std::optional<IntSpan> dim, double correction, bool keepdim) {
  const Tensor kept = with_reduced_dims(out, input.sizes(), dim, keepdim);
  return sum(mul0(tangent, std_slopes(input, kept, dim, correction)), dim, keepdim);
}

Tensor norm_grad(const Tensor& grad, const Tensor& input, const Tensor& out, double p,
                 std::optional<IntSpan> dim, bool keepdim) {
  const Tensor kept = with_reduced_dims(out, input.sizes(), dim, keepdim);
  return mul0(with_reduced_dims(grad, input.sizes(), dim, keepdim),
              norm_slopes(as_input(input, out), kept, p, dim));
}

Tensor norm_jvp(const Tensor& tangent, const Tensor& input, const Tensor& out, double p,
                std::optional<IntSpan> dim, bool keepdim) {
  const Tensor kept = with_reduced_dims(out, input.sizes(), dim, keepdim);
  return sum(mul0(tangent, norm_slopes(as_input(input, out), kept, p, dim)), dim, keepdim);
}

Tensor logsumexp_grad(const Tensor& grad, const Tensor& input, const Tensor& out, IntSpan dim,
                      bool keepdim) {
  const Tensor kept = with_reduced_dims(out, input.sizes(), dim, keepdim);
  return mul0(with_reduced_dims(grad, input.sizes(), dim, keepdim), softmax_over(input, kept));
}

Tensor logsumexp_jvp(const Tensor& tangent, const Tensor& input, const Tensor& out, IntSpan dim,
                     bool keepdim) {
  const Tensor kept = with_reduced_dims(out, input.sizes(), dim, keepdim);
  return sum(mul0(tangent, softmax_over(input, kept)), dim, keepdim);
}

}  // namespace ebb::autograd::rules
