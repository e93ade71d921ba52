// ebb/ops/impl/network/conv.cpp -- convolution and its gradients: operands are checked and shown to
// kernels.
//
// A ConvShape names its sides input and output; a transposed convolution goes from output to input.
// Kernels see contiguous tensors.
#include "ebb/ops/impl/network/conv.h"

#include "ebb/core/base/error.h"
#include "ebb/kernels/tables/conv_forward.h"
#include "ebb/kernels/tables/conv_input.h"
#include "ebb/kernels/tables/conv_weight.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/network/conv_shape.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/impl/shape.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

using kernels::ConvShape;

void check_operands(const char* op, const char* name, const Tensor& tensor, const char* other_name,
                    const Tensor& other) {
  infer::check_defined(op, name, tensor);
  infer::check_defined(op, other_name, other);
  infer::check_same_device(op, tensor, other);
  infer::check_same_dtype(op, name, tensor, other_name, other);
}

void check_bias(const char* op, const Tensor& bias, const Tensor& input, int64_t channels) {
  if (!bias.defined()) return;
  check_operands(op, "input", input, "bias", bias);
  if (bias.ndim() == 1 && bias.numel() == channels) return;
  throw ShapeError(str(op, ": bias must hold one element for each of ", channels,
                       " channels of the result, got ", infer::describe(bias)));
}

/// A result to which nothing contributes but the bias.
Tensor constant_result(const Shape& sizes, const Tensor& bias, const Tensor& like) {
  Tensor out = zeros(sizes, like.dtype(), like.device());
  if (!bias.defined() || out.numel() == 0) return out;
  Shape column{bias.numel()};
  for (int dim = 2; dim < sizes.ndim(); ++dim) column.push_back(1);
  copy_(out, reshape(bias, column));
  return out;
}

/// The bias, shown to a kernel.
struct BiasView {
  Tensor values;
  kernels::TensorView view;

  explicit BiasView(const Tensor& bias) {
    if (!bias.defined()) return;
    values = contiguous(bias);
    view = view_of(values);
  }
  const kernels::TensorView* get() const { return values.defined() ? &view : nullptr; }
};

/// From the input side of `shape` to the output side.
Tensor to_output(const char* op, const ConvShape& shape, const Tensor& input, const Tensor& weight,
                 const Tensor& bias) {
  const Shape sizes = conv_output_sizes(shape);
  const int64_t numel = checked_numel(op, sizes, item_size(input.dtype()));
  if (std::min({input.numel(), weight.numel(), numel}) == 0) {
    return constant_result(sizes, bias, input);
  }
  const Tensor from = contiguous(input), factors = contiguous(weight);
  const BiasView bias_view(bias);
  const auto kernel = kernel_for(op, kernels::conv_forward_kernels, from);
  const Tensor out = empty(sizes, from.dtype(), from.device());
  kernel(context_of(from), shape, view_of(from), view_of(factors), bias_view.get(), view_of(out));
  return out;
}

/// From the output side of `shape` to the input side.
Tensor to_input(const char* op, const ConvShape& shape, const Tensor& output, const Tensor& weight,
                const Tensor& bias) {
  const Shape sizes = conv_input_sizes(shape);
  const int64_t numel = checked_numel(op, sizes, item_size(output.dtype()));
  if (std::min({output.numel(), weight.numel(), numel}) == 0) {
    return constant_result(sizes, bias, output);
  }
  const Tensor from = contiguous(output), factors = contiguous(weight);
  const BiasView bias_view(bias);
  const auto kernel = kernel_for(op, kernels::conv_input_kernels, from);
  const Tensor out = empty(sizes, from.dtype(), from.device());
  kernel(context_of(from), shape, view_of(from), view_of(factors), bias_view.get(), view_of(out));
  return out;
}

/// From both sides of `shape` to a weight of the given sizes.
Tensor to_weight(const char* op, const ConvShape& shape, const Tensor& output, const Tensor& input,
                 IntSpan sizes) {
  if (input.numel() == 0 || output.numel() == 0) return zeros(sizes, input.dtype(), input.device());
  const Tensor to = contiguous(output), from = contiguous(input);
  const auto kernel = kernel_for(op, kernels::conv_weight_kernels, from);
  const Tensor weight = empty(sizes, from.dtype(), from.device());
  if (weight.numel() != 0) {
    kernel(context_of(from), shape, view_of(to), view_of(from), view_of(weight));
  }
  return weight;
}

}  // namespace

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride,
                   IntSpan padding, IntSpan dilation, bool transposed, IntSpan output_padding,
                   int64_t groups) {
  infer::check_defined("convolution", "weight", weight);
  const std::string name = conv_name(weight.sizes(), transposed);
  const char* const op = name.c_str();
  check_operands(op, "input", input, "weight", weight);
  const ConvShape shape = conv_shape(
      name, input, weight, {stride, padding, dilation, transposed, output_padding, groups});
  check_bias(op, bias, input, transposed ? shape.in_channels : shape.out_channels);
  return transposed ? to_input(op, shape, input, weight, bias)
                    : to_output(op, shape, input, weight, bias);
}

Tensor convolution_backward_input(const Tensor& grad, const Tensor& weight, IntSpan input_shape,
                                  IntSpan stride, IntSpan padding, IntSpan dilation,
                                  bool transposed, IntSpan output_padding, int64_t groups) {
  constexpr const char* op = "convolution_backward_input";
  check_operands(op, "grad", grad, "weight", weight);
  checked_numel(op, input_shape, item_size(grad.dtype()));
  const ConvShape shape = conv_shape(
      op, input_shape, weight, {stride, padding, dilation, transposed, output_padding, groups});
  infer::check_result_grad(op, grad,
                           transposed ? conv_input_sizes(shape) : conv_output_sizes(shape));
  return transposed ? to_output(op, shape, grad, weight, {})
                    : to_input(op, shape, grad, weight, {});
}

Tensor convolution_backward_weight(const Tensor& grad, const Tensor& input, IntSpan weight_shape,
                                   IntSpan stride, IntSpan padding, IntSpan dilation,
                                   bool transposed, IntSpan output_padding, int64_t groups) {
  constexpr const char* op = "convolution_backward_weight";
  check_operands(op, "grad", grad, "input", input);
  checked_numel(op, weight_shape, item_size(grad.dtype()));
  const ConvShape shape = conv_shape(
      op, input, weight_shape, {stride, padding, dilation, transposed, output_padding, groups});
  infer::check_result_grad(op, grad,
                           transposed ? conv_input_sizes(shape) : conv_output_sizes(shape));
  return transposed ? to_weight(op, shape, input, grad, weight_shape)
                    : to_weight(op, shape, grad, input, weight_shape);
}

}  // namespace ebb::ops::impl
