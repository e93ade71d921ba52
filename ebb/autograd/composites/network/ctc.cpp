// ebb/autograd/composites/network/ctc.cpp -- ctc_loss: the probability of all ways to spell a
// target.
//
// Between, before and behind the labels of a target stand blanks: 2 S + 1 states. alpha is the
// logarithm of the probability of all beginnings that end in a state; a step in time keeps the
// state, goes on by one, or skips a blank between two different labels. Everything is recorded, all
// samples at once, so the derivatives (which the engine finds by the same recursion backwards) are
// of any order. Impossible is a large negative number, as differences of infinities would be NaN.
// Lengths and labels on a device stay there: the host waits for them only where targets stand one
// behind the other and their lengths are there too.
#include "ebb/autograd/operands/ctc.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ebb/autograd/composites/integers.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/clamp.h"
#include "ebb/autograd/ops/clamp_max.h"
#include "ebb/autograd/ops/clamp_min.h"
#include "ebb/autograd/ops/constant_pad_nd.h"
#include "ebb/autograd/ops/ctc_loss.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/gather.h"
#include "ebb/autograd/ops/greater.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/autograd/ops/le.h"
#include "ebb/autograd/ops/less.h"
#include "ebb/autograd/ops/logsumexp.h"
#include "ebb/autograd/ops/mean.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/ne.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/stack.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/autograd/ops/unbind.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/core/device/stream_checks.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/index_check.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using autograd::integers_of;
using kernels::Reduction;
using ops::infer::describe;

constexpr double kImpossible = -1e30;

void check_lengths(const char* name, const Tensor& lengths, int64_t samples, bool is_batched) {
  const bool fits =
      lengths.numel() == samples && lengths.ndim() <= 1 && (lengths.ndim() == 1 || !is_batched);
  if (!fits) {
    throw ShapeError(
        str("ctc_loss: ", name, " needs shape [", samples, "], got ", describe(lengths)));
  }
}

/// One length for each sample.
struct Lengths {
  Tensor there;                               // int64 [N], where log_probs is
  std::optional<std::vector<int64_t>> known;  // unless the host would have to wait for it

  int64_t longest(int64_t most) const {
    if (!known) return most;
    return known->empty() ? 0 : *std::max_element(known->begin(), known->end());
  }
};

/// Those of `samples`, each from 0 to `most`. What is on a device that looks for itself stays
/// there.
Lengths lengths_of(const char* name, const Tensor& lengths, int64_t samples, int64_t most,
                   Device device, bool is_batched) {
  check_lengths(name, lengths, samples, is_batched);
  const Tensor held = cast(reshape(lengths, {samples}), DType::int64);
  const std::string claim = str("from 0 to ", most);
  const StreamCheck check{.op = "ctc_loss",
                          .name = name,
                          .sizes = held.sizes(),
                          .size = most + 1,
                          .claim = claim.c_str(),
                          .is_whole = true};
  const Tensor there = to_device(held, device);
  if (samples > 0 && ops::is_watched(held, check)) return {there, std::nullopt};
  std::vector<int64_t> values = integers_of(held);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0 && values[i] <= most) continue;
    throw ValueError(str("ctc_loss: ", name, " need to be from 0 to ", most, ", got ", values[i],
                         " for sample ", i));
  }
  return {there, std::move(values)};
}

/// Throws ValueError unless all `labels`, a row per sample, are classes, at once or at the next
/// wait for their device.
void check_labels(const Tensor& labels, int64_t classes) {
  if (labels.numel() == 0) return;
  const std::string claim = str("classes from 0 to ", classes - 1);
  const StreamCheck check{.op = "ctc_loss",
                          .name = "targets",
                          .sizes = labels.sizes(),
                          .size = classes,
                          .claim = claim.c_str(),
                          .is_whole = true};
  if (ops::is_watched(labels, check)) return;
  const std::vector<int64_t> all = integers_of(labels);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] >= 0 && all[i] < classes) continue;
    throw ValueError(str("ctc_loss: targets need classes from 0 to ", classes - 1, ", got ", all[i],
                         " for sample ", static_cast<int64_t>(i) / labels.size(1)));
  }
}

/// Where the labels of each sample are among all, which stand one behind the other: a row per
/// sample, as long as the longest, of places that are there.
Tensor places_of(const std::vector<int64_t>& lengths, int64_t longest, int64_t total) {
  const auto samples = static_cast<int64_t>(lengths.size());
  const Tensor places = empty(Shape{samples * longest}, DType::int64);
  int64_t* place = places.data<int64_t>();
  int64_t first = 0;
  for (const int64_t length : lengths) {
    for (int64_t i = 0; i < longest; ++i) *place++ = std::min(first + i, total - 1);
    first += length;
  }
  return places;
}

/// int64 [N, longest]: the labels of each sample, with blanks behind them.
Tensor labels_of(const Tensor& targets, const Lengths& lengths, int64_t blank, int64_t classes) {
  const int64_t samples = lengths.there.numel();
  const int64_t longest = lengths.longest(targets.size(-1));
  // What both are known of is looked at here, so that an error comes at once.
  const bool is_here = is_on_host(targets) && lengths.known;
  const Device device = is_here ? Device{} : lengths.there.device();
  Tensor rows = to_device(cast(targets, DType::int64), device);
  if (targets.ndim() == 1) {
    const Tensor places = to_device(places_of(*lengths.known, longest, targets.numel()), device);
    rows = reshape(index_select(rows, 0, places), {samples, longest});
  } else {
    rows = narrow(rows, 1, 0, longest);
  }
  const Tensor counts = unsqueeze(to_device(lengths.there, device), 1);
  const Tensor positions = arange(Scalar(longest), DType::int64, device);
  const Tensor labels = where(less(positions, counts), rows, Scalar(blank));
  check_labels(labels, classes);
  return to_device(labels, lengths.there.device());
}

