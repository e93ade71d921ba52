// ebb/autograd/composites/sampled.cpp -- differences and integrals of functions known at points.
#include "ebb/autograd/operands/sampled.h"

#include "ebb/autograd/history/gradients/in_blocks.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/cumsum.h"
#include "ebb/autograd/ops/cumulative_trapezoid.h"
#include "ebb/autograd/ops/diff.h"
#include "ebb/autograd/ops/logical_xor.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/trapezoid.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using ops::infer::check_ndim;
using ops::infer::describe;

/// All but the last, or all but the first, along `dim`; of nothing, nothing.
Tensor first_of(const Tensor& input, int dim) {
  return narrow(input, dim, 0, std::max<int64_t>(input.size(dim) - 1, 0));
}
Tensor last_of(const Tensor& input, int dim) {
  return narrow(input, dim, std::min<int64_t>(input.size(dim), 1),
                std::max<int64_t>(input.size(dim) - 1, 0));
}

/// Integers in the default dtype, since sums and differences of neighbours may leave theirs.
Tensor in_numbers(const Tensor& x) {
  return is_differentiable(x.dtype()) ? x : cast(x, default_dtype());
}

/// The areas between neighbours along `dim`.
Tensor areas(const char* op, const Tensor& y, const Tensor& x, double dx, int dim) {
  const Tensor values = in_numbers(y);
  const Tensor sums = first_of(values, dim) + last_of(values, dim);
  if (!x.defined()) return sums * (dx / 2);
  const int place = x.ndim() == 1 ? 0 : dim + x.ndim() - y.ndim();
  if (place < 0 || place >= x.ndim() || x.size(place) != y.size(dim)) {
    throw ShapeError(str(op, ": x needs as many points as y along dim, got ", describe(x), " and ",
                         describe(y)));
  }
  const Tensor points = in_numbers(x);
  Tensor widths = last_of(points, place) - first_of(points, place);
  if (x.ndim() == 1 && dim != y.ndim() - 1) {
    Shape shape = {widths.numel()};
    while (shape.ndim() < y.ndim() - dim) shape.push_back(1);
    widths = reshape(widths, shape);
  }
  const DType dtype = promote(y.dtype(), x.dtype());
  const Tensor found = sums * widths / 2;
  return is_differentiable(dtype) ? cast(found, dtype) : found;
}

}  // namespace

Tensor diff(const Tensor& input, int64_t n, int64_t dim, const Tensor& prepend,
            const Tensor& append) {
  const autograd::operands::diff call(input, prepend, append);
  check_ndim("diff", "input", input, 1, kMaxDims);
  const int axis = normalize_dim("diff", dim, input);
  if (n < 0) throw ValueError(str("diff: n must be at least 0, got ", n));
  if (n == 0) return clone(input);
  std::vector<Tensor> parts;
  if (prepend.defined()) parts.push_back(prepend);
  parts.push_back(input);
  if (append.defined()) parts.push_back(append);
  Tensor values = parts.size() == 1 ? input : cat(parts, axis);
  for (int64_t i = 0; i < n && values.size(axis) > 0; ++i) {
    const Tensor left = first_of(values, axis), right = last_of(values, axis);
    values = values.dtype() == DType::boolean ? logical_xor(right, left) : right - left;
  }
  return values;
}

Tensor trapezoid(const Tensor& y, const Tensor& x, double dx, int64_t dim) {
  const autograd::operands::trapezoid call(y, x);
  check_ndim("trapezoid", "y", y, 1, kMaxDims);
  const int axis = normalize_dim("trapezoid", dim, y);
  const auto compute = [&](const Tensor& y, const Tensor& x) {
    return sum(areas("trapezoid", y, x, dx, axis), Shape{int64_t{axis} - y.ndim()});
  };
  return autograd::through_float(compute, y, x);
}

Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, double dx, int64_t dim) {
  const autograd::operands::cumulative_trapezoid call(y, x);
  check_ndim("cumulative_trapezoid", "y", y, 1, kMaxDims);
  const int axis = normalize_dim("cumulative_trapezoid", dim, y);
  const auto compute = [&](const Tensor& y, const Tensor& x) {
    return cumsum(areas("cumulative_trapezoid", y, x, dx, axis), int64_t{axis} - y.ndim());
  };
  return autograd::through_float(compute, y, x);
}

}  // namespace ebb
