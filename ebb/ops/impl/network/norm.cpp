// ebb/ops/impl/network/norm.cpp -- normalisations: inputs become rows, or samples of channels.
//
// Kernels see contiguous memory, and weights in the type that they compute in. Everything is
// checked here before any memory is touched.
#include "ebb/ops/impl/network/norm.h"

#include <algorithm>
#include <limits>

#include "ebb/kernels/tables/batch_norm.h"
#include "ebb/kernels/tables/batch_norm_backward.h"
#include "ebb/kernels/tables/row_norm.h"
#include "ebb/kernels/tables/row_norm_backward.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {

namespace {

using kernels::ChannelNorm;
using kernels::RowNorm;
using kernels::TensorView;

/// What an input of `dtype` is computed in: float32 for half types.
DType accumulator_of(DType dtype) {
  return item_size(dtype) < item_size(DType::float32) ? DType::float32 : dtype;
}

void check_eps(const char* op, double eps) {
  if (!(eps >= 0)) throw ValueError(str(op, ": eps must not be negative, got ", eps));
}

/// A weight, bias or statistic must have `shape` and fit the dtype of `input`; it may be absent.
void check_factor(const char* op, const char* name, const Tensor& factor, IntSpan shape,
                  const Tensor& input) {
  if (!factor.defined()) return;
  if (!equal(factor.sizes(), shape)) {
    throw ShapeError(str(op, ": ", name, " needs the shape ", PrintShape{shape}, ", got ",
                         infer::describe(factor)));
  }
  const DType dtype = factor.dtype();
  if (dtype == input.dtype() || dtype == accumulator_of(input.dtype())) return;
  throw DTypeError(str(op, ": ", name, " needs the dtype ", input.dtype(), " of input, got ",
                       infer::describe(factor)));
}

void check_grad(const char* op, const Tensor& grad, const Tensor& input) {
  infer::check_same_dtype(op, "grad", grad, "input", input);
  infer::check_same_shape(op, "grad", grad, input);
}

/// A tensor as a kernel takes it, alive as long as this; absent if `tensor` is undefined.
class View {
 public:
  View() = default;
  View(const Tensor& tensor, DType dtype) {
    if (!tensor.defined()) return;
    held_ = contiguous(as_dtype(tensor, dtype));
    view_ = view_of(held_);
  }
  explicit View(const Tensor& tensor) : View(tensor, tensor.defined() ? tensor.dtype() : DType{}) {}
  const TensorView* pointer() const { return held_.defined() ? &view_ : nullptr; }
  const TensorView& operator*() const { return view_; }
  const Tensor& tensor() const { return held_; }

 private:
  Tensor held_;
  TensorView view_;
};

/// The gradients of a backward body: allocated where wanted, else empty.
struct Grads {
  Tensor input, weight, bias;
  View input_view, weight_view, bias_view;

