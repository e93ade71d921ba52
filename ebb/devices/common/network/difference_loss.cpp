// ebb/devices/common/network/difference_loss.cpp -- losses of input - target: per element, reduced,
// and their gradients.
#include "ebb/devices/common/base/call.h"
#include "ebb/devices/common/network/loss.h"
#include "ebb/devices/common/reduce/reduce.h"
#include "ebb/devices/launch/source.h"

namespace ebb::devices {

using kernels::Context;
using kernels::DifferenceLoss;
using kernels::TensorView;

namespace {

/// A loss and its slope, of the difference d; a reduction calls beta `parameter` and d x - y.
struct Texts {
  const char* value;
  const char* reduced;
  const char* slope;
};

constexpr Texts kTexts[] = {
    {"(d) * (d)", "(x - y) * (x - y)", "2 * (d)"},
    {"fabs(d)", "fabs(x - y)", "unit_of(d)"},
    {"(fabs(d) < beta ? K(0.5) * (d) * (d) / beta : fabs(d) - K(0.5) * beta)",
     "(fabs(x - y) < parameter ? K(0.5) * (x - y) * (x - y) / parameter"
     " : fabs(x - y) - K(0.5) * parameter)",
     "(fabs(d) < beta ? (d) / beta : unit_of(d))"},
    {"(fabs(d) < beta ? K(0.5) * (d) * (d) : beta * (fabs(d) - K(0.5) * beta))",
     "(fabs(x - y) < parameter ? K(0.5) * (x - y) * (x - y)"
     " : parameter * (fabs(x - y) - K(0.5) * parameter))",
     "(fabs(d) < beta ? (d) : beta * unit_of(d))"},
};

/// Which texts: smooth is absolute where beta is 0, its limit.
uint32_t number_of_loss(DifferenceLoss loss, double beta) {
  if (loss == DifferenceLoss::smooth && beta == 0) loss = DifferenceLoss::absolute;
  return static_cast<uint32_t>(loss);
}

KernelCall begin(const char* op, const Context& context, uint32_t loss, double beta,
                 const TensorView& input, const TensorView& target, const TensorView& out) {
  const bool as_int32 = input.numel < (int64_t{1} << 30);
  KernelCall call(Family::difference_loss, op, context, compute_of(input.dtype), as_int32);
  call.set("LOSS", loss, 4).set("T", input.dtype);
  call.set_text("VALUE(d)", kTexts[loss].value).set_text("SLOPE(d)", kTexts[loss].slope);
  call.add(out).add(input).add(target).add_index(input.numel).add_number(beta);
  return call;
}

}  // namespace

void run_difference_loss(const Context& context, DifferenceLoss loss, double beta,
                         const TensorView& input, const TensorView& target, double divisor,
                         bool is_reduced, const TensorView& out) {
  const uint32_t number = number_of_loss(loss, beta);
  if (is_reduced) {
    const int64_t size = input.numel, step = 1, single = 1;
    const auto line = [&](const TensorView& view) {
      return TensorView{view.data, &size, &step, size, 1, view.dtype};
    };
    const TensorView flat_target = line(target);
    const TensorView one{out.data, &single, &step, 1, 1, out.dtype};
    run_reduction({.number = kFirstLossReduction + number,
                   .op = "difference_loss",
                   .map = kTexts[number].reduced,
                   .finish = "x / divisor",
                   .compute = compute_of(input.dtype),
                   .parameter = beta,
                   .divisor = divisor,
                   .other = &flat_target},
                  context, line(input), one);
    return;
  }
  if (input.numel == 0) return;
  KernelCall call = begin("difference_loss", context, number, beta, input, target, out);
  call.set("IS_GRADIENT", 0, 1);
  call.run({difference_loss_k}, input.numel, call.traits().group_size);
}

void run_difference_loss_backward(const Context& context, DifferenceLoss loss, double beta,
                                  const TensorView& grad_out, const TensorView& input,
                                  const TensorView& target, double divisor,
                                  const TensorView& grad_input) {
  if (input.numel == 0) return;
  const uint32_t number = number_of_loss(loss, beta);
  KernelCall call =
      begin("difference_loss_backward", context, number, beta, input, target, grad_input);
  call.set("IS_GRADIENT", 1, 1).set("IS_SINGLE", grad_out.ndim == 0, 1);
  call.add_number(1 / divisor).add(grad_out);
  call.run({difference_loss_k}, input.numel, call.traits().group_size);
}

}  // namespace ebb::devices
