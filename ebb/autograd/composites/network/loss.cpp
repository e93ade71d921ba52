// ebb/autograd/composites/network/loss.cpp -- losses made of others: entropies, likelihoods and
// margins.
#include "ebb/autograd/operands/loss.h"

#include <cmath>
#include <limits>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/gradients/in_blocks.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operands/loss_pointwise.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/bernoulli_loss.h"
#include "ebb/autograd/ops/binary_cross_entropy.h"
#include "ebb/autograd/ops/binary_cross_entropy_with_logits.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/cosine_embedding_loss.h"
#include "ebb/autograd/ops/cosine_similarity.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/gaussian_nll_loss.h"
#include "ebb/autograd/ops/hinge_embedding_loss.h"
#include "ebb/autograd/ops/huber_loss.h"
#include "ebb/autograd/ops/isnan.h"
#include "ebb/autograd/ops/kl_div.h"
#include "ebb/autograd/ops/l1_loss.h"
#include "ebb/autograd/ops/log.h"
#include "ebb/autograd/ops/logistic_loss.h"
#include "ebb/autograd/ops/margin_ranking_loss.h"
#include "ebb/autograd/ops/max.h"
#include "ebb/autograd/ops/mean.h"
#include "ebb/autograd/ops/mse_loss.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/pairwise_distance.h"
#include "ebb/autograd/ops/poisson_nll_loss.h"
#include "ebb/autograd/ops/relu.h"
#include "ebb/autograd/ops/rsub.h"
#include "ebb/autograd/ops/soft_margin_loss.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/triplet_margin_loss.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/core/device/stream_checks.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/ops/index_check.h"
#include "ebb/ops/infer.h"

namespace ebb {

using autograd::in_default_dtype;
using kernels::Reduction;
using ops::infer::check_same_shape;

namespace {

Tensor reduced(const Tensor& losses, Reduction reduction) {
  if (reduction == Reduction::none) return losses;
  return reduction == Reduction::sum ? sum(losses) : mean(losses);
}

/// Throws ValueError unless all elements are from 0 to 1.
void check_probabilities(const char* op, const Tensor& input) {
  if (input.numel() == 0 || is_meta(input)) return;
  const StreamCheck check{
      .op = op, .name = "input", .sizes = input.sizes(), .claim = "from 0 to 1"};
  if (ops::is_range_watched(input, 0, 1, check)) return;
  const NoGradGuard guard;
  const double largest = max(input).item<double>();
  const double least = -max(neg(input)).item<double>();
  const bool is_good = least >= 0 && largest <= 1;  // neither for NaN
  if (is_good) return;
  throw ValueError(str(op, ": input must be from 0 to 1, got ", least >= 0 ? largest : least));
}

/// Each loss times its factor; the mean is divided by the sum of the factors.
Tensor weighed(const Tensor& losses, const Tensor& weight, Reduction reduction) {
  const Tensor products = losses * weight;
  if (reduction != Reduction::mean) return reduced(products, reduction);
  const auto total = [](const Tensor& terms) {
    return sum(terms, std::nullopt, false, autograd::widened(terms.dtype()));
  };
  return autograd::narrowed(total(products) / total(weight), products.dtype());
}

}  // namespace

Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction reduction,
                const Tensor& weight) {
  const autograd::operands::mse_loss_weight call(input, target, weight);
  check_same_shape("mse_loss", "weight", weight, input);
  const auto compute = [&](const Tensor& input, const Tensor& target, const Tensor& weight) {
    return weighed(mse_loss(input, target, Reduction::none), weight, reduction);
  };
  return autograd::through_float(compute, input, target, weight);
}

Tensor l1_loss(const Tensor& input, const Tensor& target, Reduction reduction,
               const Tensor& weight) {
  const autograd::operands::l1_loss_weight call(input, target, weight);
  check_same_shape("l1_loss", "weight", weight, input);
  const auto compute = [&](const Tensor& input, const Tensor& target, const Tensor& weight) {
    return weighed(l1_loss(input, target, Reduction::none), weight, reduction);
  };
  return autograd::through_float(compute, input, target, weight);
}

