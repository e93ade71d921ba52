// ebb/ops/impl/reduce/reduce_extrema.cpp -- where the largest and smallest elements are.
//
// Of no elements there is no largest one: every op here refuses them.
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/kernels/signatures.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/reduce/reduced_shape.h"
#include "ebb/ops/impl/reduce/reduction.h"

namespace ebb::ops::impl {

std::tuple<Tensor, Tensor> run_extremum(const char* op, const MaxDimTable& table,
                                        const Tensor& input, int64_t dim, bool keepdim) {
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

Tensor run_place(const char* op, const MaxDimTable& table, const Tensor& input,
                 std::optional<int64_t> dim, bool keepdim) {
  if (dim.has_value()) return std::get<1>(run_extremum(op, table, input, *dim, keepdim));
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

}  // namespace ebb::ops::impl
