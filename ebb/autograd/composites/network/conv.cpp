// ebb/autograd/composites/network/conv.cpp -- what conv1d to conv_transpose3d are
// (ops/nn/conv.yaml), all made of convolution, and the parts of its gradient that concern the bias.
//
// An input without batch gets one of size 1, which the result loses again. Padding by name is a
// number that is even at both ends; of an odd one the result loses what is too much in front.
#include "ebb/autograd/rules/network/conv.h"

#include <algorithm>

#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/complex.h"
#include "ebb/autograd/ops/conv_tbc.h"
#include "ebb/autograd/ops/convolution.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/imag.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/permute.h"
#include "ebb/autograd/ops/real.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/squeeze.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/core/base/quotes.h"
#include "ebb/ops/impl/network/conv_shape.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace autograd::rules {
namespace {

/// By four convolutions of the parts.
Tensor convolve_complex(const char* op, int spatial, const Tensor& input, const Tensor& weight,
                        const Tensor& bias, const ops::ConvOptions& options) {
  const auto product = [&](const Tensor& x, const Tensor& w, const Tensor& b) {
    return convolve(op, spatial, x, w, b, options);
  };
  const Tensor x = real(input), y = imag(input), u = real(weight), v = imag(weight);
  const bool has_bias = bias.defined();
  const Tensor offset = has_bias ? real(bias) : Tensor();
  const Tensor turned = has_bias ? imag(bias) : Tensor();
  return complex(product(x, u, offset) - product(y, v, {}),
                 product(x, v, turned) + product(y, u, {}));
}

/// Of integers, which have no kernels: float64 holds sums of up to 53 bits.
Tensor convolve_integers(const char* op, int spatial, const Tensor& input, const Tensor& weight,
                         const Tensor& bias, const ops::ConvOptions& options) {
  const auto wide = [](const Tensor& tensor) {
    return tensor.defined() ? cast(tensor, DType::float64) : tensor;
  };
  const Tensor out = convolve(op, spatial, wide(input), wide(weight), wide(bias), options);
  return cast(out, input.dtype());
}

}  // namespace

Tensor convolve(const char* op, int spatial, const Tensor& input, const Tensor& weight,
                const Tensor& bias, const ops::ConvOptions& options) {
  ops::infer::check_ndim(op, "input", input, spatial + 1, spatial + 2);
  ops::infer::check_ndim(op, "weight", weight, spatial + 2, spatial + 2);
  const DType dtype = input.dtype(), other = weight.dtype();
  const bool has_complex = is_complex(dtype) || is_complex(other);
  if (has_complex || is_integer(dtype) || is_integer(other)) {
    ops::infer::check_same_dtype(op, "input", input, "weight", weight);
    if (bias.defined()) ops::infer::check_same_dtype(op, "input", input, "bias", bias);
    const auto made = has_complex ? convolve_complex : convolve_integers;
    return made(op, spatial, input, weight, bias, options);
  }
  const bool is_batched = input.ndim() == spatial + 2;
  const Tensor out = convolution(is_batched ? input : unsqueeze(input, 0), weight, bias,
                                 options.stride, options.padding, options.dilation,
                                 options.transposed, options.output_padding, options.groups);
  return is_batched ? out : squeeze(out, 0);
}

Tensor convolve_named(const char* op, int spatial, const Tensor& input, const Tensor& weight,
                      const Tensor& bias, const ops::ConvOptions& options,
                      std::string_view padding) {
  if (padding != "same" && padding != "valid") {
    throw ValueError(
        str(op, ": padding by name must be 'same' or 'valid', got ", in_quotes(padding)));
  }
  ops::infer::check_ndim(op, "weight", weight, spatial + 2, spatial + 2);
  if (padding == "valid") return convolve(op, spatial, input, weight, bias, options);
  if (!std::all_of(options.stride.begin(), options.stride.end(),
                   [](auto one) { return one == 1; })) {
    throw ValueError(
        str(op, ": padding 'same' needs a stride of 1, got ", PrintShape{options.stride}));
  }
  Shape behind;
  for (int dim = 0; dim < spatial; ++dim) {
    const size_t place = options.dilation.size() == 1 ? 0 : static_cast<size_t>(dim);
    const int64_t step = place < options.dilation.size() ? options.dilation[place] : 1;
    int64_t total = 0;  // of a step that no convolution takes
    if (__builtin_mul_overflow(step, weight.size(dim + 2) - 1, &total)) total = 0;
    behind.push_back(std::max<int64_t>(0, total - total / 2));
  }
  ops::ConvOptions padded = options;
  padded.padding = behind;
  Tensor out = convolve(op, spatial, input, weight, bias, padded);
  for (int dim = 0; dim < spatial; ++dim) {
    const int axis = out.ndim() - spatial + dim;
    const int64_t size = input.size(input.ndim() - spatial + dim);
    if (out.size(axis) > size) out = narrow(out, axis, out.size(axis) - size, size);
  }
  return out;
}

Tensor convolution_grad_bias(const Tensor& grad) {
  int64_t dims[kMaxDims] = {0};
  size_t count = 1;
  for (int dim = 2; dim < grad.ndim(); ++dim) dims[count++] = dim;
  return sum(grad, IntSpan(dims, count), false);
}

Tensor convolution_jvp_bias(const Tensor& tangent, IntSpan shape) {
  Shape column{1, tangent.numel()};
  while (column.size() < shape.size()) column.push_back(1);
  return expand(reshape(tangent, column), shape);
}

}  // namespace autograd::rules

namespace rules = autograd::rules;

Tensor conv_tbc(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t pad) {
  const autograd::CompositeCall call("conv_tbc", __builtin_return_address(0));
  ops::infer::check_ndim("conv_tbc", "input", input, 3, 3);
  ops::infer::check_ndim("conv_tbc", "weight", weight, 3, 3);
  const int64_t padding[] = {pad}, one[] = {1};
  const Tensor out = rules::convolve("conv_tbc", 1, permute(input, Shape{1, 2, 0}),
                                     permute(weight, Shape{2, 1, 0}), bias,
                                     {one, padding, one, false, rules::kNoPadding, 1});
  return permute(out, Shape{2, 0, 1});
}

}  // namespace ebb
