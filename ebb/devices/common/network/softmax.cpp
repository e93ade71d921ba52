// ebb/devices/common/network/softmax.cpp -- launches of the kinds of kernels/network/softmax.k.
#include "ebb/devices/common/network/softmax.h"

#include "ebb/devices/common/base/lines.h"
#include "ebb/devices/launch/source.h"

namespace ebb::devices {

using kernels::Context;
using kernels::TensorView;

namespace {

enum class Kind { softmax, log_softmax, logsumexp, softmax_backward, log_softmax_backward };

/// `views`: the result, then the operands; the last one has the whole lines.
void run_kind(Kind kind, const char* op, const Context& context,
              std::span<const TensorView* const> views, int dim) {
  if (views[0]->numel == 0) return;
  const Traits& traits = driver().traits(context.device.index);
  Lines lines(views, dim, traits, true);
  lines.take_columns(traits);
  const DType dtype = views[0]->dtype;
  KernelCall call(Family::softmax, op, context, compute_of(dtype), lines.fits_int32());
  call.set("KIND", static_cast<int64_t>(kind), 3).set("T", dtype);
  call.set("IS_STORED", !is_half(dtype), 1).set("ON_CPU", traits.is_cpu, 1);
  lines.specialise(call);
  for (const TensorView* view : views) call.add(*view);
  lines.add_to(call);
  lines.run(call, softmax_k);
}

}  // namespace

void run_softmax(const Context& context, const TensorView& input, int dim, const TensorView& out) {
  const TensorView* const views[] = {&out, &input};
  run_kind(Kind::softmax, "softmax", context, views, dim);
}

void run_log_softmax(const Context& context, const TensorView& input, int dim,
                     const TensorView& out) {
  const TensorView* const views[] = {&out, &input};
  run_kind(Kind::log_softmax, "log_softmax", context, views, dim);
}

void run_logsumexp(const Context& context, const TensorView& input, int dim,
                   const TensorView& out) {
  const TensorView* const views[] = {&out, &input};
  run_kind(Kind::logsumexp, "logsumexp", context, views, dim);
}

void run_softmax_backward(const Context& context, const TensorView& grad_out, const TensorView& out,
                          int dim, const TensorView& grad_input) {
  const TensorView* const views[] = {&grad_input, &grad_out, &out};
  run_kind(Kind::softmax_backward, "softmax_backward", context, views, dim);
}

void run_log_softmax_backward(const Context& context, const TensorView& grad_out,
                              const TensorView& out, int dim, const TensorView& grad_input) {
  const TensorView* const views[] = {&grad_input, &grad_out, &out};
  run_kind(Kind::log_softmax_backward, "log_softmax_backward", context, views, dim);
}

}  // namespace ebb::devices
