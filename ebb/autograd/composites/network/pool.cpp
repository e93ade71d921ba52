// ebb/autograd/composites/network/pool.cpp -- what the pools of public names are
// (ops/nn/pool.yaml), and the gradient of maxima.
//
// Each checks the dims of its input and fills its lists up; the private ops do the rest.
#include "ebb/autograd/rules/network/pool.h"

#include "ebb/autograd/history/record.h"
#include "ebb/autograd/ops/adaptive_avg_pool.h"
#include "ebb/autograd/ops/adaptive_max_pool.h"
#include "ebb/autograd/ops/avg_pool.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/flatten.h"
#include "ebb/autograd/ops/gather.h"
#include "ebb/autograd/ops/max_pool.h"
#include "ebb/autograd/ops/max_pool_backward.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/ops/impl/network/pool_shape.h"
#include "ebb/ops/infer.h"

namespace ebb::autograd::rules {
namespace {

using ops::pool_list;

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

Shape adaptive_size(const char* op, int pooled, const Tensor& input, IntSpan output_size) {
  ops::infer::check_ndim(op, "input", input, pooled + 1, pooled + 2);
  return pool_list(op, "output_size", output_size, pooled);
}

}  // namespace

Tensor pooled_means(const char* op, int pooled, const Tensor& input, IntSpan kernel_size,
                    std::optional<IntSpan> stride, IntSpan padding, bool ceil_mode,
                    bool count_include_pad, std::optional<int64_t> divisor_override) {
  if (is_integer(input.dtype())) {  // without kernels; a mean that a rounding put below an integer
    constexpr double kJustAbove = 1 + 0x1p-49;
    const Tensor means = pooled_means(op, pooled, cast(input, DType::float64), kernel_size, stride,
                                      padding, ceil_mode, count_include_pad, divisor_override);
    return cast(mul(means, kJustAbove), input.dtype());
  }
  const Lists lists(op, pooled, input, kernel_size, stride, padding);
  return avg_pool(input, lists.kernel_size, lists.stride, lists.padding, ceil_mode,
                  count_include_pad, divisor_override);
}

Pair pooled_maxima(const char* op, int pooled, const Tensor& input, IntSpan kernel_size,
                   std::optional<IntSpan> stride, IntSpan padding, IntSpan dilation,
                   bool ceil_mode) {
  if (is_integer(input.dtype())) {  // without kernels: float64 holds what an image holds
    const auto [values, indices] = pooled_maxima(op, pooled, cast(input, DType::float64),
                                                 kernel_size, stride, padding, dilation, ceil_mode);
    return {cast(values, input.dtype()), indices};
  }
  const Lists lists(op, pooled, input, kernel_size, stride, padding);
  const Shape steps = pool_list(op, "dilation", dilation, pooled);
  return max_pool(input, lists.kernel_size, lists.stride, lists.padding, steps, ceil_mode);
}

Pair with_long_indices(const Pair& results) {
  return {std::get<0>(results), cast(std::get<1>(results), DType::int64)};
}

Tensor adaptive_means(const char* op, int pooled, const Tensor& input, IntSpan output_size) {
  return adaptive_avg_pool(input, adaptive_size(op, pooled, input, output_size));
}

Pair adaptive_maxima(const char* op, int pooled, const Tensor& input, IntSpan output_size) {
  return with_long_indices(adaptive_max_pool(input, adaptive_size(op, pooled, input, output_size)));
}

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

}  // namespace ebb::autograd::rules
