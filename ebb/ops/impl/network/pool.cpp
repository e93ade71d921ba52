// ebb/ops/impl/network/pool.cpp -- pooling: windows are made, and planes of two dims shown to
// kernels.
//
// A pool of one dim is one of two whose first has size 1. All dims in front are planes. One of
// three pools the last two, and then the first of them with a window of one element along all
// others.
#include "ebb/ops/impl/network/pool.h"

#include <algorithm>

#include "ebb/core/base/error.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/kernels/tables/avg_pool.h"
#include "ebb/kernels/tables/avg_pool_backward.h"
#include "ebb/kernels/tables/max_pool.h"
#include "ebb/kernels/tables/max_pool_backward.h"
#include "ebb/kernels/tables/max_pool_places.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/network/pool_shape.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/index_check.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

constexpr int64_t kNoDilation[] = {1, 1, 1};

IntSpan no_dilation(size_t pooled) {
  return IntSpan(kNoDilation).first(std::min<size_t>(kMaxPooled, pooled));
}

Geometry contiguous_planes(int64_t planes, int64_t rows, int64_t columns) {
  Geometry geometry;
  geometry.append(planes, rows * columns);
  geometry.append(rows, columns);
  geometry.append(columns, 1);
  return geometry;
}

/// A contiguous tensor as [planes, rows, columns]; the pooled dims before the last are rows.
Geometry planes_of(IntSpan sizes, size_t pooled) {
  const IntSpan plane = sizes.last(pooled);
  return contiguous_planes(numel_of(sizes.first(sizes.size() - pooled)),
                           numel_of(plane.first(pooled - 1)), plane.back());
}

/// The windows of the dims of a plane, and of the dim in front of it if that one is pooled.
struct PlaneWindows {
  PoolWindows rows, columns, deep{};

  bool has_empty() const {
    return is_one_empty(rows) || is_one_empty(columns) || is_one_empty(deep);
  }

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
  made.rows = pooled == 1
                  ? one_row()
                  : windows_of(options, pooled - 2, input[last - 1], out[last - 1], divisor);
  if (pooled == 3) made.deep = windows_of(options, 0, input[last - 2], out[last - 2], divisor);
  return made;
}

PlaneWindows adaptive_plane_windows(IntSpan input, IntSpan out, size_t pooled) {
  const size_t last = input.size() - 1;
  return {pooled == 1 ? one_row() : adaptive_windows(input[last - 1], out[last - 1]),
          adaptive_windows(input[last], out[last]),
          pooled == 3 ? adaptive_windows(input[last - 2], out[last - 2]) : PoolWindows{}};
}

/// Three pooled dims of `given`, [planes, depth, rows, columns], and of `made`.
struct Volumes {
  int64_t planes, depth, made_depth;
  IntSpan plane, made_plane;

  Volumes(IntSpan given, IntSpan made)
      : planes(numel_of(given.first(given.size() - 3))),
        depth(given[given.size() - 3]),
        made_depth(made[made.size() - 3]),
        plane(given.last(2)),
        made_plane(made.last(2)) {}

  int64_t places() const { return numel_of(made_plane); }
  /// The first pass: slices of given, and of what lies between.
  Geometry slices() const { return contiguous_planes(planes * depth, plane[0], plane[1]); }
  Geometry pooled_slices() const {
    return contiguous_planes(planes * depth, made_plane[0], made_plane[1]);
  }
  /// The second: what lies between, and made, with all places of a slice as columns.
  Geometry columns() const { return contiguous_planes(planes, depth, places()); }
  Geometry pooled_columns() const { return contiguous_planes(planes, made_depth, places()); }
  Shape between() const { return {planes, depth, made_plane[0], made_plane[1]}; }
};