  Grads(const Tensor& like, IntSpan factor_shape, int64_t parts) {
    const bool wants_input = (parts & 1) != 0, wants_weight = (parts & 2) != 0;
    const bool wants_bias = (parts & 4) != 0;
    const DType wide = accumulator_of(like.dtype());
    const Device device = like.device();
    input = empty(wants_input ? like.sizes() : IntSpan(Shape{0}), like.dtype(), device);
    weight = empty(wants_weight ? factor_shape : IntSpan(Shape{0}), wide, device);
    bias = empty(wants_bias ? factor_shape : IntSpan(Shape{0}), wide, device);
    if (wants_input) input_view = View(input);
    if (wants_weight) weight_view = View(weight);
    if (wants_bias) bias_view = View(bias);
  }
};

Tensor run_rows(const char* op, const RowNorm& norm, const Tensor& input, const Tensor& weight,
                const Tensor& bias) {
  const auto kernel = kernel_for(op, kernels::row_norm_kernels, input);
  const DType wide = accumulator_of(input.dtype());
  const Tensor out = empty(input.sizes(), input.dtype(), input.device());
  const View from(input), weights(weight, wide), biases(bias, wide);
  kernel(context_of(input), norm, *from, weights.pointer(), biases.pointer(), view_of(out));
  return out;
}

void run_rows_backward(const char* op, const RowNorm& norm, const Tensor& grad, const Tensor& input,
                       const Tensor& weight, const Grads& grads) {
  const auto kernel = kernel_for(op, kernels::row_norm_backward_kernels, input);
  const View arrives(grad), from(input), weights(weight, accumulator_of(input.dtype()));
  kernel(context_of(input), norm, *arrives, *from, weights.pointer(), grads.input_view.pointer(),
         grads.weight_view.pointer(), grads.bias_view.pointer());
}

/// Rows of the last dims of `input`, whose sizes are `normalized_shape`.
RowNorm rows_of(const char* op, const Tensor& input, IntSpan normalized_shape, double eps) {
  if (normalized_shape.empty()) {
    throw ShapeError(str(op, ": normalized_shape needs at least one size, got []"));
  }
  const IntSpan sizes = input.sizes();
  const size_t count = normalized_shape.size();
  const bool fits =
      count <= sizes.size() && equal(sizes.subspan(sizes.size() - count), normalized_shape);
  if (!fits) {
    throw ShapeError(str(op, ": normalized_shape must be the last sizes of input, got ",
                         PrintShape{normalized_shape}, " for ", infer::describe(input)));
  }
  check_eps(op, eps);
  RowNorm norm;
  norm.channels = 1;
  for (const int64_t size : normalized_shape) norm.channels *= size;
  norm.rows = norm.channels == 0 ? 0 : input.numel() / norm.channels;
  norm.eps = eps;
  return norm;
}

/// Rows of the groups of channels of `input` [N, C, d...].
RowNorm groups_of(const char* op, const Tensor& input, int64_t num_groups, double eps) {
  infer::check_ndim(op, "input", input, 2, kMaxDims);
  const int64_t channels = input.size(1);
  if (num_groups <= 0 || channels % num_groups != 0) {
    throw ValueError(
        str(op, ": num_groups must divide the ", channels, " channels of input, got ", num_groups));
  }
  check_eps(op, eps);
  RowNorm norm;
  norm.groups = num_groups;
  norm.channels = channels / num_groups;
  for (int dim = 2; dim < input.ndim(); ++dim) norm.inner *= input.size(dim);
  norm.rows = norm.width() == 0 ? 0 : input.size(0) * num_groups;
  norm.eps = eps;
  return norm;
}

/// Slices along the first dim of `input`: each is a row and a group of one channel, so that it has
/// a weight of its own.
RowNorm slices_of(const char* op, const Tensor& input, const Tensor& weight) {
  const int64_t shape[] = {input.size(0)};
  check_factor(op, "weight", weight, shape, input);
  RowNorm norm;
  norm.groups = std::max<int64_t>(1, input.size(0));
  norm.channels = 1;
  for (int dim = 1; dim < input.ndim(); ++dim) norm.inner *= input.size(dim);
  norm.rows = norm.inner == 0 ? 0 : input.size(0);
  norm.is_centred = false;
  return norm;
}

ChannelNorm channels_of(const char* op, const Tensor& input, bool training, double eps) {
  infer::check_ndim(op, "input", input, 2, kMaxDims);
  check_eps(op, eps);
  ChannelNorm norm;
  norm.samples = input.size(0);
  norm.channels = input.size(1);
  for (int dim = 2; dim < input.ndim(); ++dim) norm.inner *= input.size(dim);
  norm.is_training = training;
  norm.eps = eps;
  return norm;
}

}  // namespace

double default_eps(DType dtype) {
  switch (dtype) {
    case DType::float16:
    case DType::bfloat16:
    case DType::float32: return std::numeric_limits<float>::epsilon();
    default: return std::numeric_limits<double>::epsilon();
  }
}

Tensor layer_norm(const Tensor& input, IntSpan normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  constexpr const char* op = "layer_norm";
  const RowNorm norm = rows_of(op, input, normalized_shape, eps);
  check_factor(op, "weight", weight, normalized_shape, input);
  check_factor(op, "bias", bias, normalized_shape, input);
  return run_rows(op, norm, input, weight, bias);
}

NormGrads layer_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                              IntSpan normalized_shape, double eps, int64_t parts) {
  constexpr const char* op = "layer_norm_backward";
  const RowNorm norm = rows_of(op, input, normalized_shape, eps);
  check_factor(op, "weight", weight, normalized_shape, input);
  check_grad(op, grad, input);
  const Grads grads(input, normalized_shape, parts);
  run_rows_backward(op, norm, grad, input, weight, grads);
  return {grads.input, grads.weight, grads.bias};
}

Tensor rms_norm(const Tensor& input, IntSpan normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  constexpr const char* op = "rms_norm";
  RowNorm norm = rows_of(op, input, normalized_shape, eps.value_or(default_eps(input.dtype())));
  norm.is_centred = false;
  check_factor(op, "weight", weight, normalized_shape, input);
  return run_rows(op, norm, input, weight, {});
}

std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor& grad, const Tensor& input,
                                             const Tensor& weight, IntSpan normalized_shape,
                                             std::optional<double> eps, int64_t parts) {
  constexpr const char* op = "rms_norm_backward";
  RowNorm norm = rows_of(op, input, normalized_shape, eps.value_or(default_eps(input.dtype())));
  norm.is_centred = false;
  check_factor(op, "weight", weight, normalized_shape, input);
  check_grad(op, grad, input);
  const Grads grads(input, normalized_shape, parts & 3);
  run_rows_backward(op, norm, grad, input, weight, grads);
  return {grads.input, grads.weight};
}

