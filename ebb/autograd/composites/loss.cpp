// ebb/autograd/composites/loss.cpp -- binary_cross_entropy, its logit form, and kl_div.
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/bernoulli_loss.h"
#include "ebb/autograd/ops/binary_cross_entropy.h"
#include "ebb/autograd/ops/binary_cross_entropy_with_logits.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/kl_div.h"
#include "ebb/autograd/ops/log.h"
#include "ebb/autograd/ops/logistic_loss.h"
#include "ebb/autograd/ops/max.h"
#include "ebb/autograd/ops/mean.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/rsub.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/infer.h"

namespace ebb {

using kernels::Reduction;

namespace {

Tensor reduced(const Tensor& losses, Reduction reduction) {
  if (reduction == Reduction::none) return losses;
  return reduction == Reduction::sum ? sum(losses) : mean(losses);
}

void check_operands(const char* op, const Tensor& input, const Tensor& target) {
  ops::infer::check_defined(op, "input", input);
  ops::infer::check_defined(op, "target", target);
  for (const Tensor* const operand : {&input, &target}) {
    if (is_floating(operand->dtype())) continue;
    throw DTypeError(str(op, ": ", operand == &input ? "input" : "target",
                         " needs a floating dtype, got ", ops::infer::describe(*operand)));
  }
}

void check_shapes(const char* op, const Tensor& input, const Tensor& target) {
  if (equal(input.sizes(), target.sizes())) return;
  throw ShapeError(str(op, ": target needs the shape of input, got ", describe_shape(target),
                       " for ", describe_shape(input)));
}

/// Throws ValueError unless all elements are from 0 to 1.
void check_probabilities(const char* op, const Tensor& input) {
  if (input.numel() == 0) return;
  const NoGradGuard guard;
  const double largest = max(input).item<double>();
  const double least = -max(neg(input)).item<double>();
  const bool is_good = least >= 0 && largest <= 1;  // neither for NaN
  if (is_good) return;
  throw ValueError(str(op, ": input must be from 0 to 1, got ", least >= 0 ? largest : least));
}

}  // namespace

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                            Reduction reduction) {
  constexpr const char* op = "binary_cross_entropy";
  const autograd::CompositeCall call("binary_cross_entropy", __builtin_return_address(0));
  check_operands(op, input, target);
  check_shapes(op, input, target);
  check_probabilities(op, input);
  const Tensor losses = bernoulli_loss(input, target);
  return reduced(weight.defined() ? mul(losses, weight) : losses, reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const Tensor& weight, const Tensor& pos_weight,
                                        Reduction reduction) {
  constexpr const char* op = "binary_cross_entropy_with_logits";
  const autograd::CompositeCall call("binary_cross_entropy_with_logits",
                                     __builtin_return_address(0));
  check_operands(op, input, target);
  check_shapes(op, input, target);
  Tensor losses;
  if (pos_weight.defined()) {
    // Both terms are positive, so nothing cancels.
    const Tensor one = full(IntSpan(), 1.0, input.dtype(), input.device());
    const Tensor zero = full(IntSpan(), 0.0, input.dtype(), input.device());
    losses = add(mul(mul(pos_weight, target), logistic_loss(input, one)),
                 mul(rsub(target, 1), logistic_loss(input, zero)));
  } else {
    losses = logistic_loss(input, target);
  }
  return reduced(weight.defined() ? mul(losses, weight) : losses, reduction);
}

Tensor kl_div(const Tensor& input, const Tensor& target, Reduction reduction, bool log_target) {
  constexpr const char* op = "kl_div";
  const autograd::CompositeCall call("kl_div", __builtin_return_address(0));
  check_operands(op, input, target);
  if (log_target) return reduced(mul(exp(target), sub(target, input)), reduction);
  // 0 log 0 is 0.
  const Tensor entropy = where(eq(target, 0), 0, mul(target, log(target)));
  return reduced(sub(entropy, mul(target, input)), reduction);
}

}  // namespace ebb