/// Calls a kernel of averages on slices and then across them. Half types are added up in float32.
template <typename Table>
void run_volumes(const char* op, const Table& table, const PlaneWindows& windows,
                 const Tensor& given, const Tensor& made) {
  const Tensor wide = is_half(given.dtype()) ? as_dtype(given, DType::float32) : given;
  const Tensor sums =
      is_half(made.dtype()) ? empty(made.sizes(), DType::float32, made.device()) : made;
  const Volumes volumes(given.sizes(), made.sizes());
  const Tensor between = empty(volumes.between(), wide.dtype(), wide.device());
  const auto kernel = kernel_for(op, table, wide);
  kernel(context_of(wide), windows.rows.axis(), windows.columns.axis(), volumes.slices().over(wide),
         volumes.pooled_slices().over(between));
  const PoolWindows single = single_windows(volumes.places());
  kernel(context_of(wide), windows.deep.axis(), single.axis(), volumes.columns().over(between),
         volumes.pooled_columns().over(sums));
  if (!sums.is_same(made)) copy_(made, sums);
}

/// Calls a kernel of averages on contiguous planes; `given` and `made` are its operands.
template <typename Table>
void run_planes(const char* op, const Table& table, const PlaneWindows& windows, size_t pooled,
                const Tensor& given, const Tensor& made) {
  if (pooled == 3) return run_volumes(op, table, windows, given, made);
  const auto kernel = kernel_for(op, table, given);
  const Geometry from = planes_of(given.sizes(), pooled), to = planes_of(made.sizes(), pooled);
  kernel(context_of(given), windows.rows.axis(), windows.columns.axis(), from.over(given),
         to.over(made));
}

}  // namespace

Tensor avg_pool(const Tensor& input, IntSpan kernel_size, IntSpan stride, IntSpan padding,
                bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  const std::string op = pool_name("avg_pool", kernel_size.size());
  infer::check_defined(op.c_str(), "input", input);
  const PoolOptions options{kernel_size, stride, padding, no_dilation(kernel_size.size()),
                            ceil_mode};
  const Shape sizes = pool_sizes(op, input, options);
  if (divisor_override == 0) throw ValueError(str(op, ": divisor_override must not be 0"));
  const Tensor out = empty(sizes, input.dtype(), input.device());
  if (out.numel() == 0) return out;
  const PlaneWindows windows =
      plane_windows(input.sizes(), sizes, options, {count_include_pad, divisor_override});
  run_planes(op.c_str(), kernels::avg_pool_kernels, windows, kernel_size.size(), contiguous(input),
             out);
  return out;
}

Tensor avg_pool_backward(const Tensor& grad, IntSpan input_shape, IntSpan kernel_size,
                         IntSpan stride, IntSpan padding, bool ceil_mode, bool count_include_pad,
                         std::optional<int64_t> divisor_override) {
  constexpr const char* op = "avg_pool_backward";
  const PoolOptions options{kernel_size, stride, padding, no_dilation(kernel_size.size()),
                            ceil_mode};
  checked_numel(op, input_shape, sizeof(double));
  infer::check_result_grad(op, grad, pool_sizes(op, input_shape, options));
  if (divisor_override == 0) throw ValueError(str(op, ": divisor_override must not be 0"));
  const Tensor grad_input = empty(input_shape, grad.dtype(), grad.device());
  if (grad.numel() == 0) return zero_(grad_input);
  const PlaneWindows windows =
      plane_windows(input_shape, grad.sizes(), options, {count_include_pad, divisor_override});
  run_planes(op, kernels::avg_pool_backward_kernels, windows, kernel_size.size(), contiguous(grad),
             grad_input);
  return grad_input;
}

Tensor adaptive_avg_pool(const Tensor& input, IntSpan output_size) {
  const std::string op = pool_name("adaptive_avg_pool", output_size.size());
  infer::check_defined(op.c_str(), "input", input);
  const Shape sizes = adaptive_pool_sizes(op, input, output_size);
  const Tensor out = empty(sizes, input.dtype(), input.device());
  if (out.numel() == 0) return out;
  const PlaneWindows windows = adaptive_plane_windows(input.sizes(), sizes, output_size.size());
  run_planes(op.c_str(), kernels::avg_pool_kernels, windows, output_size.size(), contiguous(input),
             out);
  return out;
}

