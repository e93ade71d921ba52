// ebb/autograd/rules/reduce/moments.cpp -- gradients of variances, norms and logsumexp.
//
// Where a formula would divide by 0 the divisor is replaced by 1 and the quotient masked: neither
// the gradient nor its own gradients meet 0 / 0 then.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ebb/autograd/history/gradients/in_blocks.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/greater.h"
#include "ebb/autograd/ops/less.h"
#include "ebb/autograd/ops/log.h"
#include "ebb/autograd/ops/logical_or.h"
#include "ebb/autograd/ops/mean.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/mul0.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/norm.h"
#include "ebb/autograd/ops/ones_like.h"
#include "ebb/autograd/ops/real.h"
#include "ebb/autograd/ops/softmax.h"
#include "ebb/autograd/ops/std.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/ops/zeros_like.h"
#include "ebb/autograd/rules/reduce/reduce.h"
#include "ebb/autograd/rules/widened.h"

namespace ebb::autograd::rules {
namespace {

/// Quotients by the result are 0 where the divisor was, and so is how they change.
Tensor with_infinity_for_zeros(const Tensor& divisor) {
  return where(eq(divisor, 0), std::numeric_limits<double>::infinity(), divisor);
}

Tensor with_ones_for_zeros(const Tensor& divisor) { return where(eq(divisor, 0), 1, divisor); }

/// The dtype to compute in, if it is not that of the input.
std::optional<DType> wide_dtype(const Tensor& input) {
  return is_half(input.dtype()) ? std::optional(DType::float32) : std::nullopt;
}

/// The slopes of the variance: input - mean, times 2 / divisor.
struct VarSlopes {
  Tensor mean;
  double factor;

