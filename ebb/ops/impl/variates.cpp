// ebb/ops/impl/variates.cpp -- checks, a part of the random sequence, the kernel.
//
// An element takes one counter, however many numbers it draws; see
// ebb/kernels/cpu/index/variates.h.
#include "ebb/ops/impl/variates.h"

#include <cmath>

#include "ebb/core/base/random.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/kernels/tables/binomial.h"
#include "ebb/kernels/tables/poisson.h"
#include "ebb/kernels/tables/standard_gamma.h"
#include "ebb/kernels/tables/standard_gamma_grad.h"
#include "ebb/ops/broadcast.h"
#include "ebb/ops/fallback.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/shape.h"
#include "ebb/ops/impl/stretched.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/random_part.h"
#include "ebb/ops/reduce.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

Tensor empty_like(const Tensor& input) {
  return ebb::empty(input.sizes(), input.dtype(), input.device());
}

/// Throws unless all values are from 0 to `most`; NaN passes, and gives NaN.
void check_range(const Tensor& values, double most, const char* complaint) {
  if (values.numel() == 0 || is_meta(values)) return;
  const Tensor once = without_repeats(values);
  const double low = ops::min(once).item<double>(), high = ops::max(once).item<double>();
  const bool is_finite = low > -INFINITY && high < INFINITY;
  if (std::isnan(low) || (is_finite && low >= 0 && high <= most)) return;
  throw ValueError(str(complaint, ", got values from ", low, " to ", high));
}

}  // namespace

Tensor poisson(const Tensor& input) {
  check_range(input, INFINITY, "poisson: rates must be finite and not negative");
  const Tensor dense = contiguous(input), out = empty_like(dense);
  const auto kernel = kernel_for("poisson", kernels::poisson_kernels, dense);
  kernel(context_of(dense), random_part(out), view_of(dense), view_of(out));
  return out;
}

Tensor binomial(const Tensor& count, const Tensor& prob) {
  check_range(count, INFINITY, "binomial: counts must be finite and not negative");
  check_range(prob, 1, "binomial: probabilities must be from 0 to 1");
  const Shape sizes = broadcast_operands("binomial", {"count", count}, {"prob", prob});
  const Tensor counts = contiguous(expand(count, sizes)), probs = contiguous(expand(prob, sizes));
  const Tensor out = empty_like(counts);
  const auto kernel = kernel_for("binomial", kernels::binomial_kernels, counts);
  kernel(context_of(counts), random_part(out), view_of(counts), view_of(probs), view_of(out));
  return out;
}

Tensor standard_gamma(const Tensor& input, bool is_log) {
  const Tensor dense = contiguous(input), out = empty_like(dense);
  const auto kernel = kernel_for("standard_gamma", kernels::standard_gamma_kernels, dense);
  kernel(context_of(dense), random_part(out), view_of(dense), is_log, view_of(out));
  return out;
}

Tensor standard_gamma_grad(const Tensor& input, const Tensor& sample, bool is_log) {
  if (!equal(input.sizes(), sample.sizes())) {
    throw ShapeError(str("standard_gamma_grad: input and sample need one shape, got ",
                         infer::describe(input), " and ", infer::describe(sample)));
  }
  const Tensor dense = contiguous(input), drawn = contiguous(sample), out = empty_like(dense);
  const auto kernel =
      kernel_for("standard_gamma_grad", kernels::standard_gamma_grad_kernels, dense);
  kernel(context_of(dense), view_of(dense), view_of(drawn), is_log, view_of(out));
  return out;
}

}  // namespace ebb::ops::impl
