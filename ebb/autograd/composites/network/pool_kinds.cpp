// ebb/autograd/composites/network/pool_kinds.cpp -- windows in other ways: norms of them, their
// maxima put back or of windows at random, and responses divided by those of channels nearby.
#include "ebb/autograd/operands/pool_kinds.h"

#include <cmath>

#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/abs.h"
#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/avg_pool.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/constant_pad_nd.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/flatten.h"
#include "ebb/autograd/ops/fractional_max_pool.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/gather.h"
#include "ebb/autograd/ops/local_response_norm.h"
#include "ebb/autograd/ops/max.h"
#include "ebb/autograd/ops/max_pool.h"
#include "ebb/autograd/ops/min.h"
#include "ebb/autograd/ops/pow.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/scatter.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/autograd/rules/network/pool_kinds.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/impl/network/pool_shape.h"
#include "ebb/ops/index_check.h"
#include "ebb/ops/infer.h"

namespace ebb {

using ops::pool_list;
using ops::infer::check_ndim;
using ops::infer::describe;

namespace autograd::rules {
namespace {

/// The sizes of what was pooled, without those in front.
Shape unpooled_sizes(const char* op, int dims, const Tensor& input, IntSpan kernel_size,
                     std::optional<IntSpan> stride, IntSpan padding,
                     std::optional<IntSpan> output_size) {
  const Shape kernel = pool_list(op, "kernel_size", kernel_size, dims);
  const bool has_stride = stride && !stride->empty();
  const Shape steps = has_stride ? pool_list(op, "stride", *stride, dims) : kernel;
  const Shape around = pool_list(op, "padding", padding, dims);
  Shape sizes;
  for (int dim = 0; dim < dims; ++dim) {
    int64_t between = 0, size = 0;
    const int64_t count = input.size(dim - dims) - 1;
    if (__builtin_mul_overflow(count, steps[dim], &between) ||
        __builtin_add_overflow(between, kernel[dim], &size) ||
        __builtin_sub_overflow(size, around[dim], &size) ||
        __builtin_sub_overflow(size, around[dim], &size)) {
      throw ValueError(str(op, ": kernel_size, stride and padding are too large, got ", kernel,
                           ", ", steps, " and ", around));
    }
    sizes.push_back(size);
  }
  if (!output_size) {
    if (std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size >= 0; })) {
      return sizes;
    }
    throw ValueError(str(op, ": needs sizes of at least 0, got ", sizes));
  }
  const IntSpan given = *output_size;
  const bool is_good = given.size() == static_cast<size_t>(dims) &&
                       std::all_of(given.begin(), given.end(), [](int64_t n) { return n >= 0; });
  if (is_good) return Shape(given);
  throw ValueError(
      str(op, ": output_size needs ", dims, " numbers, each at least 0, got ", PrintShape{given}));
}

/// The largest magnitude in each window, or the smallest.
Tensor extreme_magnitudes(const Tensor& input, const Shape& kernel, const Shape& steps,
                          bool ceil_mode, bool is_largest) {
  const Shape once(std::vector<int64_t>(kernel.size(), 1)),
      none(std::vector<int64_t>(kernel.size(), 0));
  const Tensor sizes = abs(input);
  const auto largest = [&](const Tensor& of) {
    return std::get<0>(max_pool(of, kernel, steps, none, once, ceil_mode));
  };
  return is_largest ? largest(sizes) : -largest(-sizes);
}

}  // namespace

