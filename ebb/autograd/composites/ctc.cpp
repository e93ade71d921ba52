// ebb/autograd/composites/ctc.cpp -- ctc_loss: the probability of all ways to spell a target.
//
// Between, before and behind the labels of a target stand blanks: 2 S + 1 states. alpha is the
// logarithm of the probability of all beginnings that end in a state; a step in time keeps the
// state, goes on by one, or skips a blank between two different labels. Everything is recorded, all
// samples at once, so the derivatives (which the engine finds by the same recursion backwards) are
// of any order. Impossible is a large negative number, as differences of infinities would be NaN.
#include "ebb/autograd/operands/ctc.h"

#include "ebb/autograd/composites/widened.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/clamp.h"
#include "ebb/autograd/ops/constant_pad_nd.h"
#include "ebb/autograd/ops/contiguous.h"
#include "ebb/autograd/ops/ctc_loss.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/gather.h"
#include "ebb/autograd/ops/logsumexp.h"
#include "ebb/autograd/ops/mean.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/stack.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/autograd/ops/unbind.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using kernels::Reduction;
using ops::infer::describe;

constexpr double kImpossible = -1e30;

std::vector<int64_t> integers_of(const Tensor& tensor) {
  const Tensor held = contiguous(cast(to_device(tensor, Device{}), DType::int64));
  const auto* const first = held.data<int64_t>();
  return {first, first + held.numel()};
}

void check_lengths(const char* name, const Tensor& lengths, int64_t samples, bool is_batched) {
  const bool fits =
      lengths.numel() == samples && lengths.ndim() <= 1 && (lengths.ndim() == 1 || !is_batched);
  if (!fits) {
    throw ShapeError(
        str("ctc_loss: ", name, " needs shape [", samples, "], got ", describe(lengths)));
  }
}

/// One length for each of `samples`, each from 0 to `most`.
std::vector<int64_t> lengths_of(const char* name, const Tensor& lengths, int64_t samples,
                                int64_t most, bool is_batched) {
  check_lengths(name, lengths, samples, is_batched);
  std::vector<int64_t> values = integers_of(lengths);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0 && values[i] <= most) continue;
    throw ValueError(str("ctc_loss: ", name, " need to be from 0 to ", most, ", got ", values[i],
                         " for sample ", i));
  }
  return values;
}

/// The labels of each sample.
std::vector<std::vector<int64_t>> labels_of(const Tensor& targets,
                                            const std::vector<int64_t>& lengths, int64_t classes) {
  const bool is_joined = targets.ndim() == 1;
  const std::vector<int64_t> all = integers_of(targets);
  std::vector<std::vector<int64_t>> labels;
  size_t place = 0;
  for (size_t sample = 0; sample < lengths.size(); ++sample) {
    if (!is_joined) place = sample * static_cast<size_t>(targets.size(1));
    std::vector<int64_t> own;
    for (int64_t i = 0; i < lengths[sample]; ++i) own.push_back(all[place++]);
    for (const int64_t label : own) {
      if (label >= 0 && label < classes) continue;
      throw ValueError(str("ctc_loss: targets need classes from 0 to ", classes - 1, ", got ",
                           label, " for sample ", sample));
    }
    labels.push_back(std::move(own));
  }
  return labels;
}

/// What is known of the states before anything is computed, a row per sample.
struct States {
  Tensor label;      // int64: what a state spells
  Tensor skip_cost;  // 0 if a state may follow the one before the last, else kImpossible
  Tensor start_cost;
  Tensor last;  // int64 [N, 2]: the last label, and the blank behind it
  Tensor last_cost;
  std::vector<int64_t> counts;

  States(const std::vector<std::vector<int64_t>>& labels, int64_t blank, DType dtype,
         Device device) {
    size_t longest = 0;
    for (const auto& own : labels) longest = std::max(longest, own.size());
    const auto samples = static_cast<int64_t>(labels.size());
    const auto states = static_cast<int64_t>(2 * longest + 1);
    label = full(Shape{samples, states}, blank, DType::int64);
    skip_cost = full(Shape{samples, states}, kImpossible, DType::float64);
    start_cost = full(Shape{samples, states}, kImpossible, DType::float64);
    last = full(Shape{samples, 2}, 0, DType::int64);
    last_cost = full(Shape{samples, 2}, 0, DType::float64);
    for (int64_t sample = 0; sample < samples; ++sample) {
      set(labels[static_cast<size_t>(sample)], sample, sample * states);
    }
    for (Tensor* cost : {&skip_cost, &start_cost, &last_cost}) {
      *cost = to_device(cast(*cost, dtype), device);
    }
    for (Tensor* index : {&label, &last}) *index = to_device(*index, device);
  }

 private:
  void set(const std::vector<int64_t>& own, int64_t sample, int64_t first) const {
    const auto count = static_cast<int64_t>(own.size());
    for (int64_t i = 0; i < count; ++i) {
      const int64_t state = first + 2 * i + 1;
      label.data<int64_t>()[state] = own[static_cast<size_t>(i)];
      const bool differs = i > 0 && own[static_cast<size_t>(i)] != own[static_cast<size_t>(i - 1)];
      if (differs) skip_cost.data<double>()[state] = 0;
    }
    for (int64_t i = 0; i < std::min<int64_t>(2, 2 * count + 1); ++i) {
      start_cost.data<double>()[first + i] = 0;
    }
    last.data<int64_t>()[2 * sample] = std::max<int64_t>(2 * count - 1, 0);
    last.data<int64_t>()[2 * sample + 1] = 2 * count;
    if (count == 0) last_cost.data<double>()[2 * sample] = kImpossible;  // there is one end only
  }
};

