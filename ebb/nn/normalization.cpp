// ebb/nn/normalization.cpp -- normalisation layers: what they hold; the arithmetic is in the ops.
#include "ebb/nn/normalization.h"

#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/batch_norm.h"
#include "ebb/autograd/ops/group_norm.h"
#include "ebb/autograd/ops/layer_norm.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/rms_norm.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/base/error.h"

namespace ebb::nn {
namespace {

void check_sizes(const char* name, IntSpan shape) {
  bool is_good = !shape.empty();
  for (const int64_t size : shape) is_good = is_good && size >= 0;
  if (is_good) return;
  throw ValueError(str(name, ": needs sizes >= 0, at least one, got ", PrintShape{shape}));
}

}  // namespace

LayerNorm::LayerNorm(IntSpan normalized_shape, LayerNormOptions options)
    : shape_(normalized_shape), eps_(options.eps) {
  check_sizes("LayerNorm", normalized_shape);
  if (!options.elementwise_affine) return;
  weight = register_parameter("weight", ones(shape_, options.dtype));
  if (options.with_bias) bias = register_parameter("bias", zeros(shape_, options.dtype));
}

Tensor LayerNorm::forward(const Tensor& input) {
  return layer_norm(input, shape_, weight, bias, eps_);
}

RMSNorm::RMSNorm(IntSpan normalized_shape, RmsNormOptions options)
    : shape_(normalized_shape), eps_(options.eps) {
  check_sizes("RMSNorm", normalized_shape);
  if (options.elementwise_affine) {
    weight = register_parameter("weight", ones(shape_, options.dtype));
  }
}

Tensor RMSNorm::forward(const Tensor& input) { return rms_norm(input, shape_, weight, eps_); }

GroupNorm::GroupNorm(int64_t num_groups, int64_t num_channels, GroupNormOptions options)
    : num_groups_(num_groups), eps_(options.eps) {
  if (num_groups <= 0 || num_channels < 0 || num_channels % num_groups != 0) {
    throw ValueError(str("GroupNorm: num_groups must divide num_channels, got ", num_groups,
                         " and ", num_channels));
  }
  if (!options.affine) return;
  weight = register_parameter("weight", ones(Shape{num_channels}, options.dtype));
  bias = register_parameter("bias", zeros(Shape{num_channels}, options.dtype));
}

Tensor GroupNorm::forward(const Tensor& input) {
  return group_norm(input, num_groups_, weight, bias, eps_);
}

BatchNorm::BatchNorm(const char* name, int min_ndim, int max_ndim, int64_t num_features,
                     const BatchNormOptions& options)
    : name_(name),
      min_ndim_(min_ndim),
      max_ndim_(max_ndim),
      num_features_(num_features),
      eps_(options.eps),
      momentum_(options.momentum) {
  if (num_features < 0) {
    throw ValueError(str(name, ": needs num_features >= 0, got ", num_features));
  }
  const Shape shape = {num_features};
  if (options.affine) {
    weight = register_parameter("weight", ones(shape, options.dtype));
    bias = register_parameter("bias", zeros(shape, options.dtype));
  }
  if (!options.track_running_stats) return;
  running_mean = register_buffer("running_mean", zeros(shape, options.dtype));
  running_var = register_buffer("running_var", ones(shape, options.dtype));
  num_batches_tracked = register_buffer("num_batches_tracked", zeros(IntSpan(), DType::int64));
}

Tensor BatchNorm::forward(const Tensor& input) {
  const bool fits = input.defined() && input.ndim() >= min_ndim_ && input.ndim() <= max_ndim_ &&
                    input.size(1) == num_features_;
  if (!fits) {
    throw ShapeError(str(name_, ": needs an input of ", min_ndim_,
                         max_ndim_ > min_ndim_ ? " or more" : "", " dims with ", num_features_,
                         " channels, got ",
                         PrintShape{input.defined() ? input.sizes() : IntSpan()}));
  }
  double momentum = momentum_.value_or(0.0);
  if (is_training() && num_batches_tracked.defined()) {
    add_(num_batches_tracked, 1);
    if (!momentum_) momentum = 1.0 / num_batches_tracked.item<double>();
  }
  const bool uses_batch = is_training() || !running_mean.defined();
  return batch_norm(input, running_mean, running_var, weight, bias, uses_batch, momentum, eps_);
}

}  // namespace ebb::nn
