// ebb/ops/impl/pool.cpp -- pooling: windows are made, and planes of two dims shown to kernels.
//
// A pool of one dim is one of two whose first has size 1. All dims in front are planes.
#include "ebb/ops/impl/pool.h"

#include <algorithm>

#include "ebb/core/base/error.h"
#include "ebb/kernels/tables/avg_pool.h"
#include "ebb/kernels/tables/avg_pool_backward.h"
#include "ebb/kernels/tables/max_pool.h"
#include "ebb/kernels/tables/max_pool_backward.h"
#include "ebb/ops/impl/copy.h"
#include "ebb/ops/impl/creation.h"
#include "ebb/ops/impl/pool_shape.h"
#include "ebb/ops/index_check.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

constexpr int64_t kNoDilation[] = {1, 1};

/// A contiguous tensor as [planes, rows, columns].
Geometry planes_of(IntSpan sizes, size_t pooled) {
  int64_t planes = 1;
  for (const int64_t size : sizes.first(sizes.size() - pooled)) planes *= size;
  const int64_t columns = sizes[sizes.size() - 1];
  const int64_t rows = pooled == 2 ? sizes[sizes.size() - 2] : 1;
  Geometry geometry;
  geometry.append(planes, rows * columns);
  geometry.append(rows, columns);
  geometry.append(columns, 1);
  return geometry;
}

/// The windows of both dims of a plane.
struct PlaneWindows {
  PoolWindows rows, columns;

  bool has_empty() const { return is_one_empty(rows) || is_one_empty(columns); }

 private:
  static bool is_one_empty(const PoolWindows& axis) {
    return std::any_of(axis.windows.begin(), axis.windows.end(),
                       [](const kernels::PoolWindow& window) { return window.size == 0; });
  }
};

/// What there is of rows where one dim is pooled: the one row.
PoolWindows one_row() { return adaptive_windows(1, 1); }

PlaneWindows plane_windows(IntSpan input, IntSpan out, const PoolOptions& options,
                           const PoolDivisor& divisor = {}) {
  const size_t pooled = options.kernel_size.size(), last = input.size() - 1;
  PlaneWindows made;
  made.columns = windows_of(options, pooled - 1, input[last], out[last], divisor);
  if (pooled == 1) {
    made.rows = one_row();
  } else {
    made.rows = windows_of(options, 0, input[last - 1], out[last - 1], divisor);
  }
  return made;
}

PlaneWindows adaptive_plane_windows(IntSpan input, IntSpan out, size_t pooled) {
  const size_t last = input.size() - 1;
  return {pooled == 1 ? one_row() : adaptive_windows(input[last - 1], out[last - 1]),
          adaptive_windows(input[last], out[last])};
}

/// Calls a kernel of averages on contiguous planes; `given` and `made` are its operands.
template <typename Kernel>
void run_planes(const Kernel& kernel, const PlaneWindows& windows, size_t pooled,
                const Tensor& given, const Tensor& made) {
  const Geometry from = planes_of(given.sizes(), pooled), to = planes_of(made.sizes(), pooled);
  kernel(context_of(given), windows.rows.axis(), windows.columns.axis(), from.over(given),
         to.over(made));
}

void check_grad(const char* op, const Tensor& grad, const Shape& wanted) {
  infer::check_defined(op, "grad", grad);
  if (equal(grad.sizes(), wanted)) return;
  throw ShapeError(
      str(op, ": grad needs the shape of the result ", wanted, ", got ", infer::describe(grad)));
}

}  // namespace