Tensor lp_pool(const char* op, int dims, const Tensor& input, double norm_type, IntSpan kernel_size,
               std::optional<IntSpan> stride, bool ceil_mode) {
  check_ndim(op, "input", input, dims + 1, dims + 2);
  if (norm_type == 0) throw ValueError(str(op, ": norm_type must not be 0"));
  const Shape kernel = pool_list(op, "kernel_size", kernel_size, dims);
  const bool has_stride = stride && !stride->empty();
  const Shape steps = has_stride ? pool_list(op, "stride", *stride, dims) : kernel;
  if (std::isinf(norm_type)) {
    return extreme_magnitudes(input, kernel, steps, ceil_mode, norm_type > 0);
  }
  const Shape no_padding = pool_list(op, "padding", Shape{0}, dims);
  const Tensor powers = pow(autograd::widened(input), norm_type);
  const Tensor means = avg_pool(powers, kernel, steps, no_padding, ceil_mode, true, std::nullopt);
  const Tensor sums = means * static_cast<double>(numel_of(kernel));
  // A root has no slope at 0: there the gradient is 0, as in PyTorch.
  const Tensor is_zero = eq(detach(sums), 0);
  return cast(where(is_zero, 0, pow(where(is_zero, 1, sums), 1 / norm_type)), input.dtype());
}

Tensor max_unpool(const char* op, int dims, const Tensor& input, const Tensor& indices,
                  const UnpoolOptions& options) {
  check_ndim(op, "input", input, dims + 1, dims + 2);
  if (!equal(input.sizes(), indices.sizes())) {
    throw ShapeError(str(op, ": indices need the shape of input, got ", describe(indices), " for ",
                         describe(input)));
  }
  const Shape sizes = unpooled_sizes(op, dims, input, options.kernel_size, options.stride,
                                     options.padding, options.output_size);
  Shape lead(input.sizes().first(static_cast<size_t>(input.ndim() - dims)));
  Shape shape = lead;
  for (const int64_t size : sizes) shape.push_back(size);
  checked_numel(op, shape, sizeof(double));
  const int64_t places = numel_of(sizes);
  const Tensor index = cast(indices, DType::int64);
  ops::check_index_range(op, "indices", index, places);
  Shape flat = lead;
  flat.push_back(places);
  const Tensor out = zeros(flat, input.dtype(), input.device());
  const int first = input.ndim() - dims;
  scatter_(out, -1, flatten(index, first, -1), flatten(input, first, -1));
  return reshape(out, shape);
}

}  // namespace autograd::rules

namespace {

/// Where each window of a channel begins along a dim, and the elements of it: [N C, out, kernel].
Tensor window_places(const Tensor& samples, int64_t size, int64_t kernel, int64_t out) {
  const Device device = samples.device();
  Tensor begin = full(Shape{samples.numel(), out}, size - kernel, DType::int64, device);
  if (out > 1) {
    const double step = static_cast<double>(size - kernel) / static_cast<double>(out - 1);
    const Tensor given = reshape(cast(samples, DType::float64), {-1, 1});
    const Tensor number = arange(out, DType::float64, device);
    const Tensor place =
        cast((number + given) * step, DType::int64) - cast(given * step, DType::int64);
    begin = where(number < static_cast<double>(out - 1), place, size - kernel);
  }
  return reshape(begin, {-1, out, 1}) + arange(kernel, DType::int64, device);
}

void check_fractional(const Tensor& input, const Tensor& samples, IntSpan kernel_size,
                      IntSpan output_size) {
  constexpr const char* op = "fractional_max_pool";
  const size_t dims = kernel_size.size();
  if ((dims != 2 && dims != 3) || output_size.size() != dims) {
    throw ValueError(str(op, ": needs 2 or 3 numbers of kernel_size and of output_size, got ",
                         PrintShape{kernel_size}, " and ", PrintShape{output_size}));
  }
  check_ndim(op, "input", input, static_cast<int>(dims) + 2, static_cast<int>(dims) + 2);
  for (size_t dim = 0; dim < dims; ++dim) {
    const int64_t size = input.size(static_cast<int64_t>(dim) + 2);
    const int64_t kernel = kernel_size[dim], out = output_size[dim];
    if (kernel >= 1 && out >= 1 && kernel <= size && out <= size - kernel + 1) continue;
    throw ShapeError(str(op, ": windows must fit into the input, got kernel_size ",
                         PrintShape{kernel_size}, " and output_size ", PrintShape{output_size},
                         " for ", describe(input)));
  }
  const Shape wanted = {input.size(0), input.size(1), static_cast<int64_t>(dims)};
  if (!equal(samples.sizes(), wanted)) {
    throw ShapeError(str(op, ": samples need shape ", wanted, ", got ", describe(samples)));
  }
  if (samples.numel() == 0 || is_meta(samples)) return;
  const double below =
      samples.dtype() == DType::float64 ? std::nextafter(1.0, 0.0) : std::nextafter(1.0f, 0.0f);
  const StreamCheck check{
      .op = op, .name = "samples", .sizes = samples.sizes(), .claim = "from 0 to below 1"};
  if (ops::is_range_watched(samples, 0, below, check)) return;
  const double least = min(detach(samples)).item<double>();
  const double most = max(detach(samples)).item<double>();
  const bool is_good = least >= 0 && most < 1;  // neither for NaN
  if (is_good) return;
  throw ValueError(str(op, ": samples must be from 0 to below 1, got ", least >= 0 ? most : least));
}

}  // namespace