  VarSlopes(const Tensor& input, std::optional<IntSpan> dim, double correction)
      : mean(ebb::mean(input, dim, true, wide_dtype(input))) {
    const double count = static_cast<double>(reduced_count(input.sizes(), dim));
    factor = 2.0 / std::max(0.0, count - correction);
  }
  Tensor at(const Tensor& input, const Tensor& its_mean) const {
    return mul(sub(widened(input), its_mean), factor);
  }
};

/// `weight` times the slopes of the variance.
Tensor along_var(const Tensor& weight, const Tensor& input, std::optional<IntSpan> dim,
                 double correction) {
  const VarSlopes slopes(input, dim, correction);
  return in_blocks(
      [&](const Tensor& w, const Tensor& x, const Tensor& m) { return mul0(w, slopes.at(x, m)); },
      weight, input, slopes.mean);
}

/// `weight` times the slopes of the deviation; `kept` is the deviation with the reduced dims.
Tensor along_std(const Tensor& weight, const Tensor& input, const Tensor& kept,
                 std::optional<IntSpan> dim, double correction) {
  const VarSlopes slopes(input, dim, correction);
  return in_blocks(
      [&](const Tensor& w, const Tensor& x, const Tensor& m, const Tensor& deviation) {
        const Tensor half = div(slopes.at(x, m), with_ones_for_zeros(mul(deviation, 2)));
        return mul0(w, where(eq(deviation, 0), 0, half));
      },
      weight, input, slopes.mean, kept);
}

Tensor magnitude(const Tensor& x) { return where(less(x, 0), neg(x), x); }
Tensor sign_of(const Tensor& x) {
  return sub(cast(greater(x, 0), x.dtype()), cast(less(x, 0), x.dtype()));
}

/// sign(x) (|x| / norm)^(p - 1), 0 where x is, and beside an element 0 that alone makes a norm of
/// negative order.
Tensor power_slopes(const Tensor& input, const Tensor& kept, double p) {
  const Tensor ratio = div(magnitude(widened(input)), with_ones_for_zeros(kept));
  const Tensor is_flat = logical_or(eq(input, 0), eq(kept, 0));
  const Tensor power = exp(mul(log(where(is_flat, 1, ratio)), p - 1));
  return where(is_flat, 0, mul(sign_of(input), power));
}

Tensor as_input(const Tensor& input, const Tensor& out) {
  return input.dtype() == out.dtype() ? input : cast(input, out.dtype());
}

/// A deviation with the reduced dims. That of half numbers may be subnormal, and is made again.
Tensor kept_std(const Tensor& input, const Tensor& out, std::optional<IntSpan> dim,
                double correction, bool keepdim) {
  if (is_half(input.dtype())) return std(widened(input), dim, correction, true);
  return with_reduced_dims(out, input.sizes(), dim, keepdim);
}

/// The same of a norm.
Tensor kept_norm(const Tensor& input, const Tensor& out, double p, std::optional<IntSpan> dim,
                 bool keepdim) {
  if (is_half(input.dtype())) return norm(widened(input), p, dim, true);
  return with_reduced_dims(out, input.sizes(), dim, keepdim);
}

/// The slopes of a norm that each element knows from the norm alone.
Tensor norm_slopes(const Tensor& input, const Tensor& kept, double p) {
  if (p == 0) return zeros_like(input);
  if (p == 1) return sign_of(input);
  if (p == 2) return div(input, with_infinity_for_zeros(kept));
  return power_slopes(input, kept, p);
}

/// `weight` times the slopes of the norm; `kept` is the norm with the reduced dims.
Tensor along_norm(const Tensor& weight, const Tensor& input, const Tensor& kept, double p,
                  std::optional<IntSpan> dim) {
  if (std::isinf(p)) {
    const Tensor size = magnitude(as_input(detach(input), kept));
    const Tensor share = extremum_grad(ones_like(kept), size, detach(kept), dim, true);
    return mul0(weight, mul(sign_of(as_input(input, kept)), share));
  }
  return in_blocks(
      [&](const Tensor& w, const Tensor& x, const Tensor& norm) {
        return mul0(w, norm_slopes(as_input(x, norm), norm, p));
      },
      weight, input, kept);
}

/// `weight` times the share of each element: exp(input - out).
Tensor along_softmax(const Tensor& weight, const Tensor& input, const Tensor& kept, IntSpan dim) {
  if (is_half(input.dtype()) && dim.size() == 1) {
    // The difference from a rounded result would be a share that is off by as many percent.
    const Tensor is_nothing = eq(kept, -std::numeric_limits<double>::infinity());
    const Tensor shares = softmax(where(is_nothing, 0, input), dim[0], DType::float32);
    return mul0(weight, where(is_nothing, 0, shares));
  }
  return in_blocks(
      [](const Tensor& w, const Tensor& x, const Tensor& total) {
        // Nothing but -inf: all shares are 0.
        const Tensor is_nothing = eq(real(total), -std::numeric_limits<double>::infinity());
        return mul0(w, conj(exp(sub(widened(x), where(is_nothing, 0, total)))));
      },
      weight, input, kept);
}

}  // namespace

Tensor var_grad(const Tensor& grad, const Tensor& input, std::optional<IntSpan> dim,
                double correction, bool keepdim) {
  return along_var(with_reduced_dims(grad, input.sizes(), dim, keepdim), input, dim, correction);
}

Tensor var_jvp(const Tensor& tangent, const Tensor& input, std::optional<IntSpan> dim,
               double correction, bool keepdim) {
  return sum(real(along_var(conj(tangent), input, dim, correction)), dim, keepdim);
}

Tensor std_grad(const Tensor& grad, const Tensor& input, const Tensor& out,
                std::optional<IntSpan> dim, double correction, bool keepdim) {
  const Tensor kept = kept_std(input, out, dim, correction, keepdim);
  return along_std(with_reduced_dims(grad, input.sizes(), dim, keepdim), input, kept, dim,
                   correction);
}

Tensor std_jvp(const Tensor& tangent, const Tensor& input, const Tensor& out,
               std::optional<IntSpan> dim, double correction, bool keepdim) {
  const Tensor kept = kept_std(input, out, dim, correction, keepdim);
  return sum(real(along_std(conj(tangent), input, kept, dim, correction)), dim, keepdim);
}

Tensor norm_grad(const Tensor& grad, const Tensor& input, const Tensor& out, double p,
                 std::optional<IntSpan> dim, bool keepdim) {
  const Tensor kept = kept_norm(input, out, p, dim, keepdim);
  return along_norm(with_reduced_dims(grad, input.sizes(), dim, keepdim), input, kept, p, dim);
}

Tensor norm_jvp(const Tensor& tangent, const Tensor& input, const Tensor& out, double p,
                std::optional<IntSpan> dim, bool keepdim) {
  const Tensor kept = kept_norm(input, out, p, dim, keepdim);
  return sum(along_norm(tangent, input, kept, p, dim), dim, keepdim);
}

Tensor logsumexp_grad(const Tensor& grad, const Tensor& input, const Tensor& out, IntSpan dim,
                      bool keepdim) {
  const Tensor kept = with_reduced_dims(out, input.sizes(), dim, keepdim);
  return along_softmax(with_reduced_dims(grad, input.sizes(), dim, keepdim), input, kept, dim);
}

Tensor logsumexp_jvp(const Tensor& tangent, const Tensor& input, const Tensor& out, IntSpan dim,
                     bool keepdim) {
  const Tensor kept = with_reduced_dims(out, input.sizes(), dim, keepdim);
  return sum(conj(along_softmax(conj(tangent), input, kept, dim)), dim, keepdim);
}

}  // namespace ebb::autograd::rules
