// ebb/ops/impl/reduce.cpp -- sum, mean and max: which dims go, what dtype comes out, then the
// kernel.
//
// A kernel sees a result that has all dims of the input, of size 1 where reduced; the tensor itself
// may leave them out, which changes no memory.
#include "ebb/ops/impl/reduce.h"

#include "ebb/kernels/signatures.h"
#include "ebb/kernels/tables.h"
#include "ebb/ops/impl/copy.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

/// The result's sizes as kernels see them and as users do.
struct ReducedShape {
  Geometry kept;  // a size of 1 for each reduced dim
  Geometry out;   // the sizes only

  ReducedShape(const Tensor& input, infer::DimMask mask, bool keepdim) {
    const TensorImpl& impl = *input.impl();
    kept.ndim = impl.ndim;
    for (int dim = 0; dim < impl.ndim; ++dim) {
      const bool is_reduced = (mask >> dim & 1) != 0;
      kept.sizes[dim] = is_reduced ? 1 : impl.sizes()[dim];
      if (!is_reduced || keepdim) out.append(kept.sizes[dim], 0);
    }
    contiguous_strides(kept.size_span(), kept.strides);
  }
};

using ReduceTable = kernels::KernelTable<kernels::ReduceKernel>;

Tensor reduce(const char* op, const ReduceTable& table, const Tensor& input, infer::DimMask mask,
              bool keepdim) {
  const auto kernel = kernel_for(op, table, input);
  const ReducedShape shape(input, mask, keepdim);
  Tensor out = empty(shape.out.size_span(), input.dtype(), input.device());
  kernel(context_of(input), view_of(input), shape.kept.over(out));
  return out;
}

}  // namespace

Tensor sum(const Tensor& input, std::optional<IntSpan> dim, bool keepdim,
           std::optional<DType> dtype) {
  const infer::DimMask mask = infer::dim_mask("sum", dim, input.ndim());
  const DType natural = is_differentiable(input.dtype()) ? input.dtype() : DType::int64;
  const DType wanted = dtype.value_or(natural);
  // There are kernels for int64 and up; narrower results are sums in int64, cut at the end.
  const DType computed = is_differentiable(wanted) ? wanted : DType::int64;
  if (input.dtype() == wanted && wanted == computed) [[likely]] {
    return reduce("sum", kernels::sum_kernels, input, mask, keepdim);
  }
  const Tensor out = reduce("sum", kernels::sum_kernels, as_dtype(input, computed), mask, keepdim);
  return as_dtype(out, wanted);
}

Tensor mean(const Tensor& input, std::optional<IntSpan> dim, bool keepdim,
            std::optional<DType> dtype) {
  const DType wanted = dtype.value_or(input.dtype());
  if (!is_differentiable(wanted)) {
    throw DTypeError(str("mean: needs a floating or complex dtype, got ", infer::describe(input),
                         dtype.has_value() ? str(" and dtype ", wanted) : std::string(),
                         "\nhint: pass dtype=float32"));
  }
  const infer::DimMask mask = infer::dim_mask("mean", dim, input.ndim());
  return reduce("mean", kernels::mean_kernels, as_dtype(input, wanted), mask, keepdim);
}

Tensor max(const Tensor& input) {
  if (input.numel() == 0) {
    throw ValueError(str("max: needs at least one element, got ", infer::describe(input)));
  }
  const infer::DimMask all = infer::dim_mask("max", {}, input.ndim());
  return reduce("max", kernels::amax_kernels, input, all, false);
}

std::tuple<Tensor, Tensor> max(const Tensor& input, int64_t dim, bool keepdim) {
  const int axis = normalize_dim("max", dim, input.ndim());
  const auto kernel = kernel_for("max", kernels::max_dim_kernels, input);
  Geometry source(input);
  if (source.ndim == 0) source.append(1, 1);
  if (source.sizes[axis] == 0) {
    throw IndexError(
        str("max: dim ", axis, " needs at least one element, got ", infer::describe(input)));
  }
  const ReducedShape shape(input, infer::DimMask{1} << axis, keepdim);
  Geometry kept = shape.kept;
  if (kept.ndim == 0) kept.append(1, 1);
  const Tensor values = empty(shape.out.size_span(), input.dtype(), input.device());
  const Tensor indices = empty(shape.out.size_span(), DType::int64, input.device());
  kernel(context_of(input), source.over(input), axis, kept.over(values), kept.over(indices));
  return {values, indices};
}

}  // namespace ebb::ops::impl
