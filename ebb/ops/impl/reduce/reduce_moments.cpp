// ebb/ops/impl/reduce/reduce_moments.cpp -- variances, norms and logsumexp: checks, then the
// kernel.
#include <cmath>

#include "ebb/kernels/signatures.h"
#include "ebb/kernels/tables/logsumexp.h"
#include "ebb/kernels/tables/norm.h"
#include "ebb/kernels/tables/std.h"
#include "ebb/kernels/tables/var.h"
#include "ebb/ops/compare.h"
#include "ebb/ops/impl/complex.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/reduce/reduce.h"
#include "ebb/ops/impl/reduce/reduced_shape.h"
#include "ebb/ops/impl/shape.h"
#include "ebb/ops/pointwise.h"
#include "ebb/ops/reduce.h"

namespace ebb::ops::impl {
namespace {

using VarTable = kernels::KernelTable<kernels::VarKernel>;

/// The variances of both parts, which add up.
Tensor complex_var(const char* op, const Tensor& input, std::optional<IntSpan> dim,
                   double correction, bool keepdim);

Tensor spread(const char* op, const VarTable& table, const Tensor& input,
              std::optional<IntSpan> dim, double correction, bool keepdim) {
  const infer::DimMask mask = infer::dim_mask(op, dim, input);
  if (is_complex(input.dtype())) {
    const Tensor total = complex_var(op, input, dim, correction, keepdim);
    return &table == &kernels::std_kernels ? ops::sqrt(total) : total;
  }
  const auto kernel = kernel_for(op, table, input);
  const ReducedShape shape(input, mask, keepdim);
  Tensor out = empty(shape.out.size_span(), input.dtype(), input.device());
  kernel(context_of(input), view_of(input), correction, shape.kept.over(out));
  return out;
}

Tensor complex_var(const char* op, const Tensor& input, std::optional<IntSpan> dim,
                   double correction, bool keepdim) {
  const VarTable& table = kernels::var_kernels;
  return ops::add(spread(op, table, real(input), dim, correction, keepdim),
                  spread(op, table, imag(input), dim, correction, keepdim));
}

/// log(sum(exp(input))) of complex numbers, the largest real part taken out.
Tensor complex_logsumexp(const Tensor& input, IntSpan dim, bool keepdim) {
  if (input.numel() == 0) return ops::log(ops::sum(input, dim, keepdim, std::nullopt));
  const Tensor top = ops::amax(real(input), dim, true);
  const Tensor level = ops::where(ops::isfinite(top), top, Scalar(0));
  const Tensor total = ops::sum(ops::exp(ops::sub(input, level)), dim, keepdim, std::nullopt);
  return ops::add(ops::log(total), reshape(level, total.sizes()));
}

/// `input` with the dims of the mask, which are several, as one last dim.
Tensor with_one_reduced_dim(const Tensor& input, infer::DimMask mask) {
  Geometry order, sizes;
  int64_t reduced = 1;
  for (int dim = 0; dim < input.ndim(); ++dim) {
    if ((mask >> dim & 1) != 0) continue;
    order.append(dim, 0);
    sizes.append(input.size(dim), 0);
  }
  for (int dim = 0; dim < input.ndim(); ++dim) {
    if ((mask >> dim & 1) == 0) continue;
    order.append(dim, 0);
    reduced *= input.size(dim);
  }
  sizes.append(reduced, 0);
  return reshape(permute(input, order.size_span()), sizes.size_span());
}

}  // namespace

Tensor var(const Tensor& input, std::optional<IntSpan> dim, double correction, bool keepdim) {
  return spread("var", kernels::var_kernels, input, dim, correction, keepdim);
}

Tensor std(const Tensor& input, std::optional<IntSpan> dim, double correction, bool keepdim) {
  return spread("std", kernels::std_kernels, input, dim, correction, keepdim);
}

Tensor norm(const Tensor& input, double p, std::optional<IntSpan> dim, bool keepdim,
            std::optional<DType> dtype) {
  if (dtype.has_value() && !is_floating(*dtype)) {
    throw DTypeError(str("norm: dtype must be floating, got ", *dtype));
  }
  const infer::DimMask mask = infer::dim_mask("norm", dim, input);
  if (p < 0 || std::isinf(p)) check_not_empty(str("norm: order ", p), input, mask);
  const Tensor source = as_dtype(input, dtype.value_or(input.dtype()));
  const auto kernel = kernel_for("norm", kernels::norm_kernels, source);
  const ReducedShape shape(source, mask, keepdim);
  Tensor out = empty(shape.out.size_span(), source.dtype(), source.device());
  kernel(context_of(source), view_of(source), p, shape.kept.over(out));
  return out;
}

Tensor logsumexp(const Tensor& input, IntSpan dim, bool keepdim) {
  const infer::DimMask mask = infer::dim_mask("logsumexp", dim, input);
  if (is_complex(input.dtype())) return complex_logsumexp(input, dim, keepdim);
  if (!is_differentiable(input.dtype()))
    return logsumexp(cast(input, default_dtype()), dim, keepdim);
  const auto kernel = kernel_for("logsumexp", kernels::logsumexp_kernels, input);
  const ReducedShape shape(input, mask, keepdim);
  const Tensor out = empty(shape.out.size_span(), input.dtype(), input.device());
  if ((mask & (mask - 1)) == 0) {  // one dim, or none of a 0-d tensor
    Geometry from(input), to = shape.kept;
    if (from.ndim == 0) from.append(1, 1);
    if (to.ndim == 0) to.append(1, 1);
    int axis = 0;
    while (mask != 0 && (mask >> axis & 1) == 0) ++axis;
    kernel(context_of(input), from.over(input), axis, to.over(out));
    return out;
  }
  const Tensor lines = with_one_reduced_dim(input, mask);
  Geometry to(lines);
  to.sizes[to.ndim - 1] = 1;
  contiguous_strides(to.size_span(), to.strides);
  kernel(context_of(input), view_of(lines), lines.ndim() - 1, to.over(out));
  return out;
}

}  // namespace ebb::ops::impl