Tensor huber_loss(const Tensor& input, const Tensor& target, Reduction reduction, double delta,
                  const Tensor& weight) {
  const autograd::operands::huber_loss_weight call(input, target, weight);
  check_same_shape("huber_loss", "weight", weight, input);
  const auto compute = [&](const Tensor& input, const Tensor& target, const Tensor& weight) {
    return reduced(huber_loss(input, target, Reduction::none, delta) * weight, reduction);
  };
  return autograd::through_float(compute, input, target, weight);
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                            Reduction reduction) {
  constexpr const char* op = "binary_cross_entropy";
  const autograd::operands::binary_cross_entropy call(input, target, weight);
  check_same_shape(op, "target", target, input);
  check_probabilities(op, input);
  const auto compute = [&](const Tensor& input, const Tensor& target, const Tensor& weight) {
    const Tensor losses = bernoulli_loss(input, target);
    return reduced(weight.defined() ? mul(losses, weight) : losses, reduction);
  };
  return autograd::through_float(compute, input, target, weight);
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const Tensor& weight, const Tensor& pos_weight,
                                        Reduction reduction) {
  constexpr const char* op = "binary_cross_entropy_with_logits";
  const autograd::operands::binary_cross_entropy_with_logits call(input, target, weight,
                                                                  pos_weight);
  check_same_shape(op, "target", target, input);
  const auto compute = [&](const Tensor& input, const Tensor& target, const Tensor& weight,
                           const Tensor& pos_weight) {
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
  };
  return autograd::through_float(compute, input, target, weight, pos_weight);
}

Tensor kl_div(const Tensor& input, const Tensor& target, Reduction reduction, bool log_target) {
  const autograd::operands::kl_div call(input, target);
  const auto compute = [&](const Tensor& input, const Tensor& target) {
    const auto losses = [&](const Tensor& x, const Tensor& y) {
      if (log_target) return mul(exp(y), sub(y, x));
      // 0 log 0 is 0, and has no gradient.
      return sub(mul(y, log(where(eq(y, 0), 1, y))), mul(y, x));
    };
    return reduced(autograd::in_blocks(losses, input, target), reduction);
  };
  return autograd::through_float(compute, input, target);
}

namespace {

/// Throws ValueError if an element is negative.
void check_variances(const char* op, const Tensor& var) {
  if (var.numel() == 0 || is_meta(var)) return;
  const NoGradGuard guard;
  if (!is_on_host(var)) {
    constexpr double kMost = std::numeric_limits<double>::infinity();
    const StreamCheck check{.op = op, .name = "var", .sizes = var.sizes(), .claim = "at least 0"};
    // NaN may be there, as on the CPU, and is in no range.
    if (ops::is_range_watched(where(isnan(var), 0, var), 0, kMost, check)) return;
  }
  const double least = -max(neg(var)).item<double>();
  if (least < 0) throw ValueError(str(op, ": var must not be negative, got ", least));
}

bool is_one_per_row(const Tensor& var, const Tensor& input) {
  const IntSpan sizes = input.sizes();
  return var.ndim() > 0 && equal(var.sizes(), sizes.first(sizes.size() - 1));
}

}  // namespace

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var, bool full,
                         double eps, Reduction reduction) {
  constexpr const char* op = "gaussian_nll_loss";
  const autograd::operands::gaussian_nll_loss call(input, target, var);
  const auto compute = [&](const Tensor& input, const Tensor& target, const Tensor& var) {
    check_variances(op, var);
    const Tensor given = is_one_per_row(var, input) ? unsqueeze(var, -1) : var;
    // Raised to eps, with the gradient of its own.
    const Tensor held = detach(given);
    const Tensor raised = given + where(held < eps, eps - held, 0);
    const Tensor difference = input - target;
    Tensor losses = (log(raised) + difference * difference / raised) * 0.5;
    if (full) losses = losses + 0.5 * std::log(2 * M_PI);
    return reduced(losses, reduction);
  };
  return autograd::through_float(compute, input, target, var);
}

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, double var, bool full,
                         double eps, Reduction reduction) {
  const autograd::operands::gaussian_nll_loss_number call(input, target);
  const auto compute = [&](const Tensor& input, const Tensor& target) {
    const Tensor spread = ebb::full(IntSpan(), var, input.dtype(), input.device());
    return gaussian_nll_loss(input, target, spread, full, eps, reduction);
  };
  return autograd::through_float(compute, input, target);
}

