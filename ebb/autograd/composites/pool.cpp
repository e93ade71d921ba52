// ebb/autograd/composites/pool.cpp -- the pools of public names, and the gradient of maxima.
//
// Each checks the dims of its input and fills its lists up; the private ops do the rest.
#include "ebb/autograd/rules/network/pool.h"

#include <optional>
#include <tuple>

#include "ebb/autograd/history/record.h"
#include "ebb/autograd/ops/adaptive_avg_pool.h"
#include "ebb/autograd/ops/adaptive_avg_pool1d.h"
#include "ebb/autograd/ops/adaptive_avg_pool2d.h"
#include "ebb/autograd/ops/adaptive_avg_pool3d.h"
#include "ebb/autograd/ops/adaptive_max_pool.h"
#include "ebb/autograd/ops/adaptive_max_pool1d.h"
#include "ebb/autograd/ops/adaptive_max_pool2d.h"
#include "ebb/autograd/ops/adaptive_max_pool3d.h"
#include "ebb/autograd/ops/avg_pool.h"
#include "ebb/autograd/ops/avg_pool1d.h"
#include "ebb/autograd/ops/avg_pool2d.h"
#include "ebb/autograd/ops/avg_pool3d.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/flatten.h"
#include "ebb/autograd/ops/gather.h"
#include "ebb/autograd/ops/max_pool.h"
#include "ebb/autograd/ops/max_pool1d.h"
#include "ebb/autograd/ops/max_pool1d_with_indices.h"
#include "ebb/autograd/ops/max_pool2d.h"
#include "ebb/autograd/ops/max_pool2d_with_indices.h"
#include "ebb/autograd/ops/max_pool3d.h"
#include "ebb/autograd/ops/max_pool3d_with_indices.h"
#include "ebb/autograd/ops/max_pool_backward.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/ops/impl/network/pool_shape.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using ops::pool_list;
using Pair = std::tuple<Tensor, Tensor>;

/// The lists of a pool, filled up.
struct Lists {
  Shape kernel_size, stride, padding;

  Lists(const char* op, int pooled, const Tensor& input, IntSpan kernel,
        std::optional<IntSpan> given_stride, IntSpan given_padding) {
    ops::infer::check_ndim(op, "input", input, pooled + 1, pooled + 2);
    kernel_size = pool_list(op, "kernel_size", kernel, pooled);
    const bool has_stride = given_stride && !given_stride->empty();
    stride = has_stride ? pool_list(op, "stride", *given_stride, pooled) : kernel_size;
    padding = pool_list(op, "padding", given_padding, pooled);
  }
};

Pair pool_maxima(const char* op, int pooled, const Tensor& input, IntSpan kernel_size,
                 std::optional<IntSpan> stride, IntSpan padding, IntSpan dilation, bool ceil_mode) {
  const Lists lists(op, pooled, input, kernel_size, stride, padding);
  const Shape steps = pool_list(op, "dilation", dilation, pooled);
  return max_pool(input, lists.kernel_size, lists.stride, lists.padding, steps, ceil_mode);
}

/// The indices as users see them.
Pair with_long_indices(const Pair& results) {
  return {std::get<0>(results), cast(std::get<1>(results), DType::int64)};
}

Shape adaptive_size(const char* op, int pooled, const Tensor& input, IntSpan output_size) {
  ops::infer::check_ndim(op, "input", input, pooled + 1, pooled + 2);
  return pool_list(op, "output_size", output_size, pooled);
}

}  // namespace

Tensor avg_pool1d(const Tensor& input, IntSpan kernel_size, std::optional<IntSpan> stride,
                  IntSpan padding, bool ceil_mode, bool count_include_pad) {
  const autograd::CompositeCall call("avg_pool1d", __builtin_return_address(0));
  const Lists lists("avg_pool1d", 1, input, kernel_size, stride, padding);
  return avg_pool(input, lists.kernel_size, lists.stride, lists.padding, ceil_mode,
                  count_include_pad, std::nullopt);
}

Tensor avg_pool2d(const Tensor& input, IntSpan kernel_size, std::optional<IntSpan> stride,
                  IntSpan padding, bool ceil_mode, bool count_include_pad,
                  std::optional<int64_t> divisor_override) {
  const autograd::CompositeCall call("avg_pool2d", __builtin_return_address(0));
  const Lists lists("avg_pool2d", 2, input, kernel_size, stride, padding);
  return avg_pool(input, lists.kernel_size, lists.stride, lists.padding, ceil_mode,
                  count_include_pad, divisor_override);
}

Tensor avg_pool3d(const Tensor& input, IntSpan kernel_size, std::optional<IntSpan> stride,
                  IntSpan padding, bool ceil_mode, bool count_include_pad,
                  std::optional<int64_t> divisor_override) {
  const autograd::CompositeCall call("avg_pool3d", __builtin_return_address(0));
  const Lists lists("avg_pool3d", 3, input, kernel_size, stride, padding);
  return avg_pool(input, lists.kernel_size, lists.stride, lists.padding, ceil_mode,
                  count_include_pad, divisor_override);
}

