// ebb/devices/common/network/batch_norm.cpp -- statistics by reductions, then
// kernels/network/batch_norm.k.
#include "ebb/devices/common/base/call.h"
#include "ebb/devices/common/network/norm.h"
#include "ebb/devices/common/reduce/reduce.h"
#include "ebb/devices/launch/source.h"

namespace ebb::devices {

using kernels::ChannelNorm;
using kernels::Context;
using kernels::TensorView;

namespace {

enum class Kind { apply, gradient, weights };

/// Contiguous memory as [samples, channels, inner], or as one number per channel in those dims.
class Channels {
 public:
  Channels(const ChannelNorm& norm, const TensorView& view)
      : sizes_{norm.samples, norm.channels, norm.inner},
        strides_{norm.channels * norm.inner, norm.inner, 1},
        view_{view.data, sizes_, strides_, view.numel, 3, view.dtype} {}
  Channels(const ChannelNorm& norm, void* data, DType dtype)
      : sizes_{1, norm.channels, 1}, strides_{norm.channels, 1, 1}, view_{data,     sizes_,
                                                                          strides_, norm.channels,
                                                                          3,        dtype} {}
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;
  const TensorView& view() const { return view_; }

 private:
  int64_t sizes_[3], strides_[3];
  TensorView view_;
};

KernelCall begin(Kind kind, const char* op, const Context& context, const ChannelNorm& norm,
                 const TensorView& input, bool has_weight, bool has_bias) {
  const bool as_int32 = input.numel < (int64_t{1} << 30);
  KernelCall call(Family::batch_norm, op, context, compute_of(input.dtype), as_int32);
  call.set("KIND", static_cast<int64_t>(kind), 2).set("T", input.dtype);
  call.set("IS_TRAINING", norm.is_training, 1);
  call.set("HAS_WEIGHT", has_weight, 1).set("HAS_BIAS", has_bias, 1);
  return call;
}

const void* data_or(const TensorView* view, const TensorView& other) {
  return view != nullptr ? view->data : other.data;
}

/// What is summed up per channel, beside the families' other reductions.
enum Sums : uint32_t { mean_of_input = kFirstNormReduction, variance, grads, products };

void find_moments(const Context& context, const ChannelNorm& norm, const TensorView& input,
                  const TensorView& mean, const TensorView& var) {
  const Compute compute = compute_of(input.dtype);
  const Channels in(norm, input), means(norm, mean.data, mean.dtype);
  const Channels variances(norm, var.data, var.dtype);
  run_reduction(
      {.number = mean_of_input, .op = "batch_norm", .finish = "x / (C)count", .compute = compute},
      context, in.view(), means.view());
  run_reduction({.number = variance,
                 .op = "batch_norm",
                 .map = "(x - given) * (x - given)",
                 .finish = "x / (C)count",
                 .compute = compute,
                 .given = &means.view()},
                context, in.view(), variances.view());
}

/// Per channel, the sums of grad_out and of its products with input - mean.
void find_sums(const Context& context, const ChannelNorm& norm, const TensorView& grad_out,
               const TensorView& input, const TensorView& mean, char* sums) {
  const Compute compute = compute_of(input.dtype);
  const size_t bytes = static_cast<size_t>(norm.channels) * item_size(compute);
  const Channels in(norm, input), arrives(norm, grad_out), means(norm, mean.data, mean.dtype);
  const Channels of_grads(norm, sums, mean.dtype), of_products(norm, sums + bytes, mean.dtype);
  run_reduction({.number = grads, .op = "batch_norm_backward", .compute = compute}, context,
                arrives.view(), of_grads.view());
  run_reduction({.number = products,
                 .op = "batch_norm_backward",
                 .map = "x * (y - given)",
                 .compute = compute,
                 .other = &in.view(),
                 .given = &means.view()},
                context, arrives.view(), of_products.view());
}

}  // namespace

void run_batch_norm(const Context& context, const ChannelNorm& norm, const TensorView& input,
                    const TensorView* weight, const TensorView* bias, const TensorView& mean,
                    const TensorView& var, const TensorView& out) {
  if (input.numel == 0) return;
  if (norm.is_training) find_moments(context, norm, input, mean, var);
  KernelCall call =
      begin(Kind::apply, "batch_norm", context, norm, input, weight != nullptr, bias != nullptr);
  call.add(out).add(input).add(mean).add(var).add(data_or(weight, mean)).add(data_or(bias, mean));
  call.add_index(input.numel).add_index(norm.channels).add_index(norm.inner).add_number(norm.eps);
  call.run({batch_norm_k}, input.numel, call.traits().group_size);
}

void run_batch_norm_backward(const Context& context, const ChannelNorm& norm,
                             const TensorView& grad_out, const TensorView& input,
                             const TensorView* weight, const TensorView& mean,
                             const TensorView& var, const TensorView* grad_input,
                             const TensorView* grad_weight, const TensorView* grad_bias) {
  constexpr const char* op = "batch_norm_backward";
  if (norm.channels == 0) return;
  const bool wants_weights = grad_weight != nullptr || grad_bias != nullptr;
  const Scratch sums(context, static_cast<size_t>(2 * norm.channels) * sizeof(double));
  if (wants_weights || norm.is_training) {
    find_sums(context, norm, grad_out, input, mean, static_cast<char*>(sums.data()));
  }
  if (grad_input != nullptr && input.numel > 0) {
    KernelCall call = begin(Kind::gradient, op, context, norm, input, weight != nullptr, false);
    call.add(*grad_input).add(grad_out).add(input).add(mean).add(var);
    call.add(data_or(weight, mean)).add(sums.data());
    call.add_index(input.numel).add_index(norm.channels).add_index(norm.inner);
    call.add_number(norm.eps);
    call.add_number(1 / static_cast<double>(norm.samples * norm.inner));
    call.run({batch_norm_k}, input.numel, call.traits().group_size);
  }
  if (!wants_weights) return;
  KernelCall call =
      begin(Kind::weights, op, context, norm, input, grad_weight != nullptr, grad_bias != nullptr);
  call.add(data_or(grad_weight, mean)).add(data_or(grad_bias, mean)).add(var).add(sums.data());
  call.add_index(norm.channels).add_number(norm.eps);
  call.run({batch_norm_k}, norm.channels, group_size_for(call.traits(), norm.channels));
}

}  // namespace ebb::devices