Tensor poisson_nll_loss(const Tensor& given, const Tensor& target, bool log_input, bool full,
                        double eps, Reduction reduction) {
  const autograd::operands::poisson_nll_loss call(given, target);
  const auto compute = [&](const Tensor& input, const Tensor& target) {
    Tensor losses;
    if (log_input) {
      losses = exp(input) - target * input;
    } else {
      losses = input - target * cast(log(autograd::widened(input) + eps), input.dtype());
    }
    if (full) {
      // Of integers, logarithms would be of the default dtype.
      const Tensor counts = is_floating(target.dtype()) ? target : cast(target, input.dtype());
      const Tensor is_many = counts > 1;
      const Tensor safe = where(is_many, counts, 1);
      const Tensor stirling = counts * log(safe) - counts + log(safe * (2 * M_PI)) * 0.5;
      losses = losses + where(is_many, stirling, 0);
    }
    return reduced(losses, reduction);
  };
  return autograd::through_float(compute, in_default_dtype(given), target);
}

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, double margin,
                            Reduction reduction) {
  const autograd::operands::hinge_embedding_loss call(input, target);
  const auto compute = [&](const Tensor& input, const Tensor& target) {
    const Tensor apart = where(eq(target, 1), 0, relu(margin - input));
    const Tensor together = where(eq(target, -1), 0, input);
    return reduced(apart + together, reduction);
  };
  return autograd::through_float(compute, input, target);
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           double margin, Reduction reduction) {
  const autograd::operands::margin_ranking_loss call(input1, input2, target);
  const auto compute = [&](const Tensor& first, const Tensor& second, const Tensor& sign) {
    const Tensor apart = in_default_dtype(first) - in_default_dtype(second);
    return reduced(relu(margin - sign * apart), reduction);
  };
  return autograd::through_float(compute, input1, input2, target);
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
  const autograd::operands::soft_margin_loss call(input, target);
  const auto compute = [&](const Tensor& input, const Tensor& target) {
    const Tensor margin = target * input;
    const Tensor one = full(IntSpan(), 1.0, margin.dtype(), margin.device());
    return reduced(logistic_loss(margin, one), reduction);
  };
  return autograd::through_float(compute, input, target);
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             double margin, Reduction reduction) {
  const autograd::operands::cosine_embedding_loss call(input1, input2, target);
  const auto compute = [&](const Tensor& first, const Tensor& second, const Tensor& given) {
    const Tensor cosine = cosine_similarity(first, second, -1);
    const Tensor sign = in_default_dtype(given);  // bytes know no -1
    const Tensor together = where(eq(sign, 1), 1 - cosine, 0);
    const Tensor apart = where(eq(sign, -1), relu(cosine - margin), 0);
    return reduced(together + apart, reduction);
  };
  return autograd::through_float(compute, in_default_dtype(input1), in_default_dtype(input2),
                                 target);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin, double p, double eps, bool swap, Reduction reduction) {
  const autograd::operands::triplet_margin_loss call(anchor, positive, negative);
  const auto compute = [&](const Tensor& anchor, const Tensor& positive, const Tensor& negative) {
    const Tensor near = pairwise_distance(anchor, positive, p, eps);
    Tensor far = pairwise_distance(anchor, negative, p, eps);
    if (swap) {
      const Tensor other = pairwise_distance(positive, negative, p, eps);
      far = where(other < far, other, far);
    }
    return reduced(relu(near - far + margin), reduction);
  };
  return autograd::through_float(compute, anchor, positive, negative);
}

}  // namespace ebb