Tensor max_pool1d(const Tensor& input, IntSpan kernel_size, std::optional<IntSpan> stride,
                  IntSpan padding, IntSpan dilation, bool ceil_mode) {
  const autograd::CompositeCall call("max_pool1d", __builtin_return_address(0));
  return std::get<0>(
      pool_maxima("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode));
}

Tensor max_pool2d(const Tensor& input, IntSpan kernel_size, std::optional<IntSpan> stride,
                  IntSpan padding, IntSpan dilation, bool ceil_mode) {
  const autograd::CompositeCall call("max_pool2d", __builtin_return_address(0));
  return std::get<0>(
      pool_maxima("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode));
}

Tensor max_pool3d(const Tensor& input, IntSpan kernel_size, std::optional<IntSpan> stride,
                  IntSpan padding, IntSpan dilation, bool ceil_mode) {
  const autograd::CompositeCall call("max_pool3d", __builtin_return_address(0));
  return std::get<0>(
      pool_maxima("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode));
}

Pair max_pool1d_with_indices(const Tensor& input, IntSpan kernel_size,
                             std::optional<IntSpan> stride, IntSpan padding, IntSpan dilation,
                             bool ceil_mode) {
  const autograd::CompositeCall call("max_pool1d_with_indices", __builtin_return_address(0));
  return with_long_indices(
      pool_maxima("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode));
}

Pair max_pool2d_with_indices(const Tensor& input, IntSpan kernel_size,
                             std::optional<IntSpan> stride, IntSpan padding, IntSpan dilation,
                             bool ceil_mode) {
  const autograd::CompositeCall call("max_pool2d_with_indices", __builtin_return_address(0));
  return with_long_indices(
      pool_maxima("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode));
}

Pair max_pool3d_with_indices(const Tensor& input, IntSpan kernel_size,
                             std::optional<IntSpan> stride, IntSpan padding, IntSpan dilation,
                             bool ceil_mode) {
  const autograd::CompositeCall call("max_pool3d_with_indices", __builtin_return_address(0));
  return with_long_indices(
      pool_maxima("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode));
}

Tensor adaptive_avg_pool1d(const Tensor& input, IntSpan output_size) {
  const autograd::CompositeCall call("adaptive_avg_pool1d", __builtin_return_address(0));
  return adaptive_avg_pool(input, adaptive_size("adaptive_avg_pool1d", 1, input, output_size));
}

Tensor adaptive_avg_pool2d(const Tensor& input, IntSpan output_size) {
  const autograd::CompositeCall call("adaptive_avg_pool2d", __builtin_return_address(0));
  return adaptive_avg_pool(input, adaptive_size("adaptive_avg_pool2d", 2, input, output_size));
}

Tensor adaptive_avg_pool3d(const Tensor& input, IntSpan output_size) {
  const autograd::CompositeCall call("adaptive_avg_pool3d", __builtin_return_address(0));
  return adaptive_avg_pool(input, adaptive_size("adaptive_avg_pool3d", 3, input, output_size));
}

Pair adaptive_max_pool1d(const Tensor& input, IntSpan output_size) {
  const autograd::CompositeCall call("adaptive_max_pool1d", __builtin_return_address(0));
  return with_long_indices(
      adaptive_max_pool(input, adaptive_size("adaptive_max_pool1d", 1, input, output_size)));
}

Pair adaptive_max_pool2d(const Tensor& input, IntSpan output_size) {
  const autograd::CompositeCall call("adaptive_max_pool2d", __builtin_return_address(0));
  return with_long_indices(
      adaptive_max_pool(input, adaptive_size("adaptive_max_pool2d", 2, input, output_size)));
}

Pair adaptive_max_pool3d(const Tensor& input, IntSpan output_size) {
  const autograd::CompositeCall call("adaptive_max_pool3d", __builtin_return_address(0));
  return with_long_indices(
      adaptive_max_pool(input, adaptive_size("adaptive_max_pool3d", 3, input, output_size)));
}

namespace autograd::rules {

Tensor max_pool_grad(const Tensor& grad, const Tensor& indices, IntSpan shape, IntSpan window) {
  return max_pool_backward(grad, indices, shape, static_cast<int64_t>(window.size()));
}

Tensor max_pool_jvp(const Tensor& tangent, const Tensor& indices, IntSpan window) {
  return max_pool_gather(tangent, indices, static_cast<int64_t>(window.size()));
}

Tensor max_pool_gather(const Tensor& input, const Tensor& indices, int64_t pooled_dims) {
  const auto flat = [&](const Tensor& tensor) {
    const int lead = tensor.ndim() - static_cast<int>(pooled_dims);
    return flatten(tensor, lead, -1);
  };
  return reshape(gather(flat(input), -1, cast(flat(indices), DType::int64)), indices.shape());
}

}  // namespace autograd::rules
}  // namespace ebb