Tensor adaptive_avg_pool_backward(const Tensor& grad, IntSpan input_shape, IntSpan output_size) {
  constexpr const char* op = "adaptive_avg_pool_backward";
  checked_numel(op, input_shape, sizeof(double));
  infer::check_result_grad(op, grad, adaptive_pool_sizes(op, input_shape, output_size));
  const Tensor grad_input = empty(input_shape, grad.dtype(), grad.device());
  if (grad.numel() == 0) return zero_(grad_input);
  const PlaneWindows windows =
      adaptive_plane_windows(input_shape, grad.sizes(), output_size.size());
  run_planes(op, kernels::avg_pool_backward_kernels, windows, output_size.size(), contiguous(grad),
             grad_input);
  return grad_input;
}

namespace {

void check_plane(const std::string& op, const Tensor& input, const Shape& out, size_t pooled) {
  const IntSpan sizes = input.sizes().last(pooled);
  // What lies between the passes over a volume has its depth and the slices of the result.
  const int64_t between = pooled == 3 ? sizes[0] * numel_of(IntSpan(out).last(2)) : 0;
  if (std::max(numel_of(sizes), between) <= INT32_MAX) return;
  throw ShapeError(str(op, ": the pooled dims may have at most ", INT32_MAX,
                       " elements together, got ", infer::describe(input)));
}

/// Pools slices and then across them. A place counts all elements of the volume, in their order,
/// so that among equal elements the one of the first slice wins.
void pool_volume_maxima(const std::string& op, const kernels::MaxPoolKernel kernel,
                        const PlaneWindows& windows, const Tensor& source, const Tensor& values,
                        const Tensor& indices) {
  const Volumes volumes(source.sizes(), values.sizes());
  const Tensor between = empty(volumes.between(), source.dtype(), source.device());
  const Tensor places = empty(volumes.between(), DType::int32, source.device());
  kernel(context_of(source), windows.rows.axis(), windows.columns.axis(),
         volumes.slices().over(source), volumes.pooled_slices().over(between),
         volumes.pooled_slices().over(places));
  const PoolWindows single = single_windows(volumes.places());
  kernel(context_of(source), windows.deep.axis(), single.axis(), volumes.columns().over(between),
         volumes.pooled_columns().over(values), volumes.pooled_columns().over(indices));
  const auto as_places = kernel_for(op.c_str(), kernels::max_pool_places_kernels, source);
  as_places(context_of(source), numel_of(volumes.plane), volumes.columns().over(places),
            volumes.pooled_columns().over(indices));
}

/// Allocates the results; the rest is filled in by `windows`, called only if there is anything.
template <typename MakeWindows>
std::tuple<Tensor, Tensor> pool_maxima(const std::string& op, const Tensor& input,
                                       const Shape& sizes, size_t pooled, MakeWindows windows) {
  check_plane(op, input, sizes, pooled);
  const auto kernel = kernel_for(op.c_str(), kernels::max_pool_kernels, input);
  std::tuple<Tensor, Tensor> results{empty(sizes, input.dtype(), input.device()),
                                     empty(sizes, DType::int32, input.device())};
  const auto& [values, indices] = results;
  const PlaneWindows made = windows();
  if (values.numel() == 0 || is_meta(values)) return results;
  const Tensor source = contiguous(input);
  if (pooled == 3) {
    pool_volume_maxima(op, kernel, made, source, values, indices);
    return results;
  }
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
    throw ShapeError(str(op, ": needs grad and indices of one shape and 1 to ", kMaxPooled,
                         " pooled dims, got ", infer::describe(grad), ", ",
                         infer::describe(indices), " and ", pooled_dims, " dims of ",
                         PrintShape{input_shape}));
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