std::tuple<Tensor, Tensor> fractional_max_pool(const Tensor& input, const Tensor& samples,
                                               IntSpan kernel_size, IntSpan output_size) {
  const autograd::operands::fractional_max_pool call(input, samples);
  check_fractional(input, samples, kernel_size, output_size);
  const int dims = static_cast<int>(kernel_size.size());
  const int64_t planes = input.size(0) * input.size(1);
  // All elements of all windows, by their places in the flattened plane: [planes, windows, taps].
  Tensor places;
  Shape sizes = {input.size(0), input.size(1)};
  for (int dim = 0; dim < dims; ++dim) {
    const auto at = static_cast<size_t>(dim);
    const int64_t size = input.size(dim + 2), out = output_size[at], kernel = kernel_size[at];
    const Tensor own = window_places(reshape(select(samples, 2, dim), {planes}), size, kernel, out);
    sizes.push_back(out);
    if (!places.defined()) {
      places = own;
      continue;
    }
    const int64_t windows = places.size(1), taps = places.size(2);
    places = reshape(reshape(places * size, {planes, windows, 1, taps, 1}) +
                         reshape(own, {planes, 1, out, 1, kernel}),
                     {planes, windows * out, taps * kernel});
  }
  const int64_t windows = places.size(1), taps = places.size(2);
  const Tensor flat = reshape(input, {planes, numel_of(input.sizes().last(kernel_size.size()))});
  const Tensor seen = gather(flat, 1, reshape(places, {planes, windows * taps}));
  const auto [values, best] = max(reshape(seen, {planes, windows, taps}), -1, true);
  return {reshape(values, sizes), reshape(gather(places, 2, best), sizes)};
}

Tensor local_response_norm(const Tensor& given, int64_t size, double alpha, double beta, double k) {
  constexpr const char* op = "local_response_norm";
  const autograd::operands::local_response_norm call(given);
  const Tensor input = autograd::in_default_dtype(given);
  check_ndim(op, "input", input, 3, kMaxDims);
  if (size < 1 || size > INT32_MAX) {
    throw ValueError(str(op, ": size must be from 1 to ", INT32_MAX, ", got ", size));
  }
  if (input.numel() == 0) return input * 1;
  const Tensor wide = autograd::widened(input);
  const int64_t channels = input.size(1);
  const Tensor flat = reshape(wide * wide, {input.size(0), channels, -1});
  const int64_t around[] = {0, 0, size / 2, (size - 1) / 2};
  const int64_t kernel[] = {size, 1}, step[] = {1, 1}, none[] = {0, 0};
  const Tensor means =
      avg_pool(constant_pad_nd(flat, around, 0), kernel, step, none, false, true, std::nullopt);
  const Tensor divisor = pow(reshape(means, input.sizes()) * alpha + k, beta);
  return cast(wide / divisor, input.dtype());
}

}  // namespace ebb
