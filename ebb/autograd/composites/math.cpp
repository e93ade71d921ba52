// ebb/autograd/composites/math.cpp -- mm, bmm and cross_entropy, which are made of other ops.
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operands/matmul.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/bmm.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/cross_entropy.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/full_like.h"
#include "ebb/autograd/ops/log_softmax.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/mean.h"
#include "ebb/autograd/ops/mm.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/nll_loss.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/ops/infer.h"

namespace ebb {

using kernels::Reduction;

Tensor mm(const Tensor& input, const Tensor& mat2) {
  const autograd::operands::mm call(input, mat2);
  ops::infer::check_ndim("mm", "input", input, 2, 2);
  ops::infer::check_ndim("mm", "mat2", mat2, 2, 2);
  return matmul(input, mat2);
}

Tensor bmm(const Tensor& input, const Tensor& mat2) {
  const autograd::operands::bmm call(input, mat2);
  ops::infer::check_ndim("bmm", "input", input, 3, 3);
  ops::infer::check_ndim("bmm", "mat2", mat2, 3, 3);
  if (input.size(0) != mat2.size(0)) {
    throw ShapeError(str("bmm: both batches need one size, got ", ops::infer::describe(input),
                         " and ", ops::infer::describe(mat2)));
  }
  return matmul(input, mat2);
}

namespace {

/// What cross_entropy was called with, but for its operands.
struct LossOptions {
  const Tensor& weight;
  int64_t ignore_index;
  Reduction reduction;
  double label_smoothing;
};

int class_dim_of(const Tensor& input) { return input.ndim() == 1 ? 0 : 1; }

/// The weight of each class in a shape that broadcasts over the classes of `input`.
Tensor broadcast_weight(const Tensor& weight, const Tensor& input) {
  if (weight.ndim() != 1 || weight.numel() != input.size(class_dim_of(input))) {
    throw ShapeError(str("cross_entropy: weight needs one element per class, got ",
                         ops::infer::describe(weight), " for input ", ops::infer::describe(input)));
  }
  Shape shape = input.shape();
  for (int dim = 0; dim < shape.ndim(); ++dim) {
    if (dim != class_dim_of(input)) shape[dim] = 1;
  }
  return reshape(weight, shape);
}

/// Targets that are probabilities, in the shape of the input.
Tensor loss_of_probabilities(const Tensor& log_probs, const Tensor& target,
                             const LossOptions& options) {
  const int class_dim = class_dim_of(log_probs);
  const int64_t classes = log_probs.size(class_dim);
  Tensor wanted = target;
  if (options.label_smoothing > 0) {
    const double share = options.label_smoothing / static_cast<double>(classes);
    wanted = add(mul(autograd::widened(target), 1 - options.label_smoothing), share);
  }
  Tensor weighted = mul(log_probs, wanted);
  if (options.weight.defined()) {
    weighted = mul(weighted, broadcast_weight(options.weight, log_probs));
  }
  const int64_t dims[] = {class_dim};
  const Tensor losses =
      autograd::narrowed(neg(sum(weighted, IntSpan(dims), false)), log_probs.dtype());
  if (options.reduction == Reduction::none) return losses;
  return options.reduction == Reduction::sum ? sum(losses) : mean(losses);
}

/// The weights of all targets that are not ignored: what nll_loss divides its mean by.
Tensor weight_of_targets(const Tensor& log_probs, const Tensor& target,
                         const LossOptions& options) {
  const NoGradGuard guard;
  const DType wide = autograd::widened(log_probs.dtype());
  const Tensor weight = options.weight.defined() ? cast(options.weight, wide) : options.weight;
  return nll_loss(full_like(log_probs, -1, wide), target, weight, options.ignore_index,
                  Reduction::sum);
}

/// The part of label smoothing: the sum over all classes, for each target that is not ignored.
/// Half types neither reach nor count far: it is float32 for these.
Tensor smooth_loss(const Tensor& log_probs, const Tensor& target, const LossOptions& options) {
  const int64_t dims[] = {class_dim_of(log_probs)};
  Tensor weighted = log_probs;
  if (options.weight.defined()) {
    weighted = mul(weighted, broadcast_weight(options.weight, log_probs));
  }
  const Tensor is_ignored = eq(target, options.ignore_index);
  const DType wide = autograd::widened(weighted.dtype());
  const Tensor losses = where(is_ignored, 0, neg(sum(weighted, IntSpan(dims), false, wide)));
  if (options.reduction == Reduction::none) return losses;
  if (options.reduction == Reduction::sum) return sum(losses);
  return div(sum(losses), weight_of_targets(log_probs, target, options));
}

Tensor loss_of_classes(const Tensor& log_probs, const Tensor& target, const LossOptions& options) {
  const Tensor hard =
      nll_loss(log_probs, target, options.weight, options.ignore_index, options.reduction);
  if (options.label_smoothing == 0) return hard;
  const double classes = static_cast<double>(log_probs.size(class_dim_of(log_probs)));
  const Tensor smooth = smooth_loss(log_probs, target, options);
  const Tensor both =
      add(mul(hard, 1 - options.label_smoothing), mul(smooth, options.label_smoothing / classes));
  return autograd::narrowed(both, hard.dtype());
}

}  // namespace

Tensor cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                     int64_t ignore_index, Reduction reduction, double label_smoothing) {
  const autograd::CompositeCall call("cross_entropy", __builtin_return_address(0));
  ops::infer::check_ndim("cross_entropy", "input", input, 1, kMaxDims);
  ops::infer::check_defined("cross_entropy", "target", target);
  if (!(label_smoothing >= 0 && label_smoothing <= 1)) {
    throw ValueError(
        str("cross_entropy: label_smoothing must be from 0 to 1, got ", label_smoothing));
  }
  // The logarithm of a probability may be beyond what float16 holds, and the mean of some not.
  const bool is_wide =
      input.dtype() == DType::float16 && (thread_state.modes & gate::kAutocast) == 0;
  const Tensor wide_weight = is_wide ? autograd::widened(weight) : weight;
  const LossOptions options{wide_weight, ignore_index, reduction, label_smoothing};
  const Tensor log_probs =
      log_softmax(is_wide ? autograd::widened(input) : input, class_dim_of(input));
  const auto rounded = [&](const Tensor& loss) {
    return is_wide ? autograd::narrowed(loss, DType::float16) : loss;
  };
  if (!is_floating(target.dtype())) {
    // A byte could not be compared with an ignore_index below 0.
    const bool is_byte = target.dtype() == DType::uint8;
    const Tensor classes = is_byte ? cast(target, DType::int64) : target;
    return rounded(loss_of_classes(log_probs, classes, options));
  }
  if (!equal(input.sizes(), target.sizes())) {
    throw ShapeError(
        str("cross_entropy: target needs classes (int64) or probabilities in the "
            "shape of input, got target ",
            ops::infer::describe(target), " for input ", ops::infer::describe(input),
            "\nhint: target.long() makes classes of it"));
  }
  if (ignore_index >= 0) {
    throw ValueError(
        str("cross_entropy: ignore_index is for targets that are classes, got ", ignore_index,
            " beside probabilities\nhint: give what should not count probabilities of 0"));
  }
  return rounded(loss_of_probabilities(log_probs, target, options));
}

}  // namespace ebb
