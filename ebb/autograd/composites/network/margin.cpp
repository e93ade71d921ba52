// ebb/autograd/composites/network/margin.cpp -- losses that want scores of classes a margin apart.
#include "ebb/autograd/operands/margin.h"

#include <string>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/gradients/in_blocks.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/clamp.h"
#include "ebb/autograd/ops/cumsum.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/gather.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/autograd/ops/logistic_loss.h"
#include "ebb/autograd/ops/max.h"
#include "ebb/autograd/ops/mean.h"
#include "ebb/autograd/ops/min.h"
#include "ebb/autograd/ops/multi_margin_loss.h"
#include "ebb/autograd/ops/multilabel_margin_loss.h"
#include "ebb/autograd/ops/multilabel_soft_margin_loss.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/relu.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/scatter_add.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/index_check.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using kernels::Reduction;
using ops::infer::check_same_shape;
using ops::infer::describe;

constexpr int64_t kLastDim[] = {-1};

/// The losses of samples, in the dtype of the scores.
Tensor reduced(const Tensor& losses, Reduction reduction, DType dtype) {
  if (reduction == Reduction::none) return cast(losses, dtype);
  return cast(reduction == Reduction::sum ? sum(losses) : mean(losses), dtype);
}

}  // namespace

Tensor multi_margin_loss(const Tensor& input, const Tensor& target, int64_t p, double margin,
                         const Tensor& weight, Reduction reduction) {
  constexpr const char* op = "multi_margin_loss";
  const autograd::operands::multi_margin_loss call(input, target, weight);
  ops::infer::check_ndim(op, "input", input, 0, 2);
  const int64_t classes = input.ndim() == 0 ? 1 : input.size(-1);
  const bool fits = input.ndim() <= 1 ? target.numel() == 1 && target.ndim() <= 1
                                      : target.ndim() == 1 && target.numel() == input.size(0);
  if (!fits) {
    throw ShapeError(str(op, ": target needs one class for each row of input, got ",
                         describe(target), " for ", describe(input)));
  }
  if (p != 1 && p != 2) throw ValueError(str(op, ": p must be 1 or 2, got ", p));
  if (weight.defined() && (weight.ndim() != 1 || weight.numel() != classes)) {
    throw ShapeError(str(op, ": weight needs one element per class, got ", describe(weight),
                         " for ", classes, " classes"));
  }
  const Tensor flat = cast(reshape(target, {target.numel()}), DType::int64);
  ops::check_index_range(op, "target", flat, classes);
  const Tensor scores = autograd::widened(reshape(input, {flat.numel(), classes}));
  const Tensor own = unsqueeze(flat, 1);
  Tensor gaps = relu(scores - gather(scores, 1, own) + margin);
  if (p == 2) gaps = gaps * gaps;
  if (weight.defined()) {
    gaps = gaps * unsqueeze(cast(index_select(weight, 0, flat), scores.dtype()), 1);
  }
  const Tensor is_own = eq(arange(classes, DType::int64, input.device()), own);
  Tensor losses = sum(where(is_own, 0, gaps), kLastDim) / static_cast<double>(classes);
  if (input.ndim() < 2) losses = reshape(losses, {});
  return reduced(losses, reduction, input.dtype());
}

namespace {

/// Whether each place of `target` comes before the first -1 of its row.
Tensor is_named(const Tensor& target) { return eq(cumsum(cast(target < 0, DType::int64), -1), 0); }

/// How many columns of `named` [rows, classes] to look at. What no row uses would only cost time,
/// which is asked for where the host need not wait for the answer.
int64_t longest_of(const Tensor& named) {
  if (named.numel() == 0) return 0;
  if (!is_on_host(named)) return named.size(1);
  return max(sum(cast(named, DType::int64), kLastDim)).item<int64_t>();
}

void check_classes(const char* op, const Tensor& target, int64_t classes) {
  if (target.numel() == 0 || is_meta(target)) return;
  static constexpr int64_t kEnd = -1;
  const std::string claim = str("from -1 to ", classes - 1);
  const StreamCheck check{.op = op,
                          .name = "target",
                          .sizes = target.sizes(),
                          .size = classes,
                          .ignored = &kEnd,
                          .claim = claim.c_str(),
                          .is_whole = true};
  if (!is_on_host(target) && ops::is_watched(cast(target, DType::int64), check)) return;
  const auto largest = max(target).item<int64_t>(), least = min(target).item<int64_t>();
  if (largest < classes && least >= -1) return;
  throw ValueError(
      str(op, ": target must be ", claim, ", got ", largest < classes ? least : largest));
}

}  // namespace

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
  constexpr const char* op = "multilabel_margin_loss";
  const autograd::operands::multilabel_margin_loss call(input, target);
  ops::infer::check_ndim(op, "input", input, 0, 2);
  check_same_shape(op, "target", target, input);
  const int64_t rows = input.ndim() < 2 ? 1 : input.size(0);
  const int64_t classes = input.ndim() == 0 ? 1 : input.size(-1);
  check_classes(op, target, classes);
  const Tensor scores = autograd::widened(reshape(input, {rows, classes}));
  Tensor labels = reshape(cast(target, DType::int64), {rows, classes});
  Tensor named = is_named(labels);
  const int64_t longest = longest_of(named);
  labels = clamp(narrow(labels, 1, 0, longest), Scalar(0), std::nullopt);
  named = narrow(named, 1, 0, longest);
  const Tensor times = scatter_add(zeros({rows, classes}, DType::int64, input.device()), 1, labels,
                                   cast(named, DType::int64));
  const Tensor gaps = relu(1 - unsqueeze(gather(scores, 1, labels), 2) + unsqueeze(scores, 1));
  const Tensor counted = where(unsqueeze(named, 2), gaps, 0);
  const Tensor others = where(unsqueeze(eq(times, 0), 1), counted, 0);
  const int64_t both[] = {1, 2};
  Tensor losses = sum(others, both) / static_cast<double>(classes);
  if (input.ndim() < 2) losses = reshape(losses, {});
  return reduced(losses, reduction, input.dtype());
}

Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target, const Tensor& weight,
                                   Reduction reduction) {
  constexpr const char* op = "multilabel_soft_margin_loss";
  const autograd::operands::multilabel_soft_margin_loss call(input, target, weight);
  ops::infer::check_ndim(op, "input", input, 1, kMaxDims);
  check_same_shape(op, "target", target, input);
  const bool is_label = !is_floating(target.dtype());
  const auto compute = [&](const Tensor& input, const Tensor& target, const Tensor& weight) {
    Tensor losses = logistic_loss(input, is_label ? cast(target, input.dtype()) : target);
    if (weight.defined()) losses = losses * weight;
    return reduced(mean(losses, kLastDim), reduction, losses.dtype());
  };
  return autograd::through_float(compute, input, target, weight);
}

}  // namespace ebb
