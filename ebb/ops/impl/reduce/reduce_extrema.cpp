// ebb/ops/impl/reduce/reduce_extrema.cpp -- where the largest and smallest elements are.
//
// Of no elements there is no largest one: every op here refuses them.
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/kernels/signatures.h"
#include "ebb/kernels/tables/max_dim.h"
#include "ebb/kernels/tables/min_dim.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/reduce/reduce.h"
#include "ebb/ops/impl/reduce/reduced_shape.h"

namespace ebb::ops::impl {
namespace {

using MaxDimTable = kernels::KernelTable<kernels::MaxDimKernel>;

std::tuple<Tensor, Tensor> along(const char* op, const MaxDimTable& table, const Tensor& input,
                                 int64_t dim, bool keepdim) {
  const int axis = normalize_dim(op, dim, input);
  const auto kernel = kernel_for(op, table, input);
  Geometry source(input);
  if (source.ndim == 0) source.append(1, 1);
  if (source.sizes[axis] == 0) {
    throw IndexError(
        str(op, ": dim ", axis, " needs at least one element, got ", infer::describe(input)));
  }
  const ReducedShape shape(input, infer::DimMask{1} << axis, keepdim);
  Geometry kept = shape.kept;
  if (kept.ndim == 0) kept.append(1, 1);
  const Tensor values = empty(shape.out.size_span(), input.dtype(), input.device());
  const Tensor indices = empty(shape.out.size_span(), DType::int64, input.device());
  kernel(context_of(input), source.over(input), axis, kept.over(values), kept.over(indices));
  return {values, indices};
}

/// The index alone, along `dim` or in the elements one after the other.
Tensor where_found(const char* op, const MaxDimTable& table, const Tensor& input,
                   std::optional<int64_t> dim, bool keepdim) {
  if (dim.has_value()) return std::get<1>(along(op, table, input, *dim, keepdim));
  if (input.numel() == 0) {
    throw ValueError(str(op, ": needs at least one element, got ", infer::describe(input)));
  }
  const Tensor dense = contiguous(input);
  Geometry line, one;
  line.append(dense.numel(), 1);
  one.append(1, 1);
  const ReducedShape shape(input, infer::dim_mask(op, {}, input), keepdim);
  const Tensor value = empty(shape.out.size_span(), input.dtype(), input.device());
  const Tensor index = empty(shape.out.size_span(), DType::int64, input.device());
  const auto kernel = kernel_for(op, table, input);
  kernel(context_of(input), line.over(dense), 0, one.over(value), one.over(index));
  return index;
}

}  // namespace

std::tuple<Tensor, Tensor> max(const Tensor& input, int64_t dim, bool keepdim) {
  return along("max", kernels::max_dim_kernels, input, dim, keepdim);
}
std::tuple<Tensor, Tensor> min(const Tensor& input, int64_t dim, bool keepdim) {
  return along("min", kernels::min_dim_kernels, input, dim, keepdim);
}

Tensor argmax(const Tensor& input, std::optional<int64_t> dim, bool keepdim) {
  return where_found("argmax", kernels::max_dim_kernels, input, dim, keepdim);
}
Tensor argmin(const Tensor& input, std::optional<int64_t> dim, bool keepdim) {
  return where_found("argmin", kernels::min_dim_kernels, input, dim, keepdim);
}

}  // namespace ebb::ops::impl