Tensor row_rms_norm(const Tensor& input, const Tensor& weight) {
  constexpr const char* op = "row_rms_norm";
  return run_rows(op, slices_of(op, input, weight), input, weight, {});
}

std::tuple<Tensor, Tensor> row_rms_norm_backward(const Tensor& grad, const Tensor& input,
                                                 const Tensor& weight, int64_t parts) {
  constexpr const char* op = "row_rms_norm_backward";
  const RowNorm norm = slices_of(op, input, weight);
  check_grad(op, grad, input);
  const int64_t shape[] = {input.size(0)};
  const Grads grads(input, shape, parts & 3);
  if (input.size(0) > 0) run_rows_backward(op, norm, grad, input, weight, grads);
  return {grads.input, grads.weight};
}

Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  constexpr const char* op = "group_norm";
  const RowNorm norm = groups_of(op, input, num_groups, eps);
  if (input.numel() == num_groups) {
    throw ValueError(str(op, ": needs more than one value per group, got ", infer::describe(input),
                         " in ", num_groups, " groups"));
  }
  const int64_t shape[] = {input.size(1)};
  check_factor(op, "weight", weight, shape, input);
  check_factor(op, "bias", bias, shape, input);
  return run_rows(op, norm, input, weight, bias);
}

NormGrads group_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                              int64_t num_groups, double eps, int64_t parts) {
  constexpr const char* op = "group_norm_backward";
  const RowNorm norm = groups_of(op, input, num_groups, eps);
  const int64_t shape[] = {input.size(1)};
  check_factor(op, "weight", weight, shape, input);
  check_grad(op, grad, input);
  const Grads grads(input, shape, parts);
  run_rows_backward(op, norm, grad, input, weight, grads);
  return {grads.input, grads.weight, grads.bias};
}

std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& input,
                                                     const Tensor& running_mean,
                                                     const Tensor& running_var,
                                                     const Tensor& weight, const Tensor& bias,
                                                     bool training, double eps) {
  constexpr const char* op = "native_batch_norm";
  const ChannelNorm norm = channels_of(op, input, training, eps);
  const int64_t shape[] = {norm.channels};
  check_factor(op, "weight", weight, shape, input);
  check_factor(op, "bias", bias, shape, input);
  check_factor(op, "running_mean", running_mean, shape, input);
  check_factor(op, "running_var", running_var, shape, input);
  if (!training && (!running_mean.defined() || !running_var.defined())) {
    throw ValueError(
        str(op, ": needs running_mean and running_var unless training, got ",
            !running_mean.defined() && !running_var.defined() ? "none" : "one of them"));
  }
  const auto kernel = kernel_for(op, kernels::batch_norm_kernels, input);
  const DType wide = accumulator_of(input.dtype());
  const Tensor out = empty(input.sizes(), input.dtype(), input.device());
  // Copies, because the running ones may be written before the gradient is asked for.
  const bool is_empty = training && input.numel() == 0;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor mean = is_empty   ? full(shape, nan, wide, input.device())
                      : training ? empty(shape, wide, input.device())
                                 : cast(running_mean, wide);
  const Tensor var = is_empty   ? full(shape, nan, wide, input.device())
                     : training ? empty(shape, wide, input.device())
                                : cast(running_var, wide);
  const View from(input), weights(weight, wide), biases(bias, wide);
  kernel(context_of(input), norm, *from, weights.pointer(), biases.pointer(), view_of(mean),
         view_of(var), view_of(out));
  return {out, mean, var};
}

NormGrads native_batch_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                     const Tensor& mean, const Tensor& var, bool training,
                                     double eps, int64_t parts) {
  constexpr const char* op = "native_batch_norm_backward";
  const ChannelNorm norm = channels_of(op, input, training, eps);
  const int64_t shape[] = {norm.channels};
  check_factor(op, "weight", weight, shape, input);
  check_factor(op, "mean", mean, shape, input);
  check_factor(op, "var", var, shape, input);
  check_grad(op, grad, input);
  const auto kernel = kernel_for(op, kernels::batch_norm_backward_kernels, input);
  const DType wide = accumulator_of(input.dtype());
  const Grads grads(input, shape, parts);
  const View arrives(grad), from(input), weights(weight, wide), means(mean, wide), vars(var, wide);
  kernel(context_of(input), norm, *arrives, *from, weights.pointer(), *means, *vars,
         grads.input_view.pointer(), grads.weight_view.pointer(), grads.bias_view.pointer());
  return {grads.input, grads.weight, grads.bias};
}

}  // namespace ebb::ops::impl
