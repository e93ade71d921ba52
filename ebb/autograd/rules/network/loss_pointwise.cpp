// ebb/autograd/rules/network/loss_pointwise.cpp -- derivatives of the losses of
// ops/nn/loss_pointwise.yaml.
#include "ebb/autograd/rules/network/loss_pointwise.h"

#include <algorithm>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/gradients/in_blocks.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/difference_loss_backward.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/less.h"
#include "ebb/autograd/ops/log.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/mul0.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/real.h"
#include "ebb/autograd/ops/rsub.h"
#include "ebb/autograd/ops/sgn.h"
#include "ebb/autograd/ops/sigmoid.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/where.h"

namespace ebb::autograd::rules {

using kernels::Reduction;

namespace {

/// 1 where |input - target| < beta, else 0: a constant.
Tensor is_below(const Tensor& input, const Tensor& target, double beta) {
  const NoGradGuard guard;
  const DType dtype = promote(input.dtype(), target.dtype());  // else of bool, without difference
  const Tensor difference = sub(cast(input, dtype), cast(target, dtype));
  return cast(less(mul(difference, difference), beta * beta), difference.dtype());
}

/// What moves each difference, as it moves the loss of all.
Tensor in_loss(const Tensor& values, Reduction reduction) {
  if (reduction == Reduction::none) return values;
  const Tensor total = sum(values);
  // The loss of nothing is NaN, but no element of it has a share in that.
  return reduction == Reduction::sum ? total : div(total, std::max<int64_t>(1, values.numel()));
}

}  // namespace

Tensor difference_loss_jvp(const Tensor& tangent, const Tensor& input, const Tensor& target,
                           std::string_view kind, double beta, Reduction reduction) {
  const Shape shape = broadcast_shapes("difference_loss", input.sizes(), target.sizes());
  const auto compute = [&](const Tensor& t, const Tensor& x, const Tensor& y) {
    const Tensor values =
        difference_loss_backward(expand(t, shape), x, y, kind, beta, Reduction::none);
    return in_loss(values, reduction);
  };
  if (reduction == Reduction::none) return compute(tangent, input, target);
  return through_float(compute, tangent, input, target);
}

Tensor difference_loss_grad(const Tensor& grad, const Tensor& input, const Tensor& target,
                            std::string_view kind, double beta, Reduction reduction) {
  const auto compute = [&](const Tensor& g, const Tensor& x, const Tensor& y) {
    return difference_loss_backward(g, x, y, kind, beta, reduction);
  };
  const bool is_summed = !equal(input.sizes(), target.sizes());
  if (!is_summed) return compute(grad, input, target);
  return compute(in_float(grad), in_float(input), in_float(target));
}

Tensor l1_loss_grad(const Tensor& grad, const Tensor& input, const Tensor& target,
                    Reduction reduction) {
  if (!is_complex(promote(input.dtype(), target.dtype()))) {
    return difference_loss_grad(grad, input, target, "absolute", 0.0, reduction);
  }
  const Tensor direction = sgn(sub(input, target));
  const int64_t count = reduction == Reduction::mean ? direction.numel() : 1;
  return mul0(div(grad, count), direction);
}

Tensor l1_loss_jvp(const Tensor& tangent, const Tensor& input, const Tensor& target,
                   Reduction reduction) {
  if (!is_complex(promote(input.dtype(), target.dtype()))) {
    return difference_loss_jvp(tangent, input, target, "absolute", 0.0, reduction);
  }
  return in_loss(real(mul(tangent, conj(sgn(sub(input, target))))), reduction);
}

Tensor difference_loss_bend(const Tensor& tangent, const Tensor& grad, const Tensor& input,
                            const Tensor& target, std::string_view kind, double beta,
                            Reduction reduction) {
  const Shape shape = broadcast_shapes("difference_loss", input.sizes(), target.sizes());
  const int64_t count = checked_numel("difference_loss", shape, 1);
  return in_blocks(
      [&](const Tensor& t, const Tensor& g, const Tensor& x, const Tensor& y) {
        Tensor share = mul(in_float(t), in_float(g));
        if (reduction == Reduction::mean) share = div(share, count);
        if (kind == "square") return mul(share, 2);
        if (kind == "absolute" || beta == 0) return mul(share, 0);
        const Tensor below = mul(share, is_below(in_float(x), in_float(y), beta));
        return kind == "huber" ? below : div(below, beta);
      },
      expand(tangent, shape), grad, input, target);
}

Tensor logistic_bend(const Tensor& input) { return mul(sigmoid(input), sigmoid(neg(input))); }

Tensor bernoulli_slope(const Tensor& input, const Tensor& target) {
  const Tensor spread = mul(input, rsub(input, 1));
  return div(sub(input, target), where(less(spread, 1e-12), 1e-12, spread));
}

Tensor bernoulli_target_slope(const Tensor& input) {
  const Tensor of_input = log(input), of_rest = log(rsub(input, 1));
  return sub(where(less(of_rest, -100), -100, of_rest),
             where(less(of_input, -100), -100, of_input));
}

}  // namespace ebb::autograd::rules
