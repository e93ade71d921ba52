// ebb/autograd/composites/noise.cpp -- random activations, and dropout that keeps mean and
// variance.
#include "ebb/autograd/operands/noise.h"

#include <cmath>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/alpha_dropout.h"
#include "ebb/autograd/ops/argmax.h"
#include "ebb/autograd/ops/bernoulli.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/feature_alpha_dropout.h"
#include "ebb/autograd/ops/gumbel_softmax.h"
#include "ebb/autograd/ops/leaky_relu.h"
#include "ebb/autograd/ops/log.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/rand.h"
#include "ebb/autograd/ops/rrelu.h"
#include "ebb/autograd/ops/scatter.h"
#include "ebb/autograd/ops/softmax.h"
#include "ebb/autograd/ops/uniform_.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/autograd/ops/zeros_like.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using ops::infer::check_probability;

/// `input` with one draw for each element of `shape`, which broadcasts to it.
Tensor alpha_dropped(const char* op, const Tensor& input, double p, const Shape& shape) {
  if (!is_differentiable(input.dtype())) {
    throw DTypeError(str(op, ": input needs a floating or complex dtype in training, got ",
                         ops::infer::describe(input), "\nhint: cast it, or eval() the module"));
  }
  if (p == 1) return input * 0;
  // The limit of selu at minus infinity: -scale * alpha.
  constexpr double kAlpha = 1.7580993408473766;
  const double a = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  const DType dtype =
      real_type_of(input.dtype());  // complex numbers are shifted along the real axis
  const Tensor kept = bernoulli(zeros(shape, dtype, input.device()), 1 - p);
  return input * (kept * a) + ((kept - 1) * (kAlpha * a) + kAlpha * a * p);
}

}  // namespace

Tensor alpha_dropout(const Tensor& input, double p, bool training) {
  const autograd::operands::alpha_dropout call(input);
  check_probability("alpha_dropout", p);
  if (!training || p == 0) return input;
  return alpha_dropped("alpha_dropout", input, p, input.shape());
}

Tensor feature_alpha_dropout(const Tensor& input, double p, bool training) {
  const autograd::operands::feature_alpha_dropout call(input);
  check_probability("feature_alpha_dropout", p);
  if (!training || p == 0) return input;
  ops::infer::check_ndim("feature_alpha_dropout", "input", input, 2, kMaxDims);
  Shape channels = input.shape();
  for (int dim = 2; dim < input.ndim(); ++dim) channels[dim] = 1;
  return alpha_dropped("feature_alpha_dropout", input, p, channels);
}

Tensor rrelu(const Tensor& input, double lower, double upper, bool training) {
  const autograd::operands::rrelu call(input);
  if (!(std::isfinite(lower) && std::isfinite(upper) && lower <= upper)) {
    throw ValueError(
        str("rrelu: needs finite bounds with lower not above upper, got ", lower, " and ", upper));
  }
  if (!training) return leaky_relu(input, (lower + upper) / 2);
  const Tensor slopes = empty(input.sizes(), input.dtype(), input.device());
  uniform_(slopes, lower, upper);
  return where(input > 0, input, input * slopes);
}

Tensor gumbel_softmax(const Tensor& logits, double tau, bool hard, double eps, int64_t dim) {
  const autograd::operands::gumbel_softmax call(logits);
  static_cast<void>(eps);
  const int axis = normalize_dim("gumbel_softmax", dim, logits);
  if (tau == 0) throw ValueError("gumbel_softmax: tau must not be 0");
  const Tensor wide = autograd::widened(logits);
  const Tensor noise = neg(log(neg(log(rand(wide.sizes(), wide.dtype(), wide.device())))));
  const Tensor soft = cast(softmax((wide + noise) / tau, axis), logits.dtype());
  if (!hard) return soft;
  const Tensor best = argmax(detach(soft), axis, true);
  const Tensor chosen = scatter(zeros_like(detach(soft)), axis, best, 1);
  return chosen - detach(soft) + soft;
}

}  // namespace ebb