Tensor avg_pool(const Tensor& input, IntSpan kernel_size, IntSpan stride, IntSpan padding,
                bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  const std::string op = pool_name("avg_pool", kernel_size.size());
  infer::check_defined(op.c_str(), "input", input);
  const PoolOptions options{kernel_size, stride, padding,
                            IntSpan(kNoDilation).first(std::min<size_t>(2, kernel_size.size())),
                            ceil_mode};
  const Shape sizes = pool_sizes(op, input, options);
  if (divisor_override == 0) throw ValueError(str(op, ": divisor_override must not be 0"));
  const auto kernel = kernel_for(op.c_str(), kernels::avg_pool_kernels, input);
  const Tensor out = empty(sizes, input.dtype(), input.device());
  if (out.numel() == 0) return out;
  const PlaneWindows windows =
      plane_windows(input.sizes(), sizes, options, {count_include_pad, divisor_override});
  run_planes(kernel, windows, kernel_size.size(), contiguous(input), out);
  return out;
}

Tensor avg_pool_backward(const Tensor& grad, IntSpan input_shape, IntSpan kernel_size,
                         IntSpan stride, IntSpan padding, bool ceil_mode, bool count_include_pad,
                         std::optional<int64_t> divisor_override) {
  constexpr const char* op = "avg_pool_backward";
  const PoolOptions options{kernel_size, stride, padding,
                            IntSpan(kNoDilation).first(std::min<size_t>(2, kernel_size.size())),
                            ceil_mode};
  checked_numel(op, input_shape, sizeof(double));
  check_grad(op, grad, pool_sizes(op, input_shape, options));
  if (divisor_override == 0) throw ValueError(str(op, ": divisor_override must not be 0"));
  const auto kernel = kernel_for(op, kernels::avg_pool_backward_kernels, grad);
  const Tensor grad_input = empty(input_shape, grad.dtype(), grad.device());
  if (grad.numel() == 0) return zero_(grad_input);
  const PlaneWindows windows =
      plane_windows(input_shape, grad.sizes(), options, {count_include_pad, divisor_override});
  run_planes(kernel, windows, kernel_size.size(), contiguous(grad), grad_input);
  return grad_input;
}

Tensor adaptive_avg_pool(const Tensor& input, IntSpan output_size) {
  const std::string op = pool_name("adaptive_avg_pool", output_size.size());
  infer::check_defined(op.c_str(), "input", input);
  const Shape sizes = adaptive_pool_sizes(op, input, output_size);
  const auto kernel = kernel_for(op.c_str(), kernels::avg_pool_kernels, input);
  const Tensor out = empty(sizes, input.dtype(), input.device());
  if (out.numel() == 0) return out;
  const PlaneWindows windows = adaptive_plane_windows(input.sizes(), sizes, output_size.size());
  run_planes(kernel, windows, output_size.size(), contiguous(input), out);
  return out;
}

Tensor adaptive_avg_pool_backward(const Tensor& grad, IntSpan input_shape, IntSpan output_size) {
  constexpr const char* op = "adaptive_avg_pool_backward";
  checked_numel(op, input_shape, sizeof(double));
  check_grad(op, grad, adaptive_pool_sizes(op, input_shape, output_size));
  const auto kernel = kernel_for(op, kernels::avg_pool_backward_kernels, grad);
  const Tensor grad_input = empty(input_shape, grad.dtype(), grad.device());
  if (grad.numel() == 0) return zero_(grad_input);
  const PlaneWindows windows =
      adaptive_plane_windows(input_shape, grad.sizes(), output_size.size());
  run_planes(kernel, windows, output_size.size(), contiguous(grad), grad_input);
  return grad_input;
}

namespace {

void check_plane(const std::string& op, const Tensor& input, size_t pooled) {
  int64_t places = 1;
  for (const int64_t size : input.sizes().last(pooled)) places *= size;
  if (places <= INT32_MAX) return;
  throw ShapeError(str(op, ": the pooled dims may have at most ", INT32_MAX,
                       " elements together, got ", infer::describe(input)));
}

/// Allocates the results; the rest is filled in by `windows`, called only if there is anything.
template <typename MakeWindows>
std::tuple<Tensor, Tensor> pool_maxima(const std::string& op, const Tensor& input,
                                       const Shape& sizes, size_t pooled, MakeWindows windows) {
  check_plane(op, input, pooled);
  const auto kernel = kernel_for(op.c_str(), kernels::max_pool_kernels, input);
  std::tuple<Tensor, Tensor> results{empty(sizes, input.dtype(), input.device()),
                                     empty(sizes, DType::int32, input.device())};
  const auto& [values, indices] = results;
  const PlaneWindows made = windows();
  if (values.numel() == 0) return results;
  const Tensor source = contiguous(input);
  const Geometry from = planes_of(source.sizes(), pooled), to = planes_of(sizes, pooled);
  kernel(context_of(input), made.rows.axis(), made.columns.axis(), from.over(source),
         to.over(values), to.over(indices));
  return results;
}

}  // namespace

