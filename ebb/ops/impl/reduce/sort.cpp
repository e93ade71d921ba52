// ebb/ops/impl/reduce/sort.cpp -- sorts and searches: checks, memory, then the kernel.
//
// A 0-d tensor counts as one of shape [1] here, as in PyTorch.
#include "ebb/ops/impl/reduce/sort.h"

#include <algorithm>
#include <cmath>

#include "ebb/core/tensor/tensor_name.h"
#include "ebb/kernels/signatures.h"
#include "ebb/kernels/tables/nth.h"
#include "ebb/kernels/tables/search.h"
#include "ebb/kernels/tables/sort.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/creation.h"
#include "ebb/ops/impl/reduce/reduced_shape.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

using Found = std::tuple<Tensor, Tensor>;

int64_t size_along(const Tensor& input, int axis) {
  return input.ndim() == 0 ? 1 : input.size(axis);
}

enum class Sorted { values_and_indices, indices };

/// The first `wanted` elements along `axis` of a sort; the values perhaps undefined.
Found first_in_order(const char* op, const Tensor& input, int axis, bool descending, int64_t wanted,
                     Sorted kind = Sorted::values_and_indices) {
  const auto kernel = kernel_for(op, kernels::sort_kernels, input);
  const Geometry from = at_least_1d(input);
  Geometry to = from;
  to.sizes[axis] = wanted;
  contiguous_strides(to.size_span(), to.strides);
  // With one wanted of a 0-d tensor the result is 0-d too.
  const IntSpan sizes = input.ndim() == 0 && wanted == 1 ? IntSpan() : to.size_span();
  const Tensor indices = empty(sizes, DType::int64, input.device());
  Tensor values;
  if (kind == Sorted::values_and_indices) values = empty(sizes, input.dtype(), input.device());
  void* const data = values.defined() ? values.data_ptr() : nullptr;
  kernel(context_of(input), from.over(input), axis, descending, to.over(data, input.dtype()),
         to.over(indices));
  return {values, indices};
}

Found nth(const char* op, const Tensor& input, int axis, int64_t position, bool nan_wins,
          bool keepdim) {
  const auto kernel = kernel_for(op, kernels::nth_kernels, input);
  const ReducedShape shape(input, infer::DimMask{1} << axis, keepdim);
  const Geometry from = at_least_1d(input);
  Geometry kept = shape.kept;
  if (kept.ndim == 0) kept.append(1, 1);
  const Tensor values = empty(shape.out.size_span(), input.dtype(), input.device());
  const Tensor indices = empty(shape.out.size_span(), DType::int64, input.device());
  kernel(context_of(input), from.over(input), axis, position, nan_wins, kept.over(values),
         kept.over(indices));
  return {values, indices};
}

}  // namespace

Found sort(const Tensor& input, int64_t dim, bool descending, bool) {
  const int axis = normalize_dim("sort", dim, input);
  return first_in_order("sort", input, axis, descending, size_along(input, axis));
}

Tensor argsort(const Tensor& input, int64_t dim, bool descending, bool) {
  const int axis = normalize_dim("argsort", dim, input);
  return std::get<1>(
      first_in_order("argsort", input, axis, descending, size_along(input, axis), Sorted::indices));
}

Found topk(const Tensor& input, int64_t k, int64_t dim, bool largest, bool) {
  const int axis = normalize_dim("topk", dim, input);
  const int64_t size = size_along(input, axis);
  if (k < 0 || k > size) throw ValueError(str("topk: k must be from 0 to ", size, ", got ", k));
  return first_in_order("topk", input, axis, largest, k);
}

Found kthvalue(const Tensor& input, int64_t k, int64_t dim, bool keepdim) {
  const int axis = normalize_dim("kthvalue", dim, input);
  const int64_t size = size_along(input, axis);
  if (k < 1 || k > size) throw ValueError(str("kthvalue: k must be from 1 to ", size, ", got ", k));
  return nth("kthvalue", input, axis, k - 1, false, keepdim);
}

Tensor median(const Tensor& input) {
  if (input.numel() == 0) {
    if (is_floating(input.dtype())) return full({}, std::nan(""), input.dtype(), input.device());
    throw ValueError(str("median: needs at least one element, got ", infer::describe(input)));
  }
  const Tensor dense = contiguous(input);
  Geometry line, one;
  line.append(dense.numel(), 1);
  one.append(1, 1);
  const Tensor value = empty(IntSpan(), input.dtype(), input.device());
  const Tensor index = empty(IntSpan(), DType::int64, input.device());
  const auto kernel = kernel_for("median", kernels::nth_kernels, input);
  kernel(context_of(input), line.over(dense), 0, (dense.numel() - 1) / 2, true, one.over(value),
         one.over(index));
  return value;
}

Found median(const Tensor& input, int64_t dim, bool keepdim) {
  const int axis = normalize_dim("median", dim, input);
  const int64_t size = size_along(input, axis);
  if (size == 0) {
    throw IndexError(
        str("median: dim ", axis, " needs at least one element, got ", infer::describe(input)));
  }
  return nth("median", input, axis, (size - 1) / 2, true, keepdim);
}

Tensor search_in_order(const Tensor& sorted_sequence, const Tensor& input, bool out_int32,
                       bool right) {
  constexpr const char* op = "search_in_order";
  infer::check_ndim(op, "sorted_sequence", sorted_sequence, 1, kMaxDims);
  infer::check_same_dtype(op, "sorted_sequence", sorted_sequence, "input", input);
  infer::check_same_device(op, sorted_sequence, input);
  const int lead = sorted_sequence.ndim() - 1;
  bool fits = lead == 0 || input.ndim() == lead + 1;
  for (int dim = 0; fits && dim < lead; ++dim) {
    fits = input.size(dim) == sorted_sequence.size(dim);
  }
  if (!fits) {
    throw ShapeError(str(op, ": sorted_sequence needs one dim or the leading sizes of input, got ",
                         infer::describe(sorted_sequence), " and ", infer::describe(input)));
  }
  const Tensor lines = contiguous(sorted_sequence), values = contiguous(input);
  const Tensor out = empty(input.sizes(), DType::int64, input.device());
  const int64_t count = sorted_sequence.size(-1);
  const int64_t width = lead == 0 ? values.numel() : values.size(-1);
  if (out.numel() != 0) {
    Geometry line_shape, value_shape;
    line_shape.append(values.numel() / width, count);
    line_shape.append(count, 1);
    value_shape.append(values.numel() / width, width);
    value_shape.append(width, 1);
    const auto kernel = kernel_for(op, kernels::search_kernels, input);
    kernel(context_of(input), line_shape.over(lines), value_shape.over(values), right,
           value_shape.over(out));
  }
  return out_int32 ? as_dtype(out, DType::int32) : out;
}

}  // namespace ebb::ops::impl