/// A row of states for a row of labels: their `values`, with `fill` between, before and behind.
Tensor between(const Tensor& values, const Scalar& fill) {
  const int64_t samples = values.size(0), count = values.size(1);
  const int64_t before[] = {1, 0}, behind[] = {0, 1};
  const Tensor pairs = constant_pad_nd(reshape(values, {samples, count, 1}), before, fill);
  return constant_pad_nd(reshape(pairs, {samples, 2 * count}), behind, fill);
}

/// What is known of the states before anything is computed, a row per sample.
struct States {
  Tensor label;      // int64: what a state spells
  Tensor skip_cost;  // 0 if a state may follow the one before the last, else kImpossible
  Tensor start_cost;
  Tensor last;  // int64 [N, 2]: the last label, and the blank behind it
  Tensor last_cost;

  States(const Tensor& labels, const Tensor& counts, int64_t blank, DType dtype)
      : label(between(labels, Scalar(blank))) {
    const Tensor length = unsqueeze(counts, 1);
    const auto cost_unless = [&](const Tensor& may) {
      const Tensor none = zeros(may.sizes(), dtype, may.device());
      return where(may, none, Scalar(kImpossible));
    };
    const int64_t longest = labels.size(1);
    Tensor skips = full(labels.sizes(), kImpossible, dtype, labels.device());
    if (longest > 1) {  // states behind the last one may do as they like: none of those goes back
      const int64_t before[] = {1, 0};
      const Tensor differs =
          ne(narrow(labels, 1, 1, longest - 1), narrow(labels, 1, 0, longest - 1));
      skips = constant_pad_nd(cost_unless(differs), before, kImpossible);
    }
    skip_cost = between(skips, kImpossible);
    const Tensor positions = arange(Scalar(2 * longest + 1), DType::int64, labels.device());
    start_cost = cost_unless(le(positions, clamp_max(length, Scalar(1))));
    const Tensor ends[] = {clamp_min(length * 2 - 1, Scalar(0)), length * 2};
    last = cat(ends, 1);
    const int64_t behind[] = {0, 1};  // without labels there is one end only
    last_cost = constant_pad_nd(cost_unless(greater(length, Scalar(0))), behind, 0);
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
Tensor log_likelihood(const Tensor& log_probs, const States& states, const Lengths& inputs) {
  const int64_t samples = log_probs.size(1), count = states.label.size(1);
  const Shape wanted = {log_probs.size(0), samples, count};
  const Tensor emitted = gather(log_probs, 2, expand(unsqueeze(states.label, 0), wanted));
  const std::vector<Tensor> steps = unbind(clamp(emitted, Scalar(kImpossible), std::nullopt));
  // Before the first step only a blank behind nothing has been spelt.
  Tensor alpha = full(Shape{samples, count}, kImpossible, log_probs.dtype(), log_probs.device());
  if (samples > 0) {
    const Tensor first = full(Shape{samples, 1}, 0, log_probs.dtype(), log_probs.device());
    const int64_t behind[] = {0, count - 1};
    alpha = constant_pad_nd(first, behind, kImpossible);
  }
  int64_t least = 0;  // steps that all samples have
  if (inputs.known && samples > 0) least = *std::ranges::min_element(*inputs.known);
  const Tensor lengths = unsqueeze(inputs.there, 1);
  for (size_t t = 0; t < steps.size(); ++t) {
    const Tensor next = steps[t] + (t == 0 ? states.start_cost : step(alpha, states));
    const auto done = static_cast<int64_t>(t);
    alpha = done < least ? next : where(greater(lengths, Scalar(done)), next, alpha);
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

/// For targets that stand one behind the other: where each begins has to be known, so lengths that
/// are on a device are waited for.
void check_joined(const Tensor& targets, Lengths& lengths) {
  if (!lengths.known) lengths.known = integers_of(lengths.there);
  int64_t total = 0;
  for (const int64_t length : *lengths.known) total += length;
  if (total == targets.numel()) return;
  throw ShapeError(str("ctc_loss: targets need as many elements as target_lengths say together, ",
                       "got ", targets.numel(), " and ", total));
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
  const autograd::operands::ctc_loss call(log_probs, targets, input_lengths, target_lengths);
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
  const Lengths inputs =
      lengths_of("input_lengths", input_lengths, samples, wide.size(0), wide.device(), is_batched);
  Lengths lengths = lengths_of("target_lengths", target_lengths, samples, targets.size(-1),
                               wide.device(), is_batched);
  if (targets.ndim() == 1) check_joined(targets, lengths);
  const States states(labels_of(targets, lengths, blank, classes), lengths.there, blank,
                      wide.dtype());
  const Tensor found = log_likelihood(wide, states, inputs);
  const double worst = zero_infinity ? 0.0 : std::numeric_limits<double>::infinity();
  Tensor losses = where(found < kImpossible / 2, worst, -found);
  if (reduction == Reduction::mean) {
    losses = losses / cast(clamp_min(lengths.there, Scalar(1)), losses.dtype());
  }
  return cast(reduced(losses, reduction, is_batched), log_probs.dtype());
}

}  // namespace ebb