/// A step in time, before what it emits.
Tensor step(const Tensor& alpha, const States& states) {
  const int64_t count = alpha.size(1);
  const int64_t in_front[] = {2, 0};
  const Tensor padded = constant_pad_nd(alpha, in_front, kImpossible);
  const Tensor ways[] = {alpha, narrow(padded, 1, 1, count),
                         narrow(padded, 1, 0, count) + states.skip_cost};
  const int64_t over_ways[] = {0};
  return logsumexp(stack(ways), over_ways);
}

/// The logarithm of each sample's probability.
Tensor log_likelihood(const Tensor& log_probs, const States& states,
                      const std::vector<int64_t>& input_lengths) {
  const int64_t samples = log_probs.size(1), count = states.label.size(1);
  const Shape wanted = {log_probs.size(0), samples, count};
  const Tensor emitted = gather(log_probs, 2, expand(unsqueeze(states.label, 0), wanted));
  const std::vector<Tensor> steps = unbind(clamp(emitted, Scalar(kImpossible), std::nullopt));
  // Before the first step only a blank behind nothing has been spelt.
  Tensor none = full(Shape{samples, count}, kImpossible, log_probs.dtype(), log_probs.device());
  Tensor alpha = none;
  if (count > 0 && samples > 0) {
    const Tensor first = full(Shape{samples, 1}, 0, log_probs.dtype(), log_probs.device());
    const int64_t behind[] = {0, count - 1};
    alpha = constant_pad_nd(first, behind, kImpossible);
  }
  for (size_t t = 0; t < steps.size(); ++t) {
    const Tensor next = steps[t] + (t == 0 ? states.start_cost : step(alpha, states));
    std::vector<int64_t> over;
    for (const int64_t length : input_lengths) over.push_back(length > static_cast<int64_t>(t));
    if (std::all_of(over.begin(), over.end(), [](int64_t is_on) { return is_on != 0; })) {
      alpha = next;
      continue;
    }
    const Tensor is_on = empty(Shape{samples, 1}, DType::boolean);
    for (size_t i = 0; i < over.size(); ++i) is_on.data<bool>()[i] = over[i] != 0;
    alpha = where(to_device(is_on, alpha.device()), next, alpha);
  }
  const int64_t over_ends[] = {1};
  return logsumexp(gather(alpha, 1, states.last) + states.last_cost, over_ends);
}

void check_targets(const Tensor& targets, bool is_batched, int64_t samples) {
  ops::infer::check_ndim("ctc_loss", "targets", targets, 1, 2);
  if (targets.ndim() == 1 || (is_batched && targets.size(0) == samples)) return;
  throw ShapeError(str("ctc_loss: targets need a row for each of ", samples,
                       " samples, or one dim, got ", describe(targets)));
}

/// The losses of all samples as `reduction` says.
Tensor reduced(const Tensor& losses, Reduction reduction, bool is_batched) {
  if (reduction == Reduction::sum) return sum(losses);
  if (reduction == Reduction::mean) return mean(losses);
  return is_batched ? losses : reshape(losses, {});
}

}  // namespace

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank, Reduction reduction,
                bool zero_infinity) {
  const autograd::CompositeCall call("ctc_loss", __builtin_return_address(0));
  autograd::operands::check_ctc_loss(log_probs, targets, input_lengths, target_lengths);
  ops::infer::check_ndim("ctc_loss", "log_probs", log_probs, 2, 3);
  const bool is_batched = log_probs.ndim() == 3;
  const Tensor wide = autograd::widened(is_batched ? log_probs : unsqueeze(log_probs, 1));
  const int64_t samples = wide.size(1), classes = wide.size(2);
  if (blank < 0 || blank >= classes) {
    throw ValueError(str("ctc_loss: blank must be from 0 to ", classes - 1, ", got ", blank));
  }
  check_targets(targets, is_batched, samples);
  if (is_meta(log_probs)) {  // no number says which states there are
    check_lengths("input_lengths", input_lengths, samples, is_batched);
    check_lengths("target_lengths", target_lengths, samples, is_batched);
    const int64_t but_samples[] = {0, 2};
    return cast(reduced(sum(wide, but_samples), reduction, is_batched), log_probs.dtype());
  }
  const std::vector<int64_t> inputs =
      lengths_of("input_lengths", input_lengths, samples, wide.size(0), is_batched);
  const std::vector<int64_t> lengths =
      lengths_of("target_lengths", target_lengths, samples, targets.size(-1), is_batched);
  int64_t total = 0;
  for (const int64_t length : lengths) total += length;
  if (targets.ndim() == 1 && total != targets.numel()) {
    throw ShapeError(str("ctc_loss: targets need as many elements as target_lengths say together, ",
                         "got ", targets.numel(), " and ", total));
  }
  const States states(labels_of(targets, lengths, classes), blank, wide.dtype(), wide.device());
  const Tensor found = log_likelihood(wide, states, inputs);
  const double worst = zero_infinity ? 0.0 : std::numeric_limits<double>::infinity();
  Tensor losses = where(found < kImpossible / 2, worst, -found);
  if (reduction == Reduction::mean) {
    const Tensor counts = reshape(to_device(target_lengths, losses.device()), {samples});
    losses = losses / cast(clamp(counts, Scalar(1), std::nullopt), losses.dtype());
  }
  return cast(reduced(losses, reduction, is_batched), log_probs.dtype());
}

}  // namespace ebb