std::tuple<Tensor, Tensor> max_pool(const Tensor& input, IntSpan kernel_size, IntSpan stride,
                                    IntSpan padding, IntSpan dilation, bool ceil_mode) {
  const std::string op = pool_name("max_pool", kernel_size.size());
  infer::check_defined(op.c_str(), "input", input);
  const PoolOptions options{kernel_size, stride, padding, dilation, ceil_mode};
  const Shape sizes = pool_sizes(op, input, options);
  return pool_maxima(op, input, sizes, kernel_size.size(), [&] {
    PlaneWindows made = plane_windows(input.sizes(), sizes, options);
    if (!made.has_empty()) return made;
    throw ShapeError(str(op, ": each window must hold an element of input, got kernel_size ",
                         PrintShape{kernel_size}, ", padding ", PrintShape{padding},
                         " and dilation ", PrintShape{dilation}, " for input ",
                         infer::describe(input)));
  });
}

std::tuple<Tensor, Tensor> adaptive_max_pool(const Tensor& input, IntSpan output_size) {
  const std::string op = pool_name("adaptive_max_pool", output_size.size());
  infer::check_defined(op.c_str(), "input", input);
  const Shape sizes = adaptive_pool_sizes(op, input, output_size);
  return pool_maxima(op, input, sizes, output_size.size(), [&] {
    return adaptive_plane_windows(input.sizes(), sizes, output_size.size());
  });
}

Tensor max_pool_backward(const Tensor& grad, const Tensor& indices, IntSpan input_shape,
                         int64_t pooled_dims) {
  constexpr const char* op = "max_pool_backward";
  checked_numel(op, input_shape, sizeof(double));
  const bool fits = pooled_dims >= 1 && pooled_dims <= kMaxPooled &&
                    input_shape.size() >= static_cast<size_t>(pooled_dims) &&
                    equal(grad.sizes(), indices.sizes()) &&
                    grad.sizes().size() == input_shape.size();
  if (!fits) {
    throw ShapeError(str(op, ": needs grad and indices of one shape and 1 to 2 pooled dims, got ",
                         infer::describe(grad), ", ", infer::describe(indices), " and ",
                         pooled_dims, " dims of ", PrintShape{input_shape}));
  }
  const auto pooled = static_cast<size_t>(pooled_dims);
  if (!equal(grad.sizes().first(grad.sizes().size() - pooled),
             input_shape.first(input_shape.size() - pooled))) {
    throw ShapeError(str(op, ": grad and input_shape must agree in the dims in front, got ",
                         infer::describe(grad), " and ", PrintShape{input_shape}));
  }
  const Tensor places = contiguous(indices);
  const Geometry plane = planes_of(input_shape, pooled);
  const auto kernel = kernel_for(op, kernels::max_pool_backward_kernels, grad);
  const Tensor grad_input = empty(input_shape, grad.dtype(), grad.device());
  if (grad.numel() == 0) return zero_(grad_input);
  const Geometry small = planes_of(grad.sizes(), pooled);
  const Tensor given = contiguous(grad);
  if (!kernel(context_of(grad), small.over(given), small.over(places), plane.over(grad_input))) {
    check_index_range(op, "indices", as_dtype(places, DType::int64),
                      plane.sizes[1] * plane.sizes[2]);
  }
  return grad_input;
}

}  // namespace ebb::ops::impl
