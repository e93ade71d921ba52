// ebb/autograd/composites/network/norm.cpp -- batch_norm and instance_norm: a fused op, and the
// running statistics that follow its own.
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/batch_norm.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/group_norm.h"
#include "ebb/autograd/ops/instance_norm.h"
#include "ebb/autograd/ops/mean.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/native_batch_norm.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/rules/linalg/linalg_support.h"
#include "ebb/autograd/rules/refused.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

/// running += momentum * (value - running), in place; nothing if it is undefined.
void follow(const Tensor& running, const Tensor& value, double momentum) {
  if (!running.defined()) return;
  mul_(running, 1 - momentum);
  add_(running, mul(value, momentum));
}

/// How many elements each statistic is made of.
int64_t values_per_channel(const Tensor& input) {
  int64_t count = 1;
  for (int dim = 2; dim < input.ndim(); ++dim) count *= input.size(dim);
  return count;
}

void check_running(const char* op, const char* name, const Tensor& running, int64_t channels) {
  if (!running.defined() || (running.ndim() == 1 && running.numel() == channels)) return;
  throw ShapeError(str(op, ": ", name, " needs the shape [", channels, "], got ",
                       ops::infer::describe(running)));
}

/// Variances with Bessel's correction, from those without.
Tensor unbiased(const Tensor& var, int64_t count) {
  return mul(var, static_cast<double>(count) / static_cast<double>(count - 1));
}

/// Refuses running statistics whose gradient would be lost.
void check_constant(const char* op, const Tensor& running_mean, const Tensor& running_var) {
  using autograd::rules::is_followed;
  if (running_mean.defined() && is_followed(running_mean)) {
    autograd::refused_gradient(op, "running_mean");
  }
  if (running_var.defined() && is_followed(running_var)) {
    autograd::refused_gradient(op, "running_var");
  }
}

}  // namespace

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight, const Tensor& bias, bool training, double momentum,
                  double eps) {
  constexpr const char* op = "batch_norm";
  const autograd::CompositeCall call("batch_norm", __builtin_return_address(0));
  ops::infer::check_ndim(op, "input", input, 2, kMaxDims);
  if (!training) {
    check_constant(op, running_mean, running_var);
    return std::get<0>(
        native_batch_norm(input, running_mean, running_var, weight, bias, false, eps));
  }
  check_running(op, "running_mean", running_mean, input.size(1));
  check_running(op, "running_var", running_var, input.size(1));
  const int64_t count = input.size(0) * values_per_channel(input);
  if (count == 1) {
    throw ValueError(str(op, ": needs more than one value per channel when training, got ",
                         ops::infer::describe(input)));
  }
  const auto [out, mean, var] = native_batch_norm(input, {}, {}, weight, bias, true, eps);
  if (count > 0) {
    const NoGradGuard guard;
    follow(running_mean, mean, momentum);
    if (running_var.defined()) follow(running_var, unbiased(var, count), momentum);
  }
  return out;
}

namespace {

/// Moves the running statistics towards those of all samples and channels of `input`.
void follow_instances(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                      double momentum) {
  if (!running_mean.defined() && !running_var.defined()) return;
  const NoGradGuard guard;
  const int64_t samples = input.size(0), channels = input.size(1);
  const int64_t count = values_per_channel(input);
  if (samples == 0 || channels == 0) return;
  // Every sample's channel as a channel of one sample.
  const Tensor folded = reshape(input, Shape{1, samples * channels, count});
  const auto [out, mean_of, var_of] = native_batch_norm(folded, {}, {}, {}, {}, true, 0.0);
  const int64_t dims[] = {0};
  const Shape by_sample = {samples, channels};
  follow(running_mean, mean(reshape(mean_of, by_sample), IntSpan(dims), false), momentum);
  const Tensor vars = mean(reshape(unbiased(var_of, count), by_sample), IntSpan(dims), false);
  follow(running_var, vars, momentum);
}

}  // namespace

Tensor instance_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                     const Tensor& weight, const Tensor& bias, bool use_input_stats,
                     double momentum, double eps) {
  constexpr const char* op = "instance_norm";
  const autograd::CompositeCall call("instance_norm", __builtin_return_address(0));
  ops::infer::check_ndim(op, "input", input, 3, kMaxDims);
  if (!use_input_stats) {
    check_constant(op, running_mean, running_var);
    return std::get<0>(
        native_batch_norm(input, running_mean, running_var, weight, bias, false, eps));
  }
  check_running(op, "running_mean", running_mean, input.size(1));
  check_running(op, "running_var", running_var, input.size(1));
  if (values_per_channel(input) == 1) {
    throw ValueError(str(op, ": needs more than one value per channel and sample, got ",
                         ops::infer::describe(input)));
  }
  const bool is_empty = input.size(1) == 0;
  const Tensor out = is_empty ? clone(input) : group_norm(input, input.size(1), weight, bias, eps);
  if (input.numel() > 0) follow_instances(input, running_mean, running_var, momentum);
  return out;
}

}  // namespace ebb
